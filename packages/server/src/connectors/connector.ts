import type { MerchantId } from "../kernel/ids.ts";
import type { Instant } from "../kernel/instant.ts";
import type { Money } from "../kernel/money.ts";
import type { SimulatorTreatment } from "../merchant/account.ts";
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
 * Our adapter to one acquirer: a stateless translator. Methods never reject for anything the
 * acquirer or the network does: whatever is not an explicit yes or no, including what arrives after
 * `deadline`, is `unknown`. Nothing is sent twice. What certainly never left is `not_sent`. Texts
 * of its outcomes are the acquirer's: `connectorsOf` keeps those that fit their field
 * (strict-answers.ts).
 */
export interface Connector {
  readonly name: string;
  readonly capabilities: ConnectorCapabilities;
  /** Holds the amount, or takes it at once when `request.capture` is true (a sale). */
  authorize(request: AuthorizeRequest, card: CardToAuthorize): Promise<AuthorizeOutcome>;
  /**
   * Takes up to what is held, once: an approved capture is final, and what it did not take is held
   * no longer (interface 5.1).
   */
  capture(request: FollowUpRequest): Promise<FollowUpOutcome>;
  void(request: FollowUpRequest): Promise<FollowUpOutcome>;
  /** Gives back part of what was captured. */
  refund(request: FollowUpRequest): Promise<FollowUpOutcome>;
  /**
   * Asks the issuer whether the card is good, without taking money: by a zero amount, or where the
   * scheme has none by a small authorization that the acquirer takes back at once.
   */
  verify(request: VerifyRequest, card: CardToAuthorize): Promise<VerifyOutcome>;
  /**
   * The technical undo of an authorization whose answer is unknown. Safe to repeat. `done` also
   * when there is nothing to undo.
   */
  reverse(request: ReverseRequest): Promise<ReverseOutcome>;
  /** Asks what became of the authorization with this reference and of what followed it. */
  inquire(request: InquiryRequest): Promise<InquiryOutcome>;
  /**
   * What the acquirer's tables say of a card, without asking anybody; keeps nothing of it. An
   * acquirer without such tables has no such method, and undefined is a card that they do not know:
   * nothing is refused then.
   */
  readonly cardTraits?: (card: Card) => CardTraits | undefined;
}

/** The acquirers of an installation, by the names that its configuration gives them. */
export interface Connectors {
  /** In the order of the configuration. What no route is for goes to the first. */
  readonly names: readonly string[];
  /** Where what no route is for goes: the first. */
  readonly standard: readonly [string];
  /**
   * The connector of this name; undefined, as only payments of earlier versions have it, for the
   * first. A name that the configuration no longer has gives a connector that is never connected:
   * nothing is sent to it, and what was sent before it went away stays unknown until it is back.
   */
  of(name: string | undefined): Connector;
}

/**
 * One value of an acquirer's answer that is not kept: not of its field's shape, or a repetition of
 * card data. It holds nothing of the value.
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

/** Called for each value that is not kept. Never throws. */
export type ReportDropped = (dropped: DroppedValue) => void;

/** What decides whether a card may be tried at all (BP-DR-83, 97, 100, 101 and 102). */
export interface CardTraits {
  readonly funding: "credit" | "debit" | "prepaid";
  /** Issued where the acquirer does not process cards of. */
  readonly foreign: boolean;
  /** false: its issuer has not opened it for payments without the card. */
  readonly ecommerce: boolean;
  /** true: refused too often of late to be tried again. */
  readonly exhausted: boolean;
}

/**
 * What an acquirer can do, as data: recovery decides by it. Checked against behaviour by the
 * connector contract suite.
 */
export interface ConnectorCapabilities {
  /** A second request with the same reference is recognised and answered as the first was. */
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
   * Ours, stable over crashes: attemptReference(payment id, attempt number). At most 64 characters.
   */
  readonly reference: string;
  /** An answer that comes later is unknown. */
  readonly deadline: Instant;
  readonly simulator: SimulatorTreatment;
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
   * What a 3-D Secure server of the merchant's found, passed on as it came; undefined when there
   * was none.
   */
  readonly threeDSecure: ThreeDSecure | undefined;
  /** Who pays, for acquirers that ask for it. */
  readonly customer?: Customer;
  /** Credit unless it says otherwise. */
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
  /** true: the PAN is a network token's. */
  readonly networkToken?: boolean;
  readonly cvv: Cvv | undefined;
  /** The network token's, or what 3-D Secure gave for a card. */
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
  /** First six and last four digits of its card, which no answer about it may go beyond. */
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
 * No byte of it has left: certain, so it may be sent elsewhere, and is a refusal when there is
 * nowhere else.
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
   * The scheme's name of this transaction, which later stored-credential payments refer to;
   * undefined when none was given.
   */
  readonly networkTransactionId: string | undefined;
}

export interface Decline {
  readonly kind: "declined";
  readonly reason: DeclineReason;
  readonly responseCode: string;
  readonly adviceCode: string | undefined;
  /** True when it never went to an issuer. */
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
  /** Undone now or earlier. */
  | { readonly kind: "reversed" }
  /**
   * The acquirer knows nothing of the original: true for ever only after
   * capabilities.lateArrivalMs.
   */
  | { readonly kind: "unknown_original" }
  /** It was captured meanwhile: the acquirer's truth is to be adopted. */
  | { readonly kind: "refused"; readonly responseCode: string }
  | Unknown;

export type InquiryOutcome =
  | {
      readonly kind: "found";
      readonly authorization: Approval | Decline;
      /** Minor units of the authorization's currency that were captured; 0n when none. */
      readonly captured: bigint;
      readonly voided: boolean;
      /** References of the refunds that were carried out. */
      readonly refunds: readonly string[];
    }
  | { readonly kind: "not_found" }
  | Unknown;
