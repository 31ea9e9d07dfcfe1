import { isPlausibleCard } from "./scheme.ts";

/*
 * Card numbers in text, as bytes: in one piece or in the groups that cards are printed in. What is wanted is few false alarms: a
 * number that stands in the middle of a hash, of a longer number or of a table's columns is not one.
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
/** Letters that are looked at on each side of a number, to find out whether it is a piece of a hash. */
const longestWord = 64;

export function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

function isLetter(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  const small = byte | 0x20;
  return small >= 0x61 && small <= 0x7a;
}

/** Where the digits end that begin at `start`. */
export function endOfDigits(bytes: Uint8Array, start: number): number {
  let end = start;
  while (isDigit(bytes[end])) end += 1;
  return end;
}

/** The card number that begins with the run of digits at `start`, which no digit stands before. */
export function cardAt(bytes: Uint8Array, start: number, end: number): Span | undefined {
  return end - start >= shortest ? inOnePiece(bytes, start, end) : inGroups(bytes, start, end);
}

function inOnePiece(bytes: Uint8Array, start: number, end: number): Span | undefined {
  if (end - start <= longest && !isInsideOfWord(bytes, start, end)) {
    const whole = spanOf(bytes, start, end);
    if (whole !== undefined) return whole;
  }
  const escaped = escapeBefore(bytes, start);
  const behindEscape = escaped === undefined ? undefined : spanOf(bytes, start + escaped, end);
  if (behindEscape !== undefined) return behindEscape;
  const chip = chipLength(bytes, start);
  return chip === undefined ? undefined : spanOf(bytes, start + 2, Math.min(end, start + 2 + chip));
}

function spanOf(bytes: Uint8Array, start: number, end: number): Span | undefined {
  const digits = bytes.subarray(start, end);
  return isPlausibleCard(digits) ? { start, end, digits, isGrouped: false } : undefined;
}

/** An escape's own digits are none of the number's: `%224111...`, `\u00224111...`. */
function escapeBefore(bytes: Uint8Array, start: number): number | undefined {
  if (bytes[start - 1] === 0x25) return 2;
  return bytes[start - 1] === 0x75 && bytes[start - 2] === 0x5c ? 4 : undefined;
}

/** `5A08` and sixteen digits: how a chip's number stands in a hexadecimal dump. The field's length in digits. */
function chipLength(bytes: Uint8Array, start: number): number | undefined {
  const isTag = ((bytes[start - 1] ?? 0) | 0x20) === 0x61 && bytes[start - 2] === 0x35;
  const length = (bytes[start + 1] ?? 0) - 0x30;
  return isTag && bytes[start] === 0x30 && (length === 7 || length === 8) ? length * 2 : undefined;
}

/** Letters may stand before and behind (`card4111...`, `\n4111...`); more digits behind those make it a piece of something else. */
function isInsideOfWord(bytes: Uint8Array, start: number, end: number): boolean {
  let before = start - 1;
  while (isLetter(bytes[before]) && start - before < longestWord) before -= 1;
  // Of `%3A4111...`, the 3 and the A are an escape's.
  if (isDigit(bytes[before]) && !(bytes[before - 1] === 0x25 && before === start - 2)) return true;
  let behind = end;
  while (isLetter(bytes[behind]) && behind - end < longestWord) behind += 1;
  return isDigit(bytes[behind]) || start - before >= longestWord || behind - end >= longestWord;
}

/** Blank, dash, point, slash, underscore, plus, comma. */
const separators: ReadonlySet<number> = new Set(Buffer.from(" -./_+,"));

/** How cards are printed and typed: fours, American Express, Diners; and digit by digit, or in equal groups. */
function isCardGrouping(widths: readonly number[], total: number): boolean {
  const [first = 0] = widths;
  if (total === 15 && widths.join() === "4,6,5") return true;
  if (total === 14 && widths.join() === "4,6,4") return true;
  const last = widths.at(-1) ?? 0;
  return first <= 4 && widths.slice(0, -1).every((width) => width === first) && last <= first;
}

function inGroups(bytes: Uint8Array, start: number, firstEnd: number): Span | undefined {
  const gap = gapBehind(bytes, firstEnd);
  if (firstEnd - start > 6 || gap === 0) return undefined;
  // Columns of a table, a list of numbers: something like the first group stands before it.
  if (isGapBefore(bytes, start, gap, firstEnd - start)) return undefined;
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
    if (gapBehind(bytes, groupEnd) !== gap || bytes[groupEnd] !== bytes[firstEnd]) break;
    at = groupEnd + gap;
  }
  // What follows the number in the same way (an expiry date, a security code) is none of it: the longest beginning counts.
  for (; total >= shortest;) {
    const found = digits.subarray(0, total);
    if (isCardGrouping(widths, total) && isEnd(bytes, end, gap, widths) && isPlausibleCard(found)) {
      return { start, end, digits: found, isGrouped: true };
    }
    const width = widths.pop() ?? 0;
    total -= width;
    end -= width + gap;
  }
  return undefined;
}

/** The number of equal separators behind a group, at most three, when a digit follows them; otherwise 0. `%20` is one. */
function gapBehind(bytes: Uint8Array, end: number): number {
  const first = bytes[end];
  if (first === 0x25 && bytes[end + 1] === 0x32 && bytes[end + 2] === 0x30) return isDigit(bytes[end + 3]) ? 3 : 0;
  if (first === undefined || !separators.has(first)) return 0;
  let gap = 1;
  while (gap < 3 && bytes[end + gap] === first) gap += 1;
  return isDigit(bytes[end + gap]) ? gap : 0;
}

function isGapBefore(bytes: Uint8Array, start: number, gap: number, width: number): boolean {
  if (!separators.has(bytes[start - 1] ?? 0) || !isDigit(bytes[start - gap - 1])) return false;
  let before = start - gap - 1;
  while (isDigit(bytes[before])) before -= 1;
  return start - gap - 1 - before === width;
}

function isEnd(bytes: Uint8Array, end: number, gap: number, widths: readonly number[]): boolean {
  if (isDigit(bytes[end])) return false;
  if (gapBehind(bytes, end) !== gap) return true;
  const next = endOfDigits(bytes, end + gap) - end - gap;
  return next !== widths[0];
}
