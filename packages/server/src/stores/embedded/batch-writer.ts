import type { DatabaseSync } from "node:sqlite";
import type { ChangeMessage, Outcome } from "../change-message.ts";
import type { IdentityRaise } from "../identity.ts";
import { ChangeWriter } from "./change-writer.ts";
import { type UserWriteResult, type UserMessage, UserWriter } from "./user-writer.ts";
import { truncateLog } from "./open-database.ts";
import { sqliteCode } from "./sqlite-error.ts";

export interface BatchResult {
  /** One per change, in order. */
  readonly outcomes: readonly Outcome[];
  /** Commits that wrote something; each cost one fsync. */
  readonly commits: number;
}

/** An identity update in transit to the writer thread. */
export interface IdentityMessage {
  readonly raise: IdentityRaise;
}

/** Also inserts the row: a database without one is not a copy. */
const raiseIdentity = `INSERT INTO identity VALUES (1, :keys, :epoch, coalesce(:beat, 0), 0, NULL)
  ON CONFLICT (one) DO UPDATE SET keys = coalesce(keys, excluded.keys), epoch = max(epoch, excluded.epoch),
    beat = CASE WHEN :beat IS NULL THEN beat ELSE max(beat + 1, :beat) END, is_copy = min(is_copy, :isCopy)`;

/** Larger than any change, to prove that the file has room for one. */
const triedBytes = 65_536;

/**
 * Writes batches of changes, one transaction and one fsync per batch. If a change fails
 * unexpectedly the batch is rolled back, and each change is retried in its own transaction, so that
 * it fails alone.
 *
 * The remains of a failed COMMIT in the write-ahead log might be applied when the file is opened
 * after a crash. Therefore:
 * - disk full: nothing more is accepted until a small transaction has overwritten the remains. If
 *   that succeeds at once, the batch is known not to be applied; otherwise its outcome is unknown.
 * - any other error (above all a failed fsync, after which the system may treat lost pages as
 *   clean): the outcome is unknown and the writer stops permanently. Reopening the file resolves
 *   it.
 */
export class BatchWriter {
  readonly #database: DatabaseSync;
  readonly #writer: ChangeWriter;
  readonly #users: UserWriter;
  #state: "ready" | "in_doubt" | "stopped" = "ready";

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#writer = new ChangeWriter(database);
    this.#users = new UserWriter(database);
  }

  write(batch: readonly ChangeMessage[]): BatchResult {
    if (this.#state === "in_doubt") this.#settle();
    if (this.#state !== "ready") return { outcomes: batch.map(() => "unavailable"), commits: 0 };
    const together = this.#tryTogether(batch);
    if (together !== undefined) return together;
    const single = batch.map((message) => this.#writeAlone(message));
    return {
      outcomes: single,
      commits: single.filter((outcome) => outcome === "committed").length,
    };
  }

  /**
   * Writes a user change in its own transaction: there are few, and a failing one does not delay
   * payments.
   */
  writeUsers(message: UserMessage): UserWriteResult {
    if (this.#state === "in_doubt") this.#settle();
    if (this.#state !== "ready") return { outcome: "unavailable", number: 0 };
    let answer: UserWriteResult;
    try {
      this.#database.exec("BEGIN IMMEDIATE");
      answer = this.#users.write(message);
    } catch (error) {
      const code = sqliteCode(error);
      this.#rollBack();
      return { outcome: code === "constraint" ? "broken" : "unavailable", number: 0 };
    }
    if (answer.outcome !== "committed") {
      this.#rollBack();
      return answer;
    }
    const [outcome] = this.#commit(["committed"]).outcomes;
    if (outcome === "committed") return answer;
    return { outcome: outcome === "commit_unknown" ? outcome : "unavailable", number: 0 };
  }

  /** Updates the identity row in its own transaction. */
  raiseIdentity({ raise: { keys, epoch, beat, isServed } }: IdentityMessage): Outcome {
    if (this.#state === "in_doubt") this.#settle();
    if (this.#state !== "ready") return "unavailable";
    try {
      this.#database.exec("BEGIN IMMEDIATE");
      this.#database.prepare(raiseIdentity).run({
        keys: keys ?? null,
        epoch: epoch ?? 0,
        beat: beat ?? null,
        isCopy: isServed === true ? 0 : 1,
      });
    } catch (error) {
      sqliteCode(error);
      this.#rollBack();
      return "unavailable";
    }
    return this.#commit(["committed"]).outcomes[0] ?? "unavailable";
  }

  /**
   * Tests whether a change could be written now, by writing as much as a change needs and removing
   * it.
   */
  testWrite(): boolean {
    if (this.#state === "in_doubt") this.#settle();
    if (this.#state !== "ready") return false;
    try {
      this.#database.exec(`BEGIN IMMEDIATE;
        INSERT INTO named_request (merchant, key, digest, claimed_at, status, body)
          VALUES (zeroblob(4), '', zeroblob(32), 0, 0, hex(zeroblob(${triedBytes / 2})));
        DELETE FROM named_request WHERE merchant = zeroblob(4) AND key = ''`);
    } catch (error) {
      sqliteCode(error);
      this.#rollBack();
      return false;
    }
    return this.#commit(["committed"]).outcomes[0] === "committed";
  }

  /** Empties and truncates the write-ahead log; false if that is not possible now. */
  truncateLog(): boolean {
    if (this.#state !== "ready") return false;
    try {
      return truncateLog(this.#database);
    } catch (error) {
      sqliteCode(error);
      return false;
    }
  }

  /**
   * Copies what is only in the write-ahead log into the database file; returns whether all of it
   * was copied. A failure loses nothing, because the log keeps what was not copied.
   */
  checkpoint(): boolean {
    if (this.#state !== "ready") return false;
    try {
      const { busy, log, checkpointed } =
        this.#database.prepare("PRAGMA wal_checkpoint(PASSIVE)").get() ?? {};
      return busy === 0 && log === checkpointed;
    } catch (error) {
      sqliteCode(error);
      return false;
    }
  }

  /** Undefined if a change of the batch failed; then nothing was written. */
  #tryTogether(batch: readonly ChangeMessage[]): BatchResult | undefined {
    let outcomes: Outcome[];
    try {
      this.#database.exec("BEGIN IMMEDIATE");
      outcomes = batch.map((message) => this.#writer.write(message));
    } catch (error) {
      const code = sqliteCode(error);
      this.#rollBack();
      // Another program held the database for the writer's whole wait. Each change alone would wait
      // as long again.
      return code === "busy" ? { outcomes: batch.map(() => "unavailable"), commits: 0 } : undefined;
    }
    return this.#commit(outcomes);
  }

  #writeAlone(message: ChangeMessage): Outcome {
    if (this.#state !== "ready") return "unavailable";
    let outcome: Outcome;
    try {
      this.#database.exec("BEGIN IMMEDIATE");
      outcome = this.#writer.write(message);
    } catch (error) {
      const code = sqliteCode(error);
      this.#rollBack();
      return code === "constraint" ? "broken" : "unavailable";
    }
    return this.#commit([outcome]).outcomes[0] ?? "unavailable";
  }

  #commit(outcomes: readonly Outcome[]): BatchResult {
    try {
      this.#database.exec("COMMIT");
    } catch (error) {
      const full = sqliteCode(error) === "full";
      this.#state = full ? "in_doubt" : "stopped";
      this.#rollBack();
      const failed = full && this.#settle() ? "unavailable" : "commit_unknown";
      // A conflict may have been with a change that was rolled back, so conflicting changes were
      // not applied either and may be retried.
      return {
        outcomes: outcomes.map((outcome) => (outcome === "committed" ? failed : "unavailable")),
        commits: 0,
      };
    }
    return { outcomes, commits: outcomes.includes("committed") ? 1 : 0 };
  }

  /**
   * Setting the current version again writes only page 1, over the remains of the failed commit.
   */
  #settle(): boolean {
    try {
      const version = Number(this.#database.prepare("PRAGMA user_version").get()?.["user_version"]);
      this.#database.exec(`BEGIN IMMEDIATE; PRAGMA user_version = ${version}; COMMIT`);
      this.#state = "ready";
    } catch (error) {
      if (sqliteCode(error) !== "full") this.#state = "stopped";
      this.#rollBack();
    }
    return this.#state === "ready";
  }

  #rollBack(): void {
    // SQLite rolls back by itself after some errors, such as a full disk.
    if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
  }
}
