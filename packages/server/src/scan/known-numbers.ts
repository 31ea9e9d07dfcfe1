import { assert } from "../kernel/assert.ts";
import { isDigit, separatorLength } from "./digit-groups.ts";
import { maskOfDigits } from "../vault/mask.ts";
import { type Hit, type Search } from "./search.ts";

/** Encodings of a card number: each gives one or more byte sequences to search for. */
const forms: readonly (readonly [name: string, write: (pan: string) => readonly Uint8Array[]])[] = [
  ["ascii", (pan) => [ascii(pan)]],
  ["utf-16 le", (pan) => [utf16le(pan)]],
  ["utf-16 be", (pan) => [utf16le(pan).swap16()]],
  ["packed bcd", packedBcd],
  ["int64 le", (pan) => [int64(pan, true)]],
  ["int64 be", (pan) => [int64(pan, false)]],
  ["float64 le", (pan) => [float64(pan, true)]],
  ["float64 be", (pan) => [float64(pan, false)]],
  ["halves swapped", (pan) => [ascii(pan.slice(pan.length >> 1) + pan.slice(0, pan.length >> 1))]],
  ["digits reversed", (pan) => [ascii(Array.from(pan).toReversed().join(""))]],
  [
    "full width",
    (pan) => [
      Buffer.from(pan.replace(/./g, (digit) => String.fromCharCode(0xff10 + Number(digit)))),
    ],
  ],
  ["percent-encoded", (pan) => [ascii(pan.replace(/./g, (digit) => `%3${digit}`))]],
  ["json-escaped", (pan) => [ascii(pan.replace(/./g, (digit) => `\\u003${digit}`))]],
  ["hex of ascii", (pan) => hexOf(ascii(pan))],
  ["hex of utf-16", (pan) => [...hexOf(utf16le(pan)), ...hexOf(utf16le(pan).swap16())]],
  [
    "hex of a number",
    (pan) =>
      [true, false].flatMap((little) => [
        ...hexOf(int64(pan, little)),
        ...hexOf(float64(pan, little)),
      ]),
  ],
  ["base64 of ascii", (pan) => base64Of(ascii(pan))],
  ["base64 of utf-16", (pan) => base64Of(utf16le(pan))],
  ["base64 of packed bcd", (pan) => packedBcd(pan).flatMap(base64Of)],
];

/**
 * Without its first six digits, as a separate field: the rest of a number that was split in two. At
 * least ten digits, with no digit next to them: shorter ones occur by chance.
 */
const restForm = "all but the first six";
const shortestRest = 10;
const shortestPan = 14;
const separatedForm = "ascii with separators";

const anchorBytes = 8;
const chunkBytes = 1 << 20;
/** Longer than any encoding, separators included. */
const overlapBytes = 256;
const filterBits = 24;
const tableBits = 19;

/** Between two digits of one number. */
const maxSeparators = 6;

interface Needle {
  readonly pan: number;
  readonly form: string;
}

/** Whether these digits are a number that can be searched for. */
export function isSearchable(text: string): boolean {
  return /^\d+$/.test(text) && text.length >= shortestPan && text.length <= 19;
}

/**
 * Finds known card numbers in bytes, in any encoding. All encodings of all numbers are byte
 * sequences in one table, keyed by their last eight bytes: one pass over the bytes finds any of
 * them, at about ten nanoseconds per byte.
 */
export class KnownNumbers implements Search {
  readonly #pans: readonly string[];
  readonly #needles: Needle[] = [];
  readonly #starts: number[] = [];
  readonly #text: Buffer;
  #textLength = 0;
  readonly #filter = new Uint8Array(1 << (filterBits - 3));
  readonly #heads = new Int32Array(1 << tableBits).fill(-1);
  readonly #next: number[] = [];
  /** Twice the chunk: each number in it is followed by a zero. */
  readonly #ungrouped = new Uint8Array(2 * (chunkBytes + overlapBytes));
  readonly #origins = new Uint32Array(2 * (chunkBytes + overlapBytes));

  /** Numbers of 14 to 19 digits. */
  constructor(pans: readonly string[]) {
    this.#pans = pans;
    this.#text = Buffer.alloc(pans.length * 2_048);
    for (const [index, pan] of pans.entries()) {
      assert(isSearchable(pan), "what is searched for is digits, as many as card numbers have");
      for (const [form, write] of forms)
        for (const bytes of write(pan)) this.#add({ pan: index, form }, bytes);
      if (pan.length >= 6 + shortestRest)
        this.#add({ pan: index, form: restForm }, ascii(pan.slice(6)));
    }
    this.#starts.push(this.#textLength);
  }

  /** Every encoding of every known number in `bytes`, each once. */
  search(bytes: Uint8Array): readonly Hit[] {
    const found = new Map<string, Hit>();
    const keep = (offset: number, { pan, form }: Needle): void => {
      found.set(`${offset} ${form} ${pan}`, {
        offset,
        encoding: form,
        maskedPan: maskOfDigits(ascii(this.#pans[pan] ?? "")),
      });
    };
    for (let from = 0; from < bytes.length; from += chunkBytes) {
      // A match that begins in this chunk ends within the overlap; a match that begins in the
      // overlap is found again, at the same offset.
      const chunk = bytes.subarray(from, from + chunkBytes + overlapBytes);
      this.#search(chunk, (start, needle, length) => {
        if (needle.form !== restForm || isIsolated(bytes, from + start, length))
          keep(from + start, needle);
      });
      this.#search(this.#ungroup(chunk), (start, { pan, form }, length) => {
        const [first = 0, last = 0] = [this.#origins[start], this.#origins[start + length - 1]];
        if (form === "ascii" && last - first >= length)
          keep(from + first, { pan, form: separatedForm });
      });
    }
    return [...found.values()];
  }

  #add(needle: Needle, bytes: Uint8Array): void {
    assert(bytes.length < overlapBytes, "no form of a number is longer than what is seen twice");
    // Seven bytes, the packed length of the shortest numbers, occur by chance in any noise.
    if (bytes.length < anchorBytes) return;
    const index = this.#needles.push(needle) - 1;
    this.#starts.push(this.#textLength);
    this.#text.set(bytes, this.#textLength);
    this.#textLength += bytes.length;
    const hash = hashOf(wordAt(bytes, bytes.length - 8), wordAt(bytes, bytes.length - 4));
    const bit = hash >>> (32 - filterBits);
    this.#filter[bit >>> 3] = (this.#filter[bit >>> 3] ?? 0) | (1 << (bit & 7));
    const slot = hash >>> (32 - tableBits);
    this.#next[index] = this.#heads[slot] ?? -1;
    this.#heads[slot] = index;
  }

  #search(bytes: Uint8Array, found: (start: number, needle: Needle, length: number) => void): void {
    const filter = this.#filter;
    let low = 0;
    let high = 0;
    for (let at = 0; at < bytes.length; at += 1) {
      low = (low >>> 8) | (high << 24);
      high = (high >>> 8) | ((bytes[at] ?? 0) << 24);
      const hash = hashOf(low, high);
      const bit = hash >>> (32 - filterBits);
      if (((filter[bit >>> 3] ?? 0) & (1 << (bit & 7))) === 0) continue;
      for (
        let index = this.#heads[hash >>> (32 - tableBits)] ?? -1;
        index >= 0;
        index = this.#next[index] ?? -1
      ) {
        const from = this.#starts[index] ?? 0;
        const length = (this.#starts[index + 1] ?? 0) - from;
        const start = at + 1 - length;
        const needle = this.#needles[index];
        if (start < 0 || needle === undefined) continue;
        if (this.#text.compare(bytes, start, at + 1, from, from + length) === 0)
          found(start, needle, length);
      }
    }
  }

  /**
   * The grouped numbers of the chunk without their separators, kept apart from one another, with
   * the position of each digit.
   */
  #ungroup(chunk: Uint8Array): Uint8Array {
    let length = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      if (!isDigit(chunk[at]) || isDigit(chunk[at - 1])) continue;
      const begin = length;
      let next = at;
      let isGrouped = false;
      while (isDigit(chunk[next])) {
        this.#ungrouped[length] = chunk[next] ?? 0;
        this.#origins[length] = next;
        length += 1;
        at = next;
        next += 1;
        for (let count = 0; count < maxSeparators; count += 1) {
          const separator = separatorLength(chunk, next);
          if (separator === 0) break;
          next += separator;
        }
        if (next > at + 1 && isDigit(chunk[next])) isGrouped = true;
      }
      if (!isGrouped || length - begin < shortestPan) length = begin;
      else this.#ungrouped[length++] = 0;
    }
    return this.#ungrouped.subarray(0, length);
  }
}

function hashOf(low: number, high: number): number {
  let hash = Math.imul(low, 0x9e3779b1) ^ Math.imul(high, 0x85ebca77);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 12)) >>> 0;
}

function wordAt(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at] ?? 0) |
    ((bytes[at + 1] ?? 0) << 8) |
    ((bytes[at + 2] ?? 0) << 16) |
    ((bytes[at + 3] ?? 0) << 24)
  );
}

function isIsolated(bytes: Uint8Array, start: number, length: number): boolean {
  return !isDigit(bytes[start - 1]) && !isDigit(bytes[start + length]);
}

function ascii(text: string): Buffer {
  return Buffer.from(text, "latin1");
}

function utf16le(text: string): Buffer {
  return Buffer.from(text, "utf16le");
}

/** Two digits per byte; an odd number of digits is padded with a leading 0 or a trailing F. */
function packedBcd(pan: string): Buffer[] {
  if (pan.length % 2 === 0) return [Buffer.from(pan, "hex")];
  return [Buffer.from(`0${pan}`, "hex"), Buffer.from(`${pan}f`, "hex")];
}

function int64(pan: string, little: boolean): Buffer {
  const bytes = Buffer.alloc(8);
  if (little) bytes.writeBigUInt64LE(BigInt(pan));
  else bytes.writeBigUInt64BE(BigInt(pan));
  return bytes;
}

function float64(pan: string, little: boolean): Buffer {
  const bytes = Buffer.alloc(8);
  if (little) bytes.writeDoubleLE(Number(pan));
  else bytes.writeDoubleBE(Number(pan));
  return bytes;
}

function hexOf(bytes: Buffer): Buffer[] {
  const lower = bytes.toString("hex");
  return different([lower, lower.toUpperCase()]);
}

/**
 * The constant part of the base64 of a longer text that contains the bytes: three alignments, in
 * both alphabets.
 */
function base64Of(bytes: Buffer): Buffer[] {
  return [0, 1, 2].flatMap((shift) => {
    const shifted = Buffer.concat([Buffer.alloc(shift), bytes]);
    const own = [Math.ceil((shift * 8) / 6), Math.floor((shifted.length * 8) / 6)] as const;
    return different([
      shifted.toString("base64").slice(...own),
      shifted.toString("base64url").slice(...own),
    ]);
  });
}

function different(texts: readonly string[]): Buffer[] {
  return [...new Set(texts)].map(ascii);
}
