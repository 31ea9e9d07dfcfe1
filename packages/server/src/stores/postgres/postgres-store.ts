import { assert } from "../../kernel/assert.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { KeyDigest, MerchantId, TokenDigest } from "../../kernel/ids.ts";
import type { PaymentId } from "../../payment/payment-id.ts";
import { instant, type Instant } from "../../kernel/instant.ts";
import { systemScheduler } from "../../kernel/system-scheduler.ts";
import { everySlot, slotMask, type Slots } from "../../kernel/slot.ts";
import type { Secret } from "../../kernel/secret.ts";
import type { Account } from "../../merchant/account.ts";
import type { Delivery, EndpointKey, QueueKey } from "../../notification/events.ts";
import { dueAt } from "../../payment/due.ts";
import type { Payment } from "../../payment/payment.ts";
import type { RefundId } from "../../payment/refund.ts";
import type { UserStore } from "../../user/user-store.ts";
import type { StoredCard } from "../../vault/stored-card.ts";
import { messageOf } from "../change-message.ts";
import { commitResultOf } from "../commit-result.ts";
import { aboveAllIds, narrowedBy, pageInPieces, wholePiece } from "../payment-list.ts";
import {
  type Identity,
  identityFromRow,
  type IdentityRaise,
  type IdentityRow,
  type IdentityStore,
} from "../identity.ts";
import { assertChangeIsSound } from "../change-rules.ts";
import type { Change, CommitResult, HistoryRow, IdempotentRequest } from "../change.ts";
import {
  accountFromRow,
  accountKeyFromRow,
  deliverySumFromRow,
  type DeliverySumRow,
  type AccountKeyRow,
  type AccountRow,
  figureFromRow,
  type FigureRow,
  historyFromRow,
  listedRow,
  namedRequestFromRow,
  type NamedRequestRow,
  type PackedHistoryRow,
  paymentFromRow,
  paymentGroupFromRow,
  type PaymentGroupRow,
  type PaymentRow,
} from "../rows.ts";
import type { KeyRecordStore } from "../key-record-store.ts";
import { ReadAhead } from "../read-ahead.ts";
import { freshReadingMs, StoreError } from "../store.ts";
import type {
  AccountByKey,
  ReadPriority,
  CardAge,
  ClockReadings,
  DatabaseFigures,
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
import { AuditedWriter } from "./audited-writer.ts";
import { CommitQueue } from "./commit-queue.ts";
import { Connection, StatementError, type Role, type Use, type Value } from "./connection.ts";
import { BatchedReads } from "./batched-reads.ts";
import { isMigrated, migrate, type MigrationReport } from "./migrate.ts";
import { migrations } from "./migrations/index.ts";
import { dropOlderIndexes } from "./older-indexes.ts";
import { PostgresOpenError, type PostgresRefusal } from "./open-error.ts";
import { type StartConditions, checkStart, readOrigin } from "./origin.ts";
import { InteractiveReads } from "./interactive-reads.ts";
import { PostgresKeys } from "./postgres-keys.ts";
import { PostgresUsers } from "./postgres-users.ts";
import { areAboutTexts, SearchedTexts } from "./searched-texts.ts";
import { needsOf, sql, type StatementName } from "./sql.ts";
import { rightsOf } from "./login-rights.ts";
import { checkServer, checkServerAgain } from "./start-check.ts";

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database`: the primary; the user owns the tables. */
  readonly url: Secret<string>;
  readonly clock: Clock;
  /** true: starts without a synchronous standby, which is otherwise refused. */
  readonly waiveStandby: boolean;
  /**
   * false: the login does not own the tables, which are those of this version already. Default:
   * true.
   */
  readonly migrates?: boolean;
  /** Without it the database may be empty. */
  readonly beginning?: StartConditions;
  /**
   * Maximum number of changes that wait for their commit; more are refused as `overloaded`. Default
   * 4,096.
   */
  readonly maxQueued?: number;
  /** Called when writing starts to fail, and when it succeeds again. */
  readonly onWriting?: (works: boolean) => void;
  /**
   * Called when the address refers to a server, for example after a failover, that a start would
   * have refused.
   */
  readonly onRefused?: (code: PostgresRefusal) => void;
  /** Called while the tables of an earlier version are migrated. */
  readonly onMigration?: (report: MigrationReport) => void;
}

/**
 * The store for more than one node. Rejects with PostgresOpenError if the server cannot be trusted
 * with payments (open-error.ts).
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<RunningStore> {
  const url = options.url.reveal();
  const owner = await prepareDatabase(url, options);
  const connect = (role: Role, use?: Use): Promise<Connection> =>
    Connection.open(url, role, (silent) => void checkSilent(silent, url), use);
  let writer: Connection | undefined;
  try {
    const connectWriter = writerOf(connect, options);
    writer = await connectWriter("cofre_gateway");
    // After the first serving session, by which a move detects this start (move-target.ts): either
    // the move detects it, or this reads what the move left.
    await checkStart(owner, options.beginning ?? { hasKeys: false, allowEmpty: false });
    const commitQueue = new CommitQueue(writer, {
      async connect() {
        const connection = await connectWriter("cofre_gateway");
        store.renewReaders();
        return connection;
      },
      connectForLocked: () => connectWriter("cofre_gateway"),
      maxQueued: options.maxQueued ?? 4_096,
      onWriting: options.onWriting ?? (() => undefined),
    });
    const lists = new InteractiveReads(() => connect("cofre_gateway", "lists"));
    const store = new PostgresStore(commitQueue, lists, connect, () =>
      connectWriter("cofre_people"),
    );
    return store;
  } catch (error) {
    await writer?.close();
    throw openErrorOf(error);
  } finally {
    await owner.close();
  }
}

/**
 * Sessions being checked, each by at most this many concurrent checks: a connection to a machine
 * that has just failed takes seconds to fail.
 */
const maxChecks = 3;
const checks = new WeakMap<Connection, number>();

/**
 * A silent session may wait for something, or its server may be gone without closing it. A new
 * session resolves this: it reaches the server that the address refers to now, and if that server
 * does not have the silent session, no answer will arrive there. If no new session can be opened,
 * nothing is known, and the check is repeated while the silence lasts.
 */
async function checkSilent(silent: Connection, url: string): Promise<void> {
  const { identity } = silent;
  const others = checks.get(silent) ?? 0;
  if (identity === undefined || others >= maxChecks) return;
  checks.set(silent, others + 1);
  try {
    const other = await Connection.open(url, "cofre_gateway");
    try {
      if (!(await other.knows(identity))) silent.abandon();
    } finally {
      await other.close();
    }
  } catch {
    // This failure shows no more about the session than its silence does.
  } finally {
    checks.set(silent, (checks.get(silent) ?? 1) - 1);
  }
}

/**
 * The address may refer to another server each time, so each writing session begins with the checks
 * of the start, except for the clock.
 */
function writerOf(
  connect: (role: Role) => Promise<Connection>,
  { waiveStandby, onRefused }: PostgresStoreOptions,
): (role: Role) => Promise<Connection> {
  let reported: PostgresRefusal | undefined;
  return async (role) => {
    const connection = await connect(role);
    try {
      await checkServerAgain(connection, waiveStandby);
      reported = undefined;
      return connection;
    } catch (error) {
      await connection.close();
      if (error instanceof PostgresOpenError && error.code !== reported) {
        reported = error.code;
        onRefused?.(error.code);
      }
      throw error;
    }
  };
}

/** The session of the tables' owner, which has migrated them, or of a login without that right. */
async function prepareDatabase(
  url: string,
  { clock, waiveStandby, onMigration, migrates = true }: PostgresStoreOptions,
): Promise<Connection> {
  let owner: Connection | undefined;
  try {
    owner = await Connection.open(url, "owner");
    await checkServer(owner, clock, waiveStandby);
    if (!migrates) {
      await checkPrepared(owner);
      return owner;
    }
    await migrate(owner, onMigration === undefined ? {} : { report: onMigration });
    await dropOlderIndexes(owner);
    return owner;
  } catch (error) {
    await owner?.close();
    throw openErrorOf(error);
  }
}

/** Leaves the session in a role that reads the tables' origin. */
async function checkPrepared(login: Connection): Promise<void> {
  for (const role of ["cofre_gateway", "cofre_vault", "cofre_people", "cofre_jobs"] as const)
    await login.become(role).catch((error: unknown) => {
      throw error instanceof StatementError && error.refusal !== undefined
        ? new PostgresOpenError("login_roles")
        : error;
    });
  const isReady = await isMigrated(login).catch((error: unknown) => {
    if (error instanceof StatementError && error.refusal !== undefined) return false;
    throw error;
  });
  if (!isReady || (await readOrigin(login)) === undefined)
    throw new PostgresOpenError("not_prepared");
}

function openErrorOf(error: unknown): unknown {
  return error instanceof StatementError ? new PostgresOpenError("unreachable") : error;
}

/**
 * Readers with their own session, and the role of each: payments, cards and their keys, recovery with the other
 * jobs, the outbox, the upgrade of cards, the leases, and sign-in. A session answers in the order
 * of its requests, so no reader waits for another's reads. Lists for users have their own sessions
 * (interactive-reads.ts).
 */
const readers = {
  payments: "cofre_gateway",
  cards: "cofre_vault",
  recovery: "cofre_jobs",
  outbox: "cofre_jobs",
  cardUpgrade: "cofre_vault",
  leases: "cofre_jobs",
  users: "cofre_people",
} as const satisfies Readonly<Record<string, Role>>;
type Reader = keyof typeof readers;

/** Payments that one statement updates: their rows are locked until it ends. */
const pieceOfPayments = 500;

/**
 * Owns a session for each reader, opened on first use and again after it breaks, and the writing
 * commit queue.
 */
class PostgresStore implements RunningStore {
  readonly users: UserStore;
  readonly keys: KeyRecordStore;
  readonly identity: IdentityStore = {
    read: () => this.#identity(),
    raise: (raise) => this.#raiseIdentity(raise),
  };
  readonly #commitQueue: CommitQueue;
  readonly #audited: AuditedWriter;
  readonly #lists: InteractiveReads;
  readonly #connect: (role: Role) => Promise<Connection>;
  readonly #readers = new Map<Reader, Promise<Connection>>();
  readonly #cards: BatchedReads<CardRow>;
  readonly #payments: BatchedReads<PaymentRow>;
  readonly #texts: SearchedTexts;
  readonly #ahead: ReadAhead;
  #closed: Promise<void> | undefined;

  constructor(
    commitQueue: CommitQueue,
    lists: InteractiveReads,
    connect: (role: Role) => Promise<Connection>,
    connectAudited: () => Promise<Connection>,
  ) {
    this.#commitQueue = commitQueue;
    this.#lists = lists;
    this.#connect = connect;
    this.#audited = new AuditedWriter(connectAudited, () => this.#closed !== undefined);
    this.users = new PostgresUsers(
      (name, ...values) => this.#all("users", name, ...values),
      this.#audited,
    );
    this.keys = new PostgresKeys(
      {
        shared: (...values) => this.#all("cards", "keyRecords", ...values),
        orders: (...values) => this.#all("cards", "keyOrders", ...values),
        ofMerchant: (merchantId, ...values) =>
          this.#of("cards", merchantId, "merchantKeyRecords", ...values),
        under: (...values) => this.#all("recovery", "keyRecordsUnder", ...values),
        countUnder: (epoch) => this.#all("recovery", "keysUnder", epoch),
        old: (...values) => this.#all("recovery", "oldMerchantKeys", ...values),
        newOfMerchants: (...values) => this.#all("recovery", "newMerchantKeys", ...values),
        note: (...values) => this.#all("leases", "noteKeys", ...values),
        noteRoots: (...values) => this.#all("leases", "noteRootKeys", ...values),
      },
      this.#audited,
    );
    this.#cards = new BatchedReads(
      (merchant, keys) => this.#of("cards", merchant, "cardsByToken", keys),
      (row) => row.tokenDigest,
    );
    this.#payments = new BatchedReads(
      (merchant, keys) => this.#of("payments", merchant, "paymentsById", keys),
      (row) => row.id,
    );
    this.#texts = new SearchedTexts({
      texts: (merchant, before, from, limit) =>
        this.#listed("cofre_gateway", merchant, "paymentTexts", before, from, limit),
      count: async (merchant, before, from) => {
        const [row] = await this.#listed<{ readonly payments: number }>(
          "cofre_gateway",
          merchant,
          "paymentsBetween",
          before,
          from,
        );
        return row?.payments ?? 0;
      },
      payments: (merchant, ids) =>
        this.#listed("cofre_gateway", merchant, "paymentsById", binaryArray(ids)),
    });
    this.#ahead = new ReadAhead(
      (merchant, before) => this.#texts.readAhead(merchant, before),
      systemScheduler,
    );
  }

  async loginRights(): Promise<readonly string[]> {
    const login = await this.#connect("owner");
    try {
      return await rightsOf(login);
    } finally {
      await login.close();
    }
  }

  async accountByKey(digest: KeyDigest): Promise<AccountByKey | undefined> {
    const [row] = await this.#all<AccountRow & AccountKeyRow>("payments", "accountByKey", digest);
    if (row === undefined) return undefined;
    return {
      account: accountFromRow(row),
      grants: row.grants,
      mac: row.mac === null ? undefined : Uint8Array.from(row.mac),
    };
  }

  async accountKeys(): Promise<readonly StoredAccountKey[]> {
    return (await this.#all<AccountKeyRow>("payments", "accountKeys")).map(accountKeyFromRow);
  }

  async accountById(merchantId: MerchantId): Promise<Account | undefined> {
    const [row] = await this.#all<AccountRow>("payments", "accountById", merchantId);
    return row === undefined ? undefined : accountFromRow(row);
  }

  async accounts(): Promise<readonly Account[]> {
    return (await this.#all<AccountRow>("recovery", "accounts")).map(accountFromRow);
  }

  async paymentById(merchantId: MerchantId, id: PaymentId): Promise<Payment | undefined> {
    const row = await this.#payments.read(merchantId, id);
    return row === undefined ? undefined : paymentFromRow(row);
  }

  async paymentByCode(merchantId: MerchantId, code: string): Promise<Payment | undefined> {
    return onlyPayment(await this.#of<PaymentRow>("payments", merchantId, "paymentByCode", code));
  }

  async history(
    merchantId: MerchantId,
    id: PaymentId,
    priority: ReadPriority = "payment",
  ): Promise<readonly HistoryRow[]> {
    const rows = await this.#readAs<PackedHistoryRow>(priority, merchantId, "history", id);
    return rows.map(historyFromRow);
  }

  async paymentByRefund(
    merchantId: MerchantId,
    refund: { readonly id: RefundId } | { readonly code: string },
  ): Promise<Payment | undefined> {
    if ("id" in refund)
      return onlyPayment(
        await this.#of<PaymentRow>("payments", merchantId, "paymentByRefundId", refund.id),
      );
    return onlyPayment(
      await this.#of<PaymentRow>("payments", merchantId, "paymentByRefundCode", refund.code),
    );
  }

  async paymentByMandate(merchantId: MerchantId, mandateId: string): Promise<Payment | undefined> {
    return onlyPayment(
      await this.#of<PaymentRow>("payments", merchantId, "paymentByMandate", mandateId),
    );
  }

  async paymentsDue(
    now: Instant,
    limit: number,
    slots: Slots = everySlot,
    after?: Payment,
  ): Promise<readonly Payment[]> {
    const from = after === undefined ? undefined : dueAt(after);
    const rows =
      after === undefined || from === undefined
        ? await this.#all<PaymentRow>("recovery", "paymentsDue", now, slotMask(slots), limit)
        : await this.#all<PaymentRow>(
            "recovery",
            "paymentsDueAfter",
            from,
            after.merchantId,
            after.id,
            now,
            slotMask(slots),
            limit,
          );
    return rows.map(paymentFromRow);
  }

  async paymentsInFlight(limit: number): Promise<readonly Payment[]> {
    return (await this.#all<PaymentRow>("recovery", "paymentsInFlight", limit)).map(paymentFromRow);
  }

  async paymentsListed(
    merchantId: MerchantId,
    filter: PaymentFilter,
    page: ListPage,
  ): Promise<PaymentList> {
    const narrowed = narrowedBy(filter);
    const { ids, conditions } = narrowed;
    if (page.before === undefined) this.#ahead.listed(merchantId);
    if (areAboutTexts(conditions)) {
      const readTexts = (before: string, left: number) =>
        this.#texts.piece(merchantId, conditions, narrowed, before, left);
      return pageInPieces(readTexts, filter, page);
    }
    const needs = needsOf(narrowed);
    const readNarrowed = async (before: string, left: number) => {
      const tested = Math.min(left, testedInPiece);
      const rows = await this.#listed<NarrowedRow>(
        "cofre_gateway",
        merchantId,
        "paymentsNarrowed",
        before,
        ids.from,
        tested,
        rowsInPiece,
        needs,
      );
      const { id: last, place: examined = 0, isLast = true } = rows.at(-1) ?? {};
      return { rows: rows.map(listedRow), examined, last, isEnd: isLast && examined < tested };
    };
    const read = async (before: string, left: number) => {
      const limit = Math.min(left, rowsInPiece);
      const rows = await this.#listed<PaymentRow>(
        "cofre_gateway",
        merchantId,
        "paymentsListed",
        before,
        limit,
      );
      return wholePiece(rows.map(listedRow), limit, ids);
    };
    return pageInPieces(conditions.length === 0 ? read : readNarrowed, filter, page);
  }

  async paymentFigures(
    merchantId: MerchantId,
    before: PaymentId | undefined,
    limit: number,
  ): Promise<readonly PaymentFigure[]> {
    const rows = await this.#listed<FigureRow>(
      "cofre_gateway",
      merchantId,
      "paymentFigures",
      before ?? aboveAllIds,
      limit,
    );
    return rows.map(figureFromRow);
  }

  async paymentsCounted(
    merchantId: MerchantId,
    before: PaymentId | undefined,
    limit: number,
  ): Promise<readonly PaymentGroup[]> {
    const rows = await this.#listed<PaymentGroupRow>(
      "cofre_gateway",
      merchantId,
      "paymentsCounted",
      before ?? aboveAllIds,
      limit,
    );
    return rows.map(paymentGroupFromRow);
  }

  async cardsListed(
    merchantId: MerchantId,
    after: TokenDigest | undefined,
    limit: number,
  ): Promise<readonly ListedCard[]> {
    return this.#listed<ListedCard>("cofre_vault", merchantId, "cardsListed", after ?? "", limit);
  }

  async cardsAfter(position: number, limit: number): Promise<readonly CardAge[]> {
    return this.#all<CardAge>("recovery", "cardsAfter", position, limit);
  }

  async namedRequest(merchantId: MerchantId, key: string): Promise<IdempotentRequest | undefined> {
    const [row] = await this.#of<NamedRequestRow>("payments", merchantId, "namedRequest", key);
    return row === undefined ? undefined : namedRequestFromRow(key, row);
  }

  async answeredRequests(before: Instant, limit: number): Promise<readonly RequestKey[]> {
    return this.#all<RequestKey>("recovery", "answeredRequests", before, limit);
  }

  async cardByToken(merchantId: MerchantId, digest: TokenDigest): Promise<StoredCard | undefined> {
    const row = await this.#cards.read(merchantId, digest);
    return row === undefined ? undefined : cardFromRow(merchantId, row);
  }

  async cardsWithoutMac(
    merchantId: MerchantId,
    after: TokenDigest | undefined,
    limit: number,
  ): Promise<readonly StoredCard[]> {
    const rows = await this.#of<CardRow>(
      "cardUpgrade",
      merchantId,
      "cardsWithoutMac",
      after ?? "",
      limit,
    );
    return rows.map((row) => cardFromRow(merchantId, row));
  }

  async cardsOf(
    merchantId: MerchantId,
    after: TokenDigest | undefined,
    limit: number,
  ): Promise<readonly StoredCard[]> {
    const values = [after ?? "", limit] as const;
    const rows = await this.#of<CardRow>("cardUpgrade", merchantId, "cardsOf", ...values);
    return rows.map((row) => cardFromRow(merchantId, row));
  }

  async hasOlderNodes(): Promise<boolean> {
    const [row] = await this.#all<{ readonly older: boolean }>("leases", "hasOlderNodes");
    return row?.older !== false;
  }

  async dropTokenDigests(merchantId: MerchantId): Promise<void> {
    let last: string | null = "";
    while (last !== null) {
      const [row]: readonly { readonly last: string | null }[] = await this.#all(
        "recovery",
        "dropTokenDigests",
        merchantId,
        last,
        pieceOfPayments,
      );
      last = row?.last ?? null;
    }
  }

  async notificationsOf(
    merchantId: MerchantId,
    number: number,
    limit: number,
  ): Promise<readonly OutboxRow[]> {
    return this.#listed<OutboxRow>("cofre_gateway", merchantId, "notificationsOf", number, limit);
  }

  async notificationsOfPayment(
    merchantId: MerchantId,
    id: PaymentId,
    limit: number,
    priority: ReadPriority = "interactive",
  ): Promise<readonly OutboxRow[]> {
    return (
      await this.#readAs<OutboxRow>(priority, merchantId, "notificationsOfPayment", id, limit)
    ).toReversed();
  }

  async deliveriesOf(
    merchantId: MerchantId,
    from: number,
    limit: number,
    state?: OpenDeliveryState,
    priority: ReadPriority = "interactive",
  ): Promise<readonly Delivery[]> {
    const statement =
      state === undefined
        ? "deliveriesOf"
        : state === "failed"
          ? "deliveriesFailed"
          : "deliveriesWaiting";
    return (await this.#readAs<DeliveryRow>(priority, merchantId, statement, from, limit)).map(
      deliveryFromRow,
    );
  }

  async deliveriesBetween(
    merchantId: MerchantId,
    first: number,
    last: number,
    limit: number,
  ): Promise<readonly Delivery[]> {
    const rows = await this.#listed<DeliveryRow>(
      "cofre_gateway",
      merchantId,
      "deliveriesBetween",
      first,
      last,
      limit,
    );
    return rows.map(deliveryFromRow);
  }

  async deliverySums(
    merchantId: MerchantId,
    ids: readonly PaymentId[],
  ): Promise<readonly DeliverySum[]> {
    const rows = await this.#listed<DeliverySumRow>(
      "cofre_gateway",
      merchantId,
      "deliverySums",
      binaryArray(ids),
    );
    return rows.map(deliverySumFromRow);
  }

  async endedDeliveries(before: Instant, limit: number): Promise<readonly EndedDelivery[]> {
    return this.#all<EndedDelivery>("recovery", "endedDeliveries", before, limit);
  }

  async merchantsDue(
    now: Instant,
    after: DueMerchant | undefined,
    limit: number,
    slots = everySlot,
  ): Promise<readonly DueMerchant[]> {
    const { dueAt: from = beforeAllTime, merchantId = "" } = after ?? {};
    return this.#all<DueMerchant>(
      "outbox",
      "merchantsDue",
      from,
      merchantId,
      now,
      slotMask(slots),
      limit,
    );
  }

  async queuesDue(
    merchantId: MerchantId,
    now: Instant,
    after: DueQueue | undefined,
    limit: number,
  ): Promise<readonly DueQueue[]> {
    const { dueAt: from = beforeAllTime, queue = "" } = after ?? {};
    return this.#all<DueQueue>("outbox", "queuesDue", merchantId, from, queue, now, limit);
  }

  async deliveriesDue(
    { merchantId, queue }: QueueKey,
    now: Instant,
    limit: number,
  ): Promise<readonly Delivery[]> {
    const rows = await this.#all<DeliveryRow>(
      "outbox",
      "deliveriesDue",
      merchantId,
      queue,
      now,
      limit,
    );
    return rows.map(deliveryFromRow);
  }

  async deliveriesOfMessage(
    { merchantId, endpoint }: EndpointKey,
    message: number,
  ): Promise<readonly Delivery[]> {
    return (
      await this.#all<DeliveryRow>("outbox", "deliveriesOfMessage", merchantId, endpoint, message)
    ).map(deliveryFromRow);
  }

  async commit(change: Change): Promise<CommitResult> {
    if (this.#closed !== undefined) throw new StoreError("closed");
    assertChangeIsSound(change);
    const result = commitResultOf(await this.#commitQueue.submit(messageOf(change)));
    return result === "payment_code" ? this.#takenBy(change) : result;
  }

  async renewSlots(node: string, leaseMs: number, release: readonly number[]): Promise<NodeSlots> {
    const [row] = await this.#all<NodeSlotsRow>(
      "leases",
      "renewSlots",
      node,
      leaseMs,
      release.join(" "),
      migrations.length,
    );
    assert(row !== undefined, "a request for slots is answered with those that are held");
    return { ...row, slots: row.slots === "" ? [] : row.slots.split(" ").map(Number) };
  }

  async time(): Promise<Instant> {
    const [row] = await this.#all<{ readonly now: number }>("leases", "time");
    assert(row !== undefined, "the server knows the time");
    return instant(row.now);
  }

  async noteClock(node: string, aheadMs: number | undefined): Promise<void> {
    await this.#all("leases", "noteClock", node, aheadMs ?? null);
  }

  async clockReadings(node: string): Promise<ClockReadings> {
    const [row] = await this.#all<{ readonly others: string; readonly latest: number | null }>(
      "leases",
      "clockReadings",
      node,
      freshReadingMs,
    );
    assert(row !== undefined, "the server answers what it has of clocks");
    return {
      others: row.others === "" ? [] : row.others.split(" ").map(Number),
      last: row.latest ?? undefined,
    };
  }

  async figures(): Promise<DatabaseFigures> {
    const [row] = await this.#all<DatabaseFigures>("recovery", "databaseFigures");
    assert(row !== undefined, "the server answers its figures");
    return row;
  }

  async releaseSlots(node: string): Promise<void> {
    await this.#all("leases", "releaseSlots", node);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  stats(): StoreStats {
    return this.#commitQueue.stats();
  }

  get isWriting(): boolean {
    return this.#commitQueue.isWriting;
  }

  async eraseRemains(): Promise<boolean> {
    if (this.#closed !== undefined) throw new StoreError("closed");
    // Dead rows, the server's log and its backups keep deleted data, and only the server's
    // administrator can change that.
    return false;
  }

  async testWrite(): Promise<boolean> {
    return this.#closed === undefined && this.#commitQueue.testWrite();
  }

  /**
   * The writer has a new session, perhaps on another server: readers reconnect too, because the
   * previous server may still answer.
   */
  renewReaders(): void {
    const readers = [...this.#readers.values()];
    this.#readers.clear();
    for (const reader of readers)
      void reader.then((connection) => connection.close()).catch(() => undefined);
    this.#lists.renew();
    this.#texts.renew();
    this.#audited.renew();
  }

  async #takenBy({ merchantId, payment }: Change): Promise<CommitResult> {
    assert(payment !== undefined, "a payment code is taken by a payment");
    const existing = onlyPayment(
      await this.#read("payments", merchantId, "paymentByCode", [
        merchantId,
        payment.next.order.code,
      ]),
    );
    assert(existing !== undefined, "the payment whose code is taken is there");
    return { outcome: "duplicate", key: "payment_code", existing };
  }

  async #close(): Promise<void> {
    this.#ahead.close();
    await this.#commitQueue.drained();
    await this.#commitQueue.close();
    await Promise.all([this.#audited.close(), this.#lists.close()]);
    await Promise.all(
      [...this.#readers.values()].map((reader) =>
        reader.then((connection) => connection.close()).catch(() => undefined),
      ),
    );
  }

  /** Rows of one merchant, under row-level security. */
  #of<Row extends object>(
    reader: "payments" | "cards" | "cardUpgrade",
    merchantId: MerchantId,
    name: StatementName,
    ...values: readonly Value[]
  ): Promise<readonly Row[]> {
    if (this.#closed !== undefined) return Promise.reject(new StoreError("closed"));
    return this.#read<Row>(reader, merchantId, name, [merchantId, ...values]);
  }

  /** The same for users. */
  #listed<Row extends object>(
    role: "cofre_gateway" | "cofre_vault",
    merchantId: MerchantId,
    name: StatementName,
    ...values: readonly Value[]
  ): Promise<readonly Row[]> {
    return this.#lists.read<Row>(role, merchantId, name, [merchantId, ...values]);
  }

  #readAs<Row extends object>(
    priority: ReadPriority,
    merchantId: MerchantId,
    name: StatementName,
    ...values: readonly Value[]
  ): Promise<readonly Row[]> {
    if (priority === "job") return this.#all<Row>("recovery", name, merchantId, ...values);
    if (priority === "payment") return this.#of<Row>("payments", merchantId, name, ...values);
    return this.#listed<Row>("cofre_gateway", merchantId, name, ...values);
  }

  async #identity(): Promise<Identity> {
    const [row] = await this.#all<IdentityRow>("leases", "identity");
    return identityFromRow(row, await this.#presentServer());
  }

  async #raiseIdentity({ keys, epoch, beat, isServed }: IdentityRaise): Promise<Identity> {
    const present = await this.#presentServer();
    const servedBy = isServed === true ? (present ?? null) : null;
    const [row] = await this.#all<IdentityRow>(
      "leases",
      "raiseIdentity",
      keys ?? null,
      epoch ?? null,
      beat ?? null,
      servedBy,
    );
    return identityFromRow(row, present);
  }

  /** Undefined if the server does not report it, as a distributed PostgreSQL may not. */
  async #presentServer(): Promise<string | undefined> {
    try {
      const [row] = await this.#all<{ readonly server: string | null }>("leases", "presentServer");
      return row?.server ?? undefined;
    } catch {
      return undefined;
    }
  }

  /** Rows of all merchants. */
  #all<Row extends object>(
    reader: Reader,
    name: StatementName,
    ...values: readonly Value[]
  ): Promise<readonly Row[]> {
    if (this.#closed !== undefined) return Promise.reject(new StoreError("closed"));
    return this.#read<Row>(reader, undefined, name, values);
  }

  async #read<Row extends object>(
    reader: Reader,
    merchantId: MerchantId | undefined,
    name: StatementName,
    values: readonly Value[],
  ): Promise<readonly Row[]> {
    try {
      const connection = await this.#reader(reader);
      if (merchantId === undefined) return await connection.rows<Row>(name, sql[name], values);
      return await connection.rowsOf<Row>(merchantId, name, sql[name], values);
    } catch (error) {
      if (!(error instanceof StatementError)) throw error;
      throw new StoreError("unavailable");
    }
  }

  async #reader(reader: Reader): Promise<Connection> {
    const kept = this.#readers.get(reader);
    // Concurrent callers wait for the same new session.
    if (kept !== undefined && (await kept.then(({ isOpen }) => isOpen).catch(() => false)))
      return kept;
    const current = this.#readers.get(reader);
    if (current !== undefined && current !== kept) return current;
    if (this.#closed !== undefined) throw new StoreError("closed");
    const made = this.#connect(readers[reader]);
    this.#readers.set(reader, made);
    return made;
  }
}

function onlyPayment(rows: readonly PaymentRow[]): Payment | undefined {
  assert(rows.length <= 1, "a merchant has at most one payment with a given name");
  return rows[0] === undefined ? undefined : paymentFromRow(rows[0]);
}

/** Of hex texts, as the text of a `bytea[]`. */
function binaryArray(ids: readonly PaymentId[]): string {
  return `{${ids.map((id) => `\\\\x${id}`).join(",")}}`;
}

const beforeAllTime = -1;
/**
 * Whole payments of a list that are read and searched in one piece: about 0.3 ms of this process.
 */
const rowsInPiece = 25;
/** Payments whose conditions PostgreSQL tests in one piece: about 3 ms there. */
const testedInPiece = 500;

/** `place`: its number among the payments that were tested. */
type NarrowedRow = PaymentRow & { readonly place: number; readonly isLast: boolean };

type NodeSlotsRow = Omit<NodeSlots, "slots"> & { readonly slots: string };

type CardRow = Omit<StoredCard, "merchantId" | "mac"> & { readonly mac: Uint8Array | null };
type DeliveryRow = Omit<Delivery, "outcome" | "inOrder" | "message"> & {
  readonly outcome: string | null;
  readonly inOrder: number;
  readonly message: number | null;
};

/**
 * Copies, because the driver's buffers are views of the received data and would keep all of it in
 * memory.
 */
function cardFromRow(
  merchantId: MerchantId,
  { ref, fingerprint, mac, ...row }: CardRow,
): StoredCard {
  const copies = {
    ref: Uint8Array.from(ref),
    fingerprint: Uint8Array.from(fingerprint),
    mac: mac === null ? undefined : Uint8Array.from(mac),
  };
  return { merchantId, ...row, ...copies };
}

function deliveryFromRow({ outcome, inOrder, message, ...row }: DeliveryRow): Delivery {
  return {
    ...row,
    outcome: outcome ?? undefined,
    inOrder: inOrder === 1,
    message: message ?? undefined,
  };
}
