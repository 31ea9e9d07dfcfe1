import { mayHaveDigits } from "../../kernel/written-digits.ts";

/**
 * Security codes and track data in texts: neither may be stored after an authorization, even with a
 * masked number (PCI DSS 3.3.1). The input is folded text: one character per original character,
 * digits in ASCII, letters in lower case. The work is bounded for each number and each word.
 */

/** Characters of a text to be replaced. */
export interface Hidden {
  readonly start: number;
  readonly end: number;
}

const longestCode = 4;
/** Number of characters after a card number in which its security code is searched. */
const reach = 40;
/** The longest date with a code glued to it: `1235837`, `1220358370`. */
const longestDated = 10;
const dateAndCode = /^((?:0[1-9]|1[0-2])(?:20\d\d|\d\d))\d{3,4}$/;
const yearAndCode = /^(20\d\d|\d\d)\d{3,4}$/;
/** The longest track has 79 characters. */
const longestTrack = 80;
/** Maximum number of blanks between a number and its track data. */
const maxBlanks = 3;

/**
 * Words for security codes in Portuguese, Spanish and English, with or without accents, also
 * decomposed. Letters that occur in other words do not match inside a word.
 */
const words = [
  "cvv2?|cvn2?|ccv2?",
  // Also the name of shops and streets: digits must follow at once, or a word that refers to a
  // card.
  "cvc2?(?=[\\s:=#.\"'()*_-]{0,6}\\d|[\\s:]{1,3}[\\p{L}\\s]{0,6}(?:cart|tarj|card|é|es|is)(?!\\p{L}{6}))",
  "(?<![\\p{L}\\p{N}])csc",
  "(?<![\\p{L}\\p{N}])cid(?=\\s{0,3}[:=#])",
  "c[oó]\\u0301?d(?:igo)?[\\s._-]{0,3}(?:d[eao][\\s._-]{0,3})?seg(?:uran[cç]\\u0327?a|uridad)?",
  "c[oó]\\u0301?d(?:igo)?[\\s._-]{0,3}(?:d[eao][\\s._-]{0,3})?verifica\\p{L}{0,8}",
  "(?:clave|n[uú]\\u0301?mero|d[ií]\\u0301?gitos?)[\\s._-]{0,3}de[\\s._-]{0,3}segur(?:an[cç]\\u0327?a|idad)",
  "(?:security|verification|card|cvv|cvc)[\\s._-]{0,3}(?:code|value|number)",
  "sec[\\s._-]{0,3}code",
].join("|");

/** At most 24 characters between the word and its digits: `do cartão é`, `":"`. */
const between = "[^\\p{N}\\n]{0,24}?";
const code = "\\d(?:[ .-]?\\d){2,3}(?!\\d)";
const word = new RegExp(words, "iu");
const namedCode = new RegExp(`(?:${words})(${between})(${code})`, "giu");

/** A part of each word, searched first: that costs a tenth. */
const parts = /cv|csc|cid|seg|sec|verif|card/i;

/** Whether a text has three digits and a word for security codes. Most texts do not. */
export function mayNameSecurityCode(text: string): boolean {
  return mayHaveDigits(text, 3) && parts.test(text) && word.test(text);
}

/** Hides the digits of security codes that are named as such. */
export function hideSecurityCodes(folded: string, hide: (index: number) => void): void {
  for (const match of folded.matchAll(namedCode)) {
    const end = match.index + match[0].length;
    hideDigits(folded, end - (match[2] ?? "").length, end, hide);
  }
}

/**
 * Hides what may be the security code or the rest of the track of a card number that ends before
 * `from`: digits glued to it; characters after `=`, `D` or `^`; and, in the next forty characters,
 * groups of three or four digits (except the year of a date) and codes glued to a date. Numbers
 * that begin there are left alone, except four glued digits and groups of three. `numberFrom` has
 * for each character the start of its number, or -1: a number that begins before `from` overlaps
 * this one, and its digits are hidden. Digits up to `gluedUntil` were hidden for an earlier number.
 * Returns the end of the glued digits.
 */
export function hideBehind(
  folded: string,
  from: number,
  gluedUntil: number,
  numberFrom: Int32Array,
  hide: (index: number) => void,
): number {
  const isOther = (index: number): boolean => (numberFrom[index] ?? -1) >= from;
  let at = Math.max(from, gluedUntil);
  for (; isDigit(folded, at) && (at - from < longestCode || !isOther(at)); at += 1) hide(at);
  const glued = at;
  hideTrack(folded, at, hide);
  const end = Math.min(folded.length, from + reach);
  for (; at < end; at += 1) {
    if (!isDigit(folded, at)) continue;
    let next = at;
    let hasOther = false;
    for (; isDigit(folded, next) && next - at <= longestCode; next += 1) hasOther ||= isOther(next);
    const length = next - at;
    if ((length === 3 || (length === longestCode && !hasOther)) && !isYear(folded, at, next))
      hideDigits(folded, at, next, hide);
    while (isDigit(folded, next) && next - at <= longestDated) next += 1;
    if (length > longestCode && !hasOther) hideDatedCode(folded, at, next, hide);
    while (isDigit(folded, next) && next < end) next += 1;
    at = next;
  }
  return glued;
}

/** Hides the code in a group of digits that is a date, or the year of one, followed by a code. */
function hideDatedCode(
  folded: string,
  at: number,
  next: number,
  hide: (index: number) => void,
): void {
  const group = folded.slice(at, next);
  const date =
    (isBehindMonth(folded, at) ? yearAndCode : dateAndCode).exec(group)?.[1] ??
    dateAndCode.exec(group)?.[1];
  if (date !== undefined) hideDigits(folded, at + date.length, next, hide);
}

function hideTrack(folded: string, from: number, hide: (index: number) => void): void {
  let at = from;
  while (at - from < maxBlanks && /\s/.test(folded.charAt(at))) at += 1;
  const separator = folded[at];
  const isFirst = separator === "^";
  if (!isFirst && separator !== "=" && !(separator === "d" && isDigit(folded, at + 1))) return;
  for (let index = at + 1; index < Math.min(folded.length, at + longestTrack); index += 1) {
    const character = folded.charAt(index);
    if (character === "?" || character === "\n") return;
    // Track 2 has digits and separators; track 1 also has the cardholder's name.
    if (isFirst ? /[\p{L}\p{N}]/u.test(character) : isDigit(folded, index)) hide(index);
    else if (!isFirst && character !== "=" && character !== "d" && !/\s/.test(character)) return;
  }
}

/** `2035` after `12/` or `12-`: the expiry year of a card is not a secret. */
function isYear(folded: string, at: number, next: number): boolean {
  return next - at === 4 && folded.startsWith("20", at) && isBehindMonth(folded, at);
}

function isBehindMonth(folded: string, at: number): boolean {
  return /(?<!\d)(?:0?[1-9]|1[0-2])\s?[/-]\s?$/.test(folded.slice(Math.max(0, at - 6), at));
}

function hideDigits(folded: string, from: number, to: number, hide: (index: number) => void): void {
  for (let index = from; index < to; index += 1) if (isDigit(folded, index)) hide(index);
}

function isDigit(folded: string, at: number): boolean {
  const unit = folded.charCodeAt(at);
  return unit >= 0x30 && unit <= 0x39;
}
