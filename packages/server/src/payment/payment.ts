import type { MerchantId, TokenDigest } from "../kernel/ids.ts";
import type { PaymentId } from "./payment-id.ts";
import type { Instant } from "../kernel/instant.ts";
import type { Money } from "../kernel/money.ts";
import type { Brand } from "../vault/brand.ts";
import type { Chargeback } from "./chargeback.ts";
import type { Liability } from "./liability.ts";
import type { PaymentState } from "./payment-machine.ts";
import type { Refund } from "./refund.ts";

/**
 * A payment of one merchant: plain data, replaced as a whole by its next version. Amounts are in
 * the requested currency.
 */
export interface Payment {
  readonly merchantId: MerchantId;
  readonly id: PaymentId;
  /** 1 at the first commit; each Change of it adds one. */
  readonly version: number;
  readonly state: PaymentState;
  readonly createdAt: Instant;
  /** When the status that merchants see last changed; undefined before the first change. */
  readonly statusAt: Instant | undefined;
  readonly capturedAt: Instant | undefined;
  /**
   * The merchant's order with its prices. Never changes after the first version, unless it has a
   * page: then the customer adds what the merchant left open.
   */
  readonly order: PaymentOrder;
  /** When an authorization lapses without a capture; undefined before the approval. */
  readonly captureBy: Instant | undefined;
  /** Minor units of `order.amount.currency`. 0 <= refunded <= captured <= authorized. */
  readonly authorized: bigint;
  readonly captured: bigint;
  /** Sum of the refunds that are not cancelled. */
  readonly refunded: bigint;
  /** Oldest first. */
  readonly refunds: readonly Refund[];
  readonly chargeback: Chargeback | undefined;
  /** State of the review; `none` if none was required. */
  readonly review: ReviewState;
  /**
   * The call to the acquirer that is under way or whose outcome is unknown. Present only in the
   * transient states, except for `undo`: then the payment has ended, and a capture that the
   * acquirer approved late is being refunded.
   */
  readonly attempt: Attempt | undefined;
  /** Number of attempts so far; the next attempt gets the next number. */
  readonly attempts: number;
  /**
   * Number of the attempt that is the authorization: captures, voids, refunds, reversals and
   * inquiries name it to the acquirer. 1 until another attempt authorizes.
   */
  readonly authorization: number;
  /**
   * The connector of the payment since its first acquirer definitely refused the authorization;
   * absent on all other payments.
   */
  readonly reroutedTo?: string;
  /** The answer of the issuer or simulator to the authorization; undefined until there is one. */
  readonly verdict: Verdict | undefined;
  /** An invariant is broken on this payment: an operator must review it, and no job changes it. */
  readonly needsReview: boolean;
}

export const reviewStates = ["none", "waiting", "accepted", "rejected"] as const;
export type ReviewState = (typeof reviewStates)[number];

/** The validated order. Its only card data is the mask. */
export interface PaymentOrder {
  /** merchant_payment_code: the merchant's identifier of the payment, unique permanently. */
  readonly code: string;
  readonly orderNumber: string | undefined;
  /** amount_total in currency_code. */
  readonly amount: Money;
  readonly pricing: Pricing;
  readonly instalments: number;
  /** false: hold only, a capture follows. */
  readonly autoCapture: boolean;
  /** true: an approved payment waits for a reviewer. */
  readonly manualReview: boolean;
  readonly country: string;
  readonly paymentType: "credit" | "debit";
  /** Undefined until the first card is submitted on the order's page. */
  readonly card: OrderCard | undefined;
  readonly customer: Customer;
  readonly softDescriptor: string | undefined;
  readonly note: string | undefined;
  /** user_value_1 to user_value_5, undefined if absent; shorter if the last ones are absent. */
  readonly userValues: readonly (string | undefined)[];
  readonly notificationUrl: string | undefined;
  readonly deviceId: string | undefined;
  readonly storedCredential: StoredCredential | undefined;
  readonly threeDSecure: ThreeDSecure | undefined;
  /** Expected at the time of the order; `merchant` on payments of earlier versions. */
  readonly expectedLiability: Liability;
  /**
   * The connector to which the authorization is sent first; absent on payments of earlier versions,
   * which used the first of the configuration.
   */
  readonly connector?: string;
  /** The hosted page on which the customer pays; absent on all other payments. */
  readonly page?: PaymentPage;
}

/** The hosted page of a payment: what the merchant fixed at its opening, and the tries so far. */
export interface PaymentPage {
  /** After this time no card is taken any more. */
  readonly lapsesAt: Instant;
  /** payment_type_code of the request, as it was sent: the types that the page offers. */
  readonly paymentTypes: string;
  /** The numbers of instalments that the page offers, from and to. */
  readonly instalments: readonly [least: number, most: number];
  /** Where the page sends the customer at the end; undefined: to the address of the account. */
  readonly redirectUrl: string | undefined;
  /** Cards that were submitted. */
  readonly tries: number;
  /** Why the last card was declined, until the next one is submitted. */
  readonly declined: DeclineReason | undefined;
  /** Masks of the cards that their issuers do not want to be asked about again. */
  readonly refusedCards: readonly string[];
  /** The authentication that the submitted card waits for; absent when it waits for none. */
  readonly authentication?: PaymentAuthentication;
}

/** A 3-D Secure authentication of the card that was submitted on a page. */
export interface PaymentAuthentication {
  /** threeDSServerTransID, a UUID. */
  readonly id: string;
  readonly startedAt: Instant;
  /** Number of times that its outcome was asked for by a job and was not known. */
  readonly checks: number;
  /** When a job asks for the outcome next. */
  readonly recheckAt: Instant;
  /** From this time it counts as not completed. */
  readonly endsAt: Instant;
  /**
   * Number and expiry of the card, sealed by the vault for this payment, in base64. Kept until the
   * outcome is known, so that a process that dies during the challenge does not end the payment.
   * The security code is never stored.
   */
  readonly sealedCard: string;
}

/** cof_info (interface 3.6): the initiator and the reason of a payment with a stored card. */
export interface StoredCredential {
  readonly use: "initial" | "stored";
  readonly initiator: "CIT" | "MIT";
  /** One of storedCredentialReasons, in the merchant's spelling. */
  readonly reason: StoredCredentialReason;
  /** The network transaction id of the initial payment, for later ones. */
  readonly mandateId: string | undefined;
}

export const storedCredentialReasons = [
  "SCHEDULED_RECURRING",
  "INSTALLMENT",
  "CUSTOMER_COF",
  "MERCHANT_COF",
] as const;
export type StoredCredentialReason = (typeof storedCredentialReasons)[number];

/**
 * External 3-D Secure data without the cryptogram, which is as sensitive as a security code and
 * never stored.
 */
export interface ThreeDSecure {
  /** Electronic commerce indicator: two digits. */
  readonly eci: string;
  readonly version: string | undefined;
  /** The directory server's transaction id. */
  readonly transactionId: string | undefined;
  readonly xid: string | undefined;
}

export interface OrderCard {
  readonly brand: Brand;
  readonly maskedPan: string;
  /** The stored card that was charged. */
  readonly tokenDigest: TokenDigest | undefined;
}

export interface Customer {
  readonly name: string;
  readonly email: string;
  /** Letters and digits only. */
  readonly document: string | undefined;
  /** `YYYY-MM-DD`. */
  readonly birthDate: string | undefined;
  readonly personType: "personal" | "business";
  readonly phone: string | undefined;
  readonly zipcode: string | undefined;
  readonly address: string | undefined;
  readonly streetNumber: string | undefined;
  readonly streetComplement: string | undefined;
  readonly city: string | undefined;
  readonly state: string | undefined;
  readonly ip: string | undefined;
  /** Name of the responsible person when personType is business. */
  readonly responsible: string | undefined;
}

/** Exact, fixed at creation (interface 8). */
export interface Pricing {
  /**
   * Local minor units per requested minor unit, as printed: four decimals, `1.0000` for the local
   * currency.
   */
  readonly rate: string;
  /** amount x rate, rounded half up, in the local currency. */
  readonly gross: Money;
  /** Tax (IOF) on gross, rounded half up, in the local currency. */
  readonly tax: Money;
  /** The tax rate, a plain decimal. Absent without tax, and on payments of earlier versions. */
  readonly taxRate?: string;
  /** The amount that the customer pays: gross + tax, or gross if the merchant pays the tax. */
  readonly total: Money;
}

/**
 * `lapse` and `reject` are voids with another cause: the capture window is over, or a reviewer
 * rejected the payment. `reverse` is the technical reversal of an authorization whose outcome is
 * unknown.
 */
export const attemptKinds = [
  "authorize",
  "sale",
  "capture",
  "void",
  "lapse",
  "reject",
  "reverse",
  "undo",
] as const;
export type AttemptKind = (typeof attemptKinds)[number];

/** One call to an acquirer, committed before it is sent. */
export interface Attempt {
  readonly kind: AttemptKind;
  /** 1, 2, ... within the payment; part of the reference that the acquirer receives. */
  readonly number: number;
  /** Minor units of the order's currency. */
  readonly amount: bigint;
  readonly sentAt: Instant;
  /** After this moment it is not sent any more, and its outcome is unknown. */
  readonly answerBy: Instant;
  /** Number of recovery checks. */
  readonly checks: number;
  /** Time of the next recovery check. */
  readonly recheckAt: Instant;
}

/** The acquirer's answer to the authorization. */
export interface Verdict {
  readonly approved: boolean;
  /** DE 38; undefined on declines. */
  readonly authorizationCode: string | undefined;
  /** DE 39 (ISO 8583), such as `51`. */
  readonly responseCode: string;
  readonly reason: DeclineReason | "approved";
  /** Merchant advice code, such as `02`. */
  readonly adviceCode: string | undefined;
  /** The acquirer's identifier of the authorization. */
  readonly acquirerReference: string | undefined;
  /** The scheme's identifier of the transaction: the mandate id of later payments. */
  readonly networkTransactionId: string | undefined;
  /** True if the issuer did not receive the request (sandbox: not a known test card). */
  readonly refusedBeforeIssuer: boolean;
}

/** Why an issuer or acquirer declined: the rows of interface 4.3. */
export const declineReasons = [
  "not_accepted",
  "insufficient_funds",
  "incorrect_customer_data",
  "expired_card",
  "security_code_mismatch",
  "invalid_card",
  "invalid_card_number",
  "three_d_secure_required",
  "high_risk",
  "timeout",
  "no_acquirer_response",
  "acquirer_error",
] as const;
export type DeclineReason = (typeof declineReasons)[number];

/** Undefined unless the payment's state is `declined`. */
export function declineReasonOf({ state, verdict }: Payment): DeclineReason | undefined {
  return state !== "declined" || verdict === undefined || verdict.reason === "approved"
    ? undefined
    : verdict.reason;
}

/** The connector of the payment's authorization; undefined: the first of the configuration. */
export function connectorNameOf({ order, reroutedTo }: Payment): string | undefined {
  return reroutedTo ?? order.connector;
}

/**
 * The acquirer's reference of an attempt: stable, so that recovery can inquire about it after a
 * crash.
 */
export function attemptReference(id: PaymentId, number: number): string {
  return `${id}-${number}`;
}
