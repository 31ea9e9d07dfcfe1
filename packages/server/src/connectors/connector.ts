import type { MerchantId } from "../kernel/ids.ts";
import type { Instant } from "../kernel/instant.ts";
import type { Money } from "../kernel/money.ts";
import type { AccountSettings } from "../merchant/account.ts";
import type {
  Customer,
  DeclineReason,
  OrderCard,
  PaymentOrder,
  StoredCredential,
  ThreeDSecure,
} from "../payment/payment.ts";
import type { Card } from "../vault/card.ts";
import type { Cryptogram, Cvv } from "../vault/pan.ts";

/**
 * Our adapter to one acquirer: a stateless translator. Methods never reject because of the acquirer
 * or the network: any result that is not an explicit yes or no, including an answer after
 * `deadline`, is `unknown`. A message is sent at most once. If it certainly never left the process,
 * the outcome is `not_sent`. Texts in outcomes come from the acquirer: `connectorsOf` keeps those
 * that fit their field (strict-answers.ts).
 */
export interface Connector {
  readonly name: string;
  readonly capabilities: ConnectorCapabilities;
  /** Holds the amount, or captures it at once if `request.capture` is true (a sale). */
  authorize(request: AuthorizeRequest, card: CardToAuthorize): Promise<AuthorizeOutcome>;
  /**
   * Captures up to the held amount, once: an approved capture is final and releases the remainder
   * (interface 5.1).
   */
  capture(request: FollowUpRequest): Promise<FollowUpOutcome>;
  void(request: FollowUpRequest): Promise<FollowUpOutcome>;
  /** Refunds part of the captured amount. */
  refund(request: FollowUpRequest): Promise<FollowUpOutcome>;
  /**
   * Verifies the card with the issuer without taking money: by a zero amount, or, where the scheme
   * does not support one, by a small authorization that the acquirer reverses at once.
   */
  verify(request: VerifyRequest, card: CardToAuthorize): Promise<VerifyOutcome>;
  /**
   * The technical undo of an authorization with an unknown outcome. Safe to repeat. `done` also
   * when there is nothing to undo.
   */
  reverse(request: ReverseRequest): Promise<ReverseOutcome>;
  /** Returns the state of the authorization with this reference and of its follow-ups. */
  inquire(request: InquiryRequest): Promise<InquiryOutcome>;
  /**
   * What the acquirer's tables contain about a card; sends no message and stores nothing of the
   * card. Acquirers without such tables omit the method. Undefined for a card that the tables do
   * not contain; such a card is not refused.
   */
  readonly cardTraits?: (card: Card) => CardTraits | undefined;
}

/** The acquirers of an installation, under their names in the configuration. */
export interface Connectors {
  /** In configuration order. Payments that match no route go to the first. */
  readonly names: readonly string[];
  /** The route of payments that match no other: the first acquirer. */
  readonly standard: readonly [string];
  /**
   * The connector with this name. Undefined, which only payments of earlier versions have, returns
   * the first. A name that is no longer configured returns a connector that is never connected: it
   * sends nothing, and what was sent earlier stays unknown until the acquirer is configured again.
   */
  of(name: string | undefined): Connector;
}

/**
 * A value of an acquirer's answer that was dropped because it does not have its field's format or
 * repeats card data. Does not contain the value.
 */
export interface DroppedValue {
  readonly connector: string;
  readonly call: "authorize" | "verify" | "capture" | "void" | "refund" | "reverse" | "inquire";
  readonly field:
    | "authorization_code"
    | "response_code"
    | "advice_code"
    | "acquirer_reference"
    | "network_transaction_id"
    | "refund_reference"
    | "reason"
    | "captured"
    | "kind";
  readonly cause: "shape" | "card_data";
}

/** Called for each dropped value. Never throws. */
export type ReportDropped = (dropped: DroppedValue) => void;

/** Properties that decide whether a card may be tried at all (BP-DR-83, 97, 100, 101 and 102). */
export interface CardTraits {
  readonly funding: "credit" | "debit" | "prepaid";
  /** Issued in a country whose cards the acquirer does not process. */
  readonly foreign: boolean;
  /** false: the issuer has not enabled the card for card-not-present payments. */
  readonly ecommerce: boolean;
  /** true: declined too often recently to be tried again. */
  readonly exhausted: boolean;
}

/**
 * What an acquirer supports, as data that recovery decides by. The connector contract suite checks
 * it against the behaviour.
 */
export interface ConnectorCapabilities {
  /** A second request with the same reference is recognized and gets the answer of the first. */
  readonly dedupesByReference: boolean;
  readonly answersInquiries: boolean;
  readonly partialCapture: boolean;
  /** A capture, void or refund with the same reference may be sent again. */
  readonly repeatsFollowUps: boolean;
  readonly reverses: boolean;
  /**
   * Longest time after which a request may still arrive at the acquirer. Only then does "unknown
   * original" mean "never happened".
   */
  readonly lateArrivalMs: number;
}

interface AcquirerRequest {
  readonly merchantId: MerchantId;
  /**
   * Our reference, stable across crashes: attemptReference(payment id, attempt number). At most 64
   * characters.
   */
  readonly reference: string;
  /** An answer after this time makes the outcome unknown. */
  readonly deadline: Instant;
  /** Settings of the merchant's account; a connector reads those that concern its acquirer. */
  readonly settings: AccountSettings;
}

export interface AuthorizeRequest extends AcquirerRequest {
  readonly amount: Money;
  readonly capture: boolean;
  readonly instalments: number;
  readonly country: string;
  readonly descriptor: string;
  readonly card: OrderCard;
  /** Who is present and why, for stored credentials; undefined for an ordinary payment. */
  readonly storedCredential: StoredCredential | undefined;
  /**
   * The result of the merchant's 3-D Secure server, passed on unchanged; undefined when there was
   * none.
   */
  readonly threeDSecure: ThreeDSecure | undefined;
  /** The customer, for acquirers that require one. */
  readonly customer?: Customer;
  /** Credit by default. */
  readonly paymentType?: PaymentOrder["paymentType"];
}

export interface VerifyRequest extends AcquirerRequest {
  readonly country: string;
  readonly currency: string;
  readonly card: OrderCard;
  readonly storedCredential: StoredCredential | undefined;
}

/** Card data for one call; the caller wipes it after the answer. */
export interface CardToAuthorize {
  readonly card: Card;
  /** true: the PAN is a network token. */
  readonly networkToken?: boolean;
  readonly cvv: Cvv | undefined;
  /** The network token's cryptogram, or that of a 3-D Secure authentication of a card. */
  readonly cryptogram: Cryptogram | undefined;
}

export interface FollowUpRequest extends AcquirerRequest {
  /** Reference and code of the authorization that this follows. */
  readonly original: OriginalAuthorization;
  readonly amount: Money;
}

export interface OriginalAuthorization {
  readonly reference: string;
  readonly amount: Money;
  readonly authorizationCode: string | undefined;
  readonly acquirerReference: string | undefined;
  /** First six and last four digits of the card; an answer may not repeat more of it. */
  readonly maskedPan?: string;
}

export interface ReverseRequest extends AcquirerRequest {
  readonly original: OriginalAuthorization;
}

export interface InquiryRequest extends AcquirerRequest {
  readonly original: OriginalAuthorization;
}

export type Unknown = {
  readonly kind: "unknown";
  readonly cause: "timeout" | "connection" | "garbled" | "refused_to_say";
};

/**
 * No byte has left the process, with certainty: the request may go to another acquirer, and is
 * refused if there is none.
 */
export interface NotSent {
  readonly kind: "not_sent";
}

export interface Approval {
  readonly kind: "approved";
  readonly authorizationCode: string;
  readonly responseCode: string;
  readonly acquirerReference: string | undefined;
  /**
   * The scheme's transaction identifier, which later stored-credential payments refer to; undefined
   * when none was given.
   */
  readonly networkTransactionId: string | undefined;
}

export interface Decline {
  readonly kind: "declined";
  readonly reason: DeclineReason;
  readonly responseCode: string;
  readonly adviceCode: string | undefined;
  /** True when the request never reached an issuer. */
  readonly refusedBeforeIssuer: boolean;
}

export type AuthorizeOutcome = Approval | Decline | NotSent | Unknown;

export type VerifyOutcome =
  | ({ readonly kind: "good"; readonly networkTransactionId: string | undefined } & VerifyMethod)
  | (Decline & VerifyMethod)
  | NotSent
  | Unknown;

interface VerifyMethod {
  readonly method: "zero_amount" | "ghost_authorization";
}

export type FollowUpOutcome =
  | { readonly kind: "approved" }
  | { readonly kind: "declined"; readonly responseCode: string }
  | Unknown;

export type ReverseOutcome =
  /** Reversed now or earlier. */
  | { readonly kind: "reversed" }
  /** The acquirer does not have the original: final only after capabilities.lateArrivalMs. */
  | { readonly kind: "unknown_original" }
  /** It was captured in the meantime: the acquirer's state is adopted. */
  | { readonly kind: "refused"; readonly responseCode: string }
  | Unknown;

export type InquiryOutcome =
  | {
      readonly kind: "found";
      readonly authorization: Approval | Decline;
      /** Captured minor units, in the authorization's currency; 0n when none. */
      readonly captured: bigint;
      readonly voided: boolean;
      /** References of the refunds that were carried out. */
      readonly refunds: readonly string[];
    }
  | { readonly kind: "not_found" }
  | Unknown;
