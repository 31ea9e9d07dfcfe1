import type { MerchantId, PaymentId, TokenDigest } from "../kernel/ids.ts";
import type { Instant } from "../kernel/instant.ts";
import type { Money } from "../kernel/money.ts";
import type { Brand } from "../vault/brand.ts";
import type { Chargeback } from "./chargeback.ts";
import type { PaymentState } from "./payment-machine.ts";
import type { Refund } from "./refund.ts";

/**
 * A payment of one merchant: plain data, replaced as a whole by the next version. Amounts are in
 * the requested currency.
 */
export interface Payment {
  readonly merchantId: MerchantId;
  readonly id: PaymentId;
  /** 1 when it is first committed; each Change that touches it adds one. */
  readonly version: number;
  readonly state: PaymentState;
  readonly createdAt: Instant;
  /** When the status that merchants see last changed; undefined while it has not. */
  readonly statusAt: Instant | undefined;
  readonly capturedAt: Instant | undefined;
  /** What the merchant asked for, priced. Never changes after the first version. */
  readonly order: PaymentOrder;
  /** When an authorization that nobody captures lapses; undefined before there is one. */
  readonly captureBy: Instant | undefined;
  /** Minor units of `order.amount.currency`. 0 <= refunded <= captured <= authorized. */
  readonly authorized: bigint;
  readonly captured: bigint;
  /** Sum of the refunds that are not cancelled. */
  readonly refunded: bigint;
  /** Oldest first. */
  readonly refunds: readonly Refund[];
  readonly chargeback: Chargeback | undefined;
  /** What a reviewer has to say or has said; `none` when nobody was asked. */
  readonly review: ReviewState;
  /**
   * The call to the acquirer that is under way or whose outcome is unknown. Present in the
   * transient states only, except for `undo`: a capture that the acquirer approved late is given
   * back, and the payment has ended.
   */
  readonly attempt: Attempt | undefined;
  /** How many attempts were ever made: the next one's number follows it. */
  readonly attempts: number;
  /**
   * Where the authorization went when its first acquirer did not take it; missing on all other
   * payments.
   */
  readonly rerouted?: Rerouted;
  /** The issuer's or the simulator's word on the authorization; undefined until there is one. */
  readonly verdict: Verdict | undefined;
  /** A broken invariant was seen on this payment: people must look, and no job touches it. */
  readonly needsReview: boolean;
}

/**
 * An authorization that was sent elsewhere, or tried again with another acquirer, after a certain
 * no.
 */
export interface Rerouted {
  /** The connector that carries the payment from then on. */
  readonly connector: string;
  /** The attempt that is the authorization there. */
  readonly attempt: number;
}

export const reviewStates = ["none", "waiting", "accepted", "rejected"] as const;
export type ReviewState = (typeof reviewStates)[number];

/** What the merchant asked for, as validated. No card data: only what a mask shows. */
export interface PaymentOrder {
  /** merchant_payment_code: the merchant's own name of the payment, unique for ever. */
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
  readonly card: OrderCard;
  readonly customer: Customer;
  readonly softDescriptor: string | undefined;
  readonly note: string | undefined;
  /**
   * user_value_1 to user_value_5, undefined where none was given; shorter when the last ones are
   * missing.
   */
  readonly userValues: readonly (string | undefined)[];
  readonly notificationUrl: string | undefined;
  readonly deviceId: string | undefined;
  readonly storedCredential: StoredCredential | undefined;
  readonly threeDSecure: ThreeDSecure | undefined;
  /**
   * The connector that its authorization is sent to first; missing on payments of earlier versions,
   * whose was the first of the configuration.
   */
  readonly connector?: string;
}

/** cof_info (interface 3.6): who starts a payment with a card on file, and why. */
export interface StoredCredential {
  readonly use: "initial" | "stored";
  readonly initiator: "CIT" | "MIT";
  /** As the merchant spells it, one of storedCredentialReasons. */
  readonly reason: StoredCredentialReason;
  /** The network transaction id of the initial payment, on later ones. */
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
 * External 3-D Secure data without the cryptogram, which is as sensitive as a security code and is
 * never kept.
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
  /** The stored card that was charged, or that this payment creates. */
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
  /**
   * The tax's rate, a plain decimal. Missing where there is no tax, and on payments of earlier
   * versions.
   */
  readonly taxRate?: string;
  /** What the customer pays: gross + tax, or gross when the merchant bears the tax. */
  readonly total: Money;
}

/**
 * `lapse` and `reject` are voids with another cause: the capture window is over, a reviewer said
 * no. `reverse` is the technical undo of an authorization whose outcome is unknown.
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
  /**
   * 1, 2, ... within the payment; with the payment's id it makes the reference that the acquirer
   * sees.
   */
  readonly number: number;
  /** Minor units of the order's currency. */
  readonly amount: bigint;
  readonly sentAt: Instant;
  /** After this moment it is not sent any more, and its answer is unknown. */
  readonly answerBy: Instant;
  /** How often recovery has asked or tried again. */
  readonly checks: number;
  /** When recovery looks at it next. */
  readonly recheckAt: Instant;
}

/** What the acquirer said about the authorization. */
export interface Verdict {
  readonly approved: boolean;
  /** DE 38; undefined on declines. */
  readonly authorizationCode: string | undefined;
  /** DE 39 (ISO 8583), such as `51`. */
  readonly responseCode: string;
  readonly reason: DeclineReason | "approved";
  /** Merchant advice code, such as `02`. */
  readonly adviceCode: string | undefined;
  /** The acquirer's own name of the authorization. */
  readonly acquirerReference: string | undefined;
  /** The scheme's name of the transaction: the mandate id of what follows from it. */
  readonly networkTransactionId: string | undefined;
  /** True when our side refused (sandbox: not a known test card). */
  readonly refusedBeforeIssuer: boolean;
}

/** Why an issuer or acquirer said no: the rows of interface 4.3. */
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

/**
 * Which connector carries the payment (undefined: the first of the configuration), and which
 * attempt is the authorization there.
 */
export function carrierOf({ order, rerouted }: Payment): {
  readonly connector: string | undefined;
  readonly authorization: number;
} {
  return rerouted === undefined
    ? { connector: order.connector, authorization: 1 }
    : { connector: rerouted.connector, authorization: rerouted.attempt };
}

/**
 * The reference that the acquirer sees for an attempt: stable, so that it can be asked for after a
 * crash.
 */
export function attemptReference(id: PaymentId, number: number): string {
  return `${id}-${number}`;
}
