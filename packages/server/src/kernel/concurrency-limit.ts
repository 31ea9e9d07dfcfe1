import { assert } from "./assert.ts";

/**
 * Runs at most `max` tasks at once. Up to `maxWaiting` further ones wait in their order; others
 * are refused. A task that ends passes its slot to the next one.
 *
 * For limits with one fixed number. The limits of http/places.ts and delivery/shares.ts divide
 * slots among accounts, delivery/receiver-limit.ts adapts its number to the receiver, and
 * stores/postgres/list-scheduler.ts and kernel/rate-limit.ts limit a share of the time.
 */
export class ConcurrencyLimit {
  readonly #max: number;
  readonly #maxWaiting: number;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(max: number, maxWaiting: number) {
    assert(max >= 1 && maxWaiting >= 0, "a limit lets at least one task run");
    this.#max = max;
    this.#maxWaiting = maxWaiting;
  }

  /**
   * Runs the task, now or when a slot is free, and resolves or rejects as it does. Resolves with
   * what `refused` returns, or rejects with what it throws, if too many tasks wait, or if `signal`
   * is aborted before the task began.
   */
  async run<T, R>(task: () => Promise<T>, refused: () => R, signal?: AbortSignal): Promise<T | R> {
    if (this.#running < this.#max) this.#running += 1;
    else if (!(await this.#turn(signal))) return refused();
    try {
      return await task();
    } finally {
      this.#release();
    }
  }

  /** false: refused. */
  async #turn(signal: AbortSignal | undefined): Promise<boolean> {
    if (this.#waiting.size >= this.#maxWaiting || signal?.aborted === true) return false;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const begin = (): void => resolve(true);
    const abort = (): void => {
      if (this.#waiting.delete(begin)) resolve(false);
    };
    this.#waiting.add(begin);
    signal?.addEventListener("abort", abort, { once: true });
    try {
      return await promise;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  #release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#running -= 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
