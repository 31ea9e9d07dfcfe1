import { assert, unreachable } from "../../kernel/assert.ts";
import type { KeyDigest, MerchantId, TokenDigest } from "../../kernel/ids.ts";
import type { PaymentId } from "../../payment/payment-id.ts";
import { type Instant, instant } from "../../kernel/instant.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Scheduler } from "../../kernel/scheduler.ts";
import { everySlot, slotOf, type Slots } from "../../kernel/slot.ts";
import type { Account } from "../../merchant/account.ts";
import {
  type Delivery,
  type EndpointKey,
  messageNumber,
  newDelivery,
  type QueueKey,
} from "../../notification/events.ts";
import { dueAt } from "../../payment/due.ts";
import { declineReasonOf, type Payment } from "../../payment/payment.ts";
import type { RefundId } from "../../payment/refund.ts";
import type { StoredCard } from "../../vault/stored-card.ts";
import { assertChangeIsSound } from "../change-rules.ts";
import type { Change, CommitResult, HistoryRow, IdempotentRequest } from "../change.ts";
import { frozenCopy } from "../frozen-copy.ts";
import { listedPayment, mostExamined, pageOf } from "../payment-list.ts";
import { StoreError } from "../store.ts";
import type {
  AccountByKey,
  CardAge,
  ClockReadings,
  DeliverySum,
  DueMerchant,
  DueQueue,
  EndedDelivery,
  NodeSlots,
  ListedCard,
  ListPage,
  OpenDeliveryState,
  OutboxRow,
  PaymentFigure,
  PaymentGroup,
  PaymentFilter,
  PaymentList,
  RequestKey,
  Store,
  StoredAccountKey,
} from "../store.ts";
import type { WorldStore, WorldStoreOptions } from "../world-store.ts";
import { ClockTable } from "./clock-table.ts";
import { Deliveries } from "./deliveries.ts";
import { DueDeliveries } from "./due-deliveries.ts";
import { SlotTable } from "./slot-table.ts";

/**
 * Faults of a commit:
 * - `unavailable`, `overloaded`: rejected, nothing applied.
 * - `stale`: returned although the version matches; nothing applied.
 * - `commit_unknown_not_applied`, `commit_unknown_applied`: rejected with `commit_unknown`; never
 *   applied, or applied before the rejection.
 * - `commit_unknown_applied_late`: rejected with `commit_unknown` at once and applied `slowMs`
 *   later, if it still can be.
 * - `slow`: applied and answered `slowMs` later.
 */
export type CommitFault =
  | "unavailable"
  | "overloaded"
  | "stale"
  | "commit_unknown_not_applied"
  | "commit_unknown_applied"
  | "commit_unknown_applied_late"
  | "slow";

export interface MemoryStoreOptions extends WorldStoreOptions {
  /**
   * Called at each commit, after the change was validated: returns the fault to inject, or
   * undefined.
   */
  readonly commitFault?: (change: Change) => CommitFault | undefined;
  /** Called at each read with the method's name: true makes it reject with `unavailable`. */
  readonly readFails?: (method: ReadMethod) => boolean;
  /** Required for `slow` and `commit_unknown_applied_late`. */
  readonly scheduler?: Scheduler;
  readonly slowMs?: number;
  /** Clock of the leases; without it they never expire. */
  readonly clock?: Clock;
}

export type ReadMethod = Exclude<keyof Store, "commit" | "close">;

/**
 * A store whose data ends with the process: the same contract, deterministic, with injectable
 * faults.
 */
export function createMemoryStore(options: MemoryStoreOptions = {}): WorldStore {
  return new MemoryStore(options);
}

/** Settings and versions beyond these limits count as further records (WorldStore.size). */
const usualSettingsLength = 2_000;
const settingsPerRecord = 250;
const usualVersions = 10;

interface PaymentKey {
  readonly merchantId: MerchantId;
  readonly paymentId: PaymentId;
}

interface PaymentRecord {
  current: Payment;
  readonly history: HistoryRow[];
}

/**
 * Owns all records, frozen, by keys that begin with the merchant. Maps keep the order of the first
 * commits.
 */
class MemoryStore implements WorldStore {
  readonly #options: MemoryStoreOptions;
  readonly #payments = new Map<string, PaymentRecord>();
  readonly #paymentIds = new Map<string, PaymentId>();
  /**
   * Each merchant's payments by descending id, cached from a read until a payment is added: a list
   * is read in pieces, each of which needs all of them sorted.
   */
  readonly #newestFirst = new Map<MerchantId, readonly PaymentRecord[]>();
  readonly #refunds = new Map<RefundId, PaymentKey>();
  readonly #refundCodes = new Map<string, PaymentKey>();
  readonly #cards = new Map<string, StoredCard>();
  /** Increases with each stored card. */
  readonly #cardPositions = new Map<string, number>();
  #lastCardPosition = 0;
  readonly #accounts = new Map<MerchantId, Account>();
  /** Length of the accounts' settings, in characters. */
  readonly #settingsLengths = new Map<MerchantId, number>();
  /** Total of all payments: each version has a row in the history. */
  #versions = 0;
  readonly #accountKeys = new Map<KeyDigest, Omit<StoredAccountKey, "digest">>();
  readonly #requests = new Map<string, IdempotentRequest>();
  readonly #outbox: OutboxRow[] = [];
  /** Each merchant's part of the outbox: the notification with number n is at n - 1. */
  readonly #numbered = new Map<MerchantId, OutboxRow[]>();
  #deliveries = new Deliveries();
  #due = new DueDeliveries();
  readonly #slots: SlotTable;
  readonly #clocks: ClockTable;
  /** Commits that wait for the scheduler: close() lets them finish. */
  readonly #underWay = new Set<Promise<unknown>>();
  #closed = false;

  constructor(options: MemoryStoreOptions) {
    this.#options = options;
    const clock = options.clock ?? { now: () => instant(0) };
    this.#slots = new SlotTable(clock);
    this.#clocks = new ClockTable(clock);
  }

  async accountByKey(digest: KeyDigest): Promise<AccountByKey | undefined> {
    this.#beforeRead("accountByKey");
    const key = this.#accountKeys.get(digest);
    if (key === undefined) return undefined;
    const account = this.#accounts.get(key.merchantId);
    assert(account !== undefined, "an account key belongs to an account");
    return { account, grants: key.grants, mac: key.mac };
  }

  async accountKeys(): Promise<readonly StoredAccountKey[]> {
    this.#beforeRead("accountKeys");
    const keys = Array.from(this.#accountKeys, ([digest, key]) => ({ digest, ...key }));
    return keys.toSorted((one, other) => (one.digest < other.digest ? -1 : 1));
  }

  async accountById(merchantId: MerchantId): Promise<Account | undefined> {
    this.#beforeRead("accountById");
    return this.#accounts.get(merchantId);
  }

  async accounts(): Promise<readonly Account[]> {
    this.#beforeRead("accounts");
    return [...this.#accounts.values()].toSorted((left, right) => (left.id < right.id ? -1 : 1));
  }

  async paymentById(merchantId: MerchantId, id: PaymentId): Promise<Payment | undefined> {
    this.#beforeRead("paymentById");
    return this.#payments.get(keyOf(merchantId, id))?.current;
  }

  async paymentByCode(merchantId: MerchantId, code: string): Promise<Payment | undefined> {
    this.#beforeRead("paymentByCode");
    return this.#byCode(merchantId, code);
  }

  async history(merchantId: MerchantId, id: PaymentId): Promise<readonly HistoryRow[]> {
    this.#beforeRead("history");
    return [...(this.#payments.get(keyOf(merchantId, id))?.history ?? [])];
  }

  async paymentByRefund(
    merchantId: MerchantId,
    refund: { readonly id: RefundId } | { readonly code: string },
  ): Promise<Payment | undefined> {
    this.#beforeRead("paymentByRefund");
    const owner =
      "id" in refund
        ? this.#refunds.get(refund.id)
        : this.#refundCodes.get(keyOf(merchantId, refund.code));
    return owner?.merchantId === merchantId
      ? this.#payments.get(keyOf(merchantId, owner.paymentId))?.current
      : undefined;
  }

  async paymentByMandate(merchantId: MerchantId, mandateId: string): Promise<Payment | undefined> {
    this.#beforeRead("paymentByMandate");
    return this.#all().findLast(
      (payment) =>
        payment.merchantId === merchantId &&
        payment.order.storedCredential?.use === "initial" &&
        payment.verdict?.networkTransactionId === mandateId,
    );
  }

  async paymentsDue(
    now: Instant,
    limit: number,
    slots: Slots = everySlot,
    after?: Payment,
  ): Promise<readonly Payment[]> {
    this.#beforeRead("paymentsDue");
    const due: { readonly payment: Payment; readonly at: Instant }[] = [];
    const from = after === undefined ? undefined : dueAt(after);
    // Whether the payment comes after `after` among those due at the same moment.
    let isBehind = false;
    for (const { current: payment } of this.#payments.values()) {
      const at = dueAt(payment);
      const follows =
        from === undefined || (at !== undefined && (isBehind ? at >= from : at > from));
      if (payment.merchantId === after?.merchantId && payment.id === after.id) isBehind = true;
      if (at !== undefined && at <= now && follows && slots.has(slotOf(payment.merchantId)))
        due.push({ payment, at });
    }
    return due
      .toSorted((left, right) => left.at - right.at)
      .slice(0, limit)
      .map(({ payment }) => payment);
  }

  async paymentsInFlight(limit: number): Promise<readonly Payment[]> {
    this.#beforeRead("paymentsInFlight");
    return this.#all()
      .filter(({ attempt, needsReview }) => attempt !== undefined && !needsReview)
      .slice(0, limit);
  }

  async paymentsListed(
    merchantId: MerchantId,
    filter: PaymentFilter,
    page: ListPage,
  ): Promise<PaymentList> {
    this.#beforeRead("paymentsListed");
    // One more than it may examine shows whether there are more.
    return pageOf(
      this.#newest(merchantId, page.before, mostExamined(filter, page) + 1).map(listedPayment),
      filter,
      page,
    );
  }

  async paymentFigures(
    merchantId: MerchantId,
    before: PaymentId | undefined,
    limit: number,
  ): Promise<readonly PaymentFigure[]> {
    this.#beforeRead("paymentFigures");
    return this.#newest(merchantId, before, limit).map((payment) => {
      const { id, createdAt, state, order, authorized, captured, refunded, chargeback } = payment;
      const { card, amount, country } = order;
      return {
        id,
        createdAt,
        state,
        brand: card?.brand,
        country,
        currency: amount.currency,
        reason: declineReasonOf(payment),
        authorized,
        captured,
        refunded,
        disputed: chargeback !== undefined,
      };
    });
  }

  async paymentsCounted(
    merchantId: MerchantId,
    before: PaymentId | undefined,
    limit: number,
  ): Promise<readonly PaymentGroup[]> {
    this.#beforeRead("paymentsCounted");
    const groups = new Map<string, PaymentGroup>();
    // Newest first: the last payment of a group is its oldest.
    for (const { id, state, captured, refunded, chargeback } of this.#newest(
      merchantId,
      before,
      limit,
    )) {
      const whole = refunded === captured ? "refunded" : "partly_refunded";
      const refund = refunded === 0n ? undefined : whole;
      const disputed = chargeback !== undefined;
      const key = `${state} ${refund} ${disputed}`;
      const payments = (groups.get(key)?.payments ?? 0) + 1;
      groups.set(key, { state, refund, disputed, payments, oldest: id });
    }
    return [...groups.values()].toSorted((left, right) => compare(right.oldest, left.oldest));
  }

  async cardsListed(
    merchantId: MerchantId,
    after: TokenDigest | undefined,
    limit: number,
  ): Promise<readonly ListedCard[]> {
    this.#beforeRead("cardsListed");
    return [...this.#cards.values()]
      .filter(
        (card) =>
          card.merchantId === merchantId && (after === undefined || card.tokenDigest > after),
      )
      .toSorted((left, right) => compare(left.tokenDigest, right.tokenDigest))
      .slice(0, limit)
      .map(({ tokenDigest, brand, maskedPan, createdAt, lastUsedAt }) => {
        const position = this.#positionOf(keyOf(merchantId, tokenDigest));
        return { position, tokenDigest, brand, maskedPan, createdAt, lastUsedAt };
      });
  }

  async cardsAfter(position: number, limit: number): Promise<readonly CardAge[]> {
    this.#beforeRead("cardsAfter");
    const cards: CardAge[] = [];
    // In the order of their positions: a moving world clock reads this at each moment at which a
    // card expires.
    for (const [key, { merchantId, tokenDigest, lastUsedAt }] of this.#cards) {
      const at = this.#positionOf(key);
      if (at > position) cards.push({ position: at, merchantId, tokenDigest, lastUsedAt });
      if (cards.length === limit) break;
    }
    return cards;
  }

  async namedRequest(merchantId: MerchantId, key: string): Promise<IdempotentRequest | undefined> {
    this.#beforeRead("namedRequest");
    return this.#requests.get(keyOf(merchantId, key));
  }

  async answeredRequests(before: Instant, limit: number): Promise<readonly RequestKey[]> {
    this.#beforeRead("answeredRequests");
    const old: { readonly merchantId: MerchantId; readonly request: IdempotentRequest }[] = [];
    for (const [name, request] of this.#requests)
      if (isAnsweredBefore(request, before))
        old.push({ merchantId: name.slice(0, merchantIdLength) as MerchantId, request });
    return old
      .toSorted((left, right) => left.request.claimedAt - right.request.claimedAt)
      .slice(0, limit)
      .map(({ merchantId, request: { key } }) => ({ merchantId, key }));
  }

  async cardsWithoutMac(
    merchantId: MerchantId,
    after: TokenDigest | undefined,
    limit: number,
  ): Promise<readonly StoredCard[]> {
    this.#beforeRead("cardsWithoutMac");
    return [...this.#cards.values()]
      .filter(
        (card) =>
          card.merchantId === merchantId &&
          card.mac === undefined &&
          (after === undefined || card.tokenDigest > after),
      )
      .toSorted((one, other) => (one.tokenDigest < other.tokenDigest ? -1 : 1))
      .slice(0, limit)
      .map((card) => frozenCopy(card));
  }

  async cardsOf(
    merchantId: MerchantId,
    after: TokenDigest | undefined,
    limit: number,
  ): Promise<readonly StoredCard[]> {
    this.#beforeRead("cardsOf");
    return [...this.#cards.values()]
      .filter(
        (card) =>
          card.merchantId === merchantId && (after === undefined || card.tokenDigest > after),
      )
      .toSorted((one, other) => (one.tokenDigest < other.tokenDigest ? -1 : 1))
      .slice(0, limit)
      .map((card) => frozenCopy(card));
  }

  async cardByToken(merchantId: MerchantId, digest: TokenDigest): Promise<StoredCard | undefined> {
    this.#beforeRead("cardByToken");
    return frozenCopy(this.#cards.get(keyOf(merchantId, digest)));
  }

  async notificationsOf(
    merchantId: MerchantId,
    number: number,
    limit: number,
  ): Promise<readonly OutboxRow[]> {
    this.#beforeRead("notificationsOf");
    return (this.#numbered.get(merchantId) ?? []).slice(number, number + limit);
  }

  async notificationsOfPayment(
    merchantId: MerchantId,
    id: PaymentId,
    limit: number,
  ): Promise<readonly OutboxRow[]> {
    this.#beforeRead("notificationsOfPayment");
    const rows = (this.#numbered.get(merchantId) ?? []).filter(({ paymentId }) => paymentId === id);
    return rows.slice(Math.max(0, rows.length - limit));
  }

  async deliveriesOf(
    merchantId: MerchantId,
    from: number,
    limit: number,
    state?: OpenDeliveryState,
  ): Promise<readonly Delivery[]> {
    this.#beforeRead("deliveriesOf");
    return taken(this.#deliveries.of(merchantId, from, state), limit, () => true);
  }

  async deliveriesBetween(
    merchantId: MerchantId,
    first: number,
    last: number,
    limit: number,
  ): Promise<readonly Delivery[]> {
    this.#beforeRead("deliveriesBetween");
    return taken(this.#deliveries.of(merchantId, first, undefined, last), limit, () => true);
  }

  async deliverySums(
    merchantId: MerchantId,
    ids: readonly PaymentId[],
  ): Promise<readonly DeliverySum[]> {
    this.#beforeRead("deliverySums");
    return ids
      .map((id) => this.#deliveries.sumOf(merchantId, id))
      .filter((sum) => sum !== undefined);
  }

  async endedDeliveries(before: Instant, limit: number): Promise<readonly EndedDelivery[]> {
    this.#beforeRead("endedDeliveries");
    return this.#deliveries
      .endedBefore(before)
      .slice(0, limit)
      .map(({ merchantId, endpoint, number }) => ({ merchantId, endpoint, number }));
  }

  async merchantsDue(
    now: Instant,
    after: DueMerchant | undefined,
    limit: number,
    slots = everySlot,
  ): Promise<readonly DueMerchant[]> {
    this.#beforeRead("merchantsDue");
    return taken(this.#due.merchants(now, after), limit, ({ merchantId }) =>
      slots.has(slotOf(merchantId)),
    );
  }

  async queuesDue(
    merchantId: MerchantId,
    now: Instant,
    after: DueQueue | undefined,
    limit: number,
  ): Promise<readonly DueQueue[]> {
    this.#beforeRead("queuesDue");
    return taken(this.#due.queues(merchantId, now, after), limit, () => true);
  }

  async deliveriesDue(of: QueueKey, now: Instant, limit: number): Promise<readonly Delivery[]> {
    this.#beforeRead("deliveriesDue");
    /** Whether the first delivery of the same message is waiting and represents this one. */
    const follows = (each: Delivery): boolean =>
      messageNumber(each) !== each.number &&
      this.#deliveries.find({ ...each, number: messageNumber(each) })?.state === "waiting";
    return taken(this.#due.deliveries(of, now), limit, (each) => !follows(each));
  }

  async deliveriesOfMessage(to: EndpointKey, message: number): Promise<readonly Delivery[]> {
    this.#beforeRead("deliveriesOfMessage");
    return this.#deliveries.ofMessage(to, message);
  }

  async commit(change: Change): Promise<CommitResult> {
    if (this.#closed) throw new StoreError("closed");
    assertChangeIsSound(change);
    const fault =
      this.#options.isFull?.(change) === true ? "overloaded" : this.#options.commitFault?.(change);
    switch (fault) {
      case "unavailable":
      case "overloaded":
        throw new StoreError(fault);
      case "stale":
        return { outcome: "stale" };
      case "commit_unknown_not_applied":
        throw new StoreError("commit_unknown");
      case "commit_unknown_applied":
        this.#apply(frozenCopy(change));
        throw new StoreError("commit_unknown");
      case "commit_unknown_applied_late":
        void this.#applyLater(frozenCopy(change));
        throw new StoreError("commit_unknown");
      case "slow":
        return this.#applyLater(frozenCopy(change));
      case undefined:
        return this.#apply(frozenCopy(change));
      default:
        return unreachable(fault, "every fault has its case");
    }
  }

  async renewSlots(node: string, leaseMs: number, release: readonly number[]): Promise<NodeSlots> {
    this.#beforeRead("renewSlots");
    return this.#slots.renew(node, leaseMs, release);
  }

  async noteClock(node: string, aheadMs: number | undefined): Promise<void> {
    this.#beforeRead("noteClock");
    this.#clocks.note(node, aheadMs);
  }

  async clockReadings(node: string): Promise<ClockReadings> {
    this.#beforeRead("clockReadings");
    return this.#clocks.readings(node);
  }

  async eraseRemains(): Promise<boolean> {
    this.#beforeRead("eraseRemains");
    return true;
  }

  async releaseSlots(node: string): Promise<void> {
    this.#beforeRead("releaseSlots");
    this.#slots.release(node);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#underWay);
  }

  copy(options: WorldStoreOptions): WorldStore {
    const copy = new MemoryStore(options);
    // Records are frozen and shared; collections that grow or are replaced are copied.
    for (const [key, { current, history }] of this.#payments)
      copy.#payments.set(key, { current, history: [...history] });
    for (const [key, value] of this.#paymentIds) copy.#paymentIds.set(key, value);
    for (const [key, value] of this.#refunds) copy.#refunds.set(key, value);
    for (const [key, value] of this.#refundCodes) copy.#refundCodes.set(key, value);
    for (const [key, value] of this.#cards) copy.#cards.set(key, value);
    for (const [key, value] of this.#cardPositions) copy.#cardPositions.set(key, value);
    copy.#lastCardPosition = this.#lastCardPosition;
    for (const [key, value] of this.#accounts) copy.#accounts.set(key, value);
    for (const [key, value] of this.#accountKeys) copy.#accountKeys.set(key, value);
    for (const [key, value] of this.#requests) copy.#requests.set(key, value);
    // One by one, because the number of arguments of a call is limited.
    for (const row of this.#outbox) copy.#outbox.push(row);
    copy.#versions = this.#versions;
    for (const [key, length] of this.#settingsLengths) copy.#settingsLengths.set(key, length);
    for (const [key, rows] of this.#numbered) copy.#numbered.set(key, [...rows]);
    copy.#deliveries = this.#deliveries.copy();
    copy.#due = this.#due.copy();
    return copy;
  }

  nextDue(now: Instant): Instant | undefined {
    let next: Instant | undefined;
    const consider = (at: Instant | undefined): void => {
      if (at !== undefined && at > now && (next === undefined || at < next)) next = at;
    };
    for (const { current } of this.#payments.values()) consider(dueAt(current));
    consider(this.#due.nextAfter(now));
    return next;
  }

  get leastRecentUse(): Instant | undefined {
    let first: Instant | undefined;
    for (const { lastUsedAt } of this.#cards.values())
      if (first === undefined || lastUsedAt < first) first = lastUsedAt;
    return first;
  }

  get payments(): number {
    return this.#payments.size;
  }

  get size(): number {
    const { size: payments } = this.#payments;
    const changes = Math.max(0, this.#versions - usualVersions * payments);
    let settings = 0;
    for (const length of this.#settingsLengths.values())
      settings += Math.ceil(Math.max(0, length - usualSettingsLength) / settingsPerRecord);
    const notifications = Math.max(this.#outbox.length, this.#deliveries.size);
    return payments + this.#cards.size + notifications + this.#requests.size + changes + settings;
  }

  #beforeRead(method: ReadMethod): void {
    if (this.#closed) throw new StoreError("closed");
    if (this.#options.readFails?.(method) === true) throw new StoreError("unavailable");
  }

  #applyLater(change: Change): Promise<CommitResult> {
    const { scheduler, slowMs = 50 } = this.#options;
    assert(scheduler !== undefined, "a store with slow faults has a scheduler");
    const answer = scheduler.sleep(slowMs).then(() => this.#apply(change));
    this.#underWay.add(answer);
    const settled = (): void => void this.#underWay.delete(answer);
    answer.then(settled, settled);
    return answer;
  }

  /** In the order of their first commits. */
  #all(): readonly Payment[] {
    return [...this.#payments.values()].map(({ current }) => current);
  }

  #positionOf(cardKey: string): number {
    const position = this.#cardPositions.get(cardKey);
    assert(position !== undefined, "a stored card has a position");
    return position;
  }

  /** At most `limit` of a merchant's payments below this id, greatest first. */
  #newest(
    merchantId: MerchantId,
    before: PaymentId | undefined,
    limit: number,
  ): readonly Payment[] {
    const records =
      this.#newestFirst.get(merchantId) ??
      [...this.#payments.values()]
        .filter(({ current }) => current.merchantId === merchantId)
        .toSorted((left, right) => compare(right.current.id, left.current.id));
    this.#newestFirst.set(merchantId, records);
    let [first, end] = [0, before === undefined ? 0 : records.length];
    while (first < end) {
      const middle = (first + end) >> 1;
      const isBelow = before === undefined || (records[middle]?.current.id ?? "") < before;
      [first, end] = isBelow ? [first, middle] : [middle + 1, end];
    }
    return records.slice(first, first + limit).map(({ current }) => current);
  }

  #byCode(merchantId: MerchantId, code: string): Payment | undefined {
    const id = this.#paymentIds.get(keyOf(merchantId, code));
    return id === undefined ? undefined : this.#payments.get(keyOf(merchantId, id))?.current;
  }

  /** Checks everything for conflicts before it writes anything. */
  #apply(change: Change): CommitResult {
    const conflict =
      this.#deliveryConflict(change) ??
      this.#paymentConflict(change) ??
      this.#refundConflict(change) ??
      this.#cardConflict(change) ??
      this.#accountConflict(change) ??
      this.#requestConflict(change);
    if (conflict !== undefined) return conflict;
    this.#writePayment(change);
    this.#writeCard(change);
    this.#writeAccount(change);
    if (change.request !== undefined)
      this.#requests.set(keyOf(change.merchantId, change.request.next.key), change.request.next);
    this.#deleteRequests(change);
    this.#deleteDeliveries(change);
    for (const { next } of change.deliveries ?? []) this.#writeDelivery(next);
    this.#park(change);
    this.#options.onApplied?.(change);
    return { outcome: "committed" };
  }

  #paymentConflict({ merchantId, payment }: Change): CommitResult | undefined {
    if (payment === undefined) return undefined;
    const { next, replaces } = payment;
    const stored = this.#payments.get(keyOf(merchantId, next.id))?.current;
    if (replaces !== undefined)
      return stored?.version === replaces ? undefined : { outcome: "stale" };
    const existing = this.#byCode(merchantId, next.order.code);
    if (existing !== undefined) return { outcome: "duplicate", key: "payment_code", existing };
    return stored === undefined ? undefined : { outcome: "duplicate", key: "payment_id" };
  }

  #refundConflict({ merchantId, payment }: Change): CommitResult | undefined {
    if (payment === undefined) return undefined;
    const codes = new Set<string>();
    for (const { id, code } of payment.next.refunds) {
      const owner = this.#refunds.get(id);
      // The payment had this refund before.
      if (owner?.merchantId === merchantId && owner.paymentId === payment.next.id) continue;
      if (owner !== undefined) return { outcome: "duplicate", key: "refund_id" };
      if (code === undefined) continue;
      if (codes.has(code) || this.#refundCodes.has(keyOf(merchantId, code)))
        return { outcome: "duplicate", key: "refund_code" };
      codes.add(code);
    }
    return undefined;
  }

  #cardConflict({ merchantId, card }: Change): CommitResult | undefined {
    if (card === undefined) return undefined;
    const stored = this.#cards.get(keyOf(merchantId, card.from ?? card.next.tokenDigest));
    const moves = card.from !== undefined && card.from !== card.next.tokenDigest;
    if (moves && this.#cards.has(keyOf(merchantId, card.next.tokenDigest)))
      return { outcome: "stale" };
    if (card.replaces !== undefined)
      return stored?.version === card.replaces ? undefined : { outcome: "stale" };
    return stored === undefined ? undefined : { outcome: "duplicate", key: "token" };
  }

  #accountConflict({ merchantId, account }: Change): CommitResult | undefined {
    if (account === undefined) return undefined;
    const stored = this.#accounts.get(merchantId);
    if (account.replaces === undefined && stored !== undefined)
      return { outcome: "duplicate", key: "account" };
    if (account.replaces !== undefined && stored?.version !== account.replaces)
      return { outcome: "stale" };
    const taken = account.keys.some((key, index) => {
      const known = this.#accountKeys.get(key.digest);
      const isGivenMac =
        known !== undefined &&
        known.mac === undefined &&
        key.mac !== undefined &&
        known.merchantId === account.next.id &&
        known.grants === key.grants;
      return (
        (known !== undefined && !isGivenMac) ||
        account.keys.findIndex((other) => other.digest === key.digest) !== index
      );
    });
    return taken ? { outcome: "duplicate", key: "account_key" } : undefined;
  }

  #requestConflict({ merchantId, request }: Change): CommitResult | undefined {
    if (request === undefined) return undefined;
    const stored = this.#requests.get(keyOf(merchantId, request.next.key));
    if (request.replaces === "nothing")
      return stored === undefined ? undefined : { outcome: "duplicate", key: "request_key" };
    return stored?.digest === request.next.digest && stored.answer === undefined
      ? undefined
      : { outcome: "stale" };
  }

  #deleteRequests({ merchantId, requestDeletion }: Change): void {
    if (requestDeletion === undefined) return;
    for (const key of requestDeletion.keys) {
      const name = keyOf(merchantId, key);
      const stored = this.#requests.get(name);
      if (stored !== undefined && isAnsweredBefore(stored, requestDeletion.claimedBefore))
        this.#requests.delete(name);
    }
  }

  #deleteDeliveries({ merchantId, deliveryDeletion }: Change): void {
    if (deliveryDeletion === undefined) return;
    const { deliveries, endedBefore } = deliveryDeletion;
    for (const { endpoint, number } of deliveries)
      this.#deliveries.deleteEnded({ merchantId, endpoint, number }, endedBefore);
  }

  #deliveryConflict({ deliveries = [] }: Change): CommitResult | undefined {
    const stale = deliveries.some(
      ({ next, replaces }) => this.#deliveries.find(next)?.version !== replaces,
    );
    return stale ? { outcome: "stale" } : undefined;
  }

  #writePayment({
    merchantId,
    at,
    payment,
    facts,
    entries,
    notifications,
    endpoints = [],
    batchFor = [],
  }: Change): void {
    if (payment === undefined) return;
    const { next } = payment;
    const row = Object.freeze({ version: next.version, at, facts, entries });
    this.#versions += 1;
    const record = this.#payments.get(keyOf(merchantId, next.id));
    if (record === undefined) {
      this.#payments.set(keyOf(merchantId, next.id), { current: next, history: [row] });
      this.#paymentIds.set(keyOf(merchantId, next.order.code), next.id);
      this.#newestFirst.delete(merchantId);
    } else {
      const { order, createdAt } = record.current;
      const kept = next.order.page === undefined ? order : { ...next.order, code: order.code };
      record.current = Object.freeze({ ...next, order: Object.freeze(kept), createdAt });
      record.history.push(row);
    }
    const owner = { merchantId, paymentId: next.id };
    for (const { id, code } of next.refunds) {
      if (this.#refunds.has(id)) continue;
      this.#refunds.set(id, owner);
      if (code !== undefined) this.#refundCodes.set(keyOf(merchantId, code), owner);
    }
    const numbered = this.#numbered.get(merchantId) ?? [];
    this.#numbered.set(merchantId, numbered);
    for (const notification of notifications) {
      const [sequence, number] = [this.#outbox.length + 1, numbered.length + 1];
      const row = Object.freeze({
        ...notification,
        sequence,
        merchantId,
        number,
        version: next.version,
        at,
      });
      this.#outbox.push(row);
      numbered.push(row);
      for (const endpoint of endpoints)
        this.#writeDelivery(
          Object.freeze(newDelivery({ ...row, endpoint }, at, batchFor.includes(endpoint))),
        );
    }
  }

  #writeDelivery(next: Delivery): void {
    this.#deliveries.write(next);
    this.#due.write(next);
  }

  #park({ merchantId, parking }: Change): void {
    if (parking === undefined || this.#accounts.get(merchantId)?.version !== parking.accountVersion)
      return;
    this.#due.park({ merchantId, queue: parking.queue }, parking.until);
  }

  #writeCard({ merchantId, card, cardUse, cardErasure }: Change): void {
    if (cardErasure !== undefined) {
      const key = keyOf(merchantId, cardErasure.tokenDigest);
      const stored = this.#cards.get(key);
      if (stored !== undefined && stored.lastUsedAt < cardErasure.unusedSince) {
        this.#cards.delete(key);
        this.#cardPositions.delete(key);
      }
    }
    if (card !== undefined) {
      const key = keyOf(merchantId, card.next.tokenDigest);
      const from = keyOf(merchantId, card.from ?? card.next.tokenDigest);
      const stored = this.#cards.get(from);
      if (from !== key) this.#moveCard(from, key);
      if (stored === undefined) this.#cardPositions.set(key, (this.#lastCardPosition += 1));
      const { createdAt, lastUsedAt } = stored ?? card.next;
      this.#cards.set(
        key,
        Object.freeze({
          ...card.next,
          createdAt,
          lastUsedAt: later(lastUsedAt, card.next.lastUsedAt),
        }),
      );
    }
    if (cardUse !== undefined) {
      const key = keyOf(merchantId, cardUse.tokenDigest);
      const stored = this.#cards.get(key);
      if (stored !== undefined)
        this.#cards.set(
          key,
          Object.freeze({ ...stored, lastUsedAt: later(stored.lastUsedAt, cardUse.at) }),
        );
    }
  }

  /** The card keeps its position in the order in which cards were stored. */
  #moveCard(from: string, to: string): void {
    for (const values of [this.#cardPositions, this.#cards] as readonly Map<string, unknown>[]) {
      const moved = Array.from(values, ([key, value]) => [key === from ? to : key, value] as const);
      values.clear();
      for (const [key, value] of moved) values.set(key, value);
    }
  }

  #writeAccount({ merchantId, account }: Change): void {
    if (account === undefined) return;
    this.#accounts.set(merchantId, account.next);
    this.#due.unpark(merchantId);
    if (this.#options.isFull !== undefined)
      this.#settingsLengths.set(merchantId, JSON.stringify(account.next.settings).length);
    for (const { digest, grants, mac } of account.keys)
      this.#accountKeys.set(digest, { merchantId, grants, mac });
  }
}

function keyOf(first: string, second: string): string {
  return `${first} ${second}`;
}

const merchantIdLength = 8;

function isAnsweredBefore({ claimedAt, answer }: IdempotentRequest, before: Instant): boolean {
  return answer !== undefined && claimedAt < before;
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** The first `limit` of the values that pass. */
function taken<T>(values: Iterable<T>, limit: number, passes: (value: T) => boolean): readonly T[] {
  const found: T[] = [];
  for (const value of values) {
    if (found.length >= limit) break;
    if (passes(value)) found.push(value);
  }
  return found;
}

function later(left: Instant, right: Instant): Instant {
  return left > right ? left : right;
}
