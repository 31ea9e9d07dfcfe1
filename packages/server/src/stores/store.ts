import type { KeyDigest, MerchantId, TokenDigest } from "../kernel/ids.ts";
import type { PaymentId } from "../payment/payment-id.ts";
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
import type { DeclineReason, Payment } from "../payment/payment.ts";
import type { RefundId } from "../payment/refund.ts";
import type { UserStore } from "../user/user-store.ts";
import type { Brand } from "../vault/brand.ts";
import type { StoredCard } from "../vault/stored-card.ts";
import type {
  AccountKey,
  Change,
  CommitResult,
  DeliveryKey,
  HistoryRow,
  IdempotentRequest,
} from "./change.ts";
import type { IdentityStore } from "./identity.ts";
import type { KeyRecordStore } from "./key-record-store.ts";

/**
 * Port to the persistent store. Reads see every change that was acknowledged before they began. All
 * methods reject only with StoreError, except that a change that breaks change-rules.ts rejects
 * with BrokenInvariant and nothing of it is written. Returned values are frozen or fresh: a caller
 * may keep them.
 */
export interface Store {
  /**
   * The account that an integration key opens, found by the key's SHA-256; undefined if there is
   * none.
   */
  accountByKey(digest: KeyDigest): Promise<AccountByKey | undefined>;
  /** The integration keys of all accounts, ordered by digest. There are few. */
  accountKeys(): Promise<readonly StoredAccountKey[]>;
  /** The account with this id; undefined if there is none. */
  accountById(merchantId: MerchantId): Promise<Account | undefined>;
  /** All accounts, ordered by id. */
  accounts(): Promise<readonly Account[]>;

  /** Reads a payment of this merchant by its identifier; undefined if there is none. */
  paymentById(merchantId: MerchantId, id: PaymentId): Promise<Payment | undefined>;
  /** Reads a payment of this merchant by the merchant's own code; undefined if there is none. */
  paymentByCode(merchantId: MerchantId, code: string): Promise<Payment | undefined>;
  /**
   * The payment's history, oldest first; empty if the payment does not exist. `priority` defaults to
   * `payment`.
   */
  history(
    merchantId: MerchantId,
    id: PaymentId,
    priority?: ReadPriority,
  ): Promise<readonly HistoryRow[]>;
  /**
   * Reads the payment of this merchant that has a refund with this id or this merchant code;
   * undefined if there is none.
   */
  paymentByRefund(
    merchantId: MerchantId,
    refund: { readonly id: RefundId } | { readonly code: string },
  ): Promise<Payment | undefined>;
  /**
   * Reads the initial stored-credential payment of this merchant that was given this network
   * transaction id; if there are several, the one whose first commit was last. Undefined if there
   * is none.
   */
  paymentByMandate(merchantId: MerchantId, mandateId: string): Promise<Payment | undefined>;
  /**
   * Payments of all merchants that have due work at `now` (dueAt(payment) <= now, payment/due.ts),
   * longest due first, then in the order of their first commits, at most `limit`. With `slots`,
   * only those of merchants in these slots; with `after`, a payment as it was read before, only
   * those that come after its position at that time.
   */
  paymentsDue(
    now: Instant,
    limit: number,
    slots?: Slots,
    after?: Payment,
  ): Promise<readonly Payment[]>;
  /**
   * Payments of all merchants with an attempt in flight that do not need review, due or not, in no
   * particular order, at most `limit`.
   */
  paymentsInFlight(limit: number): Promise<readonly Payment[]>;

  /**
   * Payments of this merchant that match the filter, by descending id, with ids below `before`, at
   * most `limit`. At most `maxExamined` payments are examined. An id begins with the millisecond of its
   * creation; within that millisecond, ids made by one process ascend.
   */
  paymentsListed(
    merchantId: MerchantId,
    filter: PaymentFilter,
    page: ListPage,
  ): Promise<PaymentList>;

  /**
   * The figures of this merchant's payments, by descending id, below `before` (from the greatest if
   * undefined), at most `limit`. Costs a quarter of reading the payments themselves.
   */
  paymentFigures(
    merchantId: MerchantId,
    before: PaymentId | undefined,
    limit: number,
  ): Promise<readonly PaymentFigure[]>;

  /**
   * Counts this merchant's payments by state and outcome: those with the greatest ids below `before`
   * (of all if undefined), at most `limit`. The group whose oldest payment is the newest comes first.
   */
  paymentsCounted(
    merchantId: MerchantId,
    before: PaymentId | undefined,
    limit: number,
  ): Promise<readonly PaymentGroup[]>;

  /**
   * Reads a stored card of this merchant by the digest of its token; undefined if there is none.
   */
  cardByToken(merchantId: MerchantId, digest: TokenDigest): Promise<StoredCard | undefined>;

  /**
   * The displayable data of this merchant's stored cards, ordered by token digest, after `after`,
   * at most `limit`.
   */
  cardsListed(
    merchantId: MerchantId,
    after: TokenDigest | undefined,
    limit: number,
  ): Promise<readonly ListedCard[]>;

  /**
   * This merchant's stored cards, ordered by token digest, after `after`, at most `limit`. For a job
   * that encrypts them again.
   */
  cardsOf(
    merchantId: MerchantId,
    after: TokenDigest | undefined,
    limit: number,
  ): Promise<readonly StoredCard[]>;

  /**
   * Stored cards of all merchants in the order in which they were stored, after `position` (0 for
   * the first), at most `limit`. For a job that scans all cards in pages: a page with fewer than
   * `limit` cards is the last.
   */
  cardsAfter(position: number, limit: number): Promise<readonly CardAge[]>;

  /**
   * This merchant's cards without a MAC, ordered by token digest, after `after`, at most `limit`.
   */
  cardsWithoutMac(
    merchantId: MerchantId,
    after: TokenDigest | undefined,
    limit: number,
  ): Promise<readonly StoredCard[]>;

  /**
   * Reads the request recorded under this merchant's Idempotency-Key; undefined if the key was
   * never used or was deleted.
   */
  namedRequest(merchantId: MerchantId, key: string): Promise<IdempotentRequest | undefined>;
  /**
   * Idempotency-Keys of all merchants that have an answer and were claimed before `before`, oldest
   * first, at most `limit`.
   */
  answeredRequests(before: Instant, limit: number): Promise<readonly RequestKey[]>;

  /** Notifications of this merchant, ordered by number, after `number`, at most `limit`. */
  notificationsOf(
    merchantId: MerchantId,
    number: number,
    limit: number,
  ): Promise<readonly OutboxRow[]>;
  /**
   * The last notifications about this merchant's payment, at most `limit`, oldest first. `priority`
   * defaults to `user`.
   */
  notificationsOfPayment(
    merchantId: MerchantId,
    id: PaymentId,
    limit: number,
    priority?: ReadPriority,
  ): Promise<readonly OutboxRow[]>;
  /**
   * Deliveries of this merchant's notifications, ordered by number, then by endpoint name, from
   * number `from`, at most `limit`; with `state`, only those in that state. `priority` defaults to
   * `user`.
   */
  deliveriesOf(
    merchantId: MerchantId,
    from: number,
    limit: number,
    state?: OpenDeliveryState,
    priority?: ReadPriority,
  ): Promise<readonly Delivery[]>;
  /**
   * The same for the notifications numbered `first` to `last`. Never reads other notifications,
   * even where deliveries of these were deleted.
   */
  deliveriesBetween(
    merchantId: MerchantId,
    first: number,
    last: number,
    limit: number,
  ): Promise<readonly Delivery[]>;
  /**
   * What became of the deliveries about these payments of the merchant, in no particular order.
   * Payments without deliveries are left out. `ids`: at most 100.
   */
  deliverySums(merchantId: MerchantId, ids: readonly PaymentId[]): Promise<readonly DeliverySum[]>;
  /**
   * Deliveries of all merchants that ended before `before`, earliest end first, at most `limit`.
   */
  endedDeliveries(before: Instant, limit: number): Promise<readonly EndedDelivery[]>;
  /**
   * Merchants with a delivery that may be attempted at `now`, longest due first by their earliest
   * delivery, then ordered by id; after `after`, at most `limit`. With `slots`, only merchants in
   * these slots. A parked queue is not due before its parking ends.
   */
  merchantsDue(
    now: Instant,
    after: DueMerchant | undefined,
    limit: number,
    slots?: Slots,
  ): Promise<readonly DueMerchant[]>;
  /**
   * Queues of this merchant with a delivery that may be attempted at `now`, longest due first, then
   * by name; after `after`, at most `limit`.
   */
  queuesDue(
    merchantId: MerchantId,
    now: Instant,
    after: DueQueue | undefined,
    limit: number,
  ): Promise<readonly DueQueue[]>;
  /**
   * Deliveries of this queue that may be attempted at `now`, parked or not: they are waiting, their
   * time has come, and no delivery to the same endpoint with a lower number about the same payment
   * is waiting and in order. Longest due first, then by number, then by endpoint, at most `limit`.
   * A message with several deliveries is represented by its first, whatever the others wait for.
   */
  deliveriesDue(of: QueueKey, now: Instant, limit: number): Promise<readonly Delivery[]>;
  /**
   * Deliveries to this endpoint that belong to the message with this number, ordered by number; at
   * most 100.
   */
  deliveriesOfMessage(to: EndpointKey, message: number): Promise<readonly Delivery[]>;

  /**
   * Applies the change atomically and durably, or not at all. After a rejection with
   * `commit_unknown` the change may have been applied, now or a moment later; the caller must not
   * assume either. `unavailable` means that nothing was applied. If several keys conflict, the
   * result names the first of: delivery, payment version, payment code, payment id, id and code of
   * each refund that the payment did not have before, card, account, account key. A payment keeps
   * the order and creation time of its first version, a card its creation time; a card's last use
   * is the latest of all that were committed.
   */
  commit(change: Change): Promise<CommitResult>;

  /**
   * Renews this node's lease for `leaseMs` from now by the store's clock (a minute at most).
   * Releases the slots in `release` and takes free ones, lowest first, up to its share; slots
   * beyond the share are kept until they are given back. A slot is free if no live node holds it.
   * Each live node's share is the slots divided by the nodes; the first nodes by name get one more
   * each until the remainder is used up. Less durable than changes: a crash of the store may lose
   * the most recent updates. `node` is 16 hex characters.
   *
   * Each call settles eventually. A call that fails may still take effect up to 10 s later; the
   * same holds for `releaseSlots`.
   *
   * A store that only one process can open gives all slots to its caller.
   */
  renewSlots(node: string, leaseMs: number, release: readonly number[]): Promise<NodeSlots>;
  /**
   * The time of the clock that all processes on this store share; absent on a store that only one
   * process can open.
   */
  time?(): Promise<Instant>;
  /**
   * Records that this node's clock is `aheadMs` ahead of `time`; undefined: the clock is no longer
   * trusted. Present where `time` is. As durable as slots.
   */
  noteClock?(node: string, aheadMs: number | undefined): Promise<void>;
  /** The readings that other nodes recorded. Present where `time` is. */
  clockReadings?(node: string): Promise<ClockReadings>;
  /** Ends the node's lease and releases its slots. */
  releaseSlots(node: string): Promise<void>;
  /**
   * Removes the remains of deleted rows from the store's own files. Resolves with whether nothing
   * is left: false on a store that keeps old row versions itself, and while another connection
   * still reads them.
   */
  eraseRemains(): Promise<boolean>;
  /** Resolves when every accepted change has been written; later calls reject with `closed`. */
  close(): Promise<void>;
}

/** Clock readings older than this are ignored: their nodes may be gone. */
export const freshReadingMs = 15_000;

/** How far the clocks of nodes are ahead of the store's clock, in milliseconds. */
export interface ClockReadings {
  /** Readings of the other nodes with a trusted clock from the last `freshReadingMs`, ascending. */
  readonly others: readonly number[];
  /** The latest reading of any node, including this one, whatever its age. */
  readonly last: number | undefined;
}

/**
 * On whose behalf a read runs. A store that other processes share may queue the reads of persons,
 * refuse them as `overloaded`, and abort a slow one (`timed_out`): these are the lists, the
 * figures, and the reads with priority `interactive`. Reads of payment requests and jobs never wait for
 * them.
 */
export type ReadPriority = "interactive" | "payment" | "job";

export interface AccountByKey extends Omit<AccountKey, "digest"> {
  readonly account: Account;
}

export interface StoredAccountKey extends AccountKey {
  readonly merchantId: MerchantId;
}

/** Counters since the store was opened, and the current queue length. */
export interface StoreStats {
  /** Transactions that wrote something; each costs one fsync. */
  readonly commits: number;
  /** Changes that were answered, with any outcome. */
  readonly changes: number;
  readonly largestBatch: number;
  /** Changes waiting for their answer. */
  readonly queued: number;
}

/** A store that a server runs on. */
export interface RunningStore extends Store {
  /** Console users and the audit log. Closed with the store. */
  readonly users: UserStore;
  /** Wrapped keys. Closed with the store. */
  readonly keys: KeyRecordStore;
  /** The keys that open the database, and its progress. Closed with the store. */
  readonly identity: IdentityStore;
  /** false: the last write failed, so the next change will probably be refused. */
  readonly isWriting: boolean;
  /**
   * Writes something small that changes nothing, to test whether writing works. Resolves with the
   * result.
   */
  testWrite(): Promise<boolean>;
  stats(): StoreStats;
  /**
   * Copies what only the write-ahead log holds into the database file, on a store that is a file.
   */
  checkpoint?(): void;
  /** Whether a node of a version without keyed token digests and MACs uses the same database. */
  hasOlderNodes(): Promise<boolean>;
  /** Removes the token digests of earlier versions from this merchant's payments. */
  dropTokenDigests(merchantId: MerchantId): Promise<void>;
  /** Database figures for operators, on a store that uses a database server. */
  figures?(): Promise<DatabaseFigures>;
  /**
   * What the login may do beyond what a server needs, such as changing tables, on a store that uses
   * a database server. Each completes "the login ...".
   */
  loginRights?(): Promise<readonly string[]>;
}

/** Sizes of the large tables with their indexes, in bytes, and ages in transactions. */
export interface DatabaseFigures {
  readonly paymentBytes: number;
  readonly historyBytes: number;
  readonly outboxBytes: number;
  readonly deliveryBytes: number;
  readonly requestBytes: number;
  readonly cardBytes: number;
  /** Age of the oldest row that is not frozen. */
  readonly frozenAge: number;
  /**
   * Age of the oldest snapshot, replication slot or prepared transaction: rows replaced or deleted
   * since then are not removed.
   */
  readonly snapshotAge: number;
}

/** What became of the deliveries about one payment. */
export interface DeliverySum {
  readonly paymentId: PaymentId;
  /** Endpoints with a delivery. */
  readonly receivers: number;
  /** Those of them to which all is delivered. */
  readonly notified: number;
  /** Those with a delivery that has finally failed. */
  readonly failed: number;
  /** When the oldest waiting delivery was requested; undefined if none waits. */
  readonly waitingSince: Instant | undefined;
}

/** States of deliveries that may need an operator's attention. */
export type OpenDeliveryState = Exclude<DeliveryState, "delivered">;

export interface OutboxRow extends Notification {
  /** Increases with each commit; gaps are possible. */
  readonly sequence: number;
  readonly merchantId: MerchantId;
  /** Counts up from 1 within the merchant, without gaps. */
  readonly number: number;
  /** Version of the payment that the notification is about. */
  readonly version: number;
  readonly at: Instant;
}

/** A merchant with a due delivery, and since when it is due. */
export interface DueMerchant {
  readonly merchantId: MerchantId;
  readonly dueAt: Instant;
}

/** A queue of a merchant with a due delivery, and since when it is due. */
export interface DueQueue {
  readonly queue: QueueId;
  readonly dueAt: Instant;
}

export interface NodeSlots {
  /** The slots that the node holds now, ascending. */
  readonly slots: readonly number[];
  /** How many slots it should hold. */
  readonly share: number;
  /** The number of live nodes, including this one. */
  readonly nodes: number;
}

/** An omitted member matches every payment. */
export interface PaymentFilter {
  /** Only payments in one of these states, or whose money has one of the outcomes. */
  readonly states?: readonly PaymentState[];
  readonly outcomes?: readonly MoneyOutcome[];
  readonly brand?: Brand;
  /**
   * Words that must all be found in the code, the id, the customer's name or e-mail address, the
   * masked number, the brand, the amounts, the currencies, the country or the state;
   * payment-list.ts defines the comparison.
   */
  readonly text?: string;
}

export interface ListPage {
  /** Where to continue: `next` of the previous page. */
  readonly before?: PaymentId;
  readonly limit: number;
  /**
   * Bounds the work: a page may end with fewer than `limit` payments, or none, and still have a
   * `next`.
   */
  readonly maxExamined: number;
  /**
   * Instead of `maxExamined`, for a filter that a store can test before it reads a payment, at a
   * fraction of the cost.
   */
  readonly maxTested?: number;
}

export interface PaymentList {
  readonly payments: readonly Payment[];
  /** The last payment that was examined; undefined if there is none below it. */
  readonly next: PaymentId | undefined;
}

export interface PaymentFigure {
  readonly id: PaymentId;
  readonly createdAt: Instant;
  readonly state: PaymentState;
  /** Undefined until a card is submitted on the payment's page. */
  readonly brand: Brand | undefined;
  /** ISO 3166-1 alpha-2, lower case. */
  readonly country: string;
  /** Currency of the amounts. */
  readonly currency: string;
  /** Why it was declined; undefined unless its state is `declined`. */
  readonly reason: DeclineReason | undefined;
  readonly authorized: bigint;
  readonly captured: bigint;
  readonly refunded: bigint;
  /** Whether the issuer charged it back, also if the merchant won since. */
  readonly disputed: boolean;
}

/** Payments of one state and outcome. */
export interface PaymentGroup {
  readonly state: PaymentState;
  /** What was refunded of the captured amount: all, a part, or nothing (undefined). */
  readonly refund: "refunded" | "partly_refunded" | undefined;
  /** Whether the issuer charged them back, also if the merchant won since. */
  readonly disputed: boolean;
  /** Number of payments, at least 1. */
  readonly payments: number;
  /** The least of their ids. */
  readonly oldest: PaymentId;
}

export interface ListedCard extends Pick<
  StoredCard,
  "tokenDigest" | "brand" | "maskedPan" | "createdAt" | "lastUsedAt"
> {
  /** Its position in the order in which cards were stored. */
  readonly position: number;
}

/** A delivery that was delivered or has failed. */
export interface EndedDelivery extends DeliveryKey {
  readonly merchantId: MerchantId;
}

/** An Idempotency-Key of a merchant. */
export interface RequestKey {
  readonly merchantId: MerchantId;
  readonly key: string;
}

export interface CardAge {
  /** The position to continue after. */
  readonly position: number;
  readonly merchantId: MerchantId;
  readonly tokenDigest: TokenDigest;
  readonly lastUsedAt: Instant;
}

/**
 * Why a store call failed. The message is fixed text: nothing from the driver's messages leaves the
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
