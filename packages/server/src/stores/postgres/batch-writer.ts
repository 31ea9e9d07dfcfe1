import { assert } from "../../kernel/assert.ts";
import { outcomes } from "../change-message.ts";
import type { Outcome } from "../change-message.ts";
import { type BatchMessage, batchOf } from "./batch-message.ts";
import { type Connection, readOnly, StatementError } from "./connection.ts";

/** A change that waits for what becomes of it. */
export interface Waiting {
  readonly message: BatchMessage;
  readonly resolve: (outcome: Outcome) => void;
}

/** Most changes of one batch: what is locked for it is locked until its commit. */
export const maxBatch = 512;

/** Serialization failures and deadlocks: nothing was written, and the next time goes better. */
const passing = /^40/;

/** A batch is tried so often when it meets those. */
const maxTries = 5;

/** Lock time-outs and cancelled statements: somebody holds what belongs to one of the merchants. */
const blocked = /^(?:55P03|57014)/;

/**
 * How long each merchant of a batch that was kept from being written may keep the others, in
 * milliseconds.
 */
const briefMs = 50;

/**
 * Owns one session that writes batches, and makes another when it broke. A batch is one statement,
 * one round trip, one transaction.
 *
 * When the server refuses a batch, nothing of it was written, and its parts are tried one by one:
 * the one that is at fault fails alone. Parts are merchants when somebody holds a lock, and changes
 * otherwise. When the session breaks before the server has answered, nobody knows: each change of
 * the batch is answered `commit_unknown`, and the next batch makes a new session. A warning on the
 * way means the same: a server that stops waiting for its synchronous standby says so in one, and
 * reports success.
 */
export class BatchWriter {
  readonly #connect: () => Promise<Connection>;
  readonly #waits = new WeakMap<Connection, number>();
  #connection: Connection | undefined;
  #connecting: Promise<Connection> | undefined;
  #commits = 0;

  /** `connect` rejects when there is no session to be had. */
  constructor(connect: () => Promise<Connection>, connection?: Connection) {
    this.#connect = connect;
    this.#connection = connection;
  }

  get commits(): number {
    return this.#commits;
  }

  /**
   * Waits for others' locks for so long, in milliseconds, and answers each change: `blocked` when
   * what belongs to its merchant was held all the while. Of those nothing was written.
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
      // Values that do not fit (22) and constraints (23) are the change's own fault, and stay so.
      return batch.map(() =>
        isBlocked ? "blocked" : /^2[23]/.test(together) ? "broken" : "unavailable",
      );
    }
    const answers = new Map<Waiting, Outcome | "blocked">();
    for (const part of parts.values()) {
      // The session went with a part before: of the rest nothing was sent, and each would wait for
      // a session of its own.
      if (this.#connection?.isOpen !== true) break;
      const outcomesOfPart = await this.write(part, isBlocked ? Math.min(lockMs, briefMs) : lockMs);
      for (const [index, change] of part.entries())
        answers.set(change, outcomesOfPart[index] ?? "unavailable");
    }
    return batch.map((change) => answers.get(change) ?? "unavailable");
  }

  /**
   * Writes what changes nothing, which needs a session that may write, and a commit that is on the
   * disk and at the standby; whether it worked.
   */
  async tryWriting(): Promise<boolean> {
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
   * Answers the outcomes; or `unreachable` when nothing was sent, `lost` when there was no answer,
   * or the SQLSTATE of the refusal.
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

  /** A statement of its own, where the session waits for another time. */
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
    // Those who come while a session is made wait for the same one: another would stay open for
    // nobody.
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
/** An empty batch alone leaves nothing to be waited for. */
const probe = `${writeBatch}, pg_logical_emit_message(true, 'cofre', '') AS position`;

const knownOutcomes: ReadonlySet<string> = new Set(outcomes);

function outcomeOf(word: string): Outcome {
  assert(knownOutcomes.has(word), "the writer answers each change with an outcome");
  return word as Outcome;
}
