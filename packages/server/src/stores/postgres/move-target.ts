import type { Clock } from "../../kernel/clock.ts";
import type { Secret } from "../../kernel/secret.ts";
import {
  tableOf,
  type TargetHolding,
  type TransferBalance,
  TransferError,
  transferKinds,
  type TransferKind,
  type TransferRow,
  type TransferTarget,
} from "../transfer.ts";
import { Connection, StatementError } from "./connection.ts";
import { commandTurnMs, migrate } from "./migrate.ts";
import { PostgresOpenError } from "./open-error.ts";
import { readOrigin, writeOrigin } from "./origin.ts";
import { checkServer } from "./start-check.ts";

export interface MoveTargetOptions {
  readonly url: Secret<string>;
  readonly clock: Clock;
  readonly waiveStandby: boolean;
}

/** Rows per piece: a comparison holds one piece of each side in memory. */
const pieceRows = 1_000;

/**
 * Time limits of a session that moves a whole installation in one transaction: only the commit
 * takes long, because it waits for the standby. A killed run holds its locks until the server has
 * noticed.
 */
const patience =
  "SET statement_timeout = '1h'; SET idle_in_transaction_session_timeout = '1h'; SET lock_timeout = '1min'";

/**
 * Opens the target database of a move, with the checks of a start; rejects with PostgresOpenError
 * for the same reasons.
 */
export async function openMoveTarget({
  url,
  clock,
  waiveStandby,
}: MoveTargetOptions): Promise<TransferTarget> {
  let owner: Connection | undefined;
  try {
    owner = await Connection.open(url.reveal(), "owner");
    await checkServer(owner, clock, waiveStandby);
    await migrate(owner, { turnMs: commandTurnMs });
    await owner.run(patience);
    return new MoveTarget(owner);
  } catch (error) {
    await owner?.close();
    throw error instanceof StatementError ? new PostgresOpenError("unreachable") : error;
  }
}

/**
 * Owns one session of the tables' owner: rows are inserted without the functions that number and
 * order them, because they are numbered already.
 */
class MoveTarget implements TransferTarget {
  readonly #owner: Connection;

  constructor(owner: Connection) {
    this.#owner = owner;
  }

  async begin(): Promise<TargetHolding> {
    // A start reads `origin` once it has a serving session: until the move ends it waits, and fails
    // after the lock timeout. Other sessions can read the other tables, and their writes wait.
    await this.#run(
      `BEGIN; LOCK TABLE origin IN ACCESS EXCLUSIVE MODE; LOCK TABLE ${transferKinds.join(", ")} IN SHARE ROW EXCLUSIVE MODE`,
    );
    if (await this.#isServed()) throw new TransferError("served");
    const origin = await named(readOrigin(this.#owner));
    if (origin !== undefined && origin.state !== "begun")
      return { state: origin.state, move: origin.move ?? "" };
    for (const kind of transferKinds) {
      if ((await this.#rows(`SELECT 1 AS found FROM ${kind} LIMIT 1`)).length > 0)
        return { state: "occupied" };
    }
    return { state: "empty" };
  }

  async write(kind: TransferKind, rows: readonly TransferRow[]): Promise<void> {
    const columns = Object.entries(tableOf(kind).columns);
    const values = columns.map(([name, form]) =>
      form === "bytes" ? `decode(${name}, 'hex')` : name,
    );
    const types = columns.map(
      ([name, form]) => `${name} ${form === "integer" || form === "amount" ? "bigint" : "text"}`,
    );
    const names = columns.map(([name]) => name).join(", ");
    await this.#rows(
      `INSERT INTO ${kind} (${names}) SELECT ${values.join(", ")} FROM json_to_recordset($1) AS piece (${types.join(", ")})`,
      [JSON.stringify(rows)],
    );
  }

  async count(kind: TransferKind): Promise<number> {
    const [row] = await this.#rows<{ readonly n: number }>(`SELECT count(*) AS n FROM ${kind}`);
    return row?.n ?? 0;
  }

  async *pieces(kind: TransferKind): AsyncGenerator<readonly TransferRow[]> {
    const { columns, key } = tableOf(kind);
    const shown = Object.entries(columns).map(([name, form]) =>
      form === "bytes"
        ? `encode(${name}, 'hex') AS ${name}`
        : form === "amount"
          ? `${name}::text AS ${name}`
          : name,
    );
    const order = key.map((name) => `${kind}.${name}`).join(", ");
    await this.#run(
      `DECLARE piece NO SCROLL CURSOR FOR SELECT ${shown.join(", ")} FROM ${kind} ORDER BY ${order}`,
    );
    for (;;) {
      const rows = await this.#rows<TransferRow>(`FETCH ${pieceRows} FROM piece`);
      if (rows.length > 0) yield rows;
      if (rows.length < pieceRows) break;
    }
    await this.#run("CLOSE piece");
  }

  balances(): Promise<readonly TransferBalance[]> {
    return this.#rows<TransferBalance>(
      "SELECT encode(merchant, 'hex') AS merchant, account, currency, sum(minor)::text AS minor FROM journal GROUP BY merchant, account, currency",
    );
  }

  async note(state: "moved" | "returned", move: string): Promise<void> {
    if (state === "moved") {
      // New rows are numbered after the moved ones.
      await this.#rows(
        `SELECT setval('commit_order', greatest((SELECT last_value FROM commit_order), (SELECT max(no) FROM payment), (SELECT max(no) FROM card),
           (SELECT max(sequence) FROM outbox)))`,
      );
    }
    await named(writeOrigin(this.#owner, { state, move }));
  }

  async commit(): Promise<"committed" | "served" | "refused" | "unknown"> {
    // A running Cofre that had lost its sessions when this began may have come back.
    const isServed = await this.#isServed().catch(() => undefined);
    if (isServed !== false) {
      await this.rollback();
      return isServed === true ? "served" : "refused";
    }
    const { warnings } = this.#owner;
    try {
      await this.#owner.run("COMMIT");
      // A server that stops waiting for its synchronous standby sends a warning and reports
      // success.
      return this.#owner.warnings > warnings ? "unknown" : "committed";
    } catch (error) {
      if (!(error instanceof StatementError)) throw error;
      return error.refusal === undefined ? "unknown" : "refused";
    }
  }

  async rollback(): Promise<void> {
    await this.#owner.run("ROLLBACK").catch(() => undefined);
  }

  async analyze(): Promise<void> {
    await this.#run(`ANALYZE ${transferKinds.join(", ")}`);
  }

  close(): Promise<void> {
    return this.#owner.close();
  }

  async #isServed(): Promise<boolean> {
    // Within a transaction the server repeats its earlier snapshot of the statistics.
    await this.#run("SELECT pg_stat_clear_snapshot()");
    const serving = await this.#rows(
      `SELECT 1 AS found FROM pg_stat_activity
       WHERE datname = current_database() AND usename = current_user AND application_name LIKE 'cofre cofre\\_%' LIMIT 1`,
    );
    return serving.length > 0;
  }

  #rows<Row extends object>(text: string, values: readonly string[] = []): Promise<readonly Row[]> {
    return named(this.#owner.rows<Row>("move", text, values));
  }

  #run(text: string): Promise<void> {
    return named(this.#owner.run(text));
  }
}

async function named<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw error instanceof StatementError ? new TransferError("unavailable") : error;
  }
}
