import { atEndOfTurn } from "../../kernel/end-of-turn.ts";
import type { ChangeMessage, Outcome } from "../change-message.ts";
import { StoreError, type StoreStats } from "../store.ts";
import { type BatchResult, BatchWriter, type IdentityMessage } from "./batch-writer.ts";
import { type DatabaseOptions, lockFile, openForWriting, Refused } from "./open-database.ts";
import { StoreOpenError } from "./open-error.ts";
import type { UserWriteResult, UserMessage } from "./user-writer.ts";
import { largestBatch, type Writer, type WriterOptions, WritingState } from "./writer.ts";

interface Waiting {
  readonly message: ChangeMessage;
  readonly resolve: (outcome: Outcome) => void;
}

/** Every change of the batch is answered `unavailable`. */
const nothingWritten: BatchResult = { outcomes: [], commits: 0 };

/**
 * Writes on the caller's thread, at the end of each turn of the event loop. For files that are
 * never synced: their commits do not wait for a disk, and two hops between threads cost more than
 * the write.
 */
export class InlineWriter implements Writer {
  readonly #maxQueued: number;
  readonly #writing: WritingState;
  readonly #lock: ReturnType<typeof lockFile>;
  readonly #database: ReturnType<typeof openForWriting>;
  readonly #writer: BatchWriter;
  #waiting: Waiting[] = [];
  #state: "open" | "failed" | "closed" = "open";
  #commits = 0;
  #changes = 0;
  #largestBatch = 0;

  /** Throws StoreOpenError. */
  constructor(database: DatabaseOptions, { maxQueued, onWriting }: WriterOptions) {
    this.#maxQueued = maxQueued;
    this.#writing = new WritingState(onWriting);
    try {
      this.#lock = lockFile(database.file);
      this.#database = openForWriting(database);
    } catch (error) {
      throw error instanceof Refused ? new StoreOpenError(error.code, database.file) : error;
    }
    this.#writer = new BatchWriter(this.#database);
  }

  submit(message: ChangeMessage): Promise<Outcome> {
    return new Promise((resolve) => {
      if (this.#state !== "open") throw new StoreError("unavailable");
      if (this.#waiting.length >= this.#maxQueued) throw new StoreError("overloaded");
      if (this.#waiting.push({ message, resolve }) === 1) atEndOfTurn(() => this.#writeBatch());
    });
  }

  async submitUserChange(message: UserMessage): Promise<UserWriteResult> {
    if (this.#state !== "open") throw new StoreError("unavailable");
    const answer = this.#attempt<UserWriteResult>(() => this.#writer.writeUsers(message), {
      outcome: "commit_unknown",
      number: 0,
    });
    if (answer.outcome === "committed") this.#commits += 1;
    this.#writing.judge(answer.outcome);
    return answer;
  }

  async raiseIdentity(message: IdentityMessage): Promise<Outcome> {
    return this.#state === "open"
      ? this.#attempt(() => this.#writer.raiseIdentity(message), "commit_unknown")
      : "unavailable";
  }

  async testWrite(): Promise<boolean> {
    const works = this.#state === "open" && this.#attempt(() => this.#writer.testWrite(), false);
    if (this.#state !== "closed") this.#writing.found(works);
    return works;
  }

  async truncateLog(): Promise<boolean> {
    return this.#state === "open" && this.#attempt(() => this.#writer.truncateLog(), false);
  }

  checkpoint(): void {
    if (this.#state === "open") this.#attempt(() => this.#writer.checkpoint(), false);
  }

  async drained(): Promise<void> {
    while (this.#waiting.length > 0) this.#writeBatch();
  }

  async close(): Promise<void> {
    if (this.#state === "closed") return;
    await this.drained();
    this.#state = "closed";
    this.#database.close();
    this.#lock.close();
  }

  stats(): StoreStats {
    return {
      commits: this.#commits,
      changes: this.#changes,
      largestBatch: this.#largestBatch,
      queued: this.#waiting.length,
    };
  }

  get isWriting(): boolean {
    return this.#writing.works;
  }

  #writeBatch(): void {
    const batch = this.#waiting.splice(0, largestBatch);
    if (batch.length === 0) return;
    if (this.#waiting.length > 0) atEndOfTurn(() => this.#writeBatch());
    const unknown = { outcomes: batch.map(() => "commit_unknown" as const), commits: 0 };
    const result =
      this.#state === "failed"
        ? nothingWritten
        : this.#attempt<BatchResult>(
            () => this.#writer.write(batch.map(({ message }) => message)),
            unknown,
          );
    this.#commits += result.commits;
    this.#changes += batch.length;
    this.#largestBatch = Math.max(this.#largestBatch, batch.length);
    for (const [index, { resolve }] of batch.entries()) {
      const outcome = result.outcomes[index] ?? "unavailable";
      this.#writing.judge(outcome);
      resolve(outcome);
    }
  }

  /**
   * After an unexpected error of the batch writer the state of its connection is unknown: nothing
   * more is written.
   */
  #attempt<T>(work: () => T, ofAnError: T): T {
    try {
      return work();
    } catch {
      // The text of the error is dropped, because it may quote data.
      this.#state = "failed";
      this.#writing.found(false);
      return ofAnError;
    }
  }
}
