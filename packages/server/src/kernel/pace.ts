import type { Scheduler } from "./scheduler.ts";

/**
 * Spreads work over time: tasks begin in order of arrival, at most `most` in each period of
 * `everyMs`. So a backlog takes a bounded share of a thread that also serves requests. Owns a timer
 * from the first task of a period to its end.
 */
export class Pace {
  readonly #scheduler: Scheduler;
  readonly #most: number;
  readonly #everyMs: number;
  #waiting: (() => void)[] = [];
  #begun = 0;

  constructor(scheduler: Scheduler, most: number, everyMs: number) {
    this.#scheduler = scheduler;
    this.#most = most;
    this.#everyMs = everyMs;
  }

  /** Begins the task now if the period has room for it, otherwise in a later period. */
  begin(task: () => void): void {
    if (this.#begun === this.#most) {
      this.#waiting.push(task);
      return;
    }
    this.#begun += 1;
    if (this.#begun === 1) this.#scheduler.after(this.#everyMs, () => this.#nextPeriod());
    task();
  }

  /** Resolves when a task that arrives now may begin. */
  turn(): Promise<void> {
    return new Promise((resolve) => {
      this.begin(resolve);
    });
  }

  #nextPeriod(): void {
    this.#begun = 0;
    for (const task of this.#waiting.splice(0, this.#most)) this.begin(task);
  }
}
