import type { MerchantId } from "../../kernel/ids.ts";
import type { Instant } from "../../kernel/instant.ts";
import type { Money } from "../../kernel/money.ts";
import type { SimulatorTreatment } from "../../merchant/account.ts";
import type { OrderCard, StoredCredential, ThreeDSecure } from "../../payment/payment.ts";
import type {
  AuthorizeOutcome,
  AuthorizeRequest,
  FollowUpOutcome,
  FollowUpRequest,
  InquiryOutcome,
  InquiryRequest,
  NotSent,
  ReverseOutcome,
  ReverseRequest,
  Unknown,
  VerifyOutcome,
  VerifyRequest,
} from "../connector.ts";

/**
 * What the acquirer itself can do: the part of a connector's capabilities that is not the
 * network's.
 */
export interface AcquirerPersonality {
  /** false: a second authorization with the same reference is a second authorization. */
  readonly dedupes: boolean;
  readonly answersInquiries: boolean;
  /** false: a second capture, void or refund with the same reference is another one. */
  readonly repeatsFollowUps: boolean;
  readonly partialCapture: boolean;
}

/**
 * What the acquirer says: an outcome, or a refusal to say. Whether it reaches anybody is the
 * network's business.
 */
export type AuthorizeAnswer = Exclude<AuthorizeOutcome, Unknown | NotSent>;
export type VerifyAnswer = Exclude<VerifyOutcome, Unknown | NotSent>;
export type FollowUpAnswer = Exclude<FollowUpOutcome, Unknown>;
export type ReverseAnswer = Exclude<ReverseOutcome, Unknown>;
export type InquiryAnswer = Exclude<InquiryOutcome, Unknown> | RefusedToSay;
type RefusedToSay = { readonly kind: "unknown"; readonly cause: "refused_to_say" };

/** Everything the acquirer holds, for a test to judge Cofre by. */
export interface AcquirerBooks {
  readonly merchants: readonly MerchantBooks[];
  /** References that are not in the books any more; the totals still count them. */
  readonly forgottenReferences: number;
}

export interface MerchantBooks {
  readonly merchantId: MerchantId;
  readonly totals: BookTotals;
  /** Per currency, in minor units. */
  readonly money: readonly MoneyBooks[];
  /** Oldest first. */
  readonly authorizations: readonly BookedAuthorization[];
}

interface MoneyBooks {
  readonly currency: string;
  readonly held: bigint;
  /** Taken and neither undone nor given back. */
  readonly taken: bigint;
  /** By refunds. */
  readonly givenBack: bigint;
}

/** How often something was done, not how often it was asked for. */
export interface BookTotals {
  readonly approvals: number;
  readonly declines: number;
  readonly captures: number;
  readonly voids: number;
  readonly refunds: number;
  /** Of authorizations that were taken back at once, too. */
  readonly reversals: number;
  /** Questions whether a card is good, whatever the answer. */
  readonly verifications: number;
  /** Requests that were recognised as repeats and changed nothing. */
  readonly duplicates: number;
}

export interface BookedAuthorization {
  readonly reference: string;
  readonly at: Instant;
  /** true: the money was taken at once. */
  readonly sale: boolean;
  /**
   * First six and last four of the card; undefined when the books were lost and the merchant's code
   * proved the authorization.
   */
  readonly maskedPan: string | undefined;
  readonly storedCredential: StoredCredential | undefined;
  readonly threeDSecure: ThreeDSecure | undefined;
  readonly amount: Money;
  readonly answer: AuthorizeAnswer;
  /**
   * How often the amount was held or taken: above 1 only at an acquirer that does not dedupe, and
   * never right.
   */
  readonly approvals: number;
  readonly captures: number;
  /** Minor units taken, what refunds gave back included. */
  readonly captured: bigint;
  /** Minor units that the cardholder cannot use and nobody has taken. */
  readonly held: bigint;
  /** Oldest first, amounts in minor units; together never more than was captured. */
  readonly refunds: readonly { readonly reference: string; readonly amount: bigint }[];
  readonly voided: boolean;
  readonly reversed: boolean;
  readonly duplicates: number;
}

/** What the acquirer reads of a request; the rest is for other acquirers or for the network. */
export type AuthorizeMessage = Pick<
  AuthorizeRequest,
  "merchantId" | "reference" | "amount" | "capture" | "storedCredential" | "threeDSecure"
> & { readonly card: Pick<OrderCard, "maskedPan"> };
export type VerifyMessage = Pick<
  VerifyRequest,
  "merchantId" | "reference" | "currency" | "storedCredential"
> & {
  readonly card: Pick<OrderCard, "maskedPan" | "brand">;
};
export type FollowUpMessage = Pick<
  FollowUpRequest,
  "merchantId" | "reference" | "original" | "amount"
>;
export type OriginalMessage = Pick<
  ReverseRequest | InquiryRequest,
  "merchantId" | "reference" | "original"
>;

/** How the network treats the account of a message. */
export type Personal = { readonly simulator: SimulatorTreatment };
