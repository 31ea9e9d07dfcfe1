import {
  Client,
  type ClientConfig,
  DatabaseError,
  type QueryConfig,
  TypeOverrides,
  types,
} from "pg";
import { systemScheduler } from "../../kernel/system-scheduler.ts";

/** Why a statement has no result. The driver's words stay here: they quote rows and parameters. */
export class StatementError extends Error {
  override readonly name = "StatementError";
  /**
   * SQLSTATE of a statement that the server refused, of which nothing was written; undefined when
   * the server's last word is not known.
   */
  readonly refusal: string | undefined;

  constructor(refusal: string | undefined) {
    super("a statement failed");
    this.refusal = refusal;
  }
}

/**
 * SQLSTATE of a change on a server, or in a session, that takes none: another session may be better
 * off.
 */
export const readOnly = "25006";

/** SQLSTATE of a statement that has waited for another's lock for as long as its session waits. */
export const lockTimeout = "55P03";

/**
 * SQLSTATE of a statement that the server has ended because it took longer than its session allows.
 */
export const statementTimeout = "57014";

/** The roles of migrations/004-roles.ts and 008-people.ts; `owner` is whoever the address names. */
export type Role = "owner" | "cofre_gateway" | "cofre_vault" | "cofre_jobs" | "cofre_people";

const connectMs = 5_000;
/**
 * A session that has been silent for one to two of these is asked after, and again after each of
 * them.
 */
const watchMs = 1_000;

/**
 * `statementMs`: longer than any statement takes that is not stuck. `lockMs`: how long one waits
 * for another's lock. `silenceMs`: after so long without any answer a session is given up, for the
 * server's machine may be gone without a word, or its commit waits for a standby that is; the
 * server ends what takes longer than a statement may by itself, but for that wait. The time in
 * which the session answers earlier statements does not count.
 */
const limits = {
  serving: { statementMs: 8_000, lockMs: 4_000, silenceMs: 10_000 },
  // A person waits no longer for a list, and a list holds no payment's rows in the server's memory
  // for longer.
  people: { statementMs: 2_000, lockMs: 1_000, silenceMs: 10_000 },
  // A node that starts waits for another that brings the tables up to date; that takes as long as
  // it takes.
  preparing: { statementMs: 30_000, lockMs: 10_000, silenceMs: 0 },
};
export type Use = keyof typeof limits;

/**
 * For the session: what the statements rely on. Plans are made when tables may still be empty, and
 * kept: no scan of a whole table may be among them where an index serves. What is off counts as
 * very costly, so the just-in-time compiler would take tens of milliseconds over a statement of one
 * row. A read of a few ids looks cheaper than the kept plan, which is for ten: left to itself the
 * server would plan each anew, which takes longer than running it.
 */
const session = ({ statementMs, lockMs }: (typeof limits)["serving"]): string =>
  `SET default_transaction_isolation = 'read committed'; SET synchronous_commit = on; SET statement_timeout = ${statementMs};
  SET lock_timeout = ${lockMs}; SET idle_in_transaction_session_timeout = ${statementMs}; SET client_min_messages = warning;
  SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off;
  SET plan_cache_mode = force_generic_plan`;

/**
 * One session on the server, the only file that knows the driver. Statements are sent as they come
 * and answered in their order, without waiting for each other's answers.
 */
export class Connection {
  readonly #client: Client;
  readonly #prepared: boolean;
  readonly #silenceMs: number;
  #role: Role;
  #isOpen = true;
  /** Nothing more comes from the server. */
  #isLost = false;
  #merchant: string | undefined;
  /** Resolves when the session is open for that merchant. */
  #opened: Promise<unknown> = Promise.resolve();
  #warnings = 0;
  /** What the server knows the session by, over restarts and promotions. */
  #identity: SessionIdentity | undefined;
  #asked = 0;
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
   * Rejects with StatementError when there is no such server, it does not let us in, or it is a
   * standby. `onSilent` is called about each second while the server is silent though something was
   * asked.
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
      application_name: use === "people" ? `cofre ${role} lists` : `cofre ${role}`,
      types: readAs,
      pipeline: true,
    } satisfies ClientConfig & { readonly pipeline: boolean });
    const connection = new Connection(client, role, limit.silenceMs, onSilent);
    try {
      await client.connect();
      await connection.#ask(session(limit));
      if (role !== "owner") {
        // An address that is being turned over leads to one for a while, whose answers are old.
        const [row] = await connection.#ask<{
          readonly standby: boolean;
          readonly pid: number;
          readonly began: string | null;
        }>(whoAmI);
        if (row?.standby !== false) throw new StatementError(readOnly);
        if (row.began !== null) connection.#identity = { pid: row.pid, began: row.began };
        await connection.#ask(`SET ROLE ${role}`);
      }
    } catch (error) {
      await connection.close();
      throw error instanceof StatementError ? error : new StatementError(refusalOf(error));
    }
    return connection;
  }

  /** false: the session is gone, and nothing that is asked of it will be answered. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Warnings that the server has given on this session. */
  get warnings(): number {
    return this.#warnings;
  }

  /**
   * Runs one statement; its name is its text's, once for a session. Rejects with StatementError.
   */
  async rows<Row extends object>(
    name: string,
    text: string,
    values: readonly Value[] = [],
  ): Promise<readonly Row[]> {
    const named = this.#prepared ? { name } : {};
    return this.#ask<Row>({ ...named, text, values: [...values] });
  }

  async #ask<Row extends object>(query: string | QueryConfig): Promise<readonly Row[]> {
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
   * Whether the server that this session is on has the other one too: then that one waits for
   * something, and is not lost. Gives up its role.
   */
  async knows({ pid, began }: SessionIdentity): Promise<boolean> {
    // Roles do not see when others' sessions began; whoever logged in sees it of all of its own.
    await this.run("RESET ROLE");
    const [row] = await this.rows<{ readonly known: boolean }>("knows", knowsSession, [pid, began]);
    return row?.known === true;
  }

  /** Undefined for a session of the owner, and where the server does not tell. */
  get identity(): SessionIdentity | undefined {
    return this.#identity;
  }

  /** Nobody will answer any more: whatever was asked is lost. */
  abandon(): void {
    this.#isOpen = false;
    this.#client.connection.stream.destroy();
  }

  /** The same, with row-level security open for this merchant alone. */
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
        // The session goes on with the merchant before: whoever comes next must not take it for
        // this one.
        if (this.#opened === opened) this.#merchant = undefined;
        throw error;
      });
      this.#opened = opened;
    }
    // Sent behind it without waiting: when it fails, nobody gets what was read behind it, for that
    // was another merchant's session.
    const [, rows] = await Promise.all([this.#opened, this.rows<Row>(name, text, values)]);
    return rows;
  }

  /**
   * Several statements without parameters; all or none when they begin no transaction of their own.
   */
  async run(text: string): Promise<void> {
    await this.#ask(text);
  }

  /** Takes on this role for what is asked next. For a session that one caller has at a time. */
  async become(role: Role): Promise<void> {
    if (role === this.#role) return;
    await this.#ask(`SET ROLE ${role}`);
    this.#role = role;
  }

  /**
   * Resolves when what was asked for is answered and the server was told good-bye, whether it hears
   * that or not.
   */
  async close(): Promise<void> {
    this.#isOpen = false;
    const { stream } = this.#client.connection;
    stream.once("finish", () => stream.destroy());
    await this.#client.end().catch(() => undefined);
  }

  /** One timer for all that is asked: an answer to any of it is a sign of life. */
  #watch(): void {
    this.#asked += 1;
    if (this.#silenceMs > 0 && this.#cancelWatch === undefined) this.#watchFrom(this.#answered, 0);
  }

  #watchFrom(answered: number, silentMs: number): void {
    this.#cancelWatch = systemScheduler.after(watchMs, () => {
      this.#cancelWatch = undefined;
      if (this.#isLost || this.#asked === this.#answered) return;
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

/** A process of the server, and when it began. */
export interface SessionIdentity {
  readonly pid: number;
  readonly began: string;
}

const whoAmI = `SELECT pg_is_in_recovery() AS standby, pid, backend_start::text AS began FROM pg_stat_activity WHERE pid = pg_backend_pid()`;
const knowsSession = `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND backend_start = $2::timestamptz) AS known`;

export type Value = string | number | null;

/**
 * 64-bit integers that are read are times and numbers, exact below 2^53; amounts are read as text.
 */
const readAs = new TypeOverrides();
readAs.setTypeParser(types.builtins.INT8, Number);

/**
 * The SQLSTATE when the server said that the statement failed and the session goes on. Broken
 * connections (08), shutdowns and crashes (57P), failures of the system under it (58) and of itself
 * (XX), and servers that say so (40003) leave open what became of a commit.
 */
function refusalOf(error: unknown): string | undefined {
  if (!(error instanceof DatabaseError) || error.code === undefined) return undefined;
  return /^(?:08|40003|57P|58|XX)/.test(error.code) ? undefined : error.code;
}
