import { BoundedMap } from "../../kernel/bounded-map.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import type { Money } from "../../kernel/money.ts";
import type { DeclineReason } from "../../payment/payment.ts";
import type { Approval, Decline, OriginalAuthorization } from "../connector.ts";
import type { Brand } from "../../vault/brand.ts";
import { draw } from "./draw.ts";
import {
  captureAnswer,
  refundAnswer,
  refused,
  responseCodes,
  voidAnswer,
} from "./follow-up-answers.ts";
import type { CardVerdict } from "./magic-cards.ts";
import type {
  AcquirerPersonality,
  AuthorizeAnswer,
  VerifyAnswer,
  FollowUpAnswer,
  ReverseAnswer,
  InquiryAnswer,
  AcquirerBooks,
  BookedAuthorization,
  AuthorizeMessage,
  VerifyMessage,
  FollowUpMessage,
  OriginalMessage,
  BookTotals,
} from "./messages-and-books.ts";

export interface AcquirerOptions {
  readonly clock: Clock;
  /**
   * Seed of the authorization codes. It must stay the same over restarts, or codes issued earlier
   * prove nothing.
   */
  readonly seed: string;
  /** Number of references that the books hold; the oldest are dropped first. */
  readonly rememberedReferences: number;
  readonly personality: AcquirerPersonality;
}

type Authorization = { -readonly [Key in keyof BookedAuthorization]: BookedAuthorization[Key] } & {
  /** Captures, voids and refunds with their answers, the newest last. */
  followUps: FollowUp[] | undefined;
};

interface FollowUp {
  readonly reference: string;
  readonly operation: FollowUpOperation;
  readonly amount: Money;
  readonly answer: FollowUpAnswer;
}

type FollowUpOperation = "capture" | "void" | "refund";

interface Ledger {
  readonly totals: { -readonly [Key in keyof BookTotals]: BookTotals[Key] };
  readonly money: Map<string, { held: bigint; captured: bigint; refunded: bigint }>;
}

const maxFollowUps = 16;
const maxMerchants = 10_000;

/**
 * Schemes that allow a zero-amount authorization; cards of the others are verified with a small
 * amount (interface 3.7).
 */
const zeroAmountBrands: readonly Brand[] = ["amex", "diners", "mastercard", "visa"];
/** Minor units of the country's currency. */
const ghostAmount = 100n;

/**
 * The simulated acquirer and its issuers: decides messages and keeps books. It does no I/O and
 * never waits; time comes from the clock and randomness from the seed, so equal messages in equal
 * order give equal answers and books.
 *
 * Owns the books, in memory only. Invariants: no PAN (masks only); per reference, captured never
 * exceeds approved and refunds never exceed captured; what is voided or reversed holds nothing.
 */
export class SimulatedAcquirer {
  readonly #clock: Clock;
  readonly #seed: string;
  readonly #personality: AcquirerPersonality;
  #authorizations: BoundedMap<string, Authorization & { readonly merchantId: MerchantId }>;
  #ledgers = new BoundedMap<MerchantId, Ledger & { readonly merchantId: MerchantId }>(maxMerchants);
  #forgotten = 0;

  constructor(options: AcquirerOptions) {
    this.#clock = options.clock;
    this.#seed = options.seed;
    this.#personality = options.personality;
    this.#authorizations = new BoundedMap(options.rememberedReferences);
  }

  /** `verdict` is the issuer's decision about the card of the message. */
  authorize(message: AuthorizeMessage, verdict: CardVerdict): AuthorizeAnswer {
    const known = this.#authorizations.get(keyOf(message.merchantId, message.reference));
    const ledger = this.#ledger(message.merchantId);
    if (known !== undefined && this.#personality.dedupes) {
      if (!isSameAuthorization(known, message)) return declinedAsDuplicate;
      known.duplicates += 1;
      ledger.totals.duplicates += 1;
      return known.answer;
    }
    const answer =
      verdict ??
      this.#approve(message.merchantId, message.reference, message.amount, message.capture);
    const authorization = known ?? this.#open(message, answer);
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

  /**
   * Verifies a card. A small authorization made for this is reversed before the answer is returned.
   */
  verify(message: VerifyMessage, verdict: CardVerdict): VerifyAnswer {
    const { merchantId, reference, currency, card, storedCredential } = message;
    this.#ledger(merchantId).totals.verifications += 1;
    const amount = { minor: zeroAmountBrands.includes(card.brand) ? 0n : ghostAmount, currency };
    const method = amount.minor === 0n ? "zero_amount" : "ghost_authorization";
    if (amount.minor > 0n) {
      const ghost = {
        merchantId,
        reference,
        amount,
        capture: false,
        card,
        storedCredential,
        threeDSecure: undefined,
      };
      this.authorize(ghost, verdict);
      this.#undo(merchantId, this.#authorizations.get(keyOf(merchantId, reference)));
    }
    if (verdict !== undefined) return { ...verdict, method };
    const { networkTransactionId } = this.#approve(merchantId, reference, amount, false);
    return { kind: "good", networkTransactionId, method };
  }

  /** Captures a held authorization, once; the remainder is released (interface 5.1). */
  capture(message: FollowUpMessage, refusal: DeclineReason | undefined): FollowUpAnswer {
    const authorization = this.#original(message);
    if (authorization === undefined) return refused(responseCodes.unknownOriginal);
    const earlier = this.#earlierAnswer(authorization, "capture", message);
    if (earlier !== undefined) return earlier;
    const answer = captureAnswer(authorization, message.amount, refusal, this.#personality);
    if (answer.kind === "approved")
      this.#capture(message.merchantId, authorization, message.amount);
    return remember(authorization, "capture", message, answer);
  }

  /** Releases the whole hold. Refused once anything was captured: that requires a refund. */
  void(message: FollowUpMessage, refusal: DeclineReason | undefined): FollowUpAnswer {
    const authorization = this.#original(message);
    if (authorization === undefined) return refused(responseCodes.unknownOriginal);
    const earlier = this.#earlierAnswer(authorization, "void", message);
    if (earlier !== undefined) return earlier;
    const answer = voidAnswer(authorization, refusal);
    if (answer.kind === "approved") {
      authorization.voided = true;
      this.#ledger(message.merchantId).totals.voids += 1;
      this.#releaseAll(message.merchantId, authorization);
    }
    return remember(authorization, "void", message, answer);
  }

  /** Refunds part of the captured amount; refunds together do not exceed it. */
  refund(message: FollowUpMessage, refusal: DeclineReason | undefined): FollowUpAnswer {
    const { merchantId, original, reference, amount } = message;
    const authorization =
      this.#authorizations.get(keyOf(merchantId, original.reference)) ??
      this.#provenCapture(merchantId, original);
    if (authorization === undefined) return refused(responseCodes.unknownOriginal);
    const earlier = this.#earlierAnswer(authorization, "refund", message);
    if (earlier !== undefined) return earlier;
    const answer = refundAnswer(authorization, amount, refusal);
    if (answer.kind === "approved") {
      const ledger = this.#ledger(merchantId);
      authorization.refunds = [...authorization.refunds, { reference, amount: amount.minor }];
      ledger.totals.refunds += 1;
      post(ledger, amount.currency, 0n, -amount.minor, amount.minor);
    }
    return remember(authorization, "refund", message, answer);
  }

  /**
   * Undoes an authorization or a sale as if it had never existed; safe to repeat. Refused once a
   * capture of its own or a refund has followed. An unknown original leaves no trace: an
   * authorization that arrives after its reversal is decided like any other, and holds money until
   * it is reversed again.
   */
  reverse(message: OriginalMessage): ReverseAnswer {
    const authorization = this.#original(message);
    if (authorization === undefined) return { kind: "unknown_original" };
    if (authorization.captures > 0 || authorization.refunds.length > 0)
      return { kind: "refused", responseCode: responseCodes.cannotBackOut };
    this.#undo(message.merchantId, authorization);
    return { kind: "reversed" };
  }

  inquire(message: OriginalMessage): InquiryAnswer {
    if (!this.#personality.answersInquiries) return { kind: "unknown", cause: "refused_to_say" };
    const authorization = this.#authorizations.get(
      keyOf(message.merchantId, message.original.reference),
    );
    if (authorization === undefined) return { kind: "not_found" };
    return {
      kind: "found",
      authorization: authorization.answer,
      captured: authorization.captured,
      voided: authorization.voided || authorization.reversed,
      refunds: authorization.refunds.map(({ reference }) => reference),
    };
  }

  /**
   * Replaces the books with a copy of another acquirer's current books; the other keeps its own.
   */
  copyFrom(other: SimulatedAcquirer): void {
    this.#authorizations = other.#authorizations.copy((authorization) => ({
      ...authorization,
      followUps: authorization.followUps === undefined ? undefined : [...authorization.followUps],
    }));
    this.#ledgers = other.#ledgers.copy(({ merchantId, totals, money }) => ({
      merchantId,
      totals: { ...totals },
      money: new Map(Array.from(money, ([currency, balance]) => [currency, { ...balance }])),
    }));
    this.#forgotten = other.#forgotten;
  }

  /** A copy of the current books. */
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
      money: Array.from(money, ([currency, balance]) => ({ currency, ...balance })),
      authorizations: authorizations.get(merchantId) ?? [],
    }));
    return { merchants, forgottenReferences: this.#forgotten };
  }

  /**
   * The earlier answer to a follow-up with this reference, for an acquirer that recognizes repeats.
   * A reference that was used for another operation or amount is refused without any effect.
   */
  #earlierAnswer(
    authorization: Authorization,
    operation: FollowUpOperation,
    message: FollowUpMessage,
  ): FollowUpAnswer | undefined {
    if (!this.#personality.repeatsFollowUps) return undefined;
    const earlier = this.#followUpOf(authorization, message);
    if (earlier === undefined) return undefined;
    if (earlier.operation !== operation || !isSameMoney(earlier.amount, message.amount))
      return refused(responseCodes.duplicateReference);
    authorization.duplicates += 1;
    this.#ledger(message.merchantId).totals.duplicates += 1;
    return earlier.answer;
  }

  #followUpOf(authorization: Authorization, { reference }: FollowUpMessage): FollowUp | undefined {
    const known = authorization.followUps?.find((each) => each.reference === reference);
    if (known !== undefined) return known;
    // A refund is recognized regardless of how many followed it.
    const refund = authorization.refunds.find((each) => each.reference === reference);
    if (refund === undefined) return undefined;
    const amount = { minor: refund.amount, currency: authorization.amount.currency };
    return { reference, operation: "refund", amount, answer: { kind: "approved" } };
  }

  /**
   * The authorization that a follow-up or a reversal names. If the books do not hold it (they are
   * bounded, and in process they end with the process), it is opened again as approved if the
   * authorization code proves it: the code is derived from the seed, merchant, reference, amount
   * and kind, so only this acquirer can have issued it for exactly that. Follow-ups from before the
   * loss of the books stay lost; without this, a sandbox could not capture after a restart what it
   * authorized before.
   */
  #original(message: OriginalMessage): Authorization | undefined {
    const { merchantId, original } = message;
    const known = this.#authorizations.get(keyOf(merchantId, original.reference));
    if (known !== undefined) return known;
    return this.#proven(merchantId, original, false) ?? this.#proven(merchantId, original, true);
  }

  #proven(
    merchantId: MerchantId,
    original: OriginalAuthorization,
    sale: boolean,
  ): Authorization | undefined {
    const { reference, amount } = original;
    const answer = this.#approve(merchantId, reference, amount, sale);
    if (answer.authorizationCode !== original.authorizationCode) return undefined;
    const message = {
      merchantId,
      reference,
      amount,
      capture: sale,
      storedCredential: undefined,
      threeDSecure: undefined,
    };
    const authorization = this.#open(message, answer);
    const ledger = this.#ledger(merchantId);
    authorization.approvals = 1;
    ledger.totals.approvals += 1;
    if (sale) authorization.captured = amount.minor;
    else authorization.held = amount.minor;
    post(ledger, amount.currency, authorization.held, authorization.captured);
    return authorization;
  }

  /**
   * A refund implies a capture: an authorization from before the loss of the books counts as
   * captured in full.
   */
  #provenCapture(
    merchantId: MerchantId,
    original: OriginalAuthorization,
  ): Authorization | undefined {
    const sale = this.#proven(merchantId, original, true);
    if (sale !== undefined) return sale;
    const held = this.#proven(merchantId, original, false);
    if (held !== undefined) this.#capture(merchantId, held, held.amount);
    return held;
  }

  #approve(merchantId: MerchantId, reference: string, amount: Money, sale: boolean): Approval {
    const number = draw(
      this.#seed,
      `${merchantId}\n${reference}\n${amount.minor}\n${amount.currency}\n${sale ? "sale" : "hold"}`,
    );
    return {
      kind: "approved",
      authorizationCode: String(number % 1_000_000).padStart(6, "0"),
      responseCode: "00",
      // The format of DE 37: twelve digits.
      acquirerReference: String(Math.floor(number / 1_000_000)).padStart(12, "0"),
      // The format of Visa's transaction identifier: 48 bits are at most fifteen digits.
      networkTransactionId: String(number).padStart(15, "0"),
    };
  }

  #open(
    message: Omit<AuthorizeMessage, "card"> & Partial<Pick<AuthorizeMessage, "card">>,
    answer: Approval | Decline,
  ): Authorization {
    const { merchantId, reference, amount, capture, card, storedCredential, threeDSecure } =
      message;
    const authorization = {
      merchantId,
      reference,
      at: this.#clock.now(),
      sale: capture,
      maskedPan: card?.maskedPan,
      storedCredential,
      threeDSecure,
      amount,
      answer,
      approvals: 0,
      captures: 0,
      captured: 0n,
      held: 0n,
      refunds: [],
      voided: false,
      reversed: false,
      duplicates: 0,
      followUps: undefined,
    };
    if (this.#authorizations.set(keyOf(merchantId, reference), authorization)) this.#forgotten += 1;
    return authorization;
  }

  #capture(merchantId: MerchantId, authorization: Authorization, amount: Money): void {
    const ledger = this.#ledger(merchantId);
    authorization.captures += 1;
    authorization.captured += amount.minor;
    ledger.totals.captures += 1;
    post(ledger, amount.currency, -authorization.held, amount.minor);
    authorization.held = 0n;
  }

  #undo(merchantId: MerchantId, authorization: Authorization | undefined): void {
    if (authorization === undefined || (authorization.held === 0n && authorization.captured === 0n))
      return;
    authorization.reversed = true;
    this.#ledger(merchantId).totals.reversals += 1;
    this.#releaseAll(merchantId, authorization);
  }

  #releaseAll(merchantId: MerchantId, authorization: Authorization): void {
    post(
      this.#ledger(merchantId),
      authorization.amount.currency,
      -authorization.held,
      -authorization.captured,
    );
    authorization.held = 0n;
    authorization.captured = 0n;
  }

  #ledger(merchantId: MerchantId): Ledger {
    const known = this.#ledgers.get(merchantId);
    if (known !== undefined) return known;
    const ledger = {
      merchantId,
      totals: {
        approvals: 0,
        declines: 0,
        captures: 0,
        voids: 0,
        refunds: 0,
        reversals: 0,
        verifications: 0,
        duplicates: 0,
      },
      money: new Map<string, { held: bigint; captured: bigint; refunded: bigint }>(),
    };
    this.#ledgers.set(merchantId, ledger);
    return ledger;
  }
}

function remember(
  authorization: Authorization,
  operation: FollowUpOperation,
  { reference, amount }: FollowUpMessage,
  answer: FollowUpAnswer,
): FollowUpAnswer {
  const followUps = (authorization.followUps ??= []);
  if (followUps.length === maxFollowUps) followUps.shift();
  followUps.push({ reference, operation, amount, answer });
  return answer;
}

const declinedAsDuplicate: Decline = {
  kind: "declined",
  reason: "acquirer_error",
  responseCode: responseCodes.duplicateReference,
  adviceCode: undefined,
  refusedBeforeIssuer: false,
};

function isSameAuthorization(
  known: BookedAuthorization,
  { amount, capture }: AuthorizeMessage,
): boolean {
  return known.sale === capture && isSameMoney(known.amount, amount);
}

function isSameMoney(one: Money, other: Money): boolean {
  return one.minor === other.minor && one.currency === other.currency;
}

function post(
  ledger: Ledger,
  currency: string,
  held: bigint,
  captured: bigint,
  refunded = 0n,
): void {
  const balance = ledger.money.get(currency);
  if (balance === undefined) {
    ledger.money.set(currency, { held, captured, refunded });
    return;
  }
  balance.held += held;
  balance.captured += captured;
  balance.refunded += refunded;
}

function keyOf(merchantId: MerchantId, reference: string): string {
  return `${merchantId} ${reference}`;
}
