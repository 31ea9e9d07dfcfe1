import {
  Client,
  type ClientConfig,
  DatabaseError,
  type QueryConfig,
  TypeOverrides,
  types,
} from "pg";
import { systemScheduler } from "../../kernel/system-scheduler.ts";

/**
 * Why a statement has no result. The driver's texts are dropped, because they quote rows and
 * parameters.
 */
export class StatementError extends Error {
  override readonly name = "StatementError";
  /**
   * SQLSTATE of a statement that the server refused, so that nothing of it was written; undefined
   * if its result is unknown.
   */
  readonly refusal: string | undefined;

  constructor(refusal: string | undefined) {
    super("a statement failed");
    this.refusal = refusal;
  }
}

/** SQLSTATE of a change on a read-only server or session: another session may accept it. */
export const readOnly = "25006";

/** SQLSTATE of a statement that reached its session's lock timeout. */
export const lockTimeout = "55P03";

/** SQLSTATE of a statement that the server aborted because it reached its session's time limit. */
export const statementTimeout = "57014";

/** The roles of migrations/004-roles.ts and 008-people.ts; `owner` is the user in the address. */
export type Role = "owner" | "cofre_gateway" | "cofre_vault" | "cofre_jobs" | "cofre_people";

const connectMs = 5_000;
/**
 * Interval of the silence check: a session that has been silent for one to two intervals is probed,
 * and again after each further one.
 */
const watchMs = 1_000;

/**
 * `statementMs`: longer than any statement takes that is not stuck. `lockMs`: lock timeout.
 * `silenceMs`: after this time without any answer a session is abandoned, because the server's
 * machine may be gone without closing it, or its commit waits for a standby that is gone; except
 * for that wait, the server itself ends statements that exceed their limit. Time in which the
 * session answers earlier statements does not count.
 */
const limits = {
  serving: { statementMs: 8_000, lockMs: 4_000, silenceMs: 10_000 },
  // A user waits no longer for a list, and a list does not hold payment rows in the server's memory
  // for longer.
  lists: { statementMs: 2_000, lockMs: 1_000, silenceMs: 10_000 },
  // A starting node waits for another one that migrates the tables, without a limit on silence.
  preparing: { statementMs: 30_000, lockMs: 10_000, silenceMs: 0 },
};
export type Use = keyof typeof limits;

/**
 * Session settings that the statements rely on. Plans are made when tables may still be empty, and
 * kept: none of them may scan a whole table where an index serves. Disabled plan types count as
 * very expensive, so the just-in-time compiler would take tens of milliseconds for a one-row
 * statement. A read of a few ids looks cheaper than the generic plan, which assumes ten: by default
 * the server would plan each again, which takes longer than running it.
 */
const session = ({ statementMs, lockMs }: (typeof limits)["serving"]): string =>
  `SET default_transaction_isolation = 'read committed'; SET synchronous_commit = on; SET statement_timeout = ${statementMs};
  SET lock_timeout = ${lockMs}; SET idle_in_transaction_session_timeout = ${statementMs}; SET client_min_messages = warning;
  SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off;
  SET plan_cache_mode = force_generic_plan`;

/**
 * One session on the server; only this file knows the driver. Statements are sent at once and
 * answered in order, without waiting for earlier answers.
 */
export class Connection {
  readonly #client: Client;
  readonly #prepared: boolean;
  readonly #silenceMs: number;
  #role: Role;
  #isOpen = true;
  /** No more messages arrive from the server. */
  #isLost = false;
  #merchant: string | undefined;
  /** Resolves when the session is set to that merchant. */
  #opened: Promise<unknown> = Promise.resolve();
  #warnings = 0;
  /** Identifies the session on the server, across restarts and promotions. */
  #identity: SessionIdentity | undefined;
  #sent = 0;
  #answered = 0;
  #cancelWatch: (() => void) | undefined;
  readonly #onSilent: ((connection: Connection) => void) | undefined;

  private constructor(
    client: Client,
    role: Role,
    silenceMs: number,
    onSilent: ((connection: Connection) => void) | undefined,
  ) {
    this.#client = client;
    this.#role = role;
    this.#prepared = role !== "owner";
    this.#silenceMs = silenceMs;
    this.#onSilent = onSilent;
    client.on("error", () => this.#lost());
    client.on("end", () => this.#lost());
    client.on("notice", () => {
      this.#warnings += 1;
    });
  }

  /**
   * Rejects with StatementError if the server does not exist, refuses the login, or is a standby.
   * `onSilent` is called about once a second while the server is silent with statements pending.
   */
  static async open(
    url: string,
    role: Role,
    onSilent?: (connection: Connection) => void,
    use: Use = role === "owner" ? "preparing" : "serving",
  ): Promise<Connection> {
    const limit = limits[use];
    const client = new Client({
      connectionString: url,
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
      application_name: use === "lists" ? `cofre ${role} lists` : `cofre ${role}`,
      types: readAs,
      pipeline: true,
    } satisfies ClientConfig & { readonly pipeline: boolean });
    const connection = new Connection(client, role, limit.silenceMs, onSilent);
    try {
      await client.connect();
      await connection.#send(session(limit));
      if (role !== "owner") {
        // An address that is being switched over may still refer to a standby, whose answers are
        // outdated.
        const [row] = await connection.#send<{
          readonly standby: boolean;
          readonly pid: number;
          readonly began: string | null;
        }>(whoAmI);
        if (row?.standby !== false) throw new StatementError(readOnly);
        if (row.began !== null) connection.#identity = { pid: row.pid, began: row.began };
        await connection.#send(`SET ROLE ${role}`);
      }
    } catch (error) {
      await connection.close();
      throw error instanceof StatementError ? error : new StatementError(refusalOf(error));
    }
    return connection;
  }

  /** false: the session is gone, and further statements will not be answered. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Number of warnings that the server has sent on this session. */
  get warnings(): number {
    return this.#warnings;
  }

  /** Runs one statement; a name has one text per session. Rejects with StatementError. */
  async rows<Row extends object>(
    name: string,
    text: string,
    values: readonly Value[] = [],
  ): Promise<readonly Row[]> {
    const named = this.#prepared ? { name } : {};
    return this.#send<Row>({ ...named, text, values: [...values] });
  }

  async #send<Row extends object>(query: string | QueryConfig): Promise<readonly Row[]> {
    this.#watch();
    try {
      const { rows } = await this.#client.query<Row>(query);
      return rows;
    } catch (error) {
      throw new StatementError(this.#isOpen ? refusalOf(error) : undefined);
    } finally {
      this.#answered += 1;
    }
  }

  /**
   * Whether the server of this session also has the other session: then that one waits for
   * something and is not lost. Resets this session's role.
   */
  async knows({ pid, began }: SessionIdentity): Promise<boolean> {
    // Roles cannot see when other sessions began; the login user sees it for all its own sessions.
    await this.run("RESET ROLE");
    const [row] = await this.rows<{ readonly known: boolean }>("knows", knowsSession, [pid, began]);
    return row?.known === true;
  }

  /** Undefined for a session of the owner, and if the server does not report it. */
  get identity(): SessionIdentity | undefined {
    return this.#identity;
  }

  /** Drops the session: pending statements are lost. */
  abandon(): void {
    this.#isOpen = false;
    this.#client.connection.stream.destroy();
  }

  /** The same, with row-level security open for this merchant only. */
  async rowsOf<Row extends object>(
    merchant: string,
    name: string,
    text: string,
    values: readonly Value[],
  ): Promise<readonly Row[]> {
    if (merchant !== this.#merchant) {
      this.#merchant = merchant;
      const opened = this.rows("set_merchant", "SELECT set_config('cofre.merchant', $1, false)", [
        merchant,
      ]).catch((error: unknown) => {
        // The session still has the previous merchant: later callers must not take it for this one.
        if (this.#opened === opened) this.#merchant = undefined;
        throw error;
      });
      this.#opened = opened;
    }
    // Pipelined after it: if it fails, the rows are dropped, because they were read with another
    // merchant's session.
    const [, rows] = await Promise.all([this.#opened, this.rows<Row>(name, text, values)]);
    return rows;
  }

  /** Several statements without parameters; atomic unless they begin transactions themselves. */
  async run(text: string): Promise<void> {
    await this.#send(text);
  }

  /** Switches to this role for later statements. Only for a session with one caller at a time. */
  async become(role: Role): Promise<void> {
    if (role === this.#role) return;
    await this.#send(`SET ROLE ${role}`);
    this.#role = role;
  }

  /**
   * Resolves when pending statements are answered and the termination message was sent, whether or
   * not the server receives it.
   */
  async close(): Promise<void> {
    this.#isOpen = false;
    const { stream } = this.#client.connection;
    stream.once("finish", () => stream.destroy());
    await this.#client.end().catch(() => undefined);
  }

  /** One timer for all pending statements: any answer is a sign of life. */
  #watch(): void {
    this.#sent += 1;
    if (this.#silenceMs > 0 && this.#cancelWatch === undefined) this.#watchFrom(this.#answered, 0);
  }

  #watchFrom(answered: number, silentMs: number): void {
    this.#cancelWatch = systemScheduler.after(watchMs, () => {
      this.#cancelWatch = undefined;
      if (this.#isLost || this.#sent === this.#answered) return;
      const silence = this.#answered === answered ? silentMs + watchMs : 0;
      if (silence >= this.#silenceMs) {
        this.abandon();
        return;
      }
      this.#watchFrom(this.#answered, silence);
      if (silence > 0 && this.#isOpen) this.#onSilent?.(this);
    });
  }

  #lost(): void {
    this.#isOpen = false;
    this.#isLost = true;
    this.#cancelWatch?.();
    this.#cancelWatch = undefined;
  }
}

/** A server process and its start time. */
export interface SessionIdentity {
  readonly pid: number;
  readonly began: string;
}

const whoAmI = `SELECT pg_is_in_recovery() AS standby, pid, backend_start::text AS began FROM pg_stat_activity WHERE pid = pg_backend_pid()`;
const knowsSession = `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND backend_start = $2::timestamptz) AS known`;

export type Value = string | number | null;

/** Times and numbers are read as 64-bit integers, exact below 2^53; amounts are read as text. */
const readAs = new TypeOverrides();
readAs.setTypeParser(types.builtins.INT8, Number);

/**
 * The SQLSTATE, if the server reported that the statement failed and the session continues. Broken
 * connections (08), shutdowns and crashes (57P), system errors (58), internal errors (XX), and the
 * code for an unknown completion (40003) leave the outcome of a commit open.
 */
function refusalOf(error: unknown): string | undefined {
  if (!(error instanceof DatabaseError) || error.code === undefined) return undefined;
  return /^(?:08|40003|57P|58|XX)/.test(error.code) ? undefined : error.code;
}
