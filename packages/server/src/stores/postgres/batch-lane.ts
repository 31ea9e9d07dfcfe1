import { assert } from "../../kernel/assert.ts";
import { atEndOfTurn } from "../../kernel/end-of-turn.ts";
import type { ChangeMessage, Outcome } from "../change-message.ts";
import { StoreError, type StoreStats } from "../store.ts";
import { batchMessageOf, movesFirst } from "./batch-message.ts";
import { BatchWriter, maxBatch, type Waiting } from "./batch-writer.ts";
import type { Connection } from "./connection.ts";
import { HeldMerchants } from "./held-merchants.ts";

export interface LaneOptions {
  /** Makes a session for writing. Rejects when there is none to be had. */
  readonly connect: () => Promise<Connection>;
  /** Another one beside it, for merchants whose rows somebody holds. */
  readonly connectAside: () => Promise<Connection>;
  /** How many changes may wait for their answers; more are refused as `overloaded`. */
  readonly maxQueued: number;
  /** Called when writing begins to fail, and when it works again. */
  readonly onWriting: (works: boolean) => void;
}

/**
 * How long a batch waits for somebody who holds rows of one of its merchants, and with it all
 * others, in milliseconds.
 */
const lockMs = 1_000;
/** Of all changes that may wait, those of merchants whose rows are held may be this part. */
const heldPart = 4;

/**
 * Batches that are under way at once on the lane's session, so that the server works while this
 * process hears what it said before. The second may wait for the first one's locks and then for its
 * own, and that must stay far below the time after which a silent session is given up
 * (connection.ts).
 */
const mostBatches = 2;
/**
 * So many changes are worth a batch of their own behind another: a batch costs the server as much
 * as ten changes (packages/proof/docs/performance.md).
 */
const worthSending = 16;
/**
 * Changes of one batch that are written in subtransactions. The server keeps 64 of a transaction
 * where every session sees them; with more, each session's snapshot looks into pg_subtrans for as
 * long as the batch runs.
 */
const mostGuarded = 48;
/**
 * More than these are sent as two batches, for otherwise all who ask would be answered at once and
 * nothing be left to be sent meanwhile.
 */
const wholeBatch = 32;

function batchSize(waiting: number): number {
  return waiting <= wholeBatch
    ? waiting
    : Math.min(maxBatch, Math.max(wholeBatch, Math.ceil(waiting / 2)));
}

/**
 * Group commit: while batches commit the next gathers, so that a commit is as large as the server
 * is slow. Changes are written in the order in which they came, but for those of a batch that has
 * to be tried again. A merchant whose rows somebody holds keeps the others waiting once, for a
 * second, or two where two batches have met it: from then on its changes are written apart
 * (held-merchants.ts) until that is over.
 */
export class BatchLane {
  readonly #options: LaneOptions;
  readonly #writer: BatchWriter;
  readonly #held: HeldMerchants;
  readonly #whenDrained: (() => void)[] = [];
  #waiting: Waiting[] = [];
  #underWay = 0;
  /** Batches under way. */
  #batches = 0;
  #isFilling = false;
  #isWriting = true;
  #changes = 0;
  #largestBatch = 0;

  constructor(connection: Connection, options: LaneOptions) {
    this.#options = options;
    this.#writer = new BatchWriter(options.connect, connection);
    this.#held = new HeldMerchants(
      options.connectAside,
      Math.ceil(options.maxQueued / heldPart),
      () => this.#tellDrained(),
    );
  }

  submit(message: ChangeMessage): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      if (this.#queued >= this.#options.maxQueued) {
        reject(new StoreError("overloaded"));
        return;
      }
      this.#waiting.push({ message: batchMessageOf(message), resolve });
      this.#fillSoon();
    });
  }

  get isWriting(): boolean {
    return this.#isWriting;
  }

  /**
   * Writes what changes nothing, which needs a session that may write, and a commit that is on the
   * disk and at the standby.
   */
  async tryWriting(): Promise<boolean> {
    this.#found(await this.#writer.tryWriting());
    return this.#isWriting;
  }

  stats(): StoreStats {
    const commits = this.#writer.commits + this.#held.commits;
    return {
      commits,
      changes: this.#changes,
      largestBatch: this.#largestBatch,
      queued: this.#queued,
    };
  }

  /** Resolves when everything submitted has been answered. */
  async drained(): Promise<void> {
    if (this.#queued > 0)
      await new Promise<void>((resolve) => void this.#whenDrained.push(resolve));
  }

  async close(): Promise<void> {
    await Promise.all([this.#writer.close(), this.#held.close()]);
  }

  get #queued(): number {
    return this.#waiting.length + this.#underWay + this.#held.queued;
  }

  /** At the end of this turn of the event loop, so that what the turn brings goes together. */
  #fillSoon(): void {
    if (this.#isFilling || this.#batches === mostBatches) return;
    this.#isFilling = true;
    atEndOfTurn(() => {
      this.#isFilling = false;
      this.#fill();
    });
  }

  #fill(): void {
    while (
      this.#batches < mostBatches &&
      this.#waiting.length >= (this.#batches === 0 ? 1 : worthSending)
    ) {
      const batch = this.#next(batchSize(this.#waiting.length));
      if (batch.length > 0) void this.#run(batch);
    }
    this.#tellDrained();
  }

  async #run(batch: readonly Waiting[]): Promise<void> {
    this.#batches += 1;
    this.#underWay += batch.length;
    const answers = await this.#writer.write(batch, lockMs);
    this.#batches -= 1;
    this.#underWay -= batch.length;
    this.#changes += batch.length;
    this.#largestBatch = Math.max(this.#largestBatch, batch.length);
    for (const [index, change] of batch.entries()) {
      const outcome = answers[index];
      assert(outcome !== undefined, "each change of a batch is answered");
      if (outcome === "blocked") {
        this.#held.add(change);
        continue;
      }
      if (outcome === "unavailable" || outcome === "commit_unknown") this.#found(false);
      else if (outcome === "committed") this.#found(true);
      change.resolve(outcome);
    }
    this.#fill();
  }

  /** What goes together next; what belongs to merchants whose rows are held goes apart. */
  #next(most: number): readonly Waiting[] {
    const batch: Waiting[] = [];
    let [taken, guarded] = [0, 0];
    for (const change of this.#waiting) {
      const { merchant, isGuarded } = change.message;
      if (this.#held.has(merchant)) this.#held.add(change);
      else {
        if (batch.length === most || (isGuarded && guarded === mostGuarded)) break;
        if (isGuarded) guarded += 1;
        batch.push(change);
      }
      taken += 1;
    }
    this.#waiting.splice(0, taken);
    return movesFirst(batch);
  }

  #tellDrained(): void {
    if (this.#queued > 0) return;
    for (const resolve of this.#whenDrained.splice(0)) resolve();
  }

  #found(works: boolean): void {
    if (works === this.#isWriting) return;
    this.#isWriting = works;
    this.#options.onWriting(works);
  }
}
