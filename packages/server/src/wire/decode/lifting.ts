import {
  blankKinds,
  separatorAt,
  separatorKind,
  separatorKinds,
  utf8Length,
} from "../../kernel/separators.ts";
import { requestLimits } from "./limits.ts";
import { Lifted } from "./tree.ts";

const blockBytes = 256;
const blank = 0x20;
const tab = 0x09;
const plus = 0x2b;
const none = 0;
const { dash } = separatorKinds;

/**
 * Owns the bytes of every sensitive value of one request. They live in separate memory outside the
 * garbage collector's heap: a collection would move a small typed array inside the heap and leave
 * its digits behind, unwiped.
 */
export class LiftedValues {
  readonly all: Lifted[] = [];
  readonly #blocks: Uint8Array[] = [];
  readonly #texts: Uint8Array[] = [];
  #used = 0;

  /** Copies `source[start..end)`; the caller overwrites the source. */
  lift(source: Uint8Array, start: number, end: number, cryptogram: boolean): Lifted {
    const block = this.#room();
    const from = this.#used;
    const length = cryptogram
      ? copyCryptogram(source, start, end, block, from)
      : copyDigits(source, start, end, block, from);
    if (length < 0) {
      block.fill(0, from, from + requestLimits.liftedBytes);
      return this.malformed();
    }
    this.#used = from + length;
    return this.#add(new Lifted(block.subarray(from, from + length), true));
  }

  /** Separate memory for text that may contain sensitive values; `wipe` overwrites it with them. */
  room(length: number): Buffer {
    const buffer = new ArrayBuffer(length);
    this.#texts.push(new Uint8Array(buffer));
    return Buffer.from(buffer);
  }

  /**
   * For an array, an object, or a value that is too long: records that there was a value, without
   * its bytes.
   */
  malformed(): Lifted {
    return this.#add(new Lifted(new Uint8Array(0), false));
  }

  wipe(): void {
    for (const block of this.#blocks) block.fill(0);
    for (const text of this.#texts) text.fill(0);
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

/**
 * Copies a cryptogram and turns blanks back into the `+` that form decoding replaced. Returns the
 * length, or -1 if it is too long.
 */
function copyCryptogram(
  source: Uint8Array,
  start: number,
  end: number,
  block: Uint8Array,
  from: number,
): number {
  if (end - start > requestLimits.liftedBytes) return -1;
  for (let at = start; at < end; at += 1) {
    const byte = source[at] ?? 0;
    block[from + at - start] = byte === blank || byte === tab ? plus : byte;
  }
  return end - start;
}

/**
 * Copies digits. People write card numbers in groups: single blanks and dashes of any script
 * between the digits are dropped, as are blanks at both ends, and invisible characters anywhere.
 * Two separators in a row, or a dash at an end, do not occur in a card number. Returns the length,
 * or -1 if the text is not a card number.
 */
function copyDigits(
  source: Uint8Array,
  start: number,
  end: number,
  block: Uint8Array,
  from: number,
): number {
  let length = 0;
  let separator = none;
  let isDoubled = false;
  for (let at = start; at < end;) {
    const byte = source[at] ?? 0;
    const codePoint = byte >= 0x30 && byte <= 0x39 ? -1 : separatorAt(source, at, end);
    const kind = codePoint < 0 ? 0 : separatorKind(codePoint) & (blankKinds | dash);
    if (kind === 0) {
      if (isDoubled || length === requestLimits.liftedBytes) return -1;
      separator = none;
      block[from + length] = byte;
      length += 1;
      at += 1;
      continue;
    }
    at += utf8Length(codePoint);
    if (kind === dash) {
      if (separator !== none || length === 0) return -1;
      separator = dash;
    } else if (kind === separatorKinds.blank && length > 0) {
      isDoubled = separator !== none;
      if (separator === none) separator = kind;
    }
  }
  return separator === dash ? -1 : length;
}
