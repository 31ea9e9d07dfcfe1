import type { Clock } from "../../kernel/clock.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import type { Instant } from "../../kernel/instant.ts";
import type { Money } from "../../kernel/money.ts";
import type { DeclineReason, OrderCard } from "../../payment/payment.ts";
import type {
  Approval,
  AuthorizeOutcome,
  AuthorizeRequest,
  Decline,
  FollowUpOutcome,
  FollowUpRequest,
  InquiryOutcome,
  InquiryRequest,
  OriginalAuthorization,
  ReverseOutcome,
  ReverseRequest,
  Unknown,
} from "../connector.ts";
import { BoundedMap } from "./bounded-map.ts";
import { draw } from "./draw.ts";
import { issuerDecline } from "./magic-cards.ts";
import type { CardVerdict } from "./magic-cards.ts";

/** What the acquirer itself can do: the part of a connector's capabilities that is not the network's. */
export interface AcquirerPersonality {
  /** false: a second authorization with the same reference is a second authorization. */
  readonly dedupes: boolean;
  readonly answersInquiries: boolean;
  /** false: a second capture or void with the same reference is another capture or void. */
  readonly repeatsFollowUps: boolean;
  readonly partialCapture: boolean;
}

export interface AcquirerOptions {
  readonly clock: Clock;
  /** What authorization codes are derived from. The same after a restart, or the codes given before it prove nothing. */
  readonly seed: string;
  /** How many references the books remember; the oldest are forgotten first. */
  readonly rememberedReferences: number;
  readonly personality: AcquirerPersonality;
}

/** What the acquirer says: an outcome, or a refusal to say. Whether it reaches anybody is the network's business. */
export type AuthorizeAnswer = Exclude<AuthorizeOutcome, Unknown>;
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
  readonly money: readonly { readonly currency: string; readonly held: bigint; readonly taken: bigint }[];
  /** Oldest first. */
  readonly authorizations: readonly BookedAuthorization[];
}

/** How often something was done, not how often it was asked for. */
interface BookTotals {
  readonly approvals: number;
  readonly declines: number;
  readonly captures: number;
  readonly voids: number;
  readonly reversals: number;
  /** Requests that were recognised as repeats and changed nothing. */
  readonly duplicates: number;
}

export interface BookedAuthorization {
  readonly reference: string;
  readonly at: Instant;
  /** true: the money was taken at once. */
  readonly sale: boolean;
  /** First six and last four of the card; undefined when the books were lost and the merchant's code proved the authorization. */
  readonly maskedPan: string | undefined;
  readonly amount: Money;
  readonly answer: AuthorizeAnswer;
  /** How often the amount was held or taken: above 1 only at an acquirer that does not dedupe, and never right. */
  readonly approvals: number;
  readonly captures: number;
  /** Minor units taken and not given back. */
  readonly captured: bigint;
  /** Minor units that the cardholder cannot use and nobody has taken. */
  readonly held: bigint;
  readonly voided: boolean;
  readonly reversed: boolean;
  readonly duplicates: number;
}

type Authorization = { -readonly [Key in keyof BookedAuthorization]: BookedAuthorization[Key] } & {
  /** Answers to captures and voids by their own reference, the newest last. */
  followUps: { readonly reference: string; readonly answer: FollowUpAnswer }[] | undefined;
};

interface Ledger {
  readonly totals: { -readonly [Key in keyof BookTotals]: BookTotals[Key] };
  readonly money: Map<string, { held: bigint; taken: bigint }>;
}

/** What the acquirer reads of a request; the rest is for other acquirers or for the network. */
export type AuthorizeMessage = Pick<AuthorizeRequest, "merchantId" | "reference" | "amount" | "capture"> & {
  readonly card: Pick<OrderCard, "maskedPan">;
};
export type FollowUpMessage = Pick<FollowUpRequest, "merchantId" | "reference" | "original" | "amount">;
export type OriginalMessage = Pick<ReverseRequest | InquiryRequest, "merchantId" | "reference" | "original">;

const followUpsRemembered = 16;
const merchantsRemembered = 10_000;

/** DE 39 of the refusals that are the acquirer's own. */
const code = {
  invalidTransaction: "12",
  invalidAmount: "13",
  cannotBackOut: "21",
  unknownOriginal: "25",
} as const;

/**
 * The simulated acquirer and the issuers behind it: decides, and keeps books. It does no I/O and never waits; time comes from
 * the clock and chance from the seed, so equal messages in equal order give equal answers and books.
 *
 * Owns the books, in memory only. Holds: no PAN (masks only); per reference, captured never exceeds what was approved; what
 * is voided or reversed holds nothing.
 */
export class SimulatedAcquirer {
  readonly #clock: Clock;
  readonly #seed: string;
  readonly #personality: AcquirerPersonality;
  readonly #authorizations: BoundedMap<Authorization & { readonly merchantId: MerchantId }>;
  readonly #ledgers = new BoundedMap<Ledger & { readonly merchantId: MerchantId }>(merchantsRemembered);
  #forgotten = 0;

  constructor(options: AcquirerOptions) {
    this.#clock = options.clock;
    this.#seed = options.seed;
    this.#personality = options.personality;
    this.#authorizations = new BoundedMap(options.rememberedReferences);
  }

  /** `verdict` is what the issuer says to the card that came with the message. */
  authorize(message: AuthorizeMessage, verdict: CardVerdict): AuthorizeAnswer {
    const known = this.#authorizations.get(keyOf(message.merchantId, message.reference));
    const ledger = this.#ledger(message.merchantId);
    if (known !== undefined && this.#personality.dedupes) {
      known.duplicates += 1;
      ledger.totals.duplicates += 1;
      return known.answer;
    }
    const answer = verdict ?? this.#approve(message.merchantId, message.reference, message.amount, message.capture);
    const authorization =
      known ?? this.#open(message.merchantId, message.reference, message.amount, message.capture, message.card.maskedPan, answer);
    if (answer.kind === "declined") {
      ledger.totals.declines += 1;
      return answer;
    }
    authorization.answer = answer;
    authorization.approvals += 1;
    ledger.totals.approvals += 1;
    if (message.capture) {
      authorization.captured += message.amount.minor;
      post(ledger, message.amount.currency, 0n, message.amount.minor);
    } else {
      authorization.held += message.amount.minor;
      post(ledger, message.amount.currency, message.amount.minor, 0n);
    }
    return answer;
  }

  /** Takes money that an authorization holds, in one or several captures that together do not exceed it. */
  capture(message: FollowUpMessage, refusal: DeclineReason | undefined): FollowUpAnswer {
    const authorization = this.#original(message);
    if (authorization === undefined) return refused(code.unknownOriginal);
    const earlier = this.#earlierAnswer(authorization, message);
    if (earlier !== undefined) return earlier;
    const answer = this.#captureAnswer(authorization, message.amount, refusal);
    if (answer.kind === "approved") {
      const ledger = this.#ledger(message.merchantId);
      authorization.captures += 1;
      authorization.captured += message.amount.minor;
      authorization.held -= message.amount.minor;
      ledger.totals.captures += 1;
      post(ledger, message.amount.currency, -message.amount.minor, message.amount.minor);
    }
    return remember(authorization, message.reference, answer);
  }

  /** Gives up the whole hold. Refused once anything was captured: that takes a refund. */
  void(message: FollowUpMessage, refusal: DeclineReason | undefined): FollowUpAnswer {
    const authorization = this.#original(message);
    if (authorization === undefined) return refused(code.unknownOriginal);
    const earlier = this.#earlierAnswer(authorization, message);
    if (earlier !== undefined) return earlier;
    const answer = voidAnswer(authorization, refusal);
    if (answer.kind === "approved") {
      authorization.voided = true;
      this.#ledger(message.merchantId).totals.voids += 1;
      this.#giveBack(message.merchantId, authorization);
    }
    return remember(authorization, message.reference, answer);
  }

  /**
   * Undoes an authorization or a sale, as if it had never been; safe to repeat. Once a capture of its own has followed, it
   * is refused. An unknown original leaves no trace: an authorization that arrives after its reversal is decided like any
   * other, and holds money until it is reversed again.
   */
  reverse(message: OriginalMessage): ReverseAnswer {
    const authorization = this.#original(message);
    if (authorization === undefined) return { kind: "unknown_original" };
    if (authorization.captures > 0) return { kind: "refused", responseCode: code.cannotBackOut };
    if (authorization.held > 0n || authorization.captured > 0n) {
      authorization.reversed = true;
      this.#ledger(message.merchantId).totals.reversals += 1;
      this.#giveBack(message.merchantId, authorization);
    }
    return { kind: "reversed" };
  }

  inquire(message: OriginalMessage): InquiryAnswer {
    if (!this.#personality.answersInquiries) return { kind: "unknown", cause: "refused_to_say" };
    const authorization = this.#authorizations.get(keyOf(message.merchantId, message.original.reference));
    if (authorization === undefined) return { kind: "not_found" };
    return {
      kind: "found",
      authorization: authorization.answer,
      captured: authorization.captured,
      voided: authorization.voided || authorization.reversed,
    };
  }

  /** A copy of the books as they are now. */
  books(): AcquirerBooks {
    const authorizations = new Map<MerchantId, BookedAuthorization[]>();
    for (const { merchantId, followUps: _, ...booked } of this.#authorizations.values()) {
      const ofMerchant = authorizations.get(merchantId);
      if (ofMerchant === undefined) authorizations.set(merchantId, [booked]);
      else ofMerchant.push(booked);
    }
    const merchants = Array.from(this.#ledgers.values(), ({ merchantId, totals, money }) => ({
      merchantId,
      totals: { ...totals },
      money: Array.from(money, ([currency, { held, taken }]) => ({ currency, held, taken })),
      authorizations: authorizations.get(merchantId) ?? [],
    }));
    return { merchants, forgottenReferences: this.#forgotten };
  }

  #captureAnswer(authorization: Authorization, amount: Money, refusal: DeclineReason | undefined): FollowUpAnswer {
    if (refusal !== undefined) return refused(issuerDecline(refusal).responseCode);
    // Nothing is held by what was declined, voided, reversed, taken whole, or was a sale.
    if (authorization.held === 0n) return refused(code.invalidTransaction);
    if (amount.currency !== authorization.amount.currency || amount.minor <= 0n) return refused(code.invalidAmount);
    if (amount.minor > authorization.amount.minor - authorization.captured) return refused(code.invalidAmount);
    if (!this.#personality.partialCapture && amount.minor !== authorization.amount.minor) return refused(code.invalidAmount);
    return { kind: "approved" };
  }

  /** The answer that a follow-up with this reference was given before, at an acquirer that recognises repeats. */
  #earlierAnswer(authorization: Authorization, message: FollowUpMessage): FollowUpAnswer | undefined {
    if (!this.#personality.repeatsFollowUps) return undefined;
    const earlier = authorization.followUps?.find(({ reference }) => reference === message.reference);
    if (earlier === undefined) return undefined;
    authorization.duplicates += 1;
    this.#ledger(message.merchantId).totals.duplicates += 1;
    return earlier.answer;
  }

  /**
   * The authorization that a follow-up or a reversal names. One that the books do not hold (they are bounded, and in process
   * they end with the process) is opened again as it was approved if the authorization code proves it: the code is derived
   * from the seed, merchant, reference, amount and kind, so only this acquirer can have issued it for exactly that. What
   * followed it before the books were lost stays lost; without this, a sandbox could not capture today what it authorized
   * before it was restarted.
   */
  #original(message: OriginalMessage): Authorization | undefined {
    const { merchantId, original } = message;
    const known = this.#authorizations.get(keyOf(merchantId, original.reference));
    if (known !== undefined) return known;
    return this.#proven(merchantId, original, false) ?? this.#proven(merchantId, original, true);
  }

  #proven(merchantId: MerchantId, original: OriginalAuthorization, sale: boolean): Authorization | undefined {
    const answer = this.#approve(merchantId, original.reference, original.amount, sale);
    if (answer.authorizationCode !== original.authorizationCode) return undefined;
    const authorization = this.#open(merchantId, original.reference, original.amount, sale, undefined, answer);
    const ledger = this.#ledger(merchantId);
    authorization.approvals = 1;
    ledger.totals.approvals += 1;
    if (sale) authorization.captured = original.amount.minor;
    else authorization.held = original.amount.minor;
    post(ledger, original.amount.currency, authorization.held, authorization.captured);
    return authorization;
  }

  #approve(merchantId: MerchantId, reference: string, amount: Money, sale: boolean): Approval {
    const number = draw(this.#seed, `${merchantId}\n${reference}\n${amount.minor}\n${amount.currency}\n${sale ? "sale" : "hold"}`);
    return {
      kind: "approved",
      authorizationCode: String(number % 1_000_000).padStart(6, "0"),
      responseCode: "00",
      // The form of DE 37: twelve digits.
      acquirerReference: String(Math.floor(number / 1_000_000)).padStart(12, "0"),
    };
  }

  #open(
    merchantId: MerchantId,
    reference: string,
    amount: Money,
    sale: boolean,
    maskedPan: string | undefined,
    answer: Approval | Decline,
  ): Authorization {
    const authorization = {
      merchantId,
      reference,
      at: this.#clock.now(),
      sale,
      maskedPan,
      amount,
      answer,
      approvals: 0,
      captures: 0,
      captured: 0n,
      held: 0n,
      voided: false,
      reversed: false,
      duplicates: 0,
      followUps: undefined,
    };
    if (this.#authorizations.add(keyOf(merchantId, reference), authorization)) this.#forgotten += 1;
    return authorization;
  }

  #giveBack(merchantId: MerchantId, authorization: Authorization): void {
    post(this.#ledger(merchantId), authorization.amount.currency, -authorization.held, -authorization.captured);
    authorization.held = 0n;
    authorization.captured = 0n;
  }

  #ledger(merchantId: MerchantId): Ledger {
    const known = this.#ledgers.get(merchantId);
    if (known !== undefined) return known;
    const ledger = {
      merchantId,
      totals: { approvals: 0, declines: 0, captures: 0, voids: 0, reversals: 0, duplicates: 0 },
      money: new Map<string, { held: bigint; taken: bigint }>(),
    };
    this.#ledgers.add(merchantId, ledger);
    return ledger;
  }
}

function voidAnswer(authorization: Authorization, refusal: DeclineReason | undefined): FollowUpAnswer {
  if (refusal !== undefined) return refused(issuerDecline(refusal).responseCode);
  if (authorization.captured > 0n) return refused(code.cannotBackOut);
  if (authorization.held === 0n) return refused(code.invalidTransaction);
  return { kind: "approved" };
}

function refused(responseCode: string): FollowUpAnswer {
  return { kind: "declined", responseCode };
}

function remember(authorization: Authorization, reference: string, answer: FollowUpAnswer): FollowUpAnswer {
  const followUps = (authorization.followUps ??= []);
  if (followUps.length === followUpsRemembered) followUps.shift();
  followUps.push({ reference, answer });
  return answer;
}

function post(ledger: Ledger, currency: string, held: bigint, taken: bigint): void {
  const balance = ledger.money.get(currency);
  if (balance === undefined) {
    ledger.money.set(currency, { held, taken });
    return;
  }
  balance.held += held;
  balance.taken += taken;
}

function keyOf(merchantId: MerchantId, reference: string): string {
  return `${merchantId} ${reference}`;
}
