import { assert } from "../../kernel/assert.ts";
import type { ChangeMessage, Outcome } from "../change-message.ts";
import { StoreError, type StoreStats } from "../store.ts";
import { batchMessageOf } from "./batch-message.ts";
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

/** How long a batch waits for somebody who holds rows of one of its merchants, and with it all others, in milliseconds. */
const lockMs = 1_000;
/** Of all changes that may wait, those of merchants whose rows are held may be this part. */
const heldPart = 4;

/**
 * Group commit: while one batch commits the next gathers, so that a commit is as large as the server is slow. Changes are written in the
 * order in which they came. A merchant whose rows somebody holds keeps the others waiting once, for a second: from then on its changes are
 * written apart (held-merchants.ts) until that is over.
 */
export class BatchLane {
  readonly #options: LaneOptions;
  readonly #writer: BatchWriter;
  readonly #held: HeldMerchants;
  readonly #whenDrained: (() => void)[] = [];
  #waiting: Waiting[] = [];
  #underWay = 0;
  #isRunning = false;
  #isWriting = true;
  #changes = 0;
  #largestBatch = 0;

  constructor(connection: Connection, options: LaneOptions) {
    this.#options = options;
    this.#writer = new BatchWriter(options.connect, connection);
    this.#held = new HeldMerchants(options.connectAside, Math.ceil(options.maxQueued / heldPart), () => this.#tellDrained());
  }

  submit(message: ChangeMessage): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      if (this.#queued >= this.#options.maxQueued) {
        reject(new StoreError("overloaded"));
        return;
      }
      this.#waiting.push({ message: batchMessageOf(message), resolve });
      if (this.#isRunning) return;
      this.#isRunning = true;
      // What one turn of the event loop brings goes together.
      setImmediate(() => void this.#run());
    });
  }

  get isWriting(): boolean {
    return this.#isWriting;
  }

  /** Writes what changes nothing, which needs a session that may write, and a commit that is on the disk and at the standby. */
  async tryWriting(): Promise<boolean> {
    this.#found(await this.#writer.tryWriting());
    return this.#isWriting;
  }

  stats(): StoreStats {
    const commits = this.#writer.commits + this.#held.commits;
    return { commits, changes: this.#changes, largestBatch: this.#largestBatch, queued: this.#queued };
  }

  /** Resolves when everything submitted has been answered. */
  async drained(): Promise<void> {
    if (this.#queued > 0 || this.#isRunning) await new Promise<void>((resolve) => void this.#whenDrained.push(resolve));
  }

  async close(): Promise<void> {
    await Promise.all([this.#writer.close(), this.#held.close()]);
  }

  get #queued(): number {
    return this.#waiting.length + this.#underWay + this.#held.queued;
  }

  async #run(): Promise<void> {
    for (let batch = this.#next(); batch.length > 0; batch = this.#next()) {
      this.#underWay = batch.length;
      const answers = await this.#writer.write(batch, lockMs);
      this.#underWay = 0;
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
    }
    this.#isRunning = false;
    this.#tellDrained();
  }

  /** What goes together next; what belongs to merchants whose rows are held goes apart. */
  #next(): readonly Waiting[] {
    const batch: Waiting[] = [];
    while (batch.length < maxBatch && this.#waiting.length > 0) {
      for (const change of this.#waiting.splice(0, maxBatch - batch.length)) {
        if (this.#held.has(change.message.merchant)) this.#held.add(change);
        else batch.push(change);
      }
    }
    return batch;
  }

  #tellDrained(): void {
    if (this.#isRunning || this.#held.queued > 0) return;
    for (const resolve of this.#whenDrained.splice(0)) resolve();
  }

  #found(works: boolean): void {
    if (works === this.#isWriting) return;
    this.#isWriting = works;
    this.#options.onWriting(works);
  }
}
