import { assert } from "../../kernel/assert.ts";

/**
 * Holds the newest `limit` items and drops older ones. Its memory grows with its content, not with
 * its limit.
 */
export class RingBuffer<Item> {
  readonly #limit: number;
  readonly #items: Item[] = [];
  /** Index of the oldest item, once the ring is full. */
  #first = 0;

  constructor(limit: number) {
    assert(Number.isSafeInteger(limit) && limit > 0, "a ring has room for something");
    this.#limit = limit;
  }

  get size(): number {
    return this.#items.length;
  }

  /** Adds the newest item; returns the oldest when it was dropped. */
  add(item: Item): Item | undefined {
    if (this.#items.length < this.#limit) {
      this.#items.push(item);
      return undefined;
    }
    const oldest = this.#items[this.#first];
    this.#items[this.#first] = item;
    this.#first = (this.#first + 1) % this.#limit;
    return oldest;
  }

  /** A copy, oldest first. */
  items(): readonly Item[] {
    return [...this.#items.slice(this.#first), ...this.#items.slice(0, this.#first)];
  }
}
