import { ServiceError } from "../payment/service-error.ts";

/**
 * Lets requests about one payment wait for one another, so that a double click is answered with
 * what became of the first click. Only a courtesy within this process: that two can never both win
 * is the store's doing (compare-and-set on versions).
 *
 * Owns one queue per key that is in use; a key without waiters takes no memory.
 */
export class Turns {
  readonly #tails = new Map<string, { tail: Promise<void>; waiting: number }>();
  readonly #maximumWaiting: number;

  constructor(maximumWaiting = 32) {
    this.#maximumWaiting = maximumWaiting;
  }

  /**
   * Runs `task` after the tasks that were given earlier for `key`: at once if there are none.
   * Rejects with `payment_in_flight` when too many wait.
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
  // A failed turn is the business of the one who took it; the next one starts all the same.
}
