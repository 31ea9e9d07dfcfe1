import { requestLimits } from "./limits.ts";
import { Lifted } from "./tree.ts";

const blockBytes = 256;
const blank = 0x20;
const tab = 0x09;
const dash = 0x2d;
const plus = 0x2b;

/**
 * Owns the bytes of every sensitive value of one request. They live in memory of their own outside of the garbage collector's
 * heap: a small typed array inside it would be moved by a collection and leave its digits behind, unwiped.
 */
export class LiftedValues {
  readonly all: Lifted[] = [];
  readonly #blocks: Uint8Array[] = [];
  #used = 0;

  /**
   * Copies `source[start..end)`; the caller overwrites the source. Single blanks and dashes between the digits are how people write card
   * numbers, and go; blanks around them too. More of them, or a sign in front, are no card number.
   */
  lift(source: Uint8Array, start: number, end: number, cryptogram: boolean): Lifted {
    const block = this.#room();
    const from = this.#used;
    let to = from;
    let first = start;
    let last = end;
    if (!cryptogram) {
      while (first < last && isBlankByte(source[first])) first += 1;
      while (first < last && isBlankByte(source[last - 1])) last -= 1;
    }
    let isSeparated = true;
    for (let at = first; at < last; at += 1) {
      const byte = source[at] ?? 0;
      const isBlank = isBlankByte(byte);
      if (!cryptogram && (isBlank || byte === dash)) {
        if (isSeparated || at === last - 1) {
          block.fill(0, from, to);
          return this.malformed();
        }
        isSeparated = true;
        continue;
      }
      isSeparated = false;
      if (to - from === requestLimits.liftedBytes) {
        block.fill(0, from, to);
        return this.malformed();
      }
      block[to] = cryptogram && isBlank ? plus : byte;
      to += 1;
    }
    this.#used = to;
    return this.#add(new Lifted(block.subarray(from, to), true));
  }

  /** An array, an object, or too long: says that there was something, without its bytes. */
  malformed(): Lifted {
    return this.#add(new Lifted(new Uint8Array(0), false));
  }

  wipe(): void {
    for (const block of this.#blocks) block.fill(0);
  }

  #add(lifted: Lifted): Lifted {
    this.all.push(lifted);
    return lifted;
  }

  #room(): Uint8Array {
    const last = this.#blocks.at(-1);
    if (last !== undefined && this.#used + requestLimits.liftedBytes <= blockBytes) return last;
    const block = new Uint8Array(new ArrayBuffer(blockBytes));
    this.#blocks.push(block);
    this.#used = 0;
    return block;
  }
}

function isBlankByte(byte: number | undefined): boolean {
  return byte === blank || byte === tab;
}
