import { assert } from "../../kernel/assert.ts";

/** Values in sorted order, without duplicates. A look-up is a binary search. */
export class SortedList<T> {
  readonly #compare: (left: T, right: T) => number;
  readonly #values: T[] = [];

  /** `compare` returns 0 only for equal values. */
  constructor(compare: (left: T, right: T) => number) {
    this.#compare = compare;
  }

  get first(): T | undefined {
    return this.#values[0];
  }

  add(value: T): void {
    this.#values.splice(
      this.#firstIndex((each) => this.#compare(each, value) >= 0),
      0,
      value,
    );
  }

  remove(value: T): void {
    const index = this.#firstIndex((each) => this.#compare(each, value) >= 0);
    const found = this.#values[index];
    assert(
      found !== undefined && this.#compare(found, value) === 0,
      "a value that is removed is in the list",
    );
    this.#values.splice(index, 1);
  }

  /**
   * The first value for which `holds` is true. `holds` must be false up to some position and true
   * from there on.
   */
  firstWhere(holds: (value: T) => boolean): T | undefined {
    return this.#values[this.#firstIndex(holds)];
  }

  /** The values after `after`, as long as `holds` is true. */
  *between(after: T | undefined, holds: (value: T) => boolean): Generator<T> {
    const from =
      after === undefined ? 0 : this.#firstIndex((each) => this.#compare(each, after) > 0);
    for (let index = from; index < this.#values.length; index += 1) {
      const value = this.#values[index];
      if (value === undefined || !holds(value)) return;
      yield value;
    }
  }

  #firstIndex(holds: (value: T) => boolean): number {
    let [low, high] = [0, this.#values.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const value = this.#values[middle];
      if (value !== undefined && holds(value)) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
