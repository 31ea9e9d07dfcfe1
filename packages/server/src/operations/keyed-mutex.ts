import { ServiceError } from "../payment/service-error.ts";

/**
 * Runs requests for one payment one after the other, so that a double click receives the result of
 * the first click. This is a convenience within one process; the store ensures that two requests
 * cannot both succeed (compare-and-set on versions).
 *
 * Owns one queue per key in use; a key without waiters takes no memory.
 */
export class KeyedMutex {
  readonly #queues = new Map<string, { tail: Promise<void>; waiting: number }>();
  readonly #maximumWaiting: number;

  constructor(maximumWaiting = 32) {
    this.#maximumWaiting = maximumWaiting;
  }

  /**
   * Runs `task` after earlier tasks with this `key`, at once if there are none. Rejects with
   * `payment_in_flight` if too many wait.
   */
  async runExclusive<T>(key: string, task: (hasWaited: boolean) => Promise<T>): Promise<T> {
    const queue = this.#queues.get(key);
    if (queue !== undefined && queue.waiting >= this.#maximumWaiting)
      throw new ServiceError("payment_in_flight");
    const result = queue === undefined ? task(false) : queue.tail.then(() => task(true));
    const own = { tail: result.then(ignore, ignore), waiting: (queue?.waiting ?? 0) + 1 };
    this.#queues.set(key, own);
    try {
      return await result;
    } finally {
      const last = this.#queues.get(key);
      if (last !== undefined) last.waiting -= 1;
      if (last === own) this.#queues.delete(key);
    }
  }
}

function ignore(): void {
  // The caller of a failed task handles its error; the next task runs regardless.
}
