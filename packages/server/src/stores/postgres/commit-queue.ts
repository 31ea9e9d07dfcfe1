import { assert } from "../../kernel/assert.ts";
import { atEndOfTurn } from "../../kernel/end-of-turn.ts";
import type { ChangeMessage, Outcome } from "../change-message.ts";
import { StoreError, type StoreStats } from "../store.ts";
import { batchMessageOf, movesFirst } from "./batch-message.ts";
import { BatchWriter, maxBatch, type Waiting } from "./batch-writer.ts";
import type { Connection } from "./connection.ts";
import { LockedMerchants } from "./locked-merchants.ts";

export interface CommitQueueOptions {
  /** Opens a session for writing. Rejects if none is available. */
  readonly connect: () => Promise<Connection>;
  /** Opens another one, for merchants whose rows are locked by another session. */
  readonly connectForLocked: () => Promise<Connection>;
  /** Maximum number of changes that wait for their answers; more are refused as `overloaded`. */
  readonly maxQueued: number;
  /** Called when writing starts to fail, and when it succeeds again. */
  readonly onWriting: (works: boolean) => void;
}

/**
 * How long a batch waits if another session locks rows of one of its merchants, delaying all
 * others, in milliseconds.
 */
const lockMs = 1_000;
/** Changes of merchants with locked rows may be this fraction (1/4) of all waiting changes. */
const lockedPart = 4;

/**
 * Batches in flight at once on the queue's session, so that the server works while this process
 * handles the previous answer. The second may wait for the first one's locks and then for its own;
 * this must stay far below the time after which a silent session is abandoned (connection.ts).
 */
const maxBatchesInFlight = 2;
/**
 * Minimum number of changes for a batch behind another: a batch costs the server as much as ten
 * changes (packages/proof/docs/performance.md).
 */
const minSecondBatch = 16;
/**
 * Maximum number of changes per batch that are written in subtransactions. The server keeps 64 per
 * transaction where every session sees them; with more, each session's snapshot reads pg_subtrans
 * for as long as the batch runs.
 */
const maxGuarded = 48;
/**
 * More changes than this are sent as two batches: otherwise all clients would be answered at once,
 * and nothing would be left to send meanwhile.
 */
const wholeBatch = 32;

function batchSize(waiting: number): number {
  return waiting <= wholeBatch
    ? waiting
    : Math.min(maxBatch, Math.max(wholeBatch, Math.ceil(waiting / 2)));
}

/**
 * Group commit: while batches commit the next one accumulates, so that commits grow as the server
 * gets slower. Changes are written in order of arrival, except those of a batch that has to be
 * retried. A merchant with locked rows delays the others once, for a second, or two if two batches
 * have met the lock: from then on its changes are written separately (locked-merchants.ts) until the
 * lock is released.
 */
export class CommitQueue {
  readonly #options: CommitQueueOptions;
  readonly #writer: BatchWriter;
  readonly #lockedMerchants: LockedMerchants;
  readonly #whenDrained: (() => void)[] = [];
  #waiting: Waiting[] = [];
  #inFlight = 0;
  /** Batches in flight. */
  #batches = 0;
  #isScheduled = false;
  #isWriting = true;
  #changes = 0;
  #largestBatch = 0;

  constructor(connection: Connection, options: CommitQueueOptions) {
    this.#options = options;
    this.#writer = new BatchWriter(options.connect, connection);
    this.#lockedMerchants = new LockedMerchants(
      options.connectForLocked,
      Math.ceil(options.maxQueued / lockedPart),
      () => this.#resolveDrained(),
    );
  }

  submit(message: ChangeMessage): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      if (this.#queued >= this.#options.maxQueued) {
        reject(new StoreError("overloaded"));
        return;
      }
      this.#waiting.push({ message: batchMessageOf(message), resolve });
      this.#sendAtEndOfTurn();
    });
  }

  get isWriting(): boolean {
    return this.#isWriting;
  }

  /**
   * Writes a transaction that changes nothing. It requires a session that may write, and a commit
   * that is on the disk and at the standby.
   */
  async testWrite(): Promise<boolean> {
    this.#setWriting(await this.#writer.testWrite());
    return this.#isWriting;
  }

  stats(): StoreStats {
    const commits = this.#writer.commits + this.#lockedMerchants.commits;
    return {
      commits,
      changes: this.#changes,
      largestBatch: this.#largestBatch,
      queued: this.#queued,
    };
  }

  /** Resolves when every submitted change has been answered. */
  async drained(): Promise<void> {
    if (this.#queued > 0)
      await new Promise<void>((resolve) => void this.#whenDrained.push(resolve));
  }

  async close(): Promise<void> {
    await Promise.all([this.#writer.close(), this.#lockedMerchants.close()]);
  }

  get #queued(): number {
    return this.#waiting.length + this.#inFlight + this.#lockedMerchants.queued;
  }

  /**
   * At the end of this turn of the event loop, so that all changes of the turn are sent together.
   */
  #sendAtEndOfTurn(): void {
    if (this.#isScheduled || this.#batches === maxBatchesInFlight) return;
    this.#isScheduled = true;
    atEndOfTurn(() => {
      this.#isScheduled = false;
      this.#sendBatches();
    });
  }

  #sendBatches(): void {
    while (
      this.#batches < maxBatchesInFlight &&
      this.#waiting.length >= (this.#batches === 0 ? 1 : minSecondBatch)
    ) {
      const batch = this.#next(batchSize(this.#waiting.length));
      if (batch.length > 0) void this.#run(batch);
    }
    this.#resolveDrained();
  }

  async #run(batch: readonly Waiting[]): Promise<void> {
    this.#batches += 1;
    this.#inFlight += batch.length;
    const answers = await this.#writer.write(batch, lockMs);
    this.#batches -= 1;
    this.#inFlight -= batch.length;
    this.#changes += batch.length;
    this.#largestBatch = Math.max(this.#largestBatch, batch.length);
    for (const [index, change] of batch.entries()) {
      const outcome = answers[index];
      assert(outcome !== undefined, "each change of a batch is answered");
      if (outcome === "blocked") {
        this.#lockedMerchants.add(change);
        continue;
      }
      if (outcome === "unavailable" || outcome === "commit_unknown") this.#setWriting(false);
      else if (outcome === "committed") this.#setWriting(true);
      change.resolve(outcome);
    }
    this.#sendBatches();
  }

  /**
   * Takes the changes of the next batch; changes of merchants with locked rows go to the separate
   * writer.
   */
  #next(max: number): readonly Waiting[] {
    const batch: Waiting[] = [];
    let [taken, guarded] = [0, 0];
    for (const change of this.#waiting) {
      const { merchant, isGuarded } = change.message;
      if (this.#lockedMerchants.has(merchant)) this.#lockedMerchants.add(change);
      else {
        if (batch.length === max || (isGuarded && guarded === maxGuarded)) break;
        if (isGuarded) guarded += 1;
        batch.push(change);
      }
      taken += 1;
    }
    this.#waiting.splice(0, taken);
    return movesFirst(batch);
  }

  #resolveDrained(): void {
    if (this.#queued > 0) return;
    for (const resolve of this.#whenDrained.splice(0)) resolve();
  }

  #setWriting(works: boolean): void {
    if (works === this.#isWriting) return;
    this.#isWriting = works;
    this.#options.onWriting(works);
  }
}
