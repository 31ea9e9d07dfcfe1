import { systemScheduler } from "../../kernel/system-scheduler.ts";
import { BatchWriter, maxBatch, type Waiting } from "./batch-writer.ts";
import type { Connection } from "./connection.ts";

/**
 * Sessions beside the one that writes all other merchants' changes; opened on demand and closed
 * when no merchant is held.
 */
const maxSessions = 8;
/**
 * How long each waits for a lock, in milliseconds: with the change's earlier wait, four seconds.
 */
const lockMs = 3_000;
/**
 * How long after a wait without success a merchant stays here, in milliseconds; then its next
 * change is tried together with all others again.
 */
const returnMs = 30_000;

interface Queue {
  readonly waiting: Waiting[];
  isWriting: boolean;
  cancelReturn: (() => void) | undefined;
}

/**
 * Writes the changes of merchants whose rows are locked by another session, separately, so that no
 * other merchant waits for those locks. One session at a time writes a merchant's changes, in
 * order; up to eight merchants are tried at once. If the wait fails, all changes of the merchant
 * that arrived meanwhile are refused: nothing of them was written.
 */
export class LockedMerchants {
  readonly #connect: () => Promise<Connection>;
  readonly #maxQueued: number;
  readonly #onIdle: () => void;
  readonly #queues = new Map<string, Queue>();
  /** Merchants waiting to be written, in order. */
  readonly #ready: string[] = [];
  readonly #idle: BatchWriter[] = [];
  #running = 0;
  #count = 0;
  #commits = 0;

  /**
   * Changes beyond `maxQueued` are refused at once. `onIdle` is called when no change waits any
   * more.
   */
  constructor(connect: () => Promise<Connection>, maxQueued: number, onIdle: () => void) {
    this.#connect = connect;
    this.#maxQueued = maxQueued;
    this.#onIdle = onIdle;
  }

  /** Changes that wait here for their answers. */
  get queued(): number {
    return this.#count;
  }

  get commits(): number {
    return this.#commits;
  }

  has(merchant: string): boolean {
    return this.#queues.has(merchant);
  }

  add(change: Waiting): void {
    if (this.#count >= this.#maxQueued) {
      change.resolve("unavailable");
      return;
    }
    const { merchant } = change.message;
    const queue = this.#queues.get(merchant) ?? {
      waiting: [],
      isWriting: false,
      cancelReturn: undefined,
    };
    this.#queues.set(merchant, queue);
    this.#count += 1;
    if (queue.waiting.push(change) === 1 && !queue.isWriting) this.#ready.push(merchant);
    this.#writeNext();
  }

  /** Must be called only when no change waits. */
  async close(): Promise<void> {
    for (const { cancelReturn } of this.#queues.values()) cancelReturn?.();
    this.#queues.clear();
    await this.#closeIdle();
  }

  #writeNext(): void {
    while (this.#running < maxSessions) {
      const merchant = this.#ready.shift();
      const queue = merchant === undefined ? undefined : this.#queues.get(merchant);
      if (merchant === undefined || queue === undefined) return;
      this.#running += 1;
      queue.isWriting = true;
      queue.cancelReturn?.();
      void this.#write(queue).then((isLocked) => {
        this.#running -= 1;
        queue.isWriting = false;
        if (queue.waiting.length > 0) this.#ready.push(merchant);
        else if (isLocked)
          queue.cancelReturn = systemScheduler.after(returnMs, () => this.#forget(merchant));
        else this.#forget(merchant);
        this.#writeNext();
        if (this.#count === 0) this.#onIdle();
      });
    }
  }

  /** Returns whether the merchant's rows were locked for the whole time. */
  async #write({ waiting }: Queue): Promise<boolean> {
    const writer = this.#idle.pop() ?? new BatchWriter(this.#connect);
    const batch = waiting.splice(0, maxBatch);
    const before = writer.commits;
    const answers = await writer.write(batch, lockMs);
    this.#commits += writer.commits - before;
    this.#idle.push(writer);
    for (const [index, change] of batch.entries())
      this.#answer(change, answers[index] ?? "unavailable");
    const isLocked = answers.includes("blocked");
    if (isLocked) for (const change of waiting.splice(0)) this.#answer(change, "blocked");
    return isLocked;
  }

  #answer(change: Waiting, answer: Parameters<Waiting["resolve"]>[0] | "blocked"): void {
    this.#count -= 1;
    change.resolve(answer === "blocked" ? "unavailable" : answer);
  }

  #forget(merchant: string): void {
    this.#queues.delete(merchant);
    if (this.#queues.size === 0) void this.#closeIdle();
  }

  async #closeIdle(): Promise<void> {
    await Promise.all(this.#idle.splice(0).map((writer) => writer.close()));
  }
}
