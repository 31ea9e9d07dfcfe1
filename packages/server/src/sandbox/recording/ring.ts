import { assert } from "../../kernel/assert.ts";

/**
 * Holds the newest `limit` items and lets the older ones go. Takes memory for what it holds, not
 * for what it may hold.
 */
export class Ring<Item> {
  readonly #limit: number;
  readonly #items: Item[] = [];
  /** Where the oldest is, once it is full. */
  #first = 0;

  constructor(limit: number) {
    assert(Number.isSafeInteger(limit) && limit > 0, "a ring has room for something");
    this.#limit = limit;
  }

  get size(): number {
    return this.#items.length;
  }

  /** Adds the newest; gives back the oldest when it had to go. */
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

  /** Oldest first, as they are now. */
  items(): readonly Item[] {
    return [...this.#items.slice(this.#first), ...this.#items.slice(0, this.#first)];
  }
}
