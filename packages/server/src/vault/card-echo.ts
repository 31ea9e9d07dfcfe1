import type { Card } from "./card.ts";
import type { Cryptogram, Cvv } from "./pan.ts";

/** The card data of one request, while it is in memory. */
export interface PlaintextCard {
  readonly card: Pick<Card, "pan">;
  readonly cvv: Cvv | undefined;
  readonly cryptogram: Cryptogram | undefined;
}

const zero = 0x30;
/** Digits that a mask shows at the beginning and at the end of a number (mask.ts). */
const shownFirst = 6;
const shownLast = 4;
/**
 * A run of matching digits that counts as a repetition: by chance, one reference in a million has
 * one.
 */
const certainRun = 8;
/** A shorter run counts if it is all the digits of a text: an authorization code has six. */
const wholeRun = 6;
/** A shorter text is not a cryptogram, and would match many texts. */
const shortestCryptogram = 8;
/** Half of a card number is at least this long in hexadecimal or base64. */
const shortestEncoded = 16;

/** Names of a security code, followed by one. */
const namedCode = /(?:cvv|cvc|cvn|csc|cid|cav)2?[^A-Za-z0-9]*\d{3,4}(?!\d)/i;

/**
 * Whether an external text repeats the card: a part of its number that no mask shows, its security
 * code or its cryptogram, as digits with any separators, reversed, in hexadecimal or in base64. The
 * card's digits are compared as bytes and never become a string. Runs four times per charge.
 */
export function repeatsCard(text: string, { card, cvv, cryptogram }: PlaintextCard): boolean {
  // Too short for a code, and for a hidden part of a number.
  if (text.length < 3) return false;
  const digits = digitsOf(text);
  try {
    if (repeatsNumber(digits, card.pan.reveal())) return true;
    if (
      cvv !== undefined &&
      indexOf(digits, cvv.reveal()) !== -1 &&
      repeatsCode(text, cvv.reveal())
    )
      return true;
  } finally {
    digits.fill(0);
  }
  if (encodedDigitsOf(text).some((decoded) => repeatsNumber(decoded, card.pan.reveal())))
    return true;
  if (namedCode.test(text)) return true;
  return cryptogram !== undefined && repeatsCryptogram(text, cryptogram.reveal());
}

/**
 * The same when only the mask of the card is known: a text that has more digits than the mask, at
 * either end. A text of only three or four digits may be a security code, because there is none to
 * compare it with.
 */
export function mayRepeatCard(text: string, maskedPan: string | undefined): boolean {
  if (/^\d{3,4}$/.test(text) || namedCode.test(text)) return true;
  if (maskedPan === undefined) return false;
  if (/^\d{5,}$/.test(text) && text.endsWith(maskedPan.slice(-shownLast))) return true;
  return [digitsOf(text), digitsOf(text).toReversed(), ...encodedDigitsOf(text)].some((digits) =>
    beginsLikeMask(digits, maskedPan),
  );
}

/** The digits of a text, in ASCII. */
function digitsOf(text: string): Uint8Array {
  const digits = new Uint8Array(text.length);
  let length = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code >= zero && code <= zero + 9) digits[length++] = code;
  }
  return digits.subarray(0, length);
}

function encodedDigitsOf(text: string): readonly Uint8Array[] {
  if (text.length < shortestEncoded) return [];
  return [Buffer.from(text, "hex"), Buffer.from(text, "base64")].map((bytes) =>
    digitsOf(bytes.toString("latin1")),
  );
}

/** In either direction. */
function repeatsNumber(digits: Uint8Array, number: Uint8Array): boolean {
  if (digits.length < wholeRun) return false;
  const run = Math.min(digits.length, certainRun);
  for (let start = 0; start + run <= digits.length; start += 1) {
    const first = digits[start];
    for (let from = 0; from + run <= number.length; from += 1) {
      if (first !== number[from] && first !== number[from + run - 1]) continue;
      if (!isRunAt(digits, start, number, from, run)) continue;
      // The mask shows at most six digits in a row.
      if (from + run > shownFirst && from < number.length - shownLast) return true;
    }
  }
  return false;
}

function isRunAt(
  digits: Uint8Array,
  start: number,
  number: Uint8Array,
  from: number,
  run: number,
): boolean {
  let forwards = 0;
  while (forwards < run && digits[start + forwards] === number[from + forwards]) forwards += 1;
  if (forwards === run) return true;
  let backwards = 0;
  while (backwards < run && digits[start + backwards] === number[from + run - 1 - backwards])
    backwards += 1;
  return backwards === run;
}

function indexOf(digits: Uint8Array, code: Uint8Array): number {
  for (let start = 0; start + code.length <= digits.length; start += 1) {
    let same = 0;
    while (same < code.length && digits[start + same] === code[same]) same += 1;
    if (same === code.length) return start;
  }
  return -1;
}

/**
 * Whether a word is the code, with letters around it or zeros before it, or the digits of the whole
 * text together are.
 */
function repeatsCode(text: string, code: Uint8Array): boolean {
  const words = text
    .split(/[^A-Za-z0-9]+/)
    .map((word) => /^[A-Za-z]*(\d+)[A-Za-z]*$/.exec(word)?.[1] ?? "");
  return [...words, text.replaceAll(/\D/g, "")].some((digits) => endsInCode(digits, code));
}

function endsInCode(digits: string, code: Uint8Array): boolean {
  const before = digits.length - code.length;
  if (before < 0) return false;
  for (let index = 0; index < digits.length; index += 1) {
    const expected = index < before ? zero : code[index - before];
    if (digits.charCodeAt(index) !== expected) return false;
  }
  return true;
}

/** Compared without the padding, which some systems drop. */
function repeatsCryptogram(text: string, cryptogram: Uint8Array): boolean {
  const padding = cryptogram.indexOf(0x3d);
  const core = padding === -1 ? cryptogram : cryptogram.subarray(0, padding);
  return core.length >= shortestCryptogram && Buffer.from(text, "latin1").includes(core);
}

/** The first digits that the mask shows, followed by some that it hides. */
function beginsLikeMask(digits: Uint8Array, maskedPan: string): boolean {
  const first = Buffer.from(maskedPan.slice(0, shownFirst), "latin1");
  const start = indexOf(digits, first);
  return start !== -1 && digits.length - start >= certainRun;
}
