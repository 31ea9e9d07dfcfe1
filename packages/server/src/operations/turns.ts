import { ServiceError } from "../payment/service-error.ts";

/**
 * Runs requests for one payment one after the other, so that a double click receives the result of
 * the first click. This is a convenience within one process; the store ensures that two requests
 * cannot both succeed (compare-and-set on versions).
 *
 * Owns one queue per key in use; a key without waiters takes no memory.
 */
export class Turns {
  readonly #tails = new Map<string, { tail: Promise<void>; waiting: number }>();
  readonly #maximumWaiting: number;

  constructor(maximumWaiting = 32) {
    this.#maximumWaiting = maximumWaiting;
  }

  /**
   * Runs `task` after earlier tasks with this `key`, at once if there are none. Rejects with
   * `payment_in_flight` if too many wait.
   */
  async take<T>(key: string, task: (hasWaited: boolean) => Promise<T>): Promise<T> {
    const queue = this.#tails.get(key);
    if (queue !== undefined && queue.waiting >= this.#maximumWaiting)
      throw new ServiceError("payment_in_flight");
    const result = queue === undefined ? task(false) : queue.tail.then(() => task(true));
    const own = { tail: result.then(ignore, ignore), waiting: (queue?.waiting ?? 0) + 1 };
    this.#tails.set(key, own);
    try {
      return await result;
    } finally {
      const last = this.#tails.get(key);
      if (last !== undefined) last.waiting -= 1;
      if (last === own) this.#tails.delete(key);
    }
  }
}

function ignore(): void {
  // The caller of a failed task handles its error; the next task runs regardless.
}
