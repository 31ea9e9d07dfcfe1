import type { ChangeMessage, Outcome } from "../change-message.ts";
import type { StoreStats } from "../store.ts";
import type { IdentityMessage } from "./batch-writer.ts";
import type { PeopleAnswer, PeopleMessage } from "./people-writer.ts";

/**
 * What writes the file of an embedded store: a thread of its own for a file that is kept, the
 * caller's thread for one that is not.
 */
export interface Writer {
  /** False from the first write that fails until one works again. */
  readonly isWriting: boolean;
  /**
   * Rejects with `overloaded` when too many changes wait, and with `unavailable` or
   * `commit_unknown` when the writer has ended.
   */
  submit(message: ChangeMessage): Promise<Outcome>;
  /** Changes of people are answered in their own order. Rejects as `submit` does. */
  submitPeople(message: PeopleMessage): Promise<PeopleAnswer>;
  /** Raises what the database says of itself. */
  raiseIdentity(message: IdentityMessage): Promise<Outcome>;
  /** Resolves when a small write has worked or failed. */
  tryWriting(): Promise<boolean>;
  /** Resolves with whether the write-ahead log was emptied into the file and truncated. */
  truncateLog(): Promise<boolean>;
  /** Has what is only in the write-ahead log copied into the database file. */
  checkpoint(): void;
  /** Resolves when every submitted change has its answer. */
  drained(): Promise<void>;
  /** Closes the file. Resolves when it is closed. */
  close(): Promise<void>;
  stats(): StoreStats;
}

export interface WriterOptions {
  /** Changes that may wait for their commit; more are refused as `overloaded`. */
  readonly maxQueued: number;
  /** Called when writing begins to fail, and when it works again. */
  readonly onWriting: (works: boolean) => void;
}

/** More than this in one batch would only make its first change wait for its last. */
export const largestBatch = 512;

/** The outcomes that say that the writer failed, not the change. */
const failures: ReadonlySet<string> = new Set<Outcome>(["unavailable", "commit_unknown"]);

/** Whether a writer can write, as its last outcomes show. Reports each change of that once. */
export class WritingState {
  readonly #report: (works: boolean) => void;
  #works = true;

  constructor(report: (works: boolean) => void) {
    this.#report = report;
  }

  get works(): boolean {
    return this.#works;
  }

  judge(outcome: Outcome | PeopleAnswer["outcome"]): void {
    if (failures.has(outcome)) this.found(false);
    else if (outcome === "committed") this.found(true);
  }

  found(works: boolean): void {
    if (works === this.#works) return;
    this.#works = works;
    this.#report(works);
  }
}
