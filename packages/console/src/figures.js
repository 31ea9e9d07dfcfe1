// Periods, searches and axes of Insights. Independent of the document.

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Most days of one answer of the server. */
export const mostDays = 100;
/** A chosen range of at most this length is shown by hour. */
const longestByHourMs = 2 * dayMs;

/** The lengths of a unit in which payments are counted. */
const units = { hour: hourMs, day: dayMs };
/** @typedef {keyof typeof units} Unit */
/**
 * Times in milliseconds: from the beginning of a unit, inclusive, to that of another, exclusive.
 * @typedef {{ per: Unit, from: number, to: number }} Span
 */

/** @type {Readonly<Record<string, { per: Unit, count: number }>>} */
const spans = {
  "24h": { per: "hour", count: 24 },
  "7d": { per: "day", count: 7 },
  "30d": { per: "day", count: 30 },
};

/**
 * What the URL chooses: the last hours or days of the account's time, or a range of whole days.
 * @param {{ period: string, from: string, to: string }} chosen
 * @param {number} now NaN: not known, and the server uses its own
 * @returns {Span | undefined} undefined: it is not a range
 */
export function spanOf({ period, from, to }, now) {
  const { per, count } = Object.hasOwn(spans, period)
    ? /** @type {{ per: Unit, count: number }} */ (spans[period])
    : { per: /** @type {Unit} */ ("day"), count: 7 };
  if (period === "range") {
    const [begin, last] = [dayOf(from), dayOf(to)];
    if (Number.isNaN(begin) || Number.isNaN(last) || last < begin) return undefined;
    const length = last + dayMs - begin;
    return { per: length <= longestByHourMs ? "hour" : "day", from: begin, to: begin + length };
  }
  const end = (Math.floor(now / units[per]) + 1) * units[per];
  return { per, from: Math.max(0, end - count * units[per]), to: end };
}

/**
 * The span of the same length before it; undefined: it would begin before 1970.
 * @param {Span} span
 * @returns {Span | undefined}
 */
export function spanBefore({ per, from, to }) {
  const begin = from - (to - from);
  return begin >= 0 ? { per, from: begin, to: from } : undefined;
}

/** @param {Span} span */
export function isTooLong({ per, from, to }) {
  return (to - from) / units[per] > mostDays;
}

/**
 * The beginning of a day in UTC, such as `2026-11-30`; NaN if it is not a day.
 * @param {string} day
 */
function dayOf(day) {
  return /^\d{4}-\d\d-\d\d$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : NaN;
}

/**
 * A whole minute as a search has it, such as `2026-11-30T18:00Z`. With its zone, because a search
 * reads any other time in the zone of the page.
 * @param {number} at
 */
export function timeText(at) {
  return `${new Date(at).toISOString().slice(0, 16)}Z`;
}

/**
 * The list of the payments of a span that have these values, as an address.
 * @param {{ from: number, to: number }} span
 * @param {Readonly<Record<string, string>>} values by operator; empty: any
 * @param {string} [state] of the list's filter
 */
export function listOf({ from, to }, values, state = "") {
  const times =
    Number.isNaN(from) || Number.isNaN(to)
      ? []
      : [`after:${timeText(from)}`, `before:${timeText(to)}`];
  const words = Object.entries(values).flatMap(([name, value]) =>
    value === "" ? [] : [`${name}:${value.toLowerCase()}`],
  );
  const query = new URLSearchParams({ search: [...words, ...times].join(" ") });
  if (state !== "") query.set("state", state);
  return `#/payments?${query.toString()}`;
}

/** Most steps of an axis. */
const mostSteps = 4n;

/**
 * The marks of an axis from zero to at least `most`, in steps of 1, 2 or 5 and zeros.
 * @param {bigint} most
 * @returns {readonly bigint[]}
 */
export function marksOf(most) {
  let unit = 1n;
  for (;;) {
    for (const step of [unit, 2n * unit, 5n * unit]) {
      if (step * mostSteps < most) continue;
      const steps = most <= 0n ? 1 : Number((most + step - 1n) / step);
      return Array.from({ length: steps + 1 }, (_, index) => step * BigInt(index));
    }
    unit *= 10n;
  }
}

/**
 * A part of a whole in percent, for a width.
 * @param {bigint} part
 * @param {bigint} whole
 */
export function percentOf(part, whole) {
  return whole <= 0n ? 0 : Number((part * 10_000n) / whole) / 100;
}
