import { minute, second } from "../kernel/instant.ts";
import type { ElapsedMs } from "../kernel/elapsed.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { KeyRecordStore } from "../stores/key-record-store.ts";

interface RootKeyReportsOptions {
  readonly keys: Pick<KeyRecordStore, "noteRootKeys">;
  readonly keyring: {
    /** Changes with each change of an epoch's wraps. */
    readonly epochWraps: string;
    /** Opens every epoch key with this root key. Rejects when one does not open. */
    readonly proveRoot: (root: string) => Promise<void>;
  };
  /** Key ids of the root keys that this process can use. */
  readonly roots: readonly string[];
  /** Identifies this process among the nodes. */
  readonly node: string;
  readonly scheduler: Scheduler;
  readonly elapsedMs: ElapsedMs;
}

const intervalMs = 5 * second;
/** After a root key did not open every epoch key. */
const retryMs = minute;

/**
 * Opens the epoch keys with each root key of this process when their wraps have changed, and notes
 * in the store which of them did. So no wrap is dropped that a node still needs.
 */
export class RootKeyReports {
  readonly #options: RootKeyReportsOptions;
  readonly #ended = new AbortController();
  #opened: readonly string[] = [];
  /** The wraps that `#opened` is about. */
  #wraps: string | undefined;
  #retryAt = Infinity;
  #running: Promise<void> | undefined;

  constructor(options: RootKeyReportsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#ended.abort();
    await this.#running;
  }

  /**
   * The number of live nodes, this one included, that have not opened the epoch keys with this root
   * key. Rejects with StoreError.
   */
  async nodesWithout(root: string): Promise<number> {
    const { keys, node } = this.#options;
    await this.#open();
    const reported = (await keys.noteRootKeys?.(node, this.#opened)) ?? [];
    const without = reported.filter((opened) => !opened.includes(root)).length;
    // Without a lease, this node is not among them.
    return Math.max(without, this.#opened.includes(root) ? 0 : 1);
  }

  async #run(): Promise<void> {
    const { keys, node, scheduler } = this.#options;
    const { signal } = this.#ended;
    while (!signal.aborted) {
      await this.#open();
      // While the store does not answer, the last note stays.
      if (!signal.aborted) await keys.noteRootKeys?.(node, this.#opened).catch(() => undefined);
      await scheduler.sleep(intervalMs, signal).catch(() => undefined);
    }
  }

  async #open(): Promise<void> {
    const { keyring, roots, elapsedMs } = this.#options;
    const wraps = keyring.epochWraps;
    if (wraps === this.#wraps && elapsedMs() < this.#retryAt) return;
    const results = await Promise.all(
      roots.map(async (root) =>
        keyring.proveRoot(root).then(
          () => [root],
          () => [],
        ),
      ),
    );
    this.#opened = results.flat();
    this.#wraps = wraps;
    this.#retryAt = this.#opened.length === roots.length ? Infinity : elapsedMs() + retryMs;
  }
}
