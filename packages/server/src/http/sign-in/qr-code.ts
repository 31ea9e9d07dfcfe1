import { assert } from "../../kernel/assert.ts";

/**
 * QR codes (ISO/IEC 18004) for what an authenticator app reads from the screen: bytes, error correction L, versions 1 to 20. Written here because it is
 * little, and would otherwise be a package that draws a secret.
 */

const mostVersion = 20;
/** By version, from 1: error correction codewords of each block, and blocks (level L, table 9 of the standard). */
const correctionOf = [7, 10, 15, 20, 26, 18, 20, 24, 30, 18, 20, 24, 26, 30, 22, 24, 28, 30, 28, 28];
const blocksOf = [1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 6, 6, 6, 6, 7, 8];
/** Bits of the level L in the format information. */
const levelBits = 1;
const byteMode = 0b0100;

/** Rows of dark (true) and light squares. */
export type Squares = readonly (readonly boolean[])[];

/** undefined: the text has more than 858 bytes. */
export function qrCode(text: string): Squares | undefined {
  const bytes = Buffer.from(text);
  for (let version = 1; version <= mostVersion; version += 1) {
    const codewords = dataCodewords(version);
    const lengthBits = version < 10 ? 8 : 16;
    if (4 + lengthBits + 8 * bytes.length > 8 * codewords) continue;
    const drawing = new Drawing(version);
    drawing.putCodewords(withCorrection(dataOf(bytes, codewords, lengthBits), version));
    return drawing.masked();
  }
  return undefined;
}

/** The dark squares as data of an SVG path, one unit each. */
export function pathOf(squares: Squares): string {
  return squares.map((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : "")).join("")).join("");
}

/** Squares that are neither patterns nor information, in bits. */
function rawBits(version: number): number {
  const size = 4 * version + 17;
  let bits = size * size - 3 * 64 - 15 * 2 - 1 - 2 * (size - 16);
  if (version >= 2) {
    const marks = Math.floor(version / 7) + 2;
    // Two alignment marks of each side lie on a timing pattern and share five squares with it.
    bits -= (marks * marks - 3) * 25 - 2 * (marks - 2) * 5;
  }
  return version >= 7 ? bits - 36 : bits;
}

function dataCodewords(version: number): number {
  return Math.floor(rawBits(version) / 8) - (correctionOf[version - 1] ?? 0) * (blocksOf[version - 1] ?? 0);
}

function dataOf(bytes: Uint8Array, codewords: number, lengthBits: number): number[] {
  const bits: number[] = [];
  const put = (value: number, length: number): void => {
    for (let bit = length - 1; bit >= 0; bit -= 1) bits.push((value >>> bit) & 1);
  };
  put(byteMode, 4);
  put(bytes.length, lengthBits);
  for (const byte of bytes) put(byte, 8);
  put(0, Math.min(4, 8 * codewords - bits.length));
  put(0, (8 - (bits.length % 8)) % 8);
  for (let pad = 0xec; bits.length < 8 * codewords; pad ^= 0xec ^ 0x11) put(pad, 8);
  return Array.from({ length: codewords }, (_, index) => Number.parseInt(bits.slice(8 * index, 8 * index + 8).join(""), 2));
}

/** Blocks of data and of their error correction, their bytes in turns. */
function withCorrection(data: readonly number[], version: number): number[] {
  const [count, length] = [blocksOf[version - 1] ?? 1, correctionOf[version - 1] ?? 0];
  const shortLength = Math.floor(data.length / count);
  const shortBlocks = count - (data.length % count);
  const generator = generatorOf(length);
  const blocks: { readonly data: readonly number[]; readonly correction: readonly number[] }[] = [];
  for (let block = 0, from = 0; block < count; block += 1) {
    const to = from + shortLength + (block < shortBlocks ? 0 : 1);
    const part = data.slice(from, to);
    blocks.push({ data: part, correction: remainderOf(part, generator) });
    from = to;
  }
  const inTurns = (part: "data" | "correction", most: number): number[] =>
    Array.from({ length: most }, (_, index) => blocks.flatMap((block) => block[part][index] ?? [])).flat();
  return [...inTurns("data", shortLength + 1), ...inTurns("correction", length)];
}

/** In the field of 256 elements with the polynomial 0x11d. */
function product(left: number, right: number): number {
  let result = 0;
  for (let bit = 7; bit >= 0; bit -= 1) {
    result = (result << 1) ^ ((result >>> 7) * 0x11d);
    result ^= ((right >>> bit) & 1) * left;
  }
  return result;
}

function generatorOf(degree: number): number[] {
  const factors: number[] = Array.from({ length: degree }, (_, index) => (index === degree - 1 ? 1 : 0));
  let root = 1;
  for (let turn = 0; turn < degree; turn += 1) {
    for (let index = 0; index < degree; index += 1) {
      factors[index] = product(factors[index] ?? 0, root) ^ (factors[index + 1] ?? 0);
    }
    root = product(root, 2);
  }
  return factors;
}

function remainderOf(data: readonly number[], generator: readonly number[]): number[] {
  const remainder = generator.map(() => 0);
  for (const byte of data) {
    const factor = byte ^ (remainder.shift() ?? 0);
    remainder.push(0);
    for (const [index, each] of generator.entries()) remainder[index] = (remainder[index] ?? 0) ^ product(each, factor);
  }
  return remainder;
}

const masks: readonly ((x: number, y: number) => boolean)[] = [
  (x, y) => (x + y) % 2 === 0,
  (_x, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
];

/** The square of squares while it is filled. */
class Drawing {
  readonly #size: number;
  readonly #version: number;
  readonly #dark: boolean[][];
  /** Patterns and information: nothing else is put there, and no mask turns them. */
  readonly #fixed: boolean[][];

  constructor(version: number) {
    this.#version = version;
    this.#size = 4 * version + 17;
    const rows = (): boolean[][] => Array.from({ length: this.#size }, () => Array.from({ length: this.#size }, () => false));
    this.#dark = rows();
    this.#fixed = rows();
    this.#putPatterns();
  }

  /** Two columns at a time, from the right, up and down in turns. */
  putCodewords(codewords: readonly number[]): void {
    let bit = 0;
    for (let right = this.#size - 1; right >= 1; right -= 2) {
      if (right === 6) right = 5;
      const isUpward = ((right + 1) & 2) === 0;
      for (let step = 0; step < this.#size; step += 1) {
        const y = isUpward ? this.#size - 1 - step : step;
        for (const x of [right, right - 1]) {
          if (this.#fixed[y]?.[x] === true || bit >= 8 * codewords.length) continue;
          this.#turn(x, y, (((codewords[bit >>> 3] ?? 0) >>> (7 - (bit & 7))) & 1) === 1);
          bit += 1;
        }
      }
    }
    assert(bit === 8 * codewords.length, "every codeword has its squares");
  }

  /** Under the mask that makes it easiest to read. */
  masked(): Squares {
    let [best, least] = [0, Number.POSITIVE_INFINITY];
    for (const mask of masks.keys()) {
      this.#putMask(mask);
      const penalty = penaltyOf(this.#dark);
      if (penalty < least) [best, least] = [mask, penalty];
      this.#putMask(mask);
    }
    this.#putMask(best);
    return this.#dark;
  }

  #turn(x: number, y: number, isDark: boolean): void {
    const row = this.#dark[y];
    if (row !== undefined) row[x] = isDark;
  }

  #fix(x: number, y: number, isDark: boolean): void {
    const fixed = this.#fixed[y];
    if (fixed === undefined || x < 0 || x >= this.#size) return;
    fixed[x] = true;
    this.#turn(x, y, isDark);
  }

  #putPatterns(): void {
    const last = this.#size - 1;
    for (let place = 0; place < this.#size; place += 1) {
      this.#fix(6, place, place % 2 === 0);
      this.#fix(place, 6, place % 2 === 0);
    }
    for (const [x, y] of [[3, 3] as const, [last - 3, 3] as const, [3, last - 3] as const]) this.#putFinder(x, y);
    const places = this.#alignments();
    for (const x of places) {
      for (const y of places) {
        const isCorner = (x === 6 && y === 6) || (x === 6 && y === last - 6) || (x === last - 6 && y === 6);
        if (!isCorner) this.#putSquares(x, y, 2, (distance) => distance !== 1);
      }
    }
    this.#putFormat(0);
    this.#putVersion();
  }

  #putFinder(x: number, y: number): void {
    this.#putSquares(x, y, 4, (distance) => distance !== 2 && distance !== 4);
  }

  #putSquares(centerX: number, centerY: number, reach: number, isDark: (distance: number) => boolean): void {
    for (let down = -reach; down <= reach; down += 1) {
      for (let right = -reach; right <= reach; right += 1) {
        this.#fix(centerX + right, centerY + down, isDark(Math.max(Math.abs(right), Math.abs(down))));
      }
    }
  }

  #alignments(): number[] {
    if (this.#version === 1) return [];
    const count = Math.floor(this.#version / 7) + 2;
    const step = Math.ceil((4 * this.#version + 4) / (2 * count - 2)) * 2;
    return [6, ...Array.from({ length: count - 1 }, (_, index) => this.#size - 7 - (count - 2 - index) * step)];
  }

  /** Level and mask, twice. */
  #putFormat(mask: number): void {
    const data = (levelBits << 3) | mask;
    const bits = ((data << 10) | checkBits(data, 10, 0x537)) ^ 0x5412;
    const bit = (index: number): boolean => ((bits >>> index) & 1) === 1;
    for (let index = 0; index <= 5; index += 1) this.#fix(8, index, bit(index));
    this.#fix(8, 7, bit(6));
    this.#fix(8, 8, bit(7));
    this.#fix(7, 8, bit(8));
    for (let index = 9; index < 15; index += 1) this.#fix(14 - index, 8, bit(index));
    for (let index = 0; index < 8; index += 1) this.#fix(this.#size - 1 - index, 8, bit(index));
    for (let index = 8; index < 15; index += 1) this.#fix(8, this.#size - 15 + index, bit(index));
    this.#fix(8, this.#size - 8, true);
  }

  #putVersion(): void {
    if (this.#version < 7) return;
    const bits = (this.#version << 12) | checkBits(this.#version, 12, 0x1f25);
    for (let index = 0; index < 18; index += 1) {
      const isDark = ((bits >>> index) & 1) === 1;
      const [far, near] = [this.#size - 11 + (index % 3), Math.floor(index / 3)];
      this.#fix(far, near, isDark);
      this.#fix(near, far, isDark);
    }
  }

  /** Put twice it is gone. */
  #putMask(mask: number): void {
    for (let y = 0; y < this.#size; y += 1) {
      for (let x = 0; x < this.#size; x += 1) {
        if (this.#fixed[y]?.[x] === false && masks[mask]?.(x, y) === true) this.#turn(x, y, this.#dark[y]?.[x] === false);
      }
    }
    this.#putFormat(mask);
  }
}

/** The remainder of a division of polynomials over two elements. */
function checkBits(data: number, length: number, polynomial: number): number {
  let rest = data;
  for (let step = 0; step < length; step += 1) rest = (rest << 1) ^ ((rest >>> (length - 1)) * polynomial);
  return rest;
}

/** How hard it is to read: long runs, blocks of one colour, what looks like a finder, and far more of one colour than of the other. */
function penaltyOf(dark: Squares): number {
  const size = dark.length;
  const columns = dark.map((_, x) => dark.map((row) => row[x] === true));
  let penalty = 0;
  for (const line of [...dark, ...columns]) {
    const text = line.map((isDark) => (isDark ? "1" : "0")).join("");
    for (const [run] of text.matchAll(/0{5,}|1{5,}/g)) penalty += run.length - 2;
    for (const like of ["10111010000", "00001011101"]) {
      for (let at = text.indexOf(like); at >= 0; at = text.indexOf(like, at + 1)) penalty += 40;
    }
  }
  for (let y = 0; y + 1 < size; y += 1) {
    for (let x = 0; x + 1 < size; x += 1) {
      const first = dark[y]?.[x];
      if (dark[y]?.[x + 1] === first && dark[y + 1]?.[x] === first && dark[y + 1]?.[x + 1] === first) penalty += 3;
    }
  }
  const share = (100 * dark.flat().filter((isDark) => isDark).length) / (size * size);
  return penalty + 10 * Math.floor(Math.abs(share - 50) / 5);
}
