import { isDigit } from "./digit-groups.ts";

/** Text decoded from an encoding: its bytes, and the position of each in the original. */
export interface Projection {
  readonly encoding: string;
  readonly text: Uint8Array;
  readonly origins: Uint32Array;
  /** Position after the last byte of the original that was read. */
  readonly end: number;
}

/**
 * Most bytes read at once; the caller continues from `end`, minus the length that a number may
 * have.
 */
const maxReadBytes = 4_096;

/** Collects a projection. */
class Reading {
  readonly #text = new Uint8Array(maxReadBytes);
  readonly #origins = new Uint32Array(maxReadBytes);
  #length = 0;

  get isFull(): boolean {
    return this.#length >= maxReadBytes;
  }

  push(byte: number, origin: number): void {
    this.#text[this.#length] = byte;
    this.#origins[this.#length] = origin;
    this.#length += 1;
  }

  done(encoding: string, end: number): Projection {
    return {
      encoding,
      text: this.#text.subarray(0, this.#length),
      origins: this.#origins.subarray(0, this.#length),
      end,
    };
  }
}

/** Characters of two bytes, one of them zero, around the digit at `at`: either byte order. */
export function utf16At(bytes: Uint8Array, at: number): Projection | undefined {
  if (bytes[at + 1] !== 0 || (!isDigit(bytes[at + 2]) && !isDigit(bytes[at + 4]))) return undefined;
  const isCharacter = (index: number): boolean =>
    bytes[index] !== undefined && (bytes[index + 1] === 0 || bytes[index - 1] === 0);
  let from = at;
  while (at - from < 32 && from >= 2 && isCharacter(from - 2)) from -= 2;
  const reading = new Reading();
  let index = from;
  for (; isCharacter(index) && !reading.isFull; index += 2) reading.push(bytes[index] ?? 0, index);
  return reading.done("utf-16", index);
}

/** The text of two-byte characters, without its zeros. Undefined when there are none. */
export function narrowed({ encoding, text, origins, end }: Projection): Projection | undefined {
  if (!text.includes(0)) return undefined;
  const reading = new Reading();
  for (const [index, byte] of text.entries())
    if (byte !== 0) reading.push(byte, origins[index] ?? 0);
  return reading.done(encoding, end);
}

/**
 * Hexadecimal pairs around the `3` at `at`, followed by more of the same: digits of 8 or 16 bits.
 */
export function hexAt(bytes: Uint8Array, at: number): Projection | undefined {
  const isThree = (index: number): boolean => bytes[index] === 0x33 && isDigit(bytes[index + 1]);
  const isZero = (index: number): boolean => bytes[index] === 0x30 && bytes[index + 1] === 0x30;
  const isNarrow = isThree(at) && isThree(at + 2) && isThree(at + 4) && isThree(at + 6);
  const isWide =
    isThree(at) && isZero(at + 2) && isThree(at + 4) && isZero(at + 6) && isThree(at + 8);
  if (!isNarrow && !isWide) return undefined;
  let from = at;
  while (at - from < 64 && from >= 2 && pairAt(bytes, from - 2) >= 0) from -= 2;
  const reading = new Reading();
  let index = from;
  for (; !reading.isFull; index += 2) {
    const byte = pairAt(bytes, index);
    if (byte < 0) break;
    reading.push(byte, index);
  }
  return reading.done("hex", index);
}

function pairAt(bytes: Uint8Array, at: number): number {
  const [high, low] = [nibbleOf(bytes[at]), nibbleOf(bytes[at + 1])];
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

function nibbleOf(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (isDigit(byte)) return byte - 0x30;
  const small = byte | 0x20;
  return small >= 0x61 && small <= 0x66 ? small - 0x57 : -1;
}

const sextets = sextetTable();

function sextetTable(): Int8Array {
  const table = new Int8Array(256).fill(-1);
  for (const alphabet of ["+/", "-_"]) {
    const all = `ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789${alphabet}`;
    for (let value = 0; value < all.length; value += 1) table[all.charCodeAt(value)] = value;
  }
  return table;
}

function sextetAt(bytes: Uint8Array, at: number): number {
  return sextets[bytes[at] ?? 0] ?? -1;
}

/** A digit, a possible separator, or the zero byte of a 16-bit character. */
function isOfNumber(byte: number): boolean {
  return byte === 0 || (byte >= 0x2b && byte <= 0x39) || byte === 0x20 || byte === 0x5f;
}

/**
 * Whether this is the first of four base64 characters whose first byte is a digit, a blank or one
 * of `-./`.
 */
function beginsWithDigit(byte: number | undefined): boolean {
  return byte !== undefined && ((byte >= 0x4d && byte <= 0x4f) || byte === 0x49 || byte === 0x4c);
}

/**
 * Base64 in groups of four from `at`, where the first of three bytes is a digit, repeatedly: 8 or
 * 16 bits.
 */
export function base64At(bytes: Uint8Array, at: number): Projection | undefined {
  if (!beginsWithDigit(bytes[at]) || !beginsWithDigit(bytes[at + 8])) return undefined;
  const isNarrow = beginsWithDigit(bytes[at + 4]);
  if (!isNarrow && !beginsWithDigit(bytes[at + 16])) return undefined;
  // The other two bytes of the first three must belong to a number too: this rejects most noise.
  const [second, third, fourth] = [
    sextetAt(bytes, at + 1),
    sextetAt(bytes, at + 2),
    sextetAt(bytes, at + 3),
  ];
  if (second < 0 || third < 0 || fourth < 0) return undefined;
  if (!isOfNumber(((second & 15) << 4) | (third >> 2)) || !isOfNumber(((third & 3) << 6) | fourth))
    return undefined;
  const isFour = (from: number): boolean =>
    from >= 0 && [0, 1, 2, 3].every((index) => sextetAt(bytes, from + index) >= 0);
  let from = at;
  while (at - from < 32 && isFour(from - 4)) from -= 4;
  const reading = new Reading();
  const push = (byte: number, origin: number): void => {
    if (!reading.isFull) reading.push(byte, origin);
  };
  let index = from;
  for (; !reading.isFull; index += 4) {
    const [a = -1, b = -1, c = -1, d = -1] = [0, 1, 2, 3].map((step) =>
      sextetAt(bytes, index + step),
    );
    if (a < 0 || b < 0) break;
    push((a << 2) | (b >> 4), index);
    if (c < 0) break;
    push(((b & 15) << 4) | (c >> 2), index + 1);
    if (d < 0) break;
    push(((c & 3) << 6) | d, index + 2);
  }
  return reading.done("base64", index);
}

/** `%34`, `\u0034`, `&#52;`: text from the escape at `at`, as long as escaped digits follow. */
export function escapedAt(bytes: Uint8Array, at: number): Projection | undefined {
  const first = escapeAt(bytes, at);
  if (first === undefined || !isDigit(first.byte)) return undefined;
  const reading = new Reading();
  let index = at;
  for (let since = 0; index < bytes.length && since < 8 && !reading.isFull; since += 1) {
    const escape = escapeAt(bytes, index);
    if (escape !== undefined) since = 0;
    reading.push(escape?.byte ?? bytes[index] ?? 0, index);
    index += escape?.length ?? 1;
  }
  return reading.done(first.encoding, index);
}

/** The zero digits of scripts with their own digits; the ten digits of each are consecutive. */
const zeros = [
  0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xe50, 0xed0,
  0xf20, 0x1040, 0x17e0, 0x1810, 0xff10, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6,
];
const scriptDigits: ReadonlyMap<number, number> = new Map(
  zeros.flatMap((zero) => Array.from({ length: 10 }, (_, digit) => [zero + digit, digit] as const)),
);
/** The first bytes of those digits in UTF-8. */
export const scriptLeads: ReadonlySet<number> = new Set(
  Array.from(
    scriptDigits.keys(),
    (codePoint) => Buffer.from(String.fromCodePoint(codePoint))[0] ?? 0,
  ),
);

/**
 * Full-width, Arabic-Indic and other digits in UTF-8: text from the four at `at`, as long as such
 * digits follow.
 */
export function scriptDigitsAt(bytes: Uint8Array, at: number): Projection | undefined {
  // Four in a row, because single ones are frequent in noise.
  const length = lengthOfLead(bytes[at] ?? 0);
  for (let digit = 0; digit < 4; digit += 1)
    if (scriptDigitAt(bytes, at + digit * length) < 0) return undefined;
  const reading = new Reading();
  let index = at;
  for (let since = 0; index < bytes.length && since < 8 && !reading.isFull; since += 1) {
    const digit = scriptDigitAt(bytes, index);
    if (digit >= 0) since = 0;
    reading.push(digit < 0 ? (bytes[index] ?? 0) : 0x30 + digit, index);
    index += digit < 0 ? 1 : lengthOfLead(bytes[index] ?? 0);
  }
  return reading.done("digits of a script", index);
}

function lengthOfLead(lead: number): number {
  return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

function scriptDigitAt(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] ?? 0;
  if (!scriptLeads.has(lead)) return -1;
  const length = lengthOfLead(lead);
  let codePoint = lead & (0xff >> (length + 1));
  for (let index = 1; index < length; index += 1)
    codePoint = (codePoint << 6) | ((bytes[at + index] ?? 0) & 0x3f);
  return scriptDigits.get(codePoint) ?? -1;
}

interface Escape {
  readonly byte: number;
  readonly length: number;
  readonly encoding: string;
}

function escapeAt(bytes: Uint8Array, at: number): Escape | undefined {
  switch (bytes[at]) {
    case 0x25: {
      const byte = pairAt(bytes, at + 1);
      return byte < 0 ? undefined : { byte, length: 3, encoding: "percent-encoded" };
    }
    case 0x5c: {
      if (bytes[at + 1] !== 0x75 || pairAt(bytes, at + 2) !== 0) return undefined;
      const byte = pairAt(bytes, at + 4);
      return byte < 0 ? undefined : { byte, length: 6, encoding: "json-escaped" };
    }
    case 0x26:
      return entityAt(bytes, at);
    default:
      return undefined;
  }
}

function entityAt(bytes: Uint8Array, at: number): Escape | undefined {
  const text = Buffer.from(
    bytes.buffer,
    bytes.byteOffset + at,
    Math.min(10, bytes.length - at),
  ).toString("latin1");
  const read = /^&#(?:x([\da-f]{2})|(\d{2,3}));/i.exec(text);
  if (read === null) return undefined;
  const byte = read[1] === undefined ? Number(read[2]) : Number.parseInt(read[1], 16);
  return { byte, length: read[0].length, encoding: "html-escaped" };
}

/**
 * Field 5A (the PAN) or 57 (track 2) of a chip card in binary, with its tag at `at`: packed
 * decimal, read to the end of its digits.
 */
export function chipFieldAt(bytes: Uint8Array, at: number): Projection | undefined {
  const length = bytes[at + 1] ?? 0;
  const isTrack = bytes[at] === 0x57;
  if (isTrack ? length < 0x0c || length > 0x13 : length < 7 || length > 10) return undefined;
  const reading = new Reading();
  for (let index = 0; index < length * 2; index += 1) {
    const byte = bytes[at + 2 + (index >> 1)] ?? 0xff;
    const nibble = index % 2 === 0 ? byte >> 4 : byte & 15;
    if (nibble > 9) {
      // A track's number ends with D, a field's with its padding.
      if (nibble === (isTrack ? 0xd : 0xf)) break;
      return undefined;
    }
    reading.push(0x30 + nibble, at + 2 + (index >> 1));
  }
  return reading.done("packed bcd", at + 2 + length);
}
