import type { AuthorizeRequest, CardToAuthorize } from "../../server/src/connectors/connector.ts";
import type { MerchantId } from "../../server/src/kernel/ids.ts";
import type { PaymentId } from "../../server/src/payment/payment-id.ts";
import type { Instant } from "../../server/src/kernel/instant.ts";
import type { Alarm } from "../../server/src/operations/runner.ts";
import type { Payment } from "../../server/src/payment/payment.ts";
import type { Refund, RefundId } from "../../server/src/payment/refund.ts";
import type { Change, CommitResult, HistoryFact } from "../../server/src/stores/change.ts";
import type { Store } from "../../server/src/stores/store.ts";
import { maskOf } from "../../server/src/vault/mask.ts";
import type { Booked } from "./acquirer-book.ts";
import { checkAmounts, type Order, type TaxRules } from "./audit-amounts.ts";
import { type AuditedKeys, CardAuditor } from "./audit-cards.ts";
import { DeliveryAuditor } from "./audit-deliveries.ts";
import {
  checkAgainstBooks,
  checkSettledPayment,
  checkHistory,
  checkJournal,
  checkTimes,
  type Is,
} from "./audit-payment.ts";
import { RequestAuditor, type RequestRules } from "./audit-requests.ts";
import {
  allowedChargebackMoves,
  allowedMoves,
  allowedRefundMoves,
  finalStates,
  lapseAgainMs,
  lateMoves,
  settledStates,
} from "./audit-tables.ts";
import type { PaymentView, RefundView } from "./payment-view.ts";

/** An answer that a client received about a payment and one of its refunds: it must stay true. */
interface Promised {
  readonly payment: PaymentView;
  readonly refund: RefundView | undefined;
  /** The version stored at that time. */
  readonly version: number;
}

/** The settings of all accounts of a run. */
export interface AuditedSettings extends TaxRules {
  readonly captureWindowMs: number;
  readonly strictMandates: boolean;
  /** The clock is never set: earlier events have earlier times. */
  readonly steadyClock: boolean;
  /** No stalls, no store faults, no clock jumps or changes. */
  readonly isCalm: boolean;
  readonly keys: AuditedKeys;
  readonly requests: RequestRules;
}

const lateFacts: ReadonlySet<HistoryFact> = new Set([
  "approval_came_late",
  "late_approval_undone",
] as const);
const undoFacts: ReadonlySet<HistoryFact> = new Set([
  "attempt_repeated",
  "attempt_unanswered",
  "marked_for_review",
] as const);

/**
 * The independent judge of a run. Observes every commit and every request to the acquirer, records
 * the answers that clients receive, and compares with the acquirer's books.
 */
export class Auditor {
  readonly violations: string[] = [];
  /** How often each interesting event happened: a run without an event proves nothing about it. */
  readonly marks = new Map<string, number>();
  readonly #store: Store;
  /** Receives one line per event, for a timeline that people read. */
  note: (what: string) => void = () => undefined;
  /** Observes notifications to merchants' receivers. */
  readonly deliveries: DeliveryAuditor;
  readonly cards: CardAuditor;
  /** Observes clients' requests and answers. */
  readonly requests: RequestAuditor;
  readonly #booksOf: (merchantId: MerchantId) => readonly Booked[];
  readonly #settings: AuditedSettings;
  readonly #latest = new Map<string, Payment>();
  readonly #captureBy = new Map<string, number>();
  readonly #refundIds = new Map<RefundId, PaymentId>();
  /** When each payment was first requested, by merchant and code. */
  readonly #requestedAt = new Map<string, Instant>();
  #isPutBack = false;
  readonly #orders = new Map<string, Order>();
  readonly #promises: Promised[] = [];
  /** Payments about which an acquirer gave a false answer, by merchant and id. */
  readonly #liedTo = new Set<string>();
  /**
   * Payments with an approval of an acquirer, and those with an approval after their attempt had
   * ended.
   */
  readonly #approved = new Set<string>();
  readonly #cameLate = new Set<string>();
  /** Payments with a request that arrived later than the acquirer's connector declares. */
  readonly #surprised = new Set<string>();

  constructor(
    store: Store,
    booksOf: (merchantId: MerchantId) => readonly Booked[],
    settings: AuditedSettings,
  ) {
    this.#store = store;
    this.#booksOf = booksOf;
    this.#settings = settings;
    const violation = (text: string): void => this.violation(text);
    const mark = (what: string): void => this.mark(what);
    this.deliveries = new DeliveryAuditor(store, settings.isCalm, violation, mark);
    this.cards = new CardAuditor(store, settings.keys, violation, mark);
    this.requests = new RequestAuditor(store, settings.requests, violation, mark);
  }

  violation(text: string): void {
    this.violations.push(text);
    this.note(`VIOLATION ${text}`);
  }

  mark(what: string): void {
    this.marks.set(what, (this.marks.get(what) ?? 0) + 1);
  }

  /**
   * The store, with every commit checked. A commit that the store applies later is seen at the next
   * check.
   */
  watch(store: Store): Store {
    return new Proxy(store, {
      get: (target, name: keyof Store) =>
        name === "commit"
          ? (change: Change) => this.#commit(target, change)
          : (target[name] as (...values: never[]) => unknown).bind(target),
    });
  }

  /** A client requests a payment, perhaps again. */
  asks(merchantId: MerchantId, code: string, at: Instant, order?: Order): void {
    const key = merchantId + code;
    if (!this.#requestedAt.has(key)) this.#requestedAt.set(key, at);
    if (order !== undefined) this.#orders.set(key, order);
    this.note(`a client asks for ${code}`);
  }

  /** A client received this answer. */
  reported(payment: PaymentView, refund?: RefundView): void {
    this.#promises.push({ payment, refund, version: this.#latest.get(payment.id)?.version ?? 0 });
    const of = refund === undefined ? "" : `, refund ${refund.status}`;
    this.note(
      `a client is told ${payment.status}${payment.preApproved ? " (approved)" : ""} of ${payment.code}${of}`,
    );
    this.mark(refund === undefined ? `told ${payment.status}` : `told refund ${refund.status}`);
  }

  /** A client reads this in an answer. */
  reads(payment: PaymentView): void {
    const order = this.#orders.get(payment.merchantId + payment.code);
    if (order !== undefined)
      checkAmounts(payment, order, this.#settings, this.#judging(`told of ${payment.code}`));
  }

  /**
   * An acquirer gives a false answer about this attempt: then an alarm and a manual review are
   * right.
   */
  isLiedTo(merchantId: MerchantId, reference: string): void {
    this.#liedTo.add(merchantId + reference.slice(0, 48));
    this.mark("an acquirer lies about a reversal");
  }

  /**
   * An older copy of the store is restored: earlier knowledge refers to another state, and people
   * resolve what it lost.
   */
  forgets(): void {
    this.mark("an older copy of the store is put back");
    this.note("an older copy of the store is put back");
    this.#isPutBack = true;
    for (const known of [
      this.#latest,
      this.#captureBy,
      this.#refundIds,
      this.#requestedAt,
      this.#orders,
    ])
      known.clear();
    this.#promises.length = 0;
    this.deliveries.forgets();
    this.cards.forgets();
    this.requests.forgets();
  }

  /** Whether a restored copy makes comparisons with the outside meaningless. */
  get isPutBack(): boolean {
    return this.#isPutBack;
  }

  /** A server received an acquirer's approval. */
  isApproved(merchantId: MerchantId, reference: string): void {
    this.#approved.add(merchantId + reference.slice(0, 48));
  }

  /** A request about this payment arrives later than its connector declares possible. */
  isSurprisedBy(merchantId: MerchantId, reference: string): void {
    this.#surprised.add(merchantId + reference.slice(0, 48));
    this.mark("a request arrives later than declared");
  }

  alarm({ kind, what, merchantId, paymentId }: Alarm): void {
    const name = `${merchantId}${paymentId}`;
    if (this.#isPutBack) this.mark("what was lost with a copy raises an alarm");
    else if (kind === "broken_invariant" && this.#liedTo.has(name))
      this.mark("a lie raises an alarm");
    else if (kind === "approval_came_late" && this.#approved.has(name)) {
      this.#cameLate.add(name);
      this.mark("a late approval raises an alarm");
    } else if (this.#surprised.has(name)) this.mark("what arrives too late raises an alarm");
    else this.violation(`no alarm is raised: ${kind}: ${what}`);
  }

  /**
   * A request with this reference is sent to the acquirer: its intention must have been committed
   * before.
   */
  async sends(merchantId: MerchantId, reference: string): Promise<void> {
    const sent = /^([0-9a-f]{48})-(?:r(\d+)-)?(\d+)$/.exec(reference);
    if (sent === null) return;
    const [, id, refundId, attempt] = sent;
    const payment = await this.#store.paymentById(merchantId, id as PaymentId);
    const refund = payment?.refunds.find((each) => String(each.id) === refundId);
    const written = (refundId === undefined ? payment?.attempts : refund?.attempts) ?? 0;
    if (written < Number(attempt))
      this.violation(`nothing is sent before it is written down: ${reference}`);
  }

  /** The card that is sent is the payment's card. */
  charges({ card, reference }: AuthorizeRequest, given: CardToAuthorize): void {
    if (maskOf(given.card.pan) !== card.maskedPan)
      this.violation(`the card that is charged is the one that was named: ${reference}`);
  }

  async #commit(store: Store, change: Change): Promise<CommitResult> {
    const { payment, merchantId } = change;
    const isCharge = payment !== undefined && payment.replaces === undefined;
    this.cards.requested(
      change,
      isCharge ? this.#requestedAt.get(merchantId + payment.next.order.code) : undefined,
    );
    const wasPutBack = this.#isPutBack;
    const result = await store.commit(change).catch((error: unknown) => {
      this.mark(`commit ${(error as { code: string }).code}`);
      this.note(`commit ${(error as { code: string }).code}: ${describe(change)}`);
      throw error;
    });
    this.mark(
      result.outcome === "duplicate"
        ? `commit duplicate ${result.key}`
        : `commit ${result.outcome}`,
    );
    this.note(`commit ${result.outcome}: ${describe(change)}`);
    if (result.outcome === "committed") await this.#look(change, wasPutBack);
    return result;
  }

  /** `wasPutBack`: whether an older copy was in use when the change was sent. */
  async #look(change: Change, wasPutBack: boolean): Promise<void> {
    await this.cards.committed(change);
    for (const { next } of change.deliveries ?? []) this.deliveries.committed(next);
    if (change.payment === undefined) return;
    for (const { fact, by } of change.facts) this.mark(`${fact} by ${by}`);
    const { merchantId, id } = change.payment.next;
    const stored = await this.#store.paymentById(merchantId, id);
    // The change was sent to the store before the restore: the copy has an earlier version, or
    // none.
    if (this.#isPutBack && !wasPutBack) return;
    if (stored === undefined) {
      this.violation("a committed payment can be read");
      return;
    }
    // The reversal of a late approval may remain unanswered. It is repeated, or the payment is
    // marked for review, in whatever state it is by then.
    const isBeingUndone = this.#cameLate.has(merchantId + id);
    const isLate = change.facts.some(
      ({ fact }) => lateFacts.has(fact) || (isBeingUndone && undoFacts.has(fact)),
    );
    const seenAll = this.#checkVersion(stored, change.payment.replaces, isLate);
    this.requests.committed(stored);
    this.#checkWindow(stored, change, seenAll);
    const tokenDigest = stored.order.card?.tokenDigest;
    if (change.payment.replaces !== undefined || tokenDigest === undefined) return;
    const usedAt = change.cardUse?.at ?? change.at;
    await this.cards.charged(
      merchantId,
      tokenDigest,
      this.#requestedAt.get(merchantId + stored.order.code),
      usedAt,
    );
  }

  /** Checks a stored version of a payment; returns whether the version before was seen too. */
  #checkVersion(stored: Payment, replaces: number | undefined, isLate: boolean): boolean {
    const before = this.#latest.get(stored.id);
    this.#latest.set(stored.id, stored);
    const is = this.#judging(
      `payment ${stored.order.code}, version ${stored.version}, ${stored.state}`,
    );
    // A version in between is missing if a commit with unknown outcome was applied: its transition
    // is seen as part of this one.
    const seenAll =
      before === undefined ? stored.version === 1 : before.version + 1 === stored.version;
    if (seenAll) {
      const moves = isLate ? lateMoves : allowedMoves;
      is(
        moves[before?.state ?? "nothing"].includes(stored.state),
        `I6: no move from ${before?.state}`,
      );
      const disputed = before?.chargeback?.state ?? "none";
      is(
        allowedChargebackMoves[disputed].includes(stored.chargeback?.state ?? "none"),
        `I6: no move from a chargeback ${disputed}`,
      );
    }
    is(
      (replaces ?? 0) + 1 === stored.version,
      "a commit makes the version after the one that it replaces",
    );
    is(
      stored.captured >= 0n && stored.captured <= stored.authorized,
      "I3: captured never exceeds authorized",
    );
    is(
      stored.authorized === 0n || stored.authorized === stored.order.amount.minor,
      "what is authorized is what was ordered",
    );
    const isUnderWay = stored.attempt !== undefined && stored.attempt.kind !== "undo";
    is(
      isUnderWay === !settledStates.includes(stored.state),
      "I6: an attempt is there exactly while in flight",
    );
    is(
      before === undefined || (stored.statusAt ?? 0) >= (before.statusAt ?? 0),
      "I6: the status date never goes back",
    );
    is(
      (stored.statusAt !== undefined) === finalStates.includes(stored.state),
      "the status date tells of a final state",
    );
    const { gross, tax, total } = stored.order.pricing;
    const paidByCustomer = this.#settings.taxPaidBy === "customer" ? tax.minor : 0n;
    is(total.minor === gross.minor + paidByCustomer, "I11: the amounts agree");
    checkTimes(stored, is);
    this.#checkRefunds(before, stored, seenAll, is);
    return seenAll;
  }

  #checkRefunds(before: Payment | undefined, stored: Payment, seenAll: boolean, is: Is): void {
    const promised = stored.refunds.reduce(
      (sum, { state, amount }) => (state === "cancelled" ? sum : sum + amount),
      0n,
    );
    const disputed = stored.chargeback?.state === "opened" ? stored.chargeback.amount : 0n;
    is(
      promised + disputed <= stored.captured,
      `I4: ${promised} refunded and ${disputed} charged back exceed what was captured`,
    );
    is(
      stored.refunded === promised,
      "I4: refunded is the sum of the refunds that are not cancelled",
    );
    for (const was of before?.refunds ?? []) {
      const now = stored.refunds.find(({ id }) => id === was.id);
      is(
        now?.amount === was.amount && now.code === was.code,
        "I4: a refund keeps its names and its amount",
      );
      if (seenAll && now !== undefined)
        is(
          allowedRefundMoves[was.state].includes(now.state),
          `I6: no move of a refund from ${was.state}`,
        );
    }
    for (const { id, state, amount } of stored.refunds) {
      is(amount > 0n, "I4: a refund gives something back");
      is((this.#refundIds.get(id) ?? stored.id) === stored.id, "a refund's id is its own");
      this.#refundIds.set(id, stored.id);
      if (!seenAll || before?.refunds.some((each) => each.id === id) === true) continue;
      is(allowedRefundMoves.nothing.includes(state), `I6: a refund does not begin as ${state}`);
      is(
        stored.chargeback?.state !== "opened",
        "I4: nothing is refunded that the issuer has taken back",
      );
    }
  }

  /**
   * A hold is captured within its window, and released only after it; only an acquirer's refusal of
   * the release extends the window.
   */
  #checkWindow(stored: Payment, { at, facts }: Change, seenAll: boolean): void {
    // A version that was not seen may have extended it.
    const before = seenAll ? this.#captureBy.get(stored.id) : undefined;
    const is = this.#judging(
      `payment ${stored.order.code}, version ${stored.version}, ${stored.state}`,
    );
    for (const { fact } of facts) {
      is(
        fact !== "capture_sent" || before === undefined || at < before,
        "nothing is captured after the window",
      );
      is(
        fact !== "authorization_lapsed" || before === undefined || at >= before,
        "nothing lapses before its window is over",
      );
    }
    const { captureBy } = stored;
    if (captureBy === undefined || captureBy === before) return;
    if (!seenAll) this.#captureBy.set(stored.id, captureBy);
    else if (before === undefined) {
      const windowEnds = at + this.#settings.captureWindowMs;
      // A clock that was set back is behind times that the payment already has.
      is(
        this.#settings.steadyClock ? captureBy === windowEnds : captureBy <= windowEnds,
        "the capture window is the account's",
      );
    }
    // The release may have been sent before the clock was set back.
    else
      is(
        (before <= at || !this.#settings.steadyClock) && captureBy <= at + lapseAgainMs,
        "the capture window stays as it is until the acquirer refuses the lapse",
      );
    this.#captureBy.set(stored.id, captureBy);
  }

  /**
   * What must hold at any moment: everything at the acquirer was committed first, and nothing is
   * there twice.
   */
  async checkBooks(merchants: readonly MerchantId[]): Promise<void> {
    if (this.#isPutBack) return;
    for (const merchantId of merchants) {
      const live = new Map<string, number>();
      for (const booked of this.#booksOf(merchantId)) {
        if (isVerification(booked)) {
          if (booked.held > 0n || booked.captured > 0n)
            this.violation(`a verification holds nothing: ${booked.reference}`);
          continue;
        }
        const id = paymentIdOf(booked);
        const payment = await this.#store.paymentById(merchantId, id);
        if (payment === undefined)
          this.violation(`nothing is sent before it is written down: ${booked.reference}`);
        if (booked.approvals > 1)
          this.violation(`I1: one authorization is held once: ${booked.reference}`);
        if (booked.captured > booked.amount.minor)
          this.violation(`I3: the acquirer takes no more than was authorized: ${booked.reference}`);
        if (booked.captures > 1)
          this.violation(`I3: an authorization is captured once: ${booked.reference}`);
        const given = booked.refunds.map(({ reference }) =>
          reference.slice(0, reference.lastIndexOf("-")),
        );
        const surprised = this.#surprised.has(merchantId + id);
        if (!surprised && new Set(given).size < given.length)
          this.violation(`I4: a refund is carried out once: ${booked.reference}`);
        const code = payment?.order.code ?? id;
        if (booked.held > 0n || booked.captured > 0n) live.set(code, (live.get(code) ?? 0) + 1);
      }
      for (const [code, count] of live)
        if (count > 1) this.violation(`I1: at most one live authorization for ${code}`);
    }
  }

  /** What must hold after the faults have ended and everything had time to settle. */
  async checkSettled(
    merchants: readonly MerchantId[],
    codes: ReadonlyMap<MerchantId, ReadonlySet<string>>,
    now: Instant,
  ): Promise<void> {
    await this.checkBooks(merchants);
    const outbox = (
      await Promise.all(
        merchants.map((merchantId) => this.#store.notificationsOf(merchantId, 0, 1_000_000)),
      )
    ).flat();
    for (const merchantId of merchants) {
      const books = this.#booksOf(merchantId);
      const payments: Payment[] = [];
      for (const code of codes.get(merchantId) ?? []) {
        const payment = await this.#store.paymentByCode(merchantId, code);
        if (payment !== undefined) payments.push(payment);
      }
      for (const payment of payments) {
        const is = this.#judging(`payment ${payment.order.code}, ${payment.state}`);
        const history = await this.#store.history(merchantId, payment.id);
        if (this.#liedTo.has(merchantId + payment.id)) {
          is(payment.needsReview, "people look at what an acquirer has lied about");
          continue;
        }
        // What could not be undone is left for manual review.
        if (payment.needsReview && this.#cameLate.has(merchantId + payment.id)) continue;
        const surprised = this.#isPutBack || this.#surprised.has(merchantId + payment.id);
        if (!surprised || !payment.needsReview) checkSettledPayment(payment, now, is);
        if (!surprised)
          checkAgainstBooks(
            payment,
            books.filter((booked) => !isVerification(booked) && paymentIdOf(booked) === payment.id),
            is,
          );
        checkHistory(
          payment,
          history,
          outbox.filter(({ paymentId }) => paymentId === payment.id),
          is,
        );
        checkJournal(payment, history, is);
        this.requests.checkPayment(payment, history);
        if (this.#settings.strictMandates)
          checkMandate(
            payment,
            this.#settings.steadyClock
              ? payments.filter(({ createdAt }) => createdAt <= payment.createdAt)
              : payments,
            is,
          );
      }
      const refundCodes = payments.flatMap(({ refunds }) =>
        refunds.flatMap(({ code }) => code ?? []),
      );
      for (const { order, refunds } of payments) {
        const requests = refunds.flatMap(({ request }) => request ?? []);
        if (new Set(requests).size < requests.length)
          this.violation(`I4: a request is one refund, however often it is sent: ${order.code}`);
      }
      if (new Set(refundCodes).size < refundCodes.length)
        this.violation(`a merchant's refund codes are different: ${merchantId}`);
    }
    await this.cards.checkKept(now);
    await this.#checkPromises();
  }

  async #checkPromises(): Promise<void> {
    for (const { payment: reported, refund, version } of this.#promises) {
      const now = await this.#store.paymentById(reported.merchantId, reported.id as PaymentId);
      if (now === undefined)
        this.violation(`I2: a payment that a client was told of is kept: ${reported.code}`);
      else if (!stillTrue(reported, now, version))
        this.violation(
          `I2: a client was told ${reported.status} of ${reported.code}, and it is ${now.state}`,
        );
      for (const each of refund === undefined ? reported.refunds : [refund, ...reported.refunds]) {
        const kept = now?.refunds.find(({ id }) => id === each.id);
        if (kept === undefined || !refundStillTrue(each, kept)) {
          this.violation(
            `I2: a client was told ${each.status} of a refund of ${reported.code}, and it is ${kept?.state}`,
          );
        }
      }
    }
  }

  #judging(what: string): Is {
    return (condition, rule) => {
      if (!condition) this.violation(`${rule} (${what})`);
    };
  }
}

function describe({
  payment,
  facts,
  card,
  account,
  cardErasure,
  request,
  deliveries,
}: Change): string {
  if (payment === undefined) {
    const delivery = deliveries
      ?.map(({ next }) => `${next.number} to ${next.endpoint} ${next.state} after ${next.attempts}`)
      .join(", ");
    if (delivery !== undefined) return `delivery ${delivery}`;
    const parts = {
      "a card": card,
      "an account": account,
      "a card is forgotten": cardErasure,
      "a named request": request,
    };
    return Object.entries(parts).find(([, part]) => part !== undefined)?.[0] ?? "a card is used";
  }
  const { order, version, state } = payment.next;
  return `${order.code} version ${version} ${state}: ${facts.map(({ fact, by }) => `${fact} by ${by}`).join(", ")}`;
}

/**
 * On a strict account a payment that names a mandate follows an initial payment of the same card.
 */
function checkMandate({ order }: Payment, before: readonly Payment[], is: Is): void {
  const { storedCredential, card } = order;
  if (storedCredential?.use !== "stored") return;
  const initial = before.some(
    (other) =>
      other.order.storedCredential?.use === "initial" &&
      other.verdict?.networkTransactionId === storedCredential.mandateId &&
      other.order.card?.maskedPan === card?.maskedPan,
  );
  is(
    storedCredential.mandateId !== undefined && initial,
    "a stored credential is charged under the mandate of its initial payment",
  );
}

function stillTrue(reported: PaymentView, now: Payment, version: number): boolean {
  if (reported.status === "CO") return now.state === "captured" && now.captured === reported.amount;
  if (reported.status === "CA")
    return now.state === "declined" || now.state === "voided" || now.state === "expired";
  // Only the merchant can undo an acknowledged approval.
  if (reported.preApproved) return now.state !== "declined" && now.authorized > 0n;
  return now.version >= version;
}

function refundStillTrue(reported: RefundView, now: Refund): boolean {
  if (now.amount !== reported.amount || now.code !== reported.code) return false;
  if (reported.status === "CO") return now.state === "confirmed";
  return reported.status !== "CA" || now.state === "cancelled";
}

function isVerification({ reference }: Booked): boolean {
  return reference.endsWith("-v");
}

function paymentIdOf({ reference }: Booked): PaymentId {
  return reference.slice(0, 48) as PaymentId;
}
