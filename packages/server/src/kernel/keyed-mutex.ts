export interface MutexLimit {
  /** Tasks of one key, including the running one. */
  readonly maximumWaiting: number;
  /** The error of a task that is refused. */
  readonly refusal: () => Error;
}

/**
 * Runs tasks with the same key one after the other, so that a double click receives the result of
 * the first click. This is a convenience within one process; the store ensures that two requests
 * cannot both succeed (compare-and-set on versions).
 *
 * Owns one queue per key in use; a key without waiters takes no memory. Packages such as
 * async-mutex neither bound their queues nor tell a task whether it has waited.
 */
export class KeyedMutex {
  readonly #queues = new Map<string, { tail: Promise<void>; waiting: number }>();
  readonly #limit: MutexLimit | undefined;

  /** Without a limit, any number of tasks may wait. */
  constructor(limit?: MutexLimit) {
    this.#limit = limit;
  }

  /**
   * Runs `task` after earlier tasks with this `key`, at once if there are none. Rejects with
   * the limit's error if too many wait.
   */
  async runExclusive<T>(key: string, task: (hasWaited: boolean) => Promise<T>): Promise<T> {
    const queue = this.#queues.get(key);
    if (queue !== undefined && this.#limit !== undefined)
      if (queue.waiting >= this.#limit.maximumWaiting) throw this.#limit.refusal();
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
