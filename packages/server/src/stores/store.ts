import type { KeyDigest, MerchantId, PaymentId, TokenDigest } from "../kernel/ids.ts";
import type { Instant } from "../kernel/instant.ts";
import type { Slots } from "../kernel/slot.ts";
import type { Account } from "../merchant/account.ts";
import type {
  Delivery,
  DeliveryState,
  EndpointKey,
  Notification,
  QueueId,
  QueueKey,
} from "../notification/events.ts";
import type { MoneyOutcome } from "../payment/money-outcome.ts";
import type { PaymentState } from "../payment/payment-machine.ts";
import type { Payment } from "../payment/payment.ts";
import type { RefundId } from "../payment/refund.ts";
import type { PeopleStore } from "../user/user-store.ts";
import type { Brand } from "../vault/brand.ts";
import type { StoredCard } from "../vault/stored-card.ts";
import type {
  AccountKey,
  Change,
  CommitResult,
  DeliveryName,
  HistoryRow,
  NamedRequest,
} from "./change.ts";
import type { IdentityStore } from "./identity.ts";

/**
 * Port: everything that is kept. Reads see every change that was acknowledged before they began.
 * All methods reject with StoreError and nothing else, but for a change that breaks
 * change-rules.ts: that one is a BrokenInvariant, and nothing of it is written. Values returned are
 * frozen or fresh: a caller may keep them.
 */
export interface Store {
  /**
   * The account that an integration key opens, found by the key's SHA-256; undefined when there is
   * none.
   */
  accountByKey(digest: KeyDigest): Promise<AccountByKey | undefined>;
  /** The integration keys of all accounts, in the order of their digests. There are few. */
  accountKeys(): Promise<readonly StoredAccountKey[]>;
  /** The account with this id; undefined when there is none. */
  accountById(merchantId: MerchantId): Promise<Account | undefined>;
  /** All accounts, in the order of their ids. */
  accounts(): Promise<readonly Account[]>;

  /** Reads a payment of this merchant by its identifier; undefined when there is none. */
  paymentById(merchantId: MerchantId, id: PaymentId): Promise<Payment | undefined>;
  /** Reads a payment of this merchant by the merchant's own code; undefined when there is none. */
  paymentByCode(merchantId: MerchantId, code: string): Promise<Payment | undefined>;
  /**
   * The payment's history, oldest first; empty when there is no such payment. The asker is a
   * payment's request unless it is named.
   */
  history(merchantId: MerchantId, id: PaymentId, asker?: Asker): Promise<readonly HistoryRow[]>;
  /**
   * Reads the payment of this merchant that has a refund with this id or this code of the
   * merchant's; undefined when there is none.
   */
  paymentByRefund(
    merchantId: MerchantId,
    refund: { readonly id: RefundId } | { readonly code: string },
  ): Promise<Payment | undefined>;
  /**
   * Reads the initial stored-credential payment of this merchant that was given this network
   * transaction id, the one that was first committed last when there are several; undefined when
   * there is none.
   */
  paymentByMandate(merchantId: MerchantId, mandateId: string): Promise<Payment | undefined>;
  /**
   * Payments of all merchants with which the clock has business at `now` (dueAt(payment) <= now,
   * payment/due.ts), longest due first, those due at the same time in the order of their first
   * commits, at most `limit`. With `slots` only those of merchants in them; with `after`, a payment
   * as it was read before, only those that come after where it stood then.
   */
  paymentsDue(
    now: Instant,
    limit: number,
    slots?: Slots,
    after?: Payment,
  ): Promise<readonly Payment[]>;
  /**
   * Payments of all merchants with an attempt under way that do not need review, due or not, in no
   * order, at most `limit`.
   */
  paymentsInFlight(limit: number): Promise<readonly Payment[]>;

  /**
   * Payments of this merchant that the filter lets pass, in the order of their ids from the
   * greatest down: an id begins with the millisecond in which it was made, and grows within it as
   * far as one process has made them. From below `before` on, at most `limit`, and no more than
   * `lookAt` are looked at.
   */
  paymentsListed(
    merchantId: MerchantId,
    filter: PaymentFilter,
    page: ListPage,
  ): Promise<PaymentList>;

  /**
   * What is counted of this merchant's payments, in the order of their ids from the greatest down,
   * from below `before` on (from the greatest when it is undefined), at most `limit`. A quarter of
   * what the payments themselves cost.
   */
  paymentFigures(
    merchantId: MerchantId,
    before: PaymentId | undefined,
    limit: number,
  ): Promise<readonly PaymentFigure[]>;

  /**
   * Reads a stored card of this merchant by the digest of its token; undefined when there is none.
   */
  cardByToken(merchantId: MerchantId, digest: TokenDigest): Promise<StoredCard | undefined>;

  /**
   * What may be shown of this merchant's stored cards, in the order of their tokens' digests from
   * after `after` on, at most `limit`.
   */
  cardsListed(
    merchantId: MerchantId,
    after: TokenDigest | undefined,
    limit: number,
  ): Promise<readonly ListedCard[]>;

  /**
   * Stored cards of all merchants in the order in which they were stored, after `position` (0 for
   * the first), at most `limit`: for a job that looks at all of them, a piece at a time. Ends when
   * fewer than `limit` come.
   */
  cardsAfter(position: number, limit: number): Promise<readonly CardAge[]>;

  /**
   * This merchant's cards that have no MAC, in the order of their tokens' digests from after
   * `after` on, at most `limit`.
   */
  cardsWithoutMac(
    merchantId: MerchantId,
    after: TokenDigest | undefined,
    limit: number,
  ): Promise<readonly StoredCard[]>;

  /**
   * Reads what this merchant's Idempotency-Key stands for; undefined when it was never used, or was
   * deleted.
   */
  namedRequest(merchantId: MerchantId, key: string): Promise<NamedRequest | undefined>;
  /**
   * Idempotency-Keys of all merchants that have an answer and were claimed before `before`, the
   * oldest first, at most `limit`.
   */
  answeredRequests(before: Instant, limit: number): Promise<readonly RequestKey[]>;

  /**
   * Notifications of this merchant in the order of their numbers, from after `number`, at most
   * `limit`.
   */
  notificationsOf(
    merchantId: MerchantId,
    number: number,
    limit: number,
  ): Promise<readonly OutboxRow[]>;
  /**
   * The last notifications that tell of this merchant's payment, at most `limit`, oldest first. The
   * asker is a person unless it is named.
   */
  notificationsOfPayment(
    merchantId: MerchantId,
    id: PaymentId,
    limit: number,
    asker?: Asker,
  ): Promise<readonly OutboxRow[]>;
  /**
   * Deliveries of this merchant's notifications, in the order of their numbers and then of their
   * endpoints' names, from number `from` on, at most `limit`; with `state`, only those in it. The
   * asker is a person unless it is named.
   */
  deliveriesOf(
    merchantId: MerchantId,
    from: number,
    limit: number,
    state?: OpenDeliveryState,
    asker?: Asker,
  ): Promise<readonly Delivery[]>;
  /**
   * The same of the notifications numbered from `first` to `last`. It reads nothing of others, also
   * where deliveries of these were deleted.
   */
  deliveriesBetween(
    merchantId: MerchantId,
    first: number,
    last: number,
    limit: number,
  ): Promise<readonly Delivery[]>;
  /**
   * Deliveries of all merchants that ended before `before`, those that ended first first, at most
   * `limit`.
   */
  endedDeliveries(before: Instant, limit: number): Promise<readonly EndedDelivery[]>;
  /**
   * Merchants with a delivery that may be tried at `now`, those whose earliest is longest due
   * first, then in the order of their ids; from after `after` on, at most `limit`. With `slots`
   * only merchants in them. A parked queue does not count before its time.
   */
  merchantsDue(
    now: Instant,
    after: DueMerchant | undefined,
    limit: number,
    slots?: Slots,
  ): Promise<readonly DueMerchant[]>;
  /**
   * Queues of this merchant with a delivery that may be tried at `now`, in the same order, then in
   * that of their names; from after `after` on, at most `limit`.
   */
  queuesDue(
    merchantId: MerchantId,
    now: Instant,
    after: DueQueue | undefined,
    limit: number,
  ): Promise<readonly DueQueue[]>;
  /**
   * Deliveries of this queue that may be tried at `now`, parked or not: waiting, their time has
   * come, and no delivery to the same endpoint with a lower number that tells of the same payment
   * is waiting and in order. Longest due first, then by number, then by endpoint, at most `limit`.
   * Of a message that holds several its first stands for all, whatever the others wait for.
   */
  deliveriesDue(of: QueueKey, now: Instant, limit: number): Promise<readonly Delivery[]>;
  /**
   * Deliveries to this endpoint that go together in the message of this number, in the order of
   * their numbers; 100 at most are.
   */
  deliveriesOfMessage(to: EndpointKey, message: number): Promise<readonly Delivery[]>;

  /**
   * Applies the change whole, durably, or not at all. When it rejects with `commit_unknown`, the
   * change may or may not have been applied, now or a moment later: the caller must not act as if
   * it knew. `unavailable` means that nothing was applied. When several keys are in the way, the
   * answer names the first of: delivery, payment version, payment code, payment id, id and code of
   * each refund that the payment did not have before, card, account, account key. A payment keeps
   * the order and the time of creation of its first version, a card its time of creation; a card's
   * last use is the latest of all that were committed.
   */
  commit(change: Change): Promise<CommitResult>;

  /**
   * Says that this node lives, for `leaseMs` from now by the store's clock (a minute at most).
   * Gives back those of its slots that `giveBack` names, and takes free ones, lowest first, until
   * it has its share; what it has beyond that it keeps until it gives it back. A slot is free while
   * nobody who lives holds it. Every living node's share is the slots divided by the nodes, and one
   * more for the first nodes in the order of their names while some are left over. Kept less surely
   * than changes: after a crash of the store it may be as it was a moment before. `node` is 16 hex
   * characters.
   *
   * Each call settles in the end. One that fails may take effect all the same, up to 10 s later;
   * the same holds for `leaveSlots`.
   *
   * A store that refuses a second process gives everything to whoever asks.
   */
  holdSlots(node: string, leaseMs: number, giveBack: readonly number[]): Promise<HeldSlots>;
  /**
   * The time of the clock that all processes on this store share; a store that only one process may
   * have has none.
   */
  time?(): Promise<Instant>;
  /**
   * Notes that this node's clock is `aheadMs` ahead of `time`; undefined: that it does not count as
   * right any more. Where there is `time`. Kept like slots.
   */
  noteClock?(node: string, aheadMs: number | undefined): Promise<void>;
  /** What other nodes noted. Where there is `time`. */
  clockReadings?(node: string): Promise<ClockReadings>;
  /** The node lives no longer, and holds nothing. */
  leaveSlots(node: string): Promise<void>;
  /**
   * Removes from the store's own files what deleted rows have left in them. Resolves with whether
   * nothing is left: false on a store that keeps old versions of rows by itself, and while another
   * connection still reads them.
   */
  eraseRemains(): Promise<boolean>;
  /** Resolves when everything accepted has been written; later calls reject with `closed`. */
  close(): Promise<void>;
}

/** Readings of nodes that are older than this are of nodes that may be gone. */
export const freshReadingMs = 15_000;

/** How far the clocks of nodes are ahead of the store's, in milliseconds. */
export interface ClockReadings {
  /**
   * Of the other nodes that noted theirs in the last `freshReadingMs` and count as right, the
   * smallest first.
   */
  readonly others: readonly number[];
  /** The latest that any node noted, this one included, however long ago. */
  readonly last: number | undefined;
}

/**
 * On whose behalf a read is. A store that other processes share may let a person's reads wait for
 * each other, refuse them as `overloaded`, and end one that takes long (`timed_out`); these are the
 * lists, the figures, and what is asked for a person by name. What a payment's request or a job
 * reads waits for none of them.
 */
export type Asker = "person" | "payment" | "job";

export interface AccountByKey extends Omit<AccountKey, "digest"> {
  readonly account: Account;
}

export interface StoredAccountKey extends AccountKey {
  readonly merchantId: MerchantId;
}

/** Counters since the store was opened, and the queue's length now. */
export interface StoreStats {
  /** Transactions that wrote something: each costs one fsync. */
  readonly commits: number;
  /** Changes that were answered, whatever the answer. */
  readonly changes: number;
  readonly largestBatch: number;
  /** Changes that wait for their answer. */
  readonly queued: number;
}

/** A store that a server runs on. */
export interface RunningStore extends Store {
  /** Those who use the console, and the audit log. Closed with the store. */
  readonly people: PeopleStore;
  /** Whose keys open the database, and how far it has come. Closed with the store. */
  readonly identity: IdentityStore;
  /** false: what was written last failed, so the next change will probably be refused. */
  readonly isWriting: boolean;
  /**
   * Writes something small that changes nothing, to find out whether writing works. Resolves with
   * what it found.
   */
  tryWriting(): Promise<boolean>;
  stats(): StoreStats;
  /**
   * Has what only the write-ahead log holds copied into the database file, where the store is a
   * file.
   */
  checkpoint?(): void;
  /**
   * Whether a node of a version that knows neither keyed token digests nor MACs serves the same
   * database.
   */
  hasOlderNodes(): Promise<boolean>;
  /** Removes the token digests of earlier versions from this merchant's payments. */
  dropTokenDigests(merchantId: MerchantId): Promise<void>;
  /** Figures of the database for operators, where the store is a database server's. */
  figures?(): Promise<DatabaseFigures>;
}

/** Sizes of the large tables with their indexes, in bytes, and ages in transactions. */
export interface DatabaseFigures {
  readonly paymentBytes: number;
  readonly historyBytes: number;
  readonly outboxBytes: number;
  readonly deliveryBytes: number;
  readonly requestBytes: number;
  readonly cardBytes: number;
  /** Of the oldest row that is not frozen. */
  readonly frozenAge: number;
  /**
   * Of the oldest snapshot, replication slot or prepared transaction: rows that were replaced or
   * deleted since are not removed.
   */
  readonly snapshotAge: number;
}

/** Deliveries that somebody may want to do something about. */
export type OpenDeliveryState = Exclude<DeliveryState, "delivered">;

export interface OutboxRow extends Notification {
  /** Grows with each commit, without promise of being gapless. */
  readonly sequence: number;
  readonly merchantId: MerchantId;
  /** Counts up from 1 within the merchant, without a gap. */
  readonly number: number;
  /** Version of the payment that the notification tells of. */
  readonly version: number;
  readonly at: Instant;
}

/** A merchant with a delivery that is due, and since when. */
export interface DueMerchant {
  readonly merchantId: MerchantId;
  readonly dueAt: Instant;
}

/** A queue of a merchant with a delivery that is due, and since when. */
export interface DueQueue {
  readonly queue: QueueId;
  readonly dueAt: Instant;
}

export interface HeldSlots {
  /** What the node holds now, in ascending order. */
  readonly slots: readonly number[];
  /** How many it should hold. */
  readonly share: number;
  /** How many nodes live, this one among them. */
  readonly nodes: number;
}

/** What is not given lets every payment pass. */
export interface PaymentFilter {
  /** Only payments in one of these states, or whose money is in one of the outcomes. */
  readonly states?: readonly PaymentState[];
  readonly outcomes?: readonly MoneyOutcome[];
  readonly brand?: Brand;
  /**
   * Words that are all found in the code, the id, the customer's name or e-mail address, the masked
   * number, the brand, the amounts, the currencies, the country or the state; payment-list.ts says
   * how.
   */
  readonly text?: string;
}

export interface ListPage {
  /** Where to go on from: what the page before said as `next`. */
  readonly before?: PaymentId;
  readonly limit: number;
  /**
   * Bounds the work: a page may be over with fewer than `limit`, or none, and still have a `next`.
   */
  readonly lookAt: number;
}

export interface PaymentList {
  readonly payments: readonly Payment[];
  /** The last one that was looked at; undefined when there is none below it. */
  readonly next: PaymentId | undefined;
}

export interface PaymentFigure {
  readonly id: PaymentId;
  readonly createdAt: Instant;
  readonly state: PaymentState;
  readonly brand: Brand;
  /** Of both amounts. */
  readonly currency: string;
  readonly authorized: bigint;
  readonly captured: bigint;
}

export interface ListedCard extends Pick<
  StoredCard,
  "tokenDigest" | "brand" | "maskedPan" | "createdAt" | "lastUsedAt"
> {
  /** Its place in the order in which cards were stored. */
  readonly position: number;
}

/** A delivery that was delivered or has failed. */
export interface EndedDelivery extends DeliveryName {
  readonly merchantId: MerchantId;
}

/** An Idempotency-Key of a merchant. */
export interface RequestKey {
  readonly merchantId: MerchantId;
  readonly key: string;
}

export interface CardAge {
  /** Where to go on from. */
  readonly position: number;
  readonly merchantId: MerchantId;
  readonly tokenDigest: TokenDigest;
  readonly lastUsedAt: Instant;
}

/**
 * Why a store call failed. The message is fixed text: nothing of the driver's own words leaves the
 * store.
 */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly code: "unavailable" | "commit_unknown" | "overloaded" | "timed_out" | "closed";

  constructor(code: StoreError["code"]) {
    super(storeErrorTexts[code]);
    this.code = code;
  }
}

const storeErrorTexts = {
  unavailable: "the store could not do this; nothing was written",
  commit_unknown: "the store did not say whether the change was written",
  overloaded: "the store's queue is full; nothing was written",
  timed_out: "the store ended a read that took longer than a person's read may",
  closed: "the store is closed",
} as const;
