import type { Scheduler } from "../src/kernel/scheduler.ts";
import { systemScheduler } from "../src/kernel/system-scheduler.ts";

/**
 * The machine's time, but for what is to happen after as long as `holds` says: that happens when
 * the test says so. What must not happen before something else did, or not at all, is then no
 * matter of how fast the machine is.
 */
export class HeldScheduler implements Scheduler {
  readonly #holds: (ms: number) => boolean;
  readonly #held = new Set<() => void>();

  constructor(holds: (ms: number) => boolean = () => true) {
    this.#holds = holds;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return systemScheduler.sleep(ms, signal);
  }

  after(ms: number, task: () => void): () => void {
    if (!this.#holds(ms)) return systemScheduler.after(ms, task);
    // Two that are alike are two.
    const held = (): void => task();
    this.#held.add(held);
    return () => void this.#held.delete(held);
  }

  /** The time of all that is held has come. */
  release(): void {
    for (const task of this.#held) {
      this.#held.delete(task);
      task();
    }
  }
}
