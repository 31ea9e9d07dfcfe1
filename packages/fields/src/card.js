// The rules of card numbers, expiry dates and security codes. Independent of the document.
import { brandRows } from "./brand-rows.js";

/**
 * The digits of a text.
 * @param {string} text
 */
export function digitsOf(text) {
  return text.replaceAll(/\D/g, "");
}

/**
 * The brand of a number, by the rows of the server: the first row that fits wins. A number that has
 * no row's length yet has the first brand that it can still become.
 * @param {string} digits
 * @returns {{ name: string, lengths: readonly number[] } | undefined}
 */
export function brandOf(digits) {
  const fitting = brandRows.filter(
    ([, , include, exclude]) => includes(include, digits) && !includes(exclude, digits),
  );
  const [name, lengths] =
    fitting.find(([, of]) => of.includes(digits.length)) ??
    fitting.find(([, of]) => digits.length < Math.max(...of)) ??
    [];
  return name === undefined || lengths === undefined ? undefined : { name, lengths };
}

/**
 * Whether the digits are inside one of the ranges of first digits.
 * @param {string} ranges such as `34,37,2221-2720`
 * @param {string} digits
 */
function includes(ranges, digits) {
  if (ranges === "") return false;
  return ranges.split(",").some((range) => {
    const [first = "", last = first] = range.split("-");
    const start = digits.slice(0, first.length);
    if (start.length < first.length) return false;
    return first <= start && start <= last;
  });
}

/** @param {string} digits */
function passesLuhn(digits) {
  let sum = 0;
  for (let index = 0; index < digits.length; index += 1) {
    const digit = Number(digits.at(-1 - index));
    const value = index % 2 === 1 ? digit * 2 : digit;
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 === 0;
}

/**
 * Whether the digits are a number of a known brand with the right length and check digit.
 * @param {string} digits
 */
export function isCardNumber(digits) {
  return brandOf(digits)?.lengths.includes(digits.length) === true && passesLuhn(digits);
}

/**
 * The number as people read it: 4-6-5 for 15 digits, 4-6-4 for Diners, otherwise groups of four.
 * @param {string} digits
 */
export function groupedNumber(digits) {
  const name = brandOf(digits)?.name;
  const groups = name === "amex" ? [4, 6, 5] : name === "diners" ? [4, 6, 4] : [4, 4, 4, 4, 3];
  const parts = [];
  let at = 0;
  for (const length of groups) {
    if (at >= digits.length) break;
    parts.push(digits.slice(at, at + length));
    at += length;
  }
  return parts.join(" ");
}

/**
 * `MM/YY` or `MM/YYYY` from what was typed or filled in. A first digit above 1 is a whole month.
 * @param {string} text
 */
export function typedExpiry(text) {
  const [month = "", ...more] = text.trim().split(/\s*[/.-]\s*/);
  const hasSign = more.length > 0;
  let digits = digitsOf(hasSign ? month : text);
  if (/^[2-9]/.test(digits) || (hasSign && digits.length === 1)) digits = `0${digits}`;
  if (hasSign) return `${digits.slice(0, 2)}/${digitsOf(more.join("")).slice(0, 4)}`;
  return digits.length > 2 ? `${digits.slice(0, 2)}/${digits.slice(2, 6)}` : digits;
}

/**
 * `MM/YYYY`, as the interface takes it, if the text is a date that has not passed. A card is valid
 * until the end of its month.
 * @param {string} text
 * @param {Date} now
 */
export function expiryOf(text, now) {
  const [, month = "", year = ""] = /^(0[1-9]|1[0-2])\/(\d{2}|\d{4})$/.exec(text) ?? [];
  if (month === "") return undefined;
  const whole = year.length === 2 ? 2_000 + Number(year) : Number(year);
  const [thisYear, thisMonth] = [now.getFullYear(), now.getMonth() + 1];
  const isPast = whole < thisYear || (whole === thisYear && Number(month) < thisMonth);
  return isPast || whole > thisYear + 50 ? undefined : `${month}/${whole}`;
}

/**
 * The number of digits of the security code: four for American Express, otherwise three.
 * @param {string} number
 */
export function codeLength(number) {
  return brandOf(number)?.name === "amex" ? 4 : 3;
}

/**
 * Where the caret is after a text was formatted: behind the same number of digits. At the end it
 * stays at the end, so that typing continues there.
 * @param {string} before text
 * @param {number} caret in it
 * @param {string} after text
 */
export function caretAfter(before, caret, after) {
  if (caret >= before.length) return after.length;
  let left = digitsOf(before.slice(0, caret)).length;
  let place = 0;
  while (left > 0 && place < after.length) {
    if (/\d/.test(after[place] ?? "")) left -= 1;
    place += 1;
  }
  return place;
}
