import type { Scheduler } from "../src/kernel/scheduler.ts";
import { systemScheduler } from "../src/kernel/system-scheduler.ts";

/**
 * The machine's timers, except those whose delay matches `holds`: they fire when the test says so.
 * A test that needs a timer to fire late or never is then independent of the machine's speed.
 */
export class ManualScheduler implements Scheduler {
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
    // A new function, because the same task may be scheduled twice.
    const held = (): void => task();
    this.#held.add(held);
    return () => void this.#held.delete(held);
  }

  /** Fires all held timers. */
  release(): void {
    for (const task of this.#held) {
      this.#held.delete(task);
      task();
    }
  }
}
