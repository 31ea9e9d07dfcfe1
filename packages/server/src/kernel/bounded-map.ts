import { assert } from "./assert.ts";

/**
 * A map that holds at most `limit` keys and drops the oldest: the one that was set least recently.
 * Reading does not make a key newer, so what is dropped does not depend on who reads. A package
 * such as lru-cache orders keys by their last use and brings timers and sizes that nothing here
 * needs.
 *
 * Maps whose values are not equally dispensable have rules of their own: the request log counts
 * characters, and the sign-in limits, the fault queue and the check of tampered rows refuse new
 * keys instead of dropping old ones.
 */
export class BoundedMap<Key, Value> {
  readonly #entries = new Map<Key, Value>();
  readonly #limit: number;
  readonly #isIdle: ((value: Value) => boolean) | undefined;
  /**
   * Continues behind the keys that were dropped last. Reading a Map's first key walks over the
   * holes of earlier deletions: with steady insertions that is a walk each time.
   */
  #oldest: MapIterator<Key> | undefined;

  /** `isIdle`: only such values are dropped; if there are none, the map exceeds its limit. */
  constructor(limit: number, isIdle?: (value: Value) => boolean) {
    assert(Number.isSafeInteger(limit) && limit > 0, "a bounded map has room for something");
    this.#limit = limit;
    this.#isIdle = isIdle;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key);
  }

  has(key: Key): boolean {
    return this.#entries.has(key);
  }

  /** Sets a key, which is then the newest. Returns whether another key was dropped. */
  set(key: Key, value: Value): boolean {
    const isKnown = this.delete(key);
    const isDropped = !isKnown && this.#entries.size >= this.#limit && this.#dropOldest();
    this.#entries.set(key, value);
    return isDropped;
  }

  delete(key: Key): boolean {
    const isDeleted = this.#entries.delete(key);
    // An iterator that is not used keeps every earlier copy of the map's table alive.
    if (isDeleted) this.#oldest = undefined;
    return isDeleted;
  }

  clear(): void {
    this.#entries.clear();
    this.#oldest = undefined;
  }

  /** Oldest first; entries may be deleted meanwhile. */
  [Symbol.iterator](): MapIterator<[Key, Value]> {
    return this.#entries.entries();
  }

  /** Oldest first. */
  values(): MapIterator<Value> {
    return this.#entries.values();
  }

  /** A copy of the map with each value passed through `copied`. */
  copy(copied: (value: Value) => Value): BoundedMap<Key, Value> {
    const copy = new BoundedMap<Key, Value>(this.#limit, this.#isIdle);
    for (const [key, value] of this.#entries) copy.#entries.set(key, copied(value));
    return copy;
  }

  #dropOldest(): boolean {
    if (this.#isIdle !== undefined) return this.#dropIdle(this.#isIdle);
    this.#oldest ??= this.#entries.keys();
    const { value, done } = this.#oldest.next();
    assert(done !== true, "what the iterator has passed was dropped");
    return this.#entries.delete(value);
  }

  /** Busy values that are older become the newest, so that they are not checked each time. */
  #dropIdle(isIdle: (value: Value) => boolean): boolean {
    let left = this.#entries.size;
    for (const [key, value] of this.#entries) {
      if (left === 0) break;
      left -= 1;
      this.#entries.delete(key);
      if (isIdle(value)) return true;
      this.#entries.set(key, value);
    }
    return false;
  }
}
