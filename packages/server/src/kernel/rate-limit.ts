import type { Scheduler } from "./scheduler.ts";

/**
 * Spreads work over time: tasks begin in order of arrival, at most `limit` in each period of
 * `periodMs`. So a backlog takes a bounded share of a thread that also serves requests. Owns a timer
 * from the first task of a period to its end.
 */
export class RateLimit {
  readonly #scheduler: Scheduler;
  readonly #limit: number;
  readonly #periodMs: number;
  #waiting: (() => void)[] = [];
  #started = 0;

  constructor(scheduler: Scheduler, limit: number, periodMs: number) {
    this.#scheduler = scheduler;
    this.#limit = limit;
    this.#periodMs = periodMs;
  }

  /** Runs the task now if the period has room for it, otherwise in a later period. */
  run(task: () => void): void {
    if (this.#started === this.#limit) {
      this.#waiting.push(task);
      return;
    }
    this.#started += 1;
    if (this.#started === 1) this.#scheduler.after(this.#periodMs, () => this.#nextPeriod());
    task();
  }

  /** Resolves when a task that arrives now may begin. */
  acquire(): Promise<void> {
    return new Promise((resolve) => {
      this.run(resolve);
    });
  }

  #nextPeriod(): void {
    this.#started = 0;
    for (const task of this.#waiting.splice(0, this.#limit)) this.run(task);
  }
}
