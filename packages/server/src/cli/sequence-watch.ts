import { BoundedMap } from "../kernel/bounded-map.ts";

/** Most numbers and ids in memory; the oldest are dropped first. */
const most = 10_000;

export interface Seen {
  /** The first and the last of the numbers that were skipped. */
  readonly gap: readonly [number, number] | undefined;
  /** It fills a gap that was reported earlier. */
  readonly late: boolean;
}

/**
 * Detects gaps in the account's sequence. Messages of different payments may arrive out of order,
 * so a gap may still be filled.
 */
export class SequenceWatch {
  readonly #missing = new BoundedMap<number, true>(most);
  #highest: number | undefined;

  see(number: number): Seen {
    const highest = (this.#highest ??= number);
    if (number <= highest) return { gap: undefined, late: this.#missing.delete(number) };
    this.#highest = number;
    if (number === highest + 1) return { gap: undefined, late: false };
    for (let missing = Math.max(highest + 1, number - most); missing < number; missing += 1)
      this.#missing.set(missing, true);
    return { gap: [highest + 1, number - 1], late: false };
  }
}

/** Whether a message was received before, by its id. */
export class RepeatWatch {
  readonly #ids = new BoundedMap<string, true>(most);

  isRepeat(id: string): boolean {
    if (this.#ids.has(id)) return true;
    this.#ids.set(id, true);
    return false;
  }
}
