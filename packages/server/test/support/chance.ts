/**
 * Repeatable random numbers for the simulation's own choices: sfc32, a small published generator
 * with a period beyond 2^128 on average. The code under test draws from SeededRandom instead, so
 * that its draws do not shift with those of the harness.
 */
export class Chance {
  #a: number;
  #b: number;
  #c: number;
  #counter: number;

  constructor(seed: number) {
    this.#a = seed | 0;
    this.#b = Math.trunc(seed / 2 ** 32) | 0;
    this.#c = 0x9e3779b9 | 0;
    this.#counter = 1;
    for (let round = 0; round < 12; round += 1) this.next();
  }

  /** 0 to 2^32 - 1. */
  next(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (this.#c << 21) | (this.#c >>> 11);
    this.#c = (this.#c + sum) | 0;
    return sum >>> 0;
  }

  below(limit: number): number {
    return this.next() % limit;
  }

  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  /** True in `perMille` of 1000 cases. */
  happens(perMille: number): boolean {
    return this.below(1_000) < perMille;
  }

  pick<T>(choices: readonly T[]): T {
    const choice = choices[this.below(choices.length)];
    if (choice === undefined) throw new Error("there is something to pick from");
    return choice;
  }
}
