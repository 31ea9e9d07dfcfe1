import type { ChangeMessage, Outcome } from "../change-message.ts";
import type { StoreStats } from "../store.ts";
import type { IdentityMessage } from "./batch-writer.ts";
import type { UserWriteResult, UserMessage } from "./user-writer.ts";

/**
 * Writes the file of an embedded store: on its own thread for a persistent file, on the caller's
 * thread for a temporary one.
 */
export interface Writer {
  /** False from the first failed write until a write succeeds. */
  readonly isWriting: boolean;
  /**
   * Rejects with `overloaded` if too many changes wait, and with `unavailable` or `commit_unknown`
   * if the writer has ended.
   */
  submit(message: ChangeMessage): Promise<Outcome>;
  /** User changes are answered in their own order. Rejects as `submit` does. */
  submitUserChange(message: UserMessage): Promise<UserWriteResult>;
  /** Updates the identity row of the database. */
  raiseIdentity(message: IdentityMessage): Promise<Outcome>;
  /** Resolves after a small test write, with whether it succeeded. */
  testWrite(): Promise<boolean>;
  /** Resolves with whether the write-ahead log was emptied into the file and truncated. */
  truncateLog(): Promise<boolean>;
  /** Copies what is only in the write-ahead log into the database file. */
  checkpoint(): void;
  /** Resolves when every submitted change has been answered. */
  drained(): Promise<void>;
  /** Closes the file. Resolves when it is closed. */
  close(): Promise<void>;
  stats(): StoreStats;
}

export interface WriterOptions {
  /** Maximum number of changes that wait for their commit; more are refused as `overloaded`. */
  readonly maxQueued: number;
  /** Called when writing starts to fail, and when it succeeds again. */
  readonly onWriting: (works: boolean) => void;
}

/** In a larger batch the first change would only wait longer for the last. */
export const largestBatch = 512;

/** The outcomes that mean that the writer failed, not the change. */
const failures: ReadonlySet<string> = new Set<Outcome>(["unavailable", "commit_unknown"]);

/** Whether the writer can write, as its last outcomes show. Reports each transition once. */
export class WritingState {
  readonly #report: (works: boolean) => void;
  #works = true;

  constructor(report: (works: boolean) => void) {
    this.#report = report;
  }

  get works(): boolean {
    return this.#works;
  }

  judge(outcome: Outcome | UserWriteResult["outcome"]): void {
    if (failures.has(outcome)) this.found(false);
    else if (outcome === "committed") this.found(true);
  }

  found(works: boolean): void {
    if (works === this.#works) return;
    this.#works = works;
    this.#report(works);
  }
}
