import { separatorAt, separatorKind, utf8Length } from "../kernel/separators.ts";
import { isPlausibleCard } from "./scheme.ts";

/*
 * Finds card numbers in text, as bytes: contiguous, or in the groups that cards are printed in.
 * Designed for few false positives: a number inside a hash, a longer number or the columns of a
 * table does not count.
 */

export interface Span {
  readonly start: number;
  readonly end: number;
  /** Without separators. */
  readonly digits: Uint8Array;
  readonly isGrouped: boolean;
}

const shortest = 14;
const longest = 19;
/** Most letters examined on each side of a number, to detect that it is part of a hash. */
const maxWordLetters = 64;

export function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

function isLetter(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  const small = byte | 0x20;
  return small >= 0x61 && small <= 0x7a;
}

/** The end of the run of digits at `start`. */
export function endOfDigits(bytes: Uint8Array, start: number): number {
  let end = start;
  while (isDigit(bytes[end])) end += 1;
  return end;
}

/** The card number that begins with the run of digits at `start`, which no digit precedes. */
export function cardAt(bytes: Uint8Array, start: number, end: number): Span | undefined {
  return end - start >= shortest ? contiguous(bytes, start, end) : grouped(bytes, start, end);
}

function contiguous(bytes: Uint8Array, start: number, end: number): Span | undefined {
  if (end - start <= longest && !isInsideOfWord(bytes, start, end)) {
    const whole = spanOf(bytes, start, end);
    if (whole !== undefined) return whole;
  }
  const escaped = escapeBefore(bytes, start);
  const afterEscape = escaped === undefined ? undefined : spanOf(bytes, start + escaped, end);
  if (afterEscape !== undefined) return afterEscape;
  const chip = chipLength(bytes, start);
  return chip === undefined ? undefined : spanOf(bytes, start + 2, Math.min(end, start + 2 + chip));
}

function spanOf(bytes: Uint8Array, start: number, end: number): Span | undefined {
  const digits = bytes.subarray(start, end);
  return isPlausibleCard(digits) ? { start, end, digits, isGrouped: false } : undefined;
}

/** The digits of an escape are not part of the number: `%224111...`, `\u00224111...`. */
function escapeBefore(bytes: Uint8Array, start: number): number | undefined {
  if (bytes[start - 1] === 0x25) return 2;
  return bytes[start - 1] === 0x75 && bytes[start - 2] === 0x5c ? 4 : undefined;
}

/**
 * `5A08` and sixteen digits: the PAN of a chip card in a hexadecimal dump. Returns the field's
 * length in digits.
 */
function chipLength(bytes: Uint8Array, start: number): number | undefined {
  const isTag = ((bytes[start - 1] ?? 0) | 0x20) === 0x61 && bytes[start - 2] === 0x35;
  const length = (bytes[start + 1] ?? 0) - 0x30;
  return isTag && bytes[start] === 0x30 && (length === 7 || length === 8) ? length * 2 : undefined;
}

/**
 * Letters may precede and follow (`card4111...`, `\n4111...`); further digits after those letters
 * mean that it is part of another value.
 */
function isInsideOfWord(bytes: Uint8Array, start: number, end: number): boolean {
  let before = start - 1;
  while (isLetter(bytes[before]) && start - before < maxWordLetters) before -= 1;
  // In `%3A4111...`, the 3 and the A belong to an escape.
  if (isDigit(bytes[before]) && !(bytes[before - 1] === 0x25 && before === start - 2)) return true;
  let after = end;
  while (isLetter(bytes[after]) && after - end < maxWordLetters) after += 1;
  return isDigit(bytes[after]) || start - before >= maxWordLetters || after - end >= maxWordLetters;
}

/** Most separators between two digits of one number, as in the masking of requests and answers. */
const maxSeparators = 6;

/**
 * The length in bytes of one separator (kernel/separators.ts), plain or escaped: `%2D`, `%C2%A0`,
 * `&nbsp;`, `&#160;`, `\u00a0`; 0 when there is none. A line break is not a separator: numbers
 * below each other are a list.
 */
export function separatorLength(bytes: Uint8Array, at: number): number {
  const first = bytes[at] ?? 0;
  if (first === 0x0a || first === 0x0d || isDigit(first)) return 0;
  const codePoint = separatorAt(bytes, at);
  if (codePoint === hash || codePoint < 0) {
    const escaped = escapedLength(bytes, at, first);
    if (escaped > 0) return escaped;
  }
  return codePoint < 0 ? 0 : utf8Length(codePoint);
}

const hash = 0x23;
const maxEscapeBytes = 12;

function escapedLength(bytes: Uint8Array, at: number, first: number): number {
  if (first !== 0x25 && first !== 0x26 && first !== 0x5c) return 0;
  const text = Buffer.from(
    bytes.buffer,
    bytes.byteOffset + at,
    Math.min(maxEscapeBytes, bytes.length - at),
  ).toString("latin1");
  const entity = /^&(?:nbsp|ensp|emsp|thinsp|shy|ndash|mdash|minus|middot|bull);/i.exec(text);
  if (entity !== null) return entity[0].length;
  const number = /^&#(?:x([\da-f]{2,4})|(\d{2,5}));/i.exec(text) ?? /^\\u([\da-f]{4})/i.exec(text);
  if (number !== null) {
    const code = number[1] === undefined ? Number(number[2]) : Number.parseInt(number[1], 16);
    return separatorKind(code) === 0 ? 0 : number[0].length;
  }
  const octets = /^%([\da-f]{2})(?:%([89ab][\da-f]))?(?:%([89ab][\da-f]))?/i.exec(text);
  if (octets === null) return 0;
  const lead = Number.parseInt(octets[1] ?? "", 16);
  const count = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : 3;
  const encoded = Uint8Array.from(octets.slice(1, count + 1), (pair) => Number.parseInt(pair, 16));
  return separatorAt(encoded, 0) < 0 ? 0 : count * 3;
}

/**
 * Groupings in which cards are printed and typed: groups of four, American Express, Diners, digit
 * by digit, or equal groups.
 */
function isCardGrouping(widths: readonly number[], total: number): boolean {
  const [first = 0] = widths;
  if (total === 15 && widths.join() === "4,6,5") return true;
  if (total === 14 && widths.join() === "4,6,4") return true;
  const last = widths.at(-1) ?? 0;
  return first <= 4 && widths.slice(0, -1).every((width) => width === first) && last <= first;
}

function grouped(bytes: Uint8Array, start: number, firstEnd: number): Span | undefined {
  const gap = gapAfter(bytes, firstEnd);
  if (firstEnd - start > 6 || gap === 0) return undefined;
  // Columns of a table or a list of numbers: a group like the first one precedes it.
  if (isGapBefore(bytes, start, firstEnd, gap)) return undefined;
  const widths: number[] = [];
  const digits = new Uint8Array(longest);
  let total = 0;
  let at = start;
  let end = start;
  for (;;) {
    const groupEnd = endOfDigits(bytes, at);
    const width = groupEnd - at;
    if (width > 6 || total + width > longest) break;
    digits.set(bytes.subarray(at, groupEnd), total);
    widths.push(width);
    total += width;
    end = groupEnd;
    if (gapAfter(bytes, groupEnd) !== gap || !isSame(bytes, groupEnd, firstEnd, gap)) break;
    at = groupEnd + gap;
  }
  // Values that follow in the same format (an expiry date, a security code) are not part of the
  // number: the longest valid prefix counts.
  for (; total >= shortest;) {
    const found = digits.subarray(0, total);
    if (
      isCardGrouping(widths, total) &&
      isEnd(bytes, end, firstEnd, gap, widths) &&
      isPlausibleCard(found)
    ) {
      return { start, end, digits: found, isGrouped: true };
    }
    const width = widths.pop() ?? 0;
    total -= width;
    end -= width + gap;
  }
  return undefined;
}

/**
 * The length in bytes of the separators between a group and the next digit; 0 when no digit
 * follows, or other text is between.
 */
function gapAfter(bytes: Uint8Array, end: number): number {
  let at = end;
  for (let count = 0; count < maxSeparators; count += 1) {
    const length = separatorLength(bytes, at);
    if (length === 0) return 0;
    at += length;
    if (isDigit(bytes[at])) return at - end;
  }
  return 0;
}

function isSame(bytes: Uint8Array, one: number, other: number, length: number): boolean {
  for (let index = 0; index < length; index += 1)
    if (bytes[one + index] !== bytes[other + index]) return false;
  return true;
}

function isGapBefore(bytes: Uint8Array, start: number, firstEnd: number, gap: number): boolean {
  if (start < gap || !isSame(bytes, start - gap, firstEnd, gap) || !isDigit(bytes[start - gap - 1]))
    return false;
  let before = start - gap - 1;
  while (isDigit(bytes[before])) before -= 1;
  return start - gap - 1 - before === firstEnd - start;
}

function isEnd(
  bytes: Uint8Array,
  end: number,
  firstEnd: number,
  gap: number,
  widths: readonly number[],
): boolean {
  if (isDigit(bytes[end])) return false;
  if (gapAfter(bytes, end) !== gap || !isSame(bytes, end, firstEnd, gap)) return true;
  const next = endOfDigits(bytes, end + gap) - end - gap;
  return next !== widths[0];
}
