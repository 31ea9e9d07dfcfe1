import { Worker } from "node:worker_threads";
import { assert } from "../../kernel/assert.ts";
import { atEndOfTurn } from "../../kernel/end-of-turn.ts";
import { StoreError, type StoreStats } from "../store.ts";
import { outcomes } from "../change-message.ts";
import type { BatchAnswer, ChangeMessage, Outcome } from "../change-message.ts";
import type { IdentityMessage } from "./batch-writer.ts";
import type { DatabaseOptions, Upgrading } from "./open-database.ts";
import { StoreOpenError } from "./open-error.ts";
import type { OpenRefusal } from "./open-error.ts";
import type { UserWriteResult, UserMessage } from "./user-writer.ts";
import { type Writer, type WriterOptions, WritingState } from "./writer.ts";

interface Waiting {
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: StoreError) => void;
}

interface WaitingUserChange {
  readonly resolve: (answer: UserWriteResult) => void;
  readonly reject: (error: StoreError) => void;
}

type Greeting = "ready" | OpenRefusal;

/** Called before the file is open, before each long step of an upgrade. */
type UpgradeReport = (upgrading: Upgrading) => void;

interface IdentityAnswer {
  readonly raised: Outcome;
}

interface TruncateAnswer {
  readonly truncated: boolean;
}

/** Maximum number of user changes that wait for their commit; more are refused as `overloaded`. */
const maxUserChangesWaiting = 256;

/**
 * The main thread's side of the writer thread. Answers arrive in the order of the changes, so a
 * queue matches them.
 *
 * All changes of one turn of the event loop are posted together at its end, never later: a writer
 * that is woken for each change commits one or two at a time, and the fsync of each commit is the
 * largest part of its work. Posting parts of a turn immediately doubled the commits without more
 * charges per second at 16, 64 and 256 requests in flight.
 */
export class WriterThread implements Writer {
  readonly #worker: Worker;
  readonly #maxQueued: number;
  readonly #writing: WritingState;
  readonly #waiting: Waiting[] = [];
  readonly #waitingUserChanges: WaitingUserChange[] = [];
  readonly #exited: Promise<void>;
  readonly #whenDrained: (() => void)[] = [];
  readonly #whenTested: ((works: boolean) => void)[] = [];
  readonly #whenRaised: ((outcome: Outcome) => void)[] = [];
  readonly #whenTruncated: ((done: boolean) => void)[] = [];
  #toPost: ChangeMessage[] = [];
  #alive = true;
  #isClosing = false;
  #commits = 0;
  #changes = 0;
  #largestBatch = 0;

  private constructor(worker: Worker, { maxQueued, onWriting }: WriterOptions) {
    this.#worker = worker;
    this.#maxQueued = maxQueued;
    this.#writing = new WritingState(onWriting);
    worker.on(
      "message",
      (answer: BatchAnswer | UserWriteResult | TruncateAnswer | IdentityAnswer | boolean) => {
        if (typeof answer === "boolean") this.#onTested(answer);
        else if ("truncated" in answer)
          for (const resolve of this.#whenTruncated.splice(0)) resolve(answer.truncated);
        else if ("raised" in answer) this.#whenRaised.shift()?.(answer.raised);
        else if ("outcome" in answer) this.#answeredUsers(answer);
        else this.#answered(answer);
      },
    );
    this.#exited = new Promise((resolve) => {
      worker.on("exit", () => {
        this.#onThreadEnded();
        resolve();
      });
    });
    // An uncaught error of the thread; `exit` follows. The error's text is dropped, because it may
    // quote data.
    worker.on("error", () => this.#onThreadEnded());
  }

  static async start(
    options: DatabaseOptions,
    writerOptions: WriterOptions,
    onUpgrading: UpgradeReport,
  ): Promise<WriterThread> {
    // The worker's file has the same extension as this file: .ts here, .js once built.
    const here = import.meta.url;
    const worker = new Worker(
      new URL(`./writer-worker${here.slice(here.lastIndexOf("."))}`, here),
      { workerData: options },
    );
    // Registered from the start: a thread that refuses may end in the same turn in which its last
    // message is read.
    const exited = new Promise<void>((resolve) => void worker.once("exit", () => resolve()));
    const greeting = await greetingOf(worker, onUpgrading);
    if (greeting === "ready") return new WriterThread(worker, writerOptions);
    await exited;
    throw new StoreOpenError(greeting, options.file);
  }

  submit(message: ChangeMessage): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      if (!this.#alive) throw new StoreError("unavailable");
      if (this.#waiting.length >= this.#maxQueued) throw new StoreError("overloaded");
      this.#waiting.push({ resolve, reject });
      this.#toPost.push(message);
      if (this.#toPost.length === 1) atEndOfTurn(() => this.#post());
    });
  }

  /** User changes are answered in their own order. They are few, so each is posted at once. */
  submitUserChange(message: UserMessage): Promise<UserWriteResult> {
    return new Promise((resolve, reject) => {
      if (!this.#alive) throw new StoreError("unavailable");
      if (this.#waitingUserChanges.length >= maxUserChangesWaiting)
        throw new StoreError("overloaded");
      this.#waitingUserChanges.push({ resolve, reject });
      this.#worker.postMessage(message, []);
    });
  }

  #post(): void {
    if (this.#toPost.length === 0 || !this.#alive) return;
    this.#worker.postMessage(this.#toPost, []);
    this.#toPost = [];
  }

  get isWriting(): boolean {
    return this.#writing.works;
  }

  /**
   * Resolves after a small test write, with whether it succeeded. Concurrent calls share one test.
   */
  testWrite(): Promise<boolean> {
    return new Promise((resolve) => {
      if (!this.#alive) {
        resolve(false);
        return;
      }
      if (this.#whenTested.push(resolve) === 1) this.#worker.postMessage("try", []);
    });
  }

  /**
   * Resolves with whether the write-ahead log was emptied into the file and truncated. Concurrent
   * calls share one attempt.
   */
  truncateLog(): Promise<boolean> {
    return new Promise((resolve) => {
      if (!this.#alive) {
        resolve(false);
        return;
      }
      if (this.#whenTruncated.push(resolve) === 1) this.#worker.postMessage("truncate", []);
    });
  }

  raiseIdentity(message: IdentityMessage): Promise<Outcome> {
    return new Promise((resolve) => {
      if (!this.#alive) {
        resolve("unavailable");
        return;
      }
      this.#whenRaised.push(resolve);
      this.#worker.postMessage(message, []);
    });
  }

  checkpoint(): void {
    if (this.#alive) this.#worker.postMessage("checkpoint", []);
  }

  #onTested(works: boolean): void {
    this.#writing.found(works);
    for (const resolve of this.#whenTested.splice(0)) resolve(works);
  }

  /** Resolves when every submitted change has been answered. */
  async drained(): Promise<void> {
    if (this.#waiting.length + this.#waitingUserChanges.length > 0)
      await new Promise<void>((resolve) => void this.#whenDrained.push(resolve));
  }

  /** Closes the file. Resolves when the thread has ended. */
  async close(): Promise<void> {
    this.#post();
    this.#isClosing = true;
    if (this.#alive) this.#worker.postMessage("close", []);
    await this.#exited;
  }

  stats(): StoreStats {
    return {
      commits: this.#commits,
      changes: this.#changes,
      largestBatch: this.#largestBatch,
      queued: this.#waiting.length,
    };
  }

  #answered([commits = 0, ...answers]: BatchAnswer): void {
    this.#commits += commits;
    this.#changes += answers.length;
    this.#largestBatch = Math.max(this.#largestBatch, answers.length);
    const answered = this.#waiting.splice(0, answers.length);
    for (const [index, { resolve }] of answered.entries()) {
      const outcome = outcomes[answers[index] ?? -1];
      assert(outcome !== undefined, "the writer thread answers each change with an outcome");
      this.#writing.judge(outcome);
      resolve(outcome);
    }
    this.#resolveDrained();
  }

  #answeredUsers(answer: UserWriteResult): void {
    const waiting = this.#waitingUserChanges.shift();
    assert(waiting !== undefined, "the writer thread answers a user change once");
    this.#writing.judge(answer.outcome);
    if (answer.outcome === "committed") this.#commits += 1;
    waiting.resolve(answer);
    this.#resolveDrained();
  }

  #resolveDrained(): void {
    if (this.#waiting.length + this.#waitingUserChanges.length === 0)
      for (const resolve of this.#whenDrained.splice(0)) resolve();
  }

  /** Pending changes may have been written or not: the thread can no longer report it. */
  #onThreadEnded(): void {
    if (!this.#alive) return;
    this.#alive = false;
    // A requested end is not a failure.
    if (!this.#isClosing) this.#writing.found(false);
    for (const resolve of this.#whenRaised.splice(0)) resolve("commit_unknown");
    for (const resolve of [...this.#whenTested.splice(0), ...this.#whenTruncated.splice(0)])
      resolve(false);
    for (const { reject } of [...this.#waiting.splice(0), ...this.#waitingUserChanges.splice(0)])
      reject(new StoreError("commit_unknown"));
    this.#resolveDrained();
  }
}

/**
 * The thread's first message after the file was opened or refused. Rejects with an uncaught error
 * of the thread.
 */
function greetingOf(worker: Worker, onUpgrading: UpgradeReport): Promise<Greeting> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: Greeting | Upgrading): void => {
      if (typeof message === "object") {
        onUpgrading(message);
        return;
      }
      worker.off("message", onMessage).off("error", reject);
      resolve(message);
    };
    worker.on("message", onMessage).on("error", reject);
  });
}
