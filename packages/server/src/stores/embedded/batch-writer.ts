import type { DatabaseSync } from "node:sqlite";
import type { ChangeMessage, Outcome } from "../change-message.ts";
import type { IdentityRaise } from "../identity.ts";
import { ChangeWriter } from "./change-writer.ts";
import { type PeopleAnswer, type PeopleMessage, PeopleWriter } from "./people-writer.ts";
import { truncateLog } from "./open-database.ts";
import { sqliteCode } from "./sqlite-error.ts";

export interface BatchResult {
  /** One for each change, in their order. */
  readonly outcomes: readonly Outcome[];
  /** Commits that wrote something: each has cost one fsync. */
  readonly commits: number;
}

/** On its way to the writer thread. */
export interface IdentityMessage {
  readonly raise: IdentityRaise;
}

/** Also what the row is made with: a database in which there is none is served as what it is. */
const raiseIdentity = `INSERT INTO identity VALUES (1, :keys, :epoch, coalesce(:beat, 0), 0, NULL)
  ON CONFLICT (one) DO UPDATE SET keys = coalesce(keys, excluded.keys), epoch = max(epoch, excluded.epoch),
    beat = CASE WHEN :beat IS NULL THEN beat ELSE max(beat + 1, :beat) END, is_copy = min(is_copy, :isCopy)`;

/** Larger than any change: the file has to have room for one. */
const triedBytes = 65_536;

/**
 * Writes batches of changes, one transaction and one fsync for each batch. A change that fails
 * unexpectedly takes the batch back; then each change is tried in a transaction of its own, so that
 * it fails alone.
 *
 * What a COMMIT that fails leaves in the write-ahead log might be found and applied when the file
 * is opened after a crash. So:
 * - disk full: nothing more is accepted until a small transaction has overwritten the remains. When
 *   that works at once, the batch is known not to be applied; else its outcome is unknown.
 * - anything else (a failed fsync above all, after which the system may call lost pages clean): the
 *   outcome is unknown and the writer stops for good. Opening the file again decides.
 */
export class BatchWriter {
  readonly #database: DatabaseSync;
  readonly #writer: ChangeWriter;
  readonly #people: PeopleWriter;
  #state: "ready" | "in_doubt" | "stopped" = "ready";

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#writer = new ChangeWriter(database);
    this.#people = new PeopleWriter(database);
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
   * A change of people, in a transaction of its own: there are few, and nobody's payment waits for
   * one that fails.
   */
  writePeople(message: PeopleMessage): PeopleAnswer {
    if (this.#state === "in_doubt") this.#settle();
    if (this.#state !== "ready") return { outcome: "unavailable", number: 0 };
    let answer: PeopleAnswer;
    try {
      this.#database.exec("BEGIN IMMEDIATE");
      answer = this.#people.write(message);
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

  /** Raises what the database says of itself, in a transaction of its own. */
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
   * Whether a change could be written now, found out by writing as much as a change needs and
   * taking it away again.
   */
  tryWriting(): boolean {
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

  /** Empties and truncates the write-ahead log; false when that is not possible now. */
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
   * Copies what is only in the write-ahead log into the database file; whether all of it is there
   * now. A failure loses nothing: the log keeps what was not copied.
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

  /** Undefined when a change of the batch failed: nothing was written. */
  #tryTogether(batch: readonly ChangeMessage[]): BatchResult | undefined {
    let outcomes: Outcome[];
    try {
      this.#database.exec("BEGIN IMMEDIATE");
      outcomes = batch.map((message) => this.#writer.write(message));
    } catch (error) {
      const code = sqliteCode(error);
      this.#rollBack();
      // Another program held the database for as long as the writer waits. Each change alone would
      // wait as long again.
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
      // Conflicts may have been with changes that are gone now: those were not applied either, and
      // may come again.
      return {
        outcomes: outcomes.map((outcome) => (outcome === "committed" ? failed : "unavailable")),
        commits: 0,
      };
    }
    return { outcomes, commits: outcomes.includes("committed") ? 1 : 0 };
  }

  /**
   * Setting the version that is already set writes page 1 and nothing else: over what the failed
   * commit left behind.
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
    // SQLite has rolled back by itself after some errors, such as a full disk.
    if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
  }
}
