import { assert } from "../../kernel/assert.ts";
import { outcomes } from "../change-message.ts";
import type { Outcome } from "../change-message.ts";
import { type BatchMessage, batchOf } from "./batch-message.ts";
import { type Connection, readOnly, StatementError } from "./connection.ts";

/** A change that waits for its outcome. */
export interface Waiting {
  readonly message: BatchMessage;
  readonly resolve: (outcome: Outcome) => void;
}

/** Maximum number of changes per batch: its locks are held until its commit. */
export const maxBatch = 512;

/** Serialization failures and deadlocks: nothing was written, and a retry may succeed. */
const passing = /^40/;

/** Maximum number of attempts of a batch that meets these errors. */
const maxTries = 5;

/** Lock timeouts and cancelled statements: another session locks rows of one of the merchants. */
const blocked = /^(?:55P03|57014)/;

/**
 * After a batch was blocked, how long each of its merchants may delay the others, in milliseconds.
 */
const briefMs = 50;

/**
 * Owns one session that writes batches, and opens another when it breaks. A batch is one statement,
 * one round trip and one transaction.
 *
 * If the server refuses a batch, nothing of it was written, and its parts are retried one by one,
 * so that only the faulty part fails. Parts are merchants if the batch met a lock, otherwise
 * changes. If the session breaks before the server has answered, the outcome is unknown: each
 * change of the batch is answered `commit_unknown`, and the next batch opens a new session. A
 * warning before the answer means the same: a server that stops waiting for its synchronous standby
 * sends a warning and reports success.
 */
export class BatchWriter {
  readonly #connect: () => Promise<Connection>;
  readonly #waits = new WeakMap<Connection, number>();
  #connection: Connection | undefined;
  #connecting: Promise<Connection> | undefined;
  #commits = 0;

  /** `connect` rejects if no session is available. */
  constructor(connect: () => Promise<Connection>, connection?: Connection) {
    this.#connect = connect;
    this.#connection = connection;
  }

  get commits(): number {
    return this.#commits;
  }

  /**
   * Waits up to `lockMs` milliseconds for locks of other sessions, and answers each change:
   * `blocked` if rows of its merchant were locked for the whole time. Nothing of a blocked change
   * was written.
   */
  async write(
    batch: readonly Waiting[],
    lockMs: number,
  ): Promise<readonly (Outcome | "blocked")[]> {
    const together = await this.#try(batch, lockMs);
    if (typeof together !== "string") return together;
    if (together === "lost") return batch.map(() => "commit_unknown");
    if (together === "unreachable") return batch.map(() => "unavailable");
    const isBlocked = blocked.test(together);
    const parts = isBlocked
      ? Map.groupBy(batch, ({ message }) => message.merchant)
      : Map.groupBy(batch, (change) => change);
    if (parts.size === 1) {
      // Invalid values (22) and violated constraints (23) are the change's own fault, and retries
      // cannot help.
      return batch.map(() =>
        isBlocked ? "blocked" : /^2[23]/.test(together) ? "broken" : "unavailable",
      );
    }
    const answers = new Map<Waiting, Outcome | "blocked">();
    for (const part of parts.values()) {
      // An earlier part lost the session: nothing was sent of the remaining parts, and each would
      // wait for its own new session.
      if (this.#connection?.isOpen !== true) break;
      const outcomesOfPart = await this.write(part, isBlocked ? Math.min(lockMs, briefMs) : lockMs);
      for (const [index, change] of part.entries())
        answers.set(change, outcomesOfPart[index] ?? "unavailable");
    }
    return batch.map((change) => answers.get(change) ?? "unavailable");
  }

  /**
   * Writes a transaction that changes nothing; returns whether it succeeded. It requires a session
   * that may write, and a commit that is on the disk and at the standby.
   */
  async testWrite(): Promise<boolean> {
    try {
      const connection = await this.#connected();
      const { warnings } = connection;
      await connection.rows("probe", probe, [batchOf([])]);
      return connection.warnings === warnings;
    } catch {
      return false;
    }
  }

  async close(): Promise<void> {
    await this.#connection?.close();
  }

  async #try(batch: readonly Waiting[], lockMs: number): Promise<readonly Outcome[] | string> {
    for (let tries = 1; ; tries += 1) {
      const answer = await this.#send(batch, lockMs);
      if (typeof answer !== "string" || tries === maxTries || !passing.test(answer)) return answer;
    }
  }

  /**
   * Returns the outcomes; or `unreachable` if nothing was sent, `lost` if there was no answer, or
   * the SQLSTATE of the refusal.
   */
  async #send(batch: readonly Waiting[], lockMs: number): Promise<Outcome[] | string> {
    let connection: Connection;
    try {
      connection = await this.#connected();
      await this.#waitFor(connection, lockMs);
    } catch {
      return "unreachable";
    }
    const warnings = connection.warnings;
    try {
      const json = batchOf(batch.map(({ message }) => message));
      const [row] = await connection.rows<{ readonly answer: string }>("write_batch", writeBatch, [
        json,
      ]);
      const answers = (row?.answer ?? "").split(" ").map(outcomeOf);
      assert(answers.length === batch.length, "a batch has an answer for each change");
      if (connection.warnings > warnings) return "lost";
      if (answers.includes("committed")) this.#commits += 1;
      return answers;
    } catch (error) {
      if (!(error instanceof StatementError)) throw error;
      if (error.refusal === undefined || error.refusal === readOnly) await this.#drop(connection);
      return error.refusal ?? "lost";
    }
  }

  /** A separate statement, needed only if the session has another lock timeout. */
  async #waitFor(connection: Connection, lockMs: number): Promise<void> {
    if (this.#waits.get(connection) === lockMs) return;
    this.#waits.delete(connection);
    await connection.rows("lock_timeout", "SELECT set_config('lock_timeout', $1, false)", [
      String(lockMs),
    ]);
    this.#waits.set(connection, lockMs);
  }

  async #connected(): Promise<Connection> {
    if (this.#connection?.isOpen === true) return this.#connection;
    // Concurrent callers wait for the same new session: another one would stay open unused.
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    this.#connection = await this.#connecting;
    return this.#connection;
  }

  async #drop(connection: Connection): Promise<void> {
    if (this.#connection === connection) this.#connection = undefined;
    await connection.close();
  }
}

const writeBatch = "SELECT write_batch_2($1) AS answer";
/** Emits a message, because an empty batch alone has nothing to commit. */
const probe = `${writeBatch}, pg_logical_emit_message(true, 'cofre', '') AS position`;

const knownOutcomes: ReadonlySet<string> = new Set(outcomes);

function outcomeOf(word: string): Outcome {
  assert(knownOutcomes.has(word), "the writer answers each change with an outcome");
  return word as Outcome;
}
