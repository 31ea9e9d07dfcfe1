// Amounts and times as the reader's language writes them. Other texts are shown unchanged.
import { shown } from "./shown.js";
import { locale } from "./language.js";
import { plainText, zone } from "./zone.js";

/** @type {Map<number, Intl.NumberFormat>} */
const numbers = new Map();

/** @param {number} digits after the decimal point */
function numberFormat(digits) {
  const known = numbers.get(digits);
  if (known !== undefined) return known;
  const made = new Intl.NumberFormat(locale, {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  numbers.set(digits, made);
  return made;
}

/** @type {Map<string, number>} */
const usualDigits = new Map();

/**
 * The decimals that the currency has.
 * @param {string} currency
 */
export function digitsOf(currency) {
  const known = usualDigits.get(currency);
  if (known !== undefined) return known;
  if (!/^[A-Z]{3}$/.test(currency)) return 2;
  const { maximumFractionDigits: digits = 2 } = new Intl.NumberFormat(locale, {
    style: "currency",
    currency,
  }).resolvedOptions();
  usualDigits.set(currency, digits);
  return digits;
}

/**
 * A decimal text of the server, with the decimals of its currency, or more if they are not zeros.
 * Without floating-point arithmetic.
 * @param {string} amount
 * @param {string} currency
 */
export function amountText(amount, currency) {
  const [, fraction = ""] = /^-?\d+(?:\.(\d+))?$/.exec(amount) ?? [undefined, undefined];
  if (fraction === "" && !/^-?\d+$/.test(amount)) return shown(amount);
  const digits = digitsOf(currency);
  const needed = /[^0]/.test(fraction.slice(digits)) ? fraction.length : digits;
  // Browsers format a decimal text exactly; the type of `format` knows numeric literals only.
  const exact = /** @type {Intl.StringNumericLiteral} */ (amount);
  return numberFormat(Math.min(needed, 4)).format(exact);
}

const [separator = "."] = new Intl.NumberFormat(locale)
  .formatToParts(1.5)
  .flatMap(({ type, value }) => (type === "decimal" ? [value] : []));

/** Of a decimal text; the server sends fewer. */
const mostDigits = 20;

/**
 * A decimal text of the server with its own decimals: of an amount whose currency is not known, or
 * of a rate.
 * @param {string} decimal
 */
export function decimalText(decimal) {
  const [, fraction = ""] = /^-?\d+(?:\.(\d+))?$/.exec(decimal) ?? [undefined, undefined];
  if (fraction === "" && !/^-?\d+$/.test(decimal)) return shown(decimal);
  return numberFormat(Math.min(fraction.length, mostDigits)).format(
    /** @type {Intl.StringNumericLiteral} */ (decimal),
  );
}

/**
 * A decimal text of the server as the user would type it, without the zeros of a currency that has
 * no decimals.
 * @param {string} amount
 * @param {string} [currency]
 */
export function typedAmount(amount, currency) {
  const isWhole = currency !== undefined && digitsOf(currency) === 0;
  return (isWhole ? amount.replace(/\.0+$/, "") : amount).replace(".", separator);
}

const shares = new Intl.NumberFormat(locale, {
  style: "percent",
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
});

const integers = new Intl.NumberFormat(locale);

/** @param {number} count */
export function countText(count) {
  return integers.format(count);
}

/** @param {number} share of one */
export function shareText(share) {
  return shares.format(share);
}

const changes = new Intl.NumberFormat(locale, {
  style: "percent",
  maximumFractionDigits: 1,
  signDisplay: "exceptZero",
});

/**
 * A difference with its sign.
 * @param {number} share of the earlier value
 */
export function changeText(share) {
  return changes.format(share);
}

const compact = new Intl.NumberFormat(locale, {
  notation: "compact",
  maximumFractionDigits: 2,
});

/**
 * The mark of an axis, such as `1.5M`.
 * @param {string} decimal
 */
export function compactText(decimal) {
  return compact.format(/** @type {Intl.StringNumericLiteral} */ (decimal));
}

const tenths = new Intl.NumberFormat(locale, {
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
});

/** @param {number} ms */
export function durationText(ms) {
  return `${ms >= 10 ? countText(Math.round(ms)) : tenths.format(ms)} ms`;
}

const countries = new Intl.DisplayNames(locale, { type: "region" });

/**
 * The name of a country.
 * @param {string} code ISO 3166-1 alpha-2, in any case
 */
export function countryText(code) {
  return /^[a-z]{2}$/i.test(code) ? (countries.of(code.toUpperCase()) ?? code) : shown(code);
}

/** @type {Intl.DateTimeFormatOptions} */
const dayParts = { day: "numeric", month: "short" };
const day = new Intl.DateTimeFormat(locale, { ...dayParts, timeZone: zone });
const dayOfYear = new Intl.DateTimeFormat(locale, { ...dayParts, year: "numeric", timeZone: zone });
const minutes = new Intl.DateTimeFormat(locale, { timeStyle: "short", timeZone: zone });

/**
 * Milliseconds of a time that the server has printed; NaN if it is in another form.
 * @param {string} at
 */
export function timeOf(at) {
  return Date.parse(at.endsWith("Z") ? at : `${at.replace(" ", "T")}Z`);
}

/**
 * Day and time in the shown time zone; the year unless it is that of `now`.
 * @param {string} at
 * @param {number} now
 */
export function momentText(at, now) {
  const time = timeOf(at);
  if (Number.isNaN(time)) return shown(at);
  return `${dayText(at, now)}, ${minutes.format(time)}`;
}

const exact = new Intl.DateTimeFormat(locale, {
  dateStyle: "medium",
  timeStyle: "medium",
  timeZone: zone,
});

/**
 * Day, year and time with seconds, in the shown time zone.
 * @param {string} at
 */
export function exactText(at) {
  const time = timeOf(at);
  return Number.isNaN(time) ? shown(at) : exact.format(time);
}

const dayAndYear = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeZone: zone });

/**
 * Day, year and time without seconds, in the shown time zone.
 * @param {string} at
 */
export function exactMinute(at) {
  const time = timeOf(at);
  return Number.isNaN(time) ? shown(at) : `${dayAndYear.format(time)}, ${minutes.format(time)}`;
}

const seconds = new Intl.DateTimeFormat(locale, { timeStyle: "medium", timeZone: zone });

/**
 * Day and time with seconds, in the shown time zone; the year unless it is that of `now`.
 * @param {string} at
 * @param {number} now
 */
export function secondText(at, now) {
  const time = timeOf(at);
  return Number.isNaN(time) ? shown(at) : `${dayText(at, now)}, ${seconds.format(time)}`;
}

/**
 * The time of the day, in the shown time zone.
 * @param {string} at
 */
export function timeOfDay(at) {
  const time = timeOf(at);
  return Number.isNaN(time) ? shown(at) : minutes.format(time);
}

/**
 * @param {string} at
 * @param {number} now
 */
export function dayText(at, now) {
  const time = timeOf(at);
  if (Number.isNaN(time)) return shown(at);
  const isSameYear =
    !Number.isNaN(now) && plainText(time).slice(0, 4) === plainText(now).slice(0, 4);
  return (isSameYear ? day : dayOfYear).format(time);
}

/**
 * A day of the shown time zone, without its year.
 * @param {string} at its first moment
 */
export function shortDayText(at) {
  const time = timeOf(at);
  return Number.isNaN(time) ? shown(at) : day.format(time);
}

/**
 * For the pointer: the same time in UTC.
 * @param {string} at
 */
export function utcText(at) {
  return `${shown(at.replace("T", " ").replace(/(?:\.\d+)?Z$/, ""))} UTC`;
}
