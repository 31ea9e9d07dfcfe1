import type { MerchantId } from "../../kernel/ids.ts";
import type { Instant } from "../../kernel/instant.ts";
import type { Money } from "../../kernel/money.ts";
import type { SimulatorBehaviour } from "../../merchant/account.ts";
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
 * What the acquirer itself supports: the part of a connector's capabilities that does not depend on
 * the network.
 */
export interface AcquirerPersonality {
  /** false: a second authorization with the same reference is a new authorization. */
  readonly dedupes: boolean;
  readonly answersInquiries: boolean;
  /** false: a second capture, void or refund with the same reference is a new one. */
  readonly repeatsFollowUps: boolean;
  readonly partialCapture: boolean;
}

/**
 * The acquirer's answer: an outcome, or a refusal to give one. The network decides whether it
 * arrives.
 */
export type AuthorizeAnswer = Exclude<AuthorizeOutcome, Unknown | NotSent>;
export type VerifyAnswer = Exclude<VerifyOutcome, Unknown | NotSent>;
export type FollowUpAnswer = Exclude<FollowUpOutcome, Unknown>;
export type ReverseAnswer = Exclude<ReverseOutcome, Unknown>;
export type InquiryAnswer = Exclude<InquiryOutcome, Unknown> | RefusedToSay;
type RefusedToSay = { readonly kind: "unknown"; readonly cause: "refused_to_say" };

/** Everything that the acquirer holds, for tests that check Cofre's state against it. */
export interface AcquirerBooks {
  readonly merchants: readonly MerchantBooks[];
  /** Number of references dropped from the books; the totals still count them. */
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
  /** Captured and neither reversed nor refunded. */
  readonly captured: bigint;
  /** By refunds. */
  readonly refunded: bigint;
}

/** How often something was carried out, not how often it was requested. */
export interface BookTotals {
  readonly approvals: number;
  readonly declines: number;
  readonly captures: number;
  readonly voids: number;
  readonly refunds: number;
  /** Includes verifications' small authorizations, which are reversed at once. */
  readonly reversals: number;
  /** Card verifications, whatever the answer. */
  readonly verifications: number;
  /** Requests that were recognized as repeats and had no effect. */
  readonly duplicates: number;
}

export interface BookedAuthorization {
  readonly reference: string;
  readonly at: Instant;
  /** true: captured at once. */
  readonly sale: boolean;
  /**
   * First six and last four digits of the card; undefined when the books were lost and the
   * authorization was proven by its code.
   */
  readonly maskedPan: string | undefined;
  readonly storedCredential: StoredCredential | undefined;
  readonly threeDSecure: ThreeDSecure | undefined;
  readonly amount: Money;
  readonly answer: AuthorizeAnswer;
  /**
   * How often the amount was held or captured: above 1 only at an acquirer that does not dedupe,
   * and always an error.
   */
  readonly approvals: number;
  readonly captures: number;
  /** Captured minor units, before refunds. */
  readonly captured: bigint;
  /** Minor units that are held and not captured. */
  readonly held: bigint;
  /** Oldest first, amounts in minor units; together never more than was captured. */
  readonly refunds: readonly { readonly reference: string; readonly amount: bigint }[];
  readonly voided: boolean;
  readonly reversed: boolean;
  readonly duplicates: number;
}

/**
 * The fields of a request that the acquirer reads; the others are for other acquirers or for the
 * network.
 */
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

/** Of the account's settings, the behaviour of the network towards this message. */
export type Personal = { readonly settings: { readonly simulator: SimulatorBehaviour } };
