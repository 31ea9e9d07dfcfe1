/** Numbers and ids that are remembered; beyond that the oldest are forgotten. */
const most = 10_000;

export interface Seen {
  /** The first and the last of the numbers that this one has jumped over. */
  readonly gap: readonly [number, number] | undefined;
  /** It fills a gap that was told of earlier. */
  readonly late: boolean;
}

/**
 * Sees gaps in the account's sequence. Different payments overtake each other, so that a gap may
 * still be filled.
 */
export class SequenceWatch {
  readonly #missing = new Set<number>();
  #highest: number | undefined;

  see(number: number): Seen {
    const highest = (this.#highest ??= number);
    if (number <= highest) return { gap: undefined, late: this.#missing.delete(number) };
    this.#highest = number;
    if (number === highest + 1) return { gap: undefined, late: false };
    for (let missing = Math.max(highest + 1, number - most); missing < number; missing += 1)
      remember(this.#missing, missing);
    return { gap: [highest + 1, number - 1], late: false };
  }
}

/** Whether a message was heard before, by its id. */
export class RepeatWatch {
  readonly #ids = new Set<string>();

  isRepeat(id: string): boolean {
    if (this.#ids.has(id)) return true;
    remember(this.#ids, id);
    return false;
  }
}

function remember<T>(into: Set<T>, value: T): void {
  into.add(value);
  if (into.size <= most) return;
  for (const oldest of into) {
    into.delete(oldest);
    return;
  }
}
