import type { DatabaseSync, StatementSync } from "node:sqlite";
import { assert } from "../../kernel/assert.ts";
import { endOfTurn } from "../../kernel/end-of-turn.ts";
import type { KeyDigest, MerchantId, TokenDigest } from "../../kernel/ids.ts";
import type { Scheduler } from "../../kernel/scheduler.ts";
import { systemScheduler } from "../../kernel/system-scheduler.ts";
import type { PaymentId } from "../../payment/payment-id.ts";
import type { Instant } from "../../kernel/instant.ts";
import { everySlot, slotCount, slotMask, type Slots } from "../../kernel/slot.ts";
import type { Account } from "../../merchant/account.ts";
import type { Delivery, EndpointKey, QueueKey } from "../../notification/events.ts";
import { dueAt } from "../../payment/due.ts";
import type { Payment } from "../../payment/payment.ts";
import type { RefundId } from "../../payment/refund.ts";
import type { UserStore } from "../../user/user-store.ts";
import type { StoredCard } from "../../vault/stored-card.ts";
import { assertChangeIsSound } from "../change-rules.ts";
import type { Change, CommitResult, HistoryRow, KeyGrant, IdempotentRequest } from "../change.ts";
import { PieceQueue } from "./piece-queue.ts";
import { aboveAllIds, narrowedBy, pageInPieces } from "../payment-list.ts";
import { ReadAhead } from "../read-ahead.ts";
import { StoreError } from "../store.ts";
import type {
  AccountByKey,
  CardAge,
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
  RunningStore,
  StoredAccountKey,
  StoreStats,
} from "../store.ts";
import { changeIndex, messageOf, type Outcome, paymentIndex } from "../change-message.ts";
import { commitResultOf } from "../commit-result.ts";
import {
  type Identity,
  identityFromRow,
  type IdentityRaise,
  type IdentityRow,
  type IdentityStore,
} from "../identity.ts";
import type { KeyRecordStore } from "../key-record-store.ts";
import { makeFilesPrivate, makeFolderOf } from "./data-folder.ts";
import {
  deliveriesInState,
  deliveryColumns,
  deliveryFromRow,
  type DeliveryRow,
  keyOfLane,
  notificationColumns,
} from "./delivery-rows.ts";
import { laneOf } from "./delivery-writer.ts";
import { EmbeddedKeys } from "./embedded-keys.ts";
import { EmbeddedUsers } from "./embedded-users.ts";
import { InlineWriter } from "./inline-writer.ts";
import { ListedPayments } from "./listed-payments.ts";
import { openForReading, type Upgrading } from "./open-database.ts";
import { orderIndex } from "../order-row.ts";
import {
  accountFromRow,
  accountKeyFromRow,
  deliverySumFromRow,
  type DeliverySumRow,
  figureFromRow,
  historyFromRow,
  namedRequestFromRow,
  paymentColumns,
  paymentFromRow,
  paymentGroupFromRow,
  refundInSql,
} from "../rows.ts";
import type {
  AccountKeyRow,
  AccountRow,
  FigureRow,
  NamedRequestRow,
  PackedHistoryRow,
  PaymentGroupRow,
  PaymentRow,
} from "../rows.ts";
import { temporaryFile } from "./temporary-file.ts";
import { WriterThread } from "./writer-thread.ts";
import type { Writer } from "./writer.ts";
import { WrittenPayments } from "./written-payments.ts";

export interface EmbeddedStoreOptions {
  /**
   * Path of the database file, created with its directory if missing; `-wal`, `-shm` and `-lock`
   * files are beside it. `:memory:`: the same code on a private temporary file that is never synced
   * and is unlinked once it is open: its blocks are freed however the process ends. (On Windows,
   * where an open file keeps its name, it is removed when the store is closed.)
   */
  readonly file: string;
  /**
   * Maximum number of changes that wait for their commit; more are refused as `overloaded`. Default
   * 4,096.
   */
  readonly maxQueued?: number;
  /**
   * Maximum size of the file: beyond it changes are refused as `unavailable`, reads continue.
   * Default: no limit.
   */
  readonly maxFileBytes?: number;
  /** true: the installation exists, so a file without tables is refused. */
  readonly expectTables?: boolean;
  /** Called when writing starts to fail, and when it succeeds again. */
  readonly onWriting?: (works: boolean) => void;
  /**
   * Called before the store is open, before each long step of the upgrade of an earlier version's
   * file.
   */
  readonly onUpgrading?: (upgrading: Upgrading) => void;
  /** For the pauses of reads ahead. Default: real timers. */
  readonly scheduler?: Scheduler;
}

/**
 * The default store: one SQLite file, a writer thread that groups changes into durable commits, and
 * point reads on the caller's thread. A `:memory:` store also writes on the caller's thread.
 * Rejects with StoreOpenError if the file is locked, foreign, damaged or of a newer version.
 */
export async function openEmbeddedStore({
  file: named,
  maxQueued = 4_096,
  maxFileBytes,
  expectTables = false,
  onWriting = () => undefined,
  onUpgrading = () => undefined,
  scheduler = systemScheduler,
}: EmbeddedStoreOptions): Promise<RunningStore> {
  const temporary = named === ":memory:" ? temporaryFile() : undefined;
  const file = temporary?.file ?? named;
  if (temporary === undefined) makeFolderOf(file);
  makeFilesPrivate(file);
  try {
    const database = { file, durable: temporary === undefined, maxFileBytes, expectTables };
    const options = { maxQueued, onWriting };
    const writer = database.durable
      ? await WriterThread.start(database, options, onUpgrading)
      : new InlineWriter(database, options);
    const store = new SqliteStore(openForReading(file), writer, scheduler, () =>
      temporary?.remove(),
    );
    // Every connection has read something, so all files that SQLite uses are open.
    if (process.platform !== "win32") temporary?.remove();
    return store;
  } catch (error) {
    temporary?.remove();
    throw error;
  }
}

/**
 * Owns the read-only connection and its statements, the writer, and the cache of recently written
 * payments.
 */
class SqliteStore implements RunningStore {
  readonly users: UserStore;
  readonly keys: KeyRecordStore;
  readonly identity: IdentityStore = {
    read: async () => this.#identity(),
    raise: (raise) => this.#raiseIdentity(raise),
  };
  readonly #reader: DatabaseSync;
  readonly #writer: Writer;
  readonly #afterClose: () => void;
  readonly #statements: Record<StatementName, StatementSync>;
  readonly #written = new WrittenPayments();
  readonly #lists = new PieceQueue();
  readonly #payments: ListedPayments;
  readonly #ahead: ReadAhead;
  #closed: Promise<void> | undefined;

  constructor(reader: DatabaseSync, writer: Writer, scheduler: Scheduler, afterClose: () => void) {
    this.#reader = reader;
    this.#writer = writer;
    this.#afterClose = afterClose;
    this.#statements = prepareAll(reader);
    this.#payments = new ListedPayments(reader);
    this.#ahead = new ReadAhead(
      (merchant, before) => this.#lists.run(() => this.#payments.readAhead(merchant, before)),
      scheduler,
    );
    const isClosed = (): boolean => this.#closed !== undefined;
    this.users = new EmbeddedUsers(reader, writer, isClosed);
    this.keys = new EmbeddedKeys(reader, writer, isClosed);
  }

  async accountByKey(digest: KeyDigest): Promise<AccountByKey | undefined> {
    const [row] = this.#rows<
      AccountRow & { readonly grants: KeyGrant; readonly mac: Uint8Array | null }
    >("accountByKey", digest);
    return row === undefined
      ? undefined
      : { account: accountFromRow(row), grants: row.grants, mac: row.mac ?? undefined };
  }

  async accountKeys(): Promise<readonly StoredAccountKey[]> {
    return this.#rows<AccountKeyRow>("accountKeys").map(accountKeyFromRow);
  }

  async accountById(merchantId: MerchantId): Promise<Account | undefined> {
    const [row] = this.#rows<AccountRow>("accountById", merchantId);
    return row === undefined ? undefined : accountFromRow(row);
  }

  async accounts(): Promise<readonly Account[]> {
    return this.#rows<AccountRow>("accounts").map(accountFromRow);
  }

  async paymentById(merchantId: MerchantId, id: PaymentId): Promise<Payment | undefined> {
    if (this.#closed !== undefined) throw new StoreError("closed");
    const written = this.#written.find(merchantId, id);
    if (written !== undefined) return written;
    const [row] = this.#rows<PaymentRow>("paymentById", merchantId, id);
    return row === undefined ? undefined : paymentFromRow(row);
  }

  async paymentByCode(merchantId: MerchantId, code: string): Promise<Payment | undefined> {
    const [row] = this.#rows<PaymentRow>("paymentByCode", merchantId, code);
    return row === undefined ? undefined : paymentFromRow(row);
  }

  async history(merchantId: MerchantId, id: PaymentId): Promise<readonly HistoryRow[]> {
    return this.#rows<PackedHistoryRow>("history", merchantId, id).map(historyFromRow);
  }

  async paymentByRefund(
    merchantId: MerchantId,
    refund: { readonly id: RefundId } | { readonly code: string },
  ): Promise<Payment | undefined> {
    const [row] =
      "id" in refund
        ? this.#rows<PaymentRow>("paymentByRefundId", refund.id, merchantId)
        : this.#rows<PaymentRow>("paymentByRefundCode", merchantId, refund.code);
    return row === undefined ? undefined : paymentFromRow(row);
  }

  async paymentByMandate(merchantId: MerchantId, mandateId: string): Promise<Payment | undefined> {
    const [row] = this.#rows<PaymentRow>("paymentByMandate", merchantId, mandateId);
    return row === undefined ? undefined : paymentFromRow(row);
  }

  async paymentsDue(
    now: Instant,
    limit: number,
    slots: Slots = everySlot,
    after?: Payment,
  ): Promise<readonly Payment[]> {
    const from = after === undefined ? undefined : dueAt(after);
    // A read completes synchronously: without this, no request would be served between two pages.
    if (from !== undefined) await endOfTurn();
    const rows = from === undefined ? [] : this.#dueTogether(from, slots, limit, after);
    const [next] =
      rows.length < limit
        ? this.#rows<{ readonly at: Instant | null }>("nextDue", from ?? beforeAllTime, now)
        : [];
    const nextAt = next?.at ?? undefined;
    if (nextAt !== undefined) rows.push(...this.#dueTogether(nextAt, slots, limit - rows.length));
    if (nextAt !== undefined && rows.length < limit)
      rows.push(
        ...this.#rows<PaymentRow>("paymentsDue", nextAt, now, slotMask(slots), limit - rows.length),
      );
    return rows.map(paymentFromRow);
  }

  /**
   * Payments that are due at one moment, in the order of their numbers, after the payment `after`.
   * There may be thousands. The index sorts them by whether an attempt is in flight, then by
   * number. So two reads of at most one page each are merged; one read would sort all of them.
   */
  #dueTogether(at: Instant, slots: Slots, limit: number, after?: Payment): PaymentRow[] {
    const { merchantId = "", id = "" } = after ?? {};
    return [0, 1]
      .flatMap((inFlight) =>
        this.#rows<PaymentRow & { readonly place: number }>(
          "paymentsDueAt",
          at,
          inFlight,
          merchantId,
          id,
          slotMask(slots),
          limit,
        ),
      )
      .toSorted((left, right) => left.place - right.place)
      .slice(0, limit);
  }

  async paymentsInFlight(limit: number): Promise<readonly Payment[]> {
    return this.#rows<PaymentRow>("paymentsInFlight", limit).map(paymentFromRow);
  }

  async paymentsListed(
    merchantId: MerchantId,
    filter: PaymentFilter,
    page: ListPage,
  ): Promise<PaymentList> {
    const narrowed = narrowedBy(filter);
    if (page.before === undefined) this.#ahead.listed(merchantId);
    const read = (before: string, left: number) =>
      this.#lists.run(() => {
        if (this.#closed !== undefined) throw new StoreError("closed");
        try {
          return this.#payments.piece(merchantId, narrowed, before, left);
        } catch {
          throw new StoreError("unavailable");
        }
      });
    return pageInPieces(read, filter, page);
  }

  async paymentFigures(
    merchantId: MerchantId,
    before: PaymentId | undefined,
    limit: number,
  ): Promise<readonly PaymentFigure[]> {
    return this.#lists.run(() =>
      this.#rows<FigureRow>("paymentFigures", merchantId, before ?? aboveAllIds, limit).map(
        figureFromRow,
      ),
    );
  }

  async paymentsCounted(
    merchantId: MerchantId,
    before: PaymentId | undefined,
    limit: number,
  ): Promise<readonly PaymentGroup[]> {
    return this.#lists.run(() =>
      this.#rows<PaymentGroupRow>("paymentsCounted", merchantId, before ?? aboveAllIds, limit).map(
        paymentGroupFromRow,
      ),
    );
  }

  async cardsListed(
    merchantId: MerchantId,
    after: TokenDigest | undefined,
    limit: number,
  ): Promise<readonly ListedCard[]> {
    return this.#lists.run(() =>
      this.#rows<ListedCard>("cardsListed", merchantId, after ?? "", limit).map((row) => ({
        ...row,
      })),
    );
  }

  async cardsAfter(position: number, limit: number): Promise<readonly CardAge[]> {
    return this.#rows<CardAge>("cardsAfter", position, limit);
  }

  async namedRequest(merchantId: MerchantId, key: string): Promise<IdempotentRequest | undefined> {
    const [row] = this.#rows<NamedRequestRow>("namedRequest", merchantId, key);
    return row === undefined ? undefined : namedRequestFromRow(key, row);
  }

  async answeredRequests(before: Instant, limit: number): Promise<readonly RequestKey[]> {
    return this.#rows<RequestKey>("answeredRequests", before, limit).map((row) => ({ ...row }));
  }

  async cardByToken(merchantId: MerchantId, digest: TokenDigest): Promise<StoredCard | undefined> {
    const [row] = this.#rows<CardByTokenRow>("cardByToken", merchantId, digest);
    if (row === undefined) return undefined;
    return {
      merchantId,
      tokenDigest: digest,
      version: row[0],
      ref: row[1],
      fingerprint: row[2],
      brand: row[3],
      maskedPan: row[4],
      createdAt: row[5],
      lastUsedAt: row[6],
      mac: row[7] ?? undefined,
    };
  }

  async cardsWithoutMac(
    merchantId: MerchantId,
    after: TokenDigest | undefined,
    limit: number,
  ): Promise<readonly StoredCard[]> {
    const rows = this.#rows<CardRow & Pick<StoredCard, "tokenDigest">>(
      "cardsWithoutMac",
      merchantId,
      after ?? "",
      limit,
    );
    return rows.map((row) => ({ ...row, merchantId, mac: undefined }));
  }

  async cardsOf(
    merchantId: MerchantId,
    after: TokenDigest | undefined,
    limit: number,
  ): Promise<readonly StoredCard[]> {
    const rows = this.#rows<CardRow & Pick<StoredCard, "tokenDigest">>(
      "cardsOf",
      merchantId,
      after ?? "",
      limit,
    );
    return rows.map((row) => ({ ...row, merchantId, mac: row.mac ?? undefined }));
  }

  async notificationsOf(
    merchantId: MerchantId,
    number: number,
    limit: number,
  ): Promise<readonly OutboxRow[]> {
    return this.#lists.run(() =>
      this.#rows<OutboxRow>("notificationsOf", merchantId, number, limit).map((row) => ({
        ...row,
      })),
    );
  }

  async notificationsOfPayment(
    merchantId: MerchantId,
    id: PaymentId,
    limit: number,
  ): Promise<readonly OutboxRow[]> {
    return this.#rows<OutboxRow>("notificationsOfPayment", merchantId, id, limit)
      .map((row) => ({ ...row }))
      .toReversed();
  }

  async deliveriesOf(
    merchantId: MerchantId,
    from: number,
    limit: number,
    state?: OpenDeliveryState,
  ): Promise<readonly Delivery[]> {
    return this.#lists.run(() => {
      const name =
        state === undefined
          ? "deliveriesOf"
          : state === "failed"
            ? "deliveriesFailed"
            : "deliveriesWaiting";
      return this.#rows<DeliveryRow>(name, merchantId, from, limit).map(deliveryFromRow);
    });
  }

  async deliveriesBetween(
    merchantId: MerchantId,
    first: number,
    last: number,
    limit: number,
  ): Promise<readonly Delivery[]> {
    return this.#lists.run(() =>
      this.#rows<DeliveryRow>("deliveriesBetween", merchantId, first, last, limit).map(
        deliveryFromRow,
      ),
    );
  }

  async deliverySums(
    merchantId: MerchantId,
    ids: readonly PaymentId[],
  ): Promise<readonly DeliverySum[]> {
    return this.#lists.run(() =>
      this.#rows<DeliverySumRow>("deliverySums", JSON.stringify(ids), merchantId).map(
        deliverySumFromRow,
      ),
    );
  }

  async endedDeliveries(before: Instant, limit: number): Promise<readonly EndedDelivery[]> {
    return this.#rows<Pick<DeliveryRow, "lane" | "number">>("endedDeliveries", before, limit).map(
      ({ lane, number }) => ({
        ...keyOfLane(lane),
        number,
      }),
    );
  }

  async merchantsDue(
    now: Instant,
    after: DueMerchant | undefined,
    limit: number,
    slots = everySlot,
  ): Promise<readonly DueMerchant[]> {
    const { dueAt: from = beforeAllTime, merchantId = "" } = after ?? {};
    return this.#rows<DueMerchant>(
      "merchantsDue",
      from,
      merchantId,
      now,
      slotMask(slots),
      limit,
    ).map((row) => ({ ...row }));
  }

  async queuesDue(
    merchantId: MerchantId,
    now: Instant,
    after: DueQueue | undefined,
    limit: number,
  ): Promise<readonly DueQueue[]> {
    const { dueAt: from = beforeAllTime, queue } = after ?? {};
    return this.#rows<DueQueue>(
      "queuesDue",
      merchantId,
      from,
      queue === undefined ? "" : laneOf(merchantId, queue),
      now,
      limit,
    ).map((row) => ({ ...row }));
  }

  async deliveriesDue(
    { merchantId, queue }: QueueKey,
    now: Instant,
    limit: number,
  ): Promise<readonly Delivery[]> {
    return this.#rows<DeliveryRow>("deliveriesDue", laneOf(merchantId, queue), now, limit).map(
      deliveryFromRow,
    );
  }

  async deliveriesOfMessage(
    { merchantId, endpoint }: EndpointKey,
    message: number,
  ): Promise<readonly Delivery[]> {
    return this.#rows<DeliveryRow>(
      "deliveriesOfMessage",
      laneOf(merchantId, endpoint),
      message,
    ).map(deliveryFromRow);
  }

  async commit(change: Change): Promise<CommitResult> {
    if (this.#closed !== undefined) throw new StoreError("closed");
    assertChangeIsSound(change);
    const message = messageOf(change);
    const payment = message[changeIndex.payment];
    const written =
      payment === undefined
        ? undefined
        : this.#written.submitted(message[changeIndex.merchant], payment);
    let outcome: Outcome;
    try {
      outcome = await this.#writer.submit(message);
    } finally {
      // Also if the outcome is unknown.
      if (payment?.[paymentIndex.orderJson] !== undefined)
        this.#payments.written(change.merchantId, payment[paymentIndex.id]);
    }
    if (outcome === "committed" && written !== undefined) written.isCommitted = true;
    const result = commitResultOf(outcome);
    return result === "payment_code" ? this.#takenBy(change) : result;
  }

  async renewSlots(): Promise<NodeSlots> {
    if (this.#closed !== undefined) throw new StoreError("closed");
    // The lock on the file excludes every other process.
    return { slots: Array.from(everySlot), share: slotCount, nodes: 1 };
  }

  async releaseSlots(): Promise<void> {
    if (this.#closed !== undefined) throw new StoreError("closed");
  }

  async eraseRemains(): Promise<boolean> {
    if (this.#closed !== undefined) throw new StoreError("closed");
    return this.#writer.truncateLog();
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  stats(): StoreStats {
    return this.#writer.stats();
  }

  get isWriting(): boolean {
    return this.#writer.isWriting;
  }

  /** The lock on the file excludes every other process. */
  async hasOlderNodes(): Promise<boolean> {
    return false;
  }

  async dropTokenDigests(): Promise<void> {
    // The migration of the file has done it.
  }

  async testWrite(): Promise<boolean> {
    return this.#closed === undefined && this.#writer.testWrite();
  }

  #identity(): Identity {
    return identityFromRow(this.#rows<IdentityRow>("identity")[0], undefined);
  }

  async #raiseIdentity(raise: IdentityRaise): Promise<Identity> {
    if (this.#closed !== undefined) throw new StoreError("closed");
    const outcome = await this.#writer.raiseIdentity({ raise });
    if (outcome !== "committed")
      throw new StoreError(outcome === "commit_unknown" ? outcome : "unavailable");
    return this.#identity();
  }

  checkpoint(): void {
    if (this.#closed === undefined) this.#writer.checkpoint();
  }

  #takenBy({ merchantId, payment }: Change): CommitResult {
    assert(payment !== undefined, "a payment code is taken by a payment");
    const [row] = this.#read<PaymentRow>("paymentByCode", [merchantId, payment.next.order.code]);
    assert(row !== undefined, "the payment whose code is taken is there");
    return { outcome: "duplicate", key: "payment_code", existing: paymentFromRow(row) };
  }

  async #close(): Promise<void> {
    this.#ahead.close();
    await this.#writer.drained();
    // The last connection to close empties the write-ahead log into the file, and only the writer's
    // can do that.
    this.#reader.close();
    await this.#writer.close();
    this.#afterClose();
  }

  #rows<Row>(name: StatementName, ...values: readonly (string | number)[]): Row[] {
    if (this.#closed !== undefined) throw new StoreError("closed");
    return this.#read<Row>(name, values);
  }

  #read<Row>(name: StatementName, values: readonly (string | number)[]): Row[] {
    try {
      return this.#statements[name].all(...values) as Row[];
    } catch {
      throw new StoreError("unavailable");
    }
  }
}

const beforeAllTime = -1;

export const sql = {
  identity: "SELECT keys, epoch, beat, is_copy, server FROM identity",
  accountByKey: `SELECT lower(hex(account.id)) AS id, version, name, settings, grants, mac FROM account_key
    JOIN account ON account.id = account_key.account WHERE digest = unhex(?)`,
  accountKeys: `SELECT lower(hex(digest)) AS digest, lower(hex(account)) AS "merchantId", grants, mac FROM account_key ORDER BY account_key.digest`,
  accountById:
    "SELECT lower(hex(id)) AS id, version, name, settings FROM account WHERE account.id = unhex(?)",
  accounts: "SELECT lower(hex(id)) AS id, version, name, settings FROM account ORDER BY account.id",
  paymentById: `SELECT ${paymentColumns} FROM payment WHERE merchant = unhex(?) AND id = unhex(?)`,
  paymentByCode: `SELECT ${paymentColumns} FROM payment WHERE merchant = unhex(?) AND code = ?`,
  history: `SELECT history.version, history.at, facts, detail, entries FROM payment JOIN history ON history.payment = payment.no
    WHERE merchant = unhex(?) AND id = unhex(?) ORDER BY history.version`,
  paymentByRefundId: `SELECT ${paymentColumns} FROM payment WHERE no = (SELECT payment FROM refund WHERE id = ?) AND merchant = unhex(?)`,
  paymentByRefundCode: `SELECT ${paymentColumns} FROM payment
    WHERE no = (SELECT payment FROM refund WHERE merchant = unhex(?) AND code = ?)`,
  paymentByMandate: `SELECT ${paymentColumns} FROM payment WHERE merchant = unhex(?) AND mandate = ? ORDER BY no DESC LIMIT 1`,
  paymentsDue: `SELECT ${paymentColumns} FROM payment WHERE due_at > ? AND due_at <= ? AND (? >> slot_of(lower(hex(merchant)))) & 1
    ORDER BY due_at, no LIMIT ?`,
  nextDue: "SELECT min(due_at) AS at FROM payment WHERE due_at > ? AND due_at <= ?",
  paymentsDueAt: `SELECT ${paymentColumns}, no AS place FROM payment WHERE due_at = ? AND (attempt IS NOT NULL) = ?
    AND no > coalesce((SELECT no FROM payment WHERE merchant = unhex(?) AND id = unhex(?)), 0) AND (? >> slot_of(lower(hex(merchant)))) & 1
    ORDER BY no LIMIT ?`,
  paymentsInFlight: `SELECT ${paymentColumns} FROM payment
    WHERE no IN (SELECT no FROM payment WHERE due_at IS NOT NULL AND (attempt IS NOT NULL) = 1 LIMIT ?)`,
  paymentFigures: `SELECT lower(hex(id)) AS id, created_at, state, CAST(authorized AS TEXT) AS authorized, CAST(captured AS TEXT) AS captured,
    CAST(refunded AS TEXT) AS refunded, chargeback IS NOT NULL AS disputed, order_json ->> ${orderIndex.currency} AS currency, order_json ->> ${orderIndex.country} AS country,
    order_json ->> ${orderIndex.brand} AS brand, CASE state WHEN 'declined' THEN verdict ->> 1 END AS reason
    FROM payment WHERE merchant = unhex(?) AND id < unhex(?) ORDER BY payment.id DESC LIMIT ?`,
  paymentsCounted: `SELECT state, ${refundInSql} AS refund, chargeback IS NOT NULL AS disputed, count(*) AS payments, lower(hex(min(id))) AS oldest FROM (
      SELECT id, state, captured, refunded, chargeback FROM payment WHERE merchant = unhex(?) AND id < unhex(?) ORDER BY payment.id DESC LIMIT ?
    ) GROUP BY 1, 2, 3 ORDER BY min(id) DESC`,
  cardsListed: `SELECT no AS position, lower(hex(token_digest)) AS tokenDigest, brand, masked_pan AS maskedPan, created_at AS createdAt,
    last_used_at AS lastUsedAt FROM card WHERE merchant = unhex(?) AND token_digest > unhex(?) ORDER BY token_digest LIMIT ?`,
  cardByToken: `SELECT version, ref, fingerprint, brand, masked_pan, created_at, last_used_at, mac
    FROM card WHERE merchant = unhex(?) AND token_digest = unhex(?)`,
  cardsAfter: `SELECT no AS position, lower(hex(merchant)) AS merchantId, lower(hex(token_digest)) AS tokenDigest, last_used_at AS lastUsedAt
    FROM card WHERE no > ? ORDER BY no LIMIT ?`,
  cardsWithoutMac: `SELECT lower(hex(token_digest)) AS tokenDigest, version, ref, fingerprint, brand, masked_pan AS maskedPan,
    created_at AS createdAt, last_used_at AS lastUsedAt FROM card
    WHERE merchant = unhex(?) AND token_digest > unhex(?) AND mac IS NULL ORDER BY token_digest LIMIT ?`,
  cardsOf: `SELECT lower(hex(token_digest)) AS tokenDigest, version, ref, fingerprint, brand, masked_pan AS maskedPan,
    created_at AS createdAt, last_used_at AS lastUsedAt, mac FROM card
    WHERE merchant = unhex(?) AND token_digest > unhex(?) ORDER BY token_digest LIMIT ?`,
  namedRequest: `SELECT lower(hex(digest)) AS digest, claimed_at AS claimedAt, status, body
    FROM named_request WHERE merchant = unhex(?) AND key = ?`,
  answeredRequests: `SELECT lower(hex(merchant)) AS merchantId, key FROM named_request INDEXED BY named_request_answered
    WHERE status IS NOT NULL AND claimed_at < ? ORDER BY claimed_at LIMIT ?`,
  notificationsOf: `SELECT ${notificationColumns} WHERE outbox.merchant = unhex(?) AND number > ? ORDER BY number LIMIT ?`,
  notificationsOfPayment: `SELECT ${notificationColumns} WHERE payment.merchant = unhex(?) AND payment.id = unhex(?) ORDER BY number DESC LIMIT ?`,
  deliveriesOf: `SELECT ${deliveryColumns} FROM outbox
    JOIN delivery ON delivery.payment = outbox.payment AND delivery.number = outbox.number JOIN payment ON payment.no = outbox.payment
    WHERE outbox.merchant = unhex(?) AND outbox.number >= ? ORDER BY outbox.number, lane LIMIT ?`,
  deliveriesBetween: `SELECT ${deliveryColumns} FROM outbox
    JOIN delivery ON delivery.payment = outbox.payment AND delivery.number = outbox.number JOIN payment ON payment.no = outbox.payment
    WHERE outbox.merchant = unhex(?) AND outbox.number >= ? AND outbox.number <= ? ORDER BY outbox.number, lane LIMIT ?`,
  deliverySums: `SELECT lower(hex(id)) AS paymentId, count(*) AS receivers, sum(undelivered = 0) AS notified, sum(failed > 0) AS failed,
      min(waitingSince) AS waitingSince FROM (
      SELECT payment.id, sum(delivery.state <> 'delivered') AS undelivered, sum(delivery.state = 'failed') AS failed,
        min(CASE delivery.state WHEN 'waiting' THEN asked_at END) AS waitingSince
      FROM json_each(?) AS wanted CROSS JOIN payment ON payment.merchant = unhex(?) AND payment.id = unhex(wanted.value)
      CROSS JOIN delivery INDEXED BY delivery_payment ON delivery.payment = payment.no GROUP BY payment.id, lane
    ) GROUP BY id`,
  endedDeliveries: `SELECT lane, number FROM delivery INDEXED BY delivery_ended WHERE state <> 'waiting' AND due_at < ?
    ORDER BY due_at LIMIT ?`,
  deliveriesWaiting: deliveriesInState("waiting"),
  deliveriesFailed: deliveriesInState("failed"),
  merchantsDue: `SELECT merchant AS merchantId, due_at AS dueAt FROM due_merchant
    WHERE (due_at, merchant) > (?, ?) AND due_at <= ? AND (? >> slot_of(merchant)) & 1 ORDER BY due_at, merchant LIMIT ?`,
  queuesDue: `SELECT substr(queue, 10) AS queue, due_at AS dueAt FROM due_queue
    WHERE merchant = ? AND (due_at, queue) > (?, ?) AND due_at <= ? ORDER BY due_queue.due_at, due_queue.queue LIMIT ?`,
  deliveriesDue: `SELECT ${deliveryColumns} FROM due_delivery CROSS JOIN delivery USING (lane, number) JOIN payment ON payment.no = delivery.payment
    WHERE queue = ? AND due_delivery.due_at <= ? AND (message IS NULL OR message IN (0, delivery.number) OR (
      SELECT first.state FROM delivery AS first WHERE first.lane = delivery.lane AND first.number = delivery.message
    ) IS NOT 'waiting') ORDER BY due_delivery.due_at, due_delivery.number, due_delivery.lane LIMIT ?`,
  deliveriesOfMessage: `SELECT ${deliveryColumns} FROM delivery INDEXED BY delivery_message CROSS JOIN payment ON payment.no = delivery.payment
    WHERE lane = ? AND message = ? AND message > 0 ORDER BY delivery.number`,
} as const;
type StatementName = keyof typeof sql;

type CardRow = Omit<StoredCard, "merchantId" | "tokenDigest" | "mac"> & {
  readonly mac: Uint8Array | null;
};

/**
 * Read once per charge, as an array: for rows as objects, Node looks up each column's name at each
 * read.
 */
type CardByTokenRow = readonly [
  version: number,
  ref: StoredCard["ref"],
  fingerprint: Uint8Array,
  brand: StoredCard["brand"],
  maskedPan: string,
  createdAt: Instant,
  lastUsedAt: Instant,
  mac: Uint8Array | null,
];

function inArrays(statement: StatementSync): StatementSync {
  statement.setReturnArrays(true);
  return statement;
}

function prepareAll(database: DatabaseSync): Record<StatementName, StatementSync> {
  return {
    identity: database.prepare(sql.identity),
    accountByKey: database.prepare(sql.accountByKey),
    accountKeys: database.prepare(sql.accountKeys),
    accountById: database.prepare(sql.accountById),
    accounts: database.prepare(sql.accounts),
    paymentById: database.prepare(sql.paymentById),
    paymentByCode: database.prepare(sql.paymentByCode),
    history: database.prepare(sql.history),
    paymentByRefundId: database.prepare(sql.paymentByRefundId),
    paymentByRefundCode: database.prepare(sql.paymentByRefundCode),
    paymentByMandate: database.prepare(sql.paymentByMandate),
    paymentsDue: database.prepare(sql.paymentsDue),
    nextDue: database.prepare(sql.nextDue),
    paymentsDueAt: database.prepare(sql.paymentsDueAt),
    paymentsInFlight: database.prepare(sql.paymentsInFlight),
    paymentFigures: database.prepare(sql.paymentFigures),
    paymentsCounted: database.prepare(sql.paymentsCounted),
    cardsListed: database.prepare(sql.cardsListed),
    cardByToken: inArrays(database.prepare(sql.cardByToken)),
    cardsAfter: database.prepare(sql.cardsAfter),
    cardsWithoutMac: database.prepare(sql.cardsWithoutMac),
    cardsOf: database.prepare(sql.cardsOf),
    namedRequest: database.prepare(sql.namedRequest),
    answeredRequests: database.prepare(sql.answeredRequests),
    notificationsOf: database.prepare(sql.notificationsOf),
    notificationsOfPayment: database.prepare(sql.notificationsOfPayment),
    deliveriesOf: database.prepare(sql.deliveriesOf),
    deliveriesBetween: database.prepare(sql.deliveriesBetween),
    deliverySums: database.prepare(sql.deliverySums),
    endedDeliveries: database.prepare(sql.endedDeliveries),
    deliveriesWaiting: database.prepare(sql.deliveriesWaiting),
    deliveriesFailed: database.prepare(sql.deliveriesFailed),
    merchantsDue: database.prepare(sql.merchantsDue),
    queuesDue: database.prepare(sql.queuesDue),
    deliveriesDue: database.prepare(sql.deliveriesDue),
    deliveriesOfMessage: database.prepare(sql.deliveriesOfMessage),
  };
}
