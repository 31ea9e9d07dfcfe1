// Periods, searches and axes of Insights. Independent of the document.
import { plainText, timeTyped } from "./zone.js";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Most days of one answer of the server. */
export const mostDays = 100;
/** A chosen range of at most this many days is shown by hour. */
const mostDaysByHour = 2;

/** @typedef {"hour" | "day"} Unit */
/**
 * Hours or days of the shown zone. `bounds`: their beginnings and the end of the last one, in
 * milliseconds; none: the server chooses, because the account's time is not known.
 * @typedef {{ per: Unit, bounds: readonly number[] }} Span
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
 * @param {number} now NaN: not known
 * @returns {Span | undefined} undefined: it is not a range
 */
export function spanOf({ period, from, to }, now) {
  const { per, count } = Object.hasOwn(spans, period)
    ? /** @type {{ per: Unit, count: number }} */ (spans[period])
    : { per: /** @type {Unit} */ ("day"), count: 7 };
  if (period === "range") {
    if ([from, to].some((day) => !/^\d{4}-\d\d-\d\d$/.test(day) || Number.isNaN(timeTyped(day))))
      return undefined;
    const days = Math.round((Date.parse(to) - Date.parse(from)) / dayMs) + 1;
    if (days < 1 || Number.isNaN(timeTyped(dateAfter(to, 1)))) return undefined;
    if (days > mostDaysByHour) return { per: "day", bounds: daysFrom(from, days) };
    const [begin, end] = [timeTyped(from), timeTyped(dateAfter(to, 1))];
    return { per: "hour", bounds: hoursTo(end, Math.ceil((end - begin) / hourMs)) };
  }
  if (Number.isNaN(now)) return { per, bounds: [] };
  if (per === "day") return { per, bounds: daysFrom(dateAfter(dateAt(now), 1 - count), count) };
  // Of the zone's clock, which may differ from UTC by a part of an hour.
  const inHour = Date.parse(`${plainText(now).replace(" ", "T")}Z`) % hourMs;
  return { per, bounds: hoursTo(Math.floor(now / 1_000) * 1_000 - inHour + hourMs, count) };
}

/**
 * The span of as many hours or days before it; undefined: it would begin before 1970.
 * @param {Span} span
 * @returns {Span | undefined}
 */
export function spanBefore({ per, bounds }) {
  const [from] = bounds;
  if (from === undefined) return undefined;
  const count = bounds.length - 1;
  const before =
    per === "hour" ? hoursTo(from, count) : daysFrom(dateAfter(dateAt(from), -count), count);
  return before.length === bounds.length ? { per, bounds: before } : undefined;
}

/** @param {Span} span */
export function isTooLong({ bounds }) {
  return bounds.length - 1 > mostDays;
}

/**
 * The hours before a time, without those before 1970.
 * @param {number} end
 * @param {number} count
 */
function hoursTo(end, count) {
  const bounds = Array.from({ length: count + 1 }, (_, index) => end - (count - index) * hourMs);
  return since1970(bounds);
}

/**
 * The days of the shown zone, without those before 1970; no more than show that it is too many.
 * @param {string} date
 * @param {number} count
 */
function daysFrom(date, count) {
  const length = Math.min(count, mostDays + 1) + 1;
  return since1970(Array.from({ length }, (_, index) => timeTyped(dateAfter(date, index))));
}

/** @param {readonly number[]} bounds */
function since1970(bounds) {
  const later = bounds.filter((at) => at > 0);
  return later.length === bounds.length ? later : [0, ...later];
}

/**
 * The date of the shown zone at a time.
 * @param {number} at
 */
export function dateAt(at) {
  return plainText(at).slice(0, 10);
}

/**
 * @param {string} date such as `2026-11-30`
 * @param {number} days
 */
function dateAfter(date, days) {
  return new Date(Date.parse(date) + days * dayMs).toISOString().slice(0, 10);
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
