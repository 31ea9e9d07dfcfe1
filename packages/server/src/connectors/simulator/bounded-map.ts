import { assert } from "../../kernel/assert.ts";

/**
 * A map that holds at most `limit` keys and drops the oldest. The ring beside the map is there
 * because reading a Map's first key walks over the holes of earlier deletions: with steady eviction
 * that is a walk per insertion.
 */
export class BoundedMap<Value> {
  readonly #entries = new Map<string, Value>();
  readonly #ring: string[] = [];
  readonly #limit: number;
  #next = 0;

  constructor(limit: number) {
    assert(Number.isSafeInteger(limit) && limit > 0, "a bounded map has room for something");
    this.#limit = limit;
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key);
  }

  values(): IterableIterator<Value> {
    return this.#entries.values();
  }

  /** A copy of the map with each value passed through `copied`. */
  copy(copied: (value: Value) => Value): BoundedMap<Value> {
    const copy = new BoundedMap<Value>(this.#limit);
    for (const [key, value] of this.#entries) copy.#entries.set(key, copied(value));
    for (const key of this.#ring) copy.#ring.push(key);
    copy.#next = this.#next;
    return copy;
  }

  /** Adds a new key. Returns whether the oldest key was dropped. */
  add(key: string, value: Value): boolean {
    const oldest = this.#ring[this.#next];
    if (oldest !== undefined) this.#entries.delete(oldest);
    this.#entries.set(key, value);
    this.#ring[this.#next] = key;
    this.#next = (this.#next + 1) % this.#limit;
    return oldest !== undefined;
  }
}
