import { assert } from "./assert.ts";
import type { Instant } from "./instant.ts";

/**
 * Calendar arithmetic on instants: proleptic Gregorian, UTC, whole numbers only. The platform's
 * calendar is not used, because it depends on the machine's time zone and accepts the 31st of
 * February.
 */

const dayMs = 86_400_000;
const daysIn400Years = 146_097;
/** Days from 0000-03-01, where the count below starts, to 1970-01-01. */
const epochDay = 719_468;

/** A calendar day without a time zone. `month` 1 to 12, `day` 1 to 31. */
export interface CalendarDate {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

/** A moment in UTC calendar and clock fields. */
export interface CivilTime extends CalendarDate {
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly millisecond: number;
}

function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

export function daysInMonth(year: number, month: number): number {
  if (month === 2) return isLeapYear(year) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

export function civilFromInstant(at: Instant): CivilTime {
  const dayNumber = Math.floor(at / dayMs);
  const inDay = at - dayNumber * dayMs;
  return {
    ...dateOfDay(dayNumber),
    hour: Math.floor(inDay / 3_600_000),
    minute: Math.floor(inDay / 60_000) % 60,
    second: Math.floor(inDay / 1_000) % 60,
    millisecond: Math.floor(inDay % 1_000),
  };
}

/** The first instant of a day in UTC. The day must exist. */
export function startOfDay(date: CalendarDate): Instant {
  assert(isDate(date), "a calendar date exists");
  return (dayOfDate(date) * dayMs) as Instant;
}

/**
 * `YYYY-MM-DD HH:MM:SS` in UTC, as the wire prints every timestamp (interface 10). Years 0 to 9999.
 */
export function formatTimestamp(at: Instant): string {
  const dayNumber = Math.floor(at / dayMs);
  const seconds = Math.floor((at - dayNumber * dayMs) / 1_000);
  const minutes = Math.floor(seconds / 60);
  return `${dayText(dayNumber)} ${twoDigits(Math.floor(minutes / 60))}:${twoDigits(minutes % 60)}:${twoDigits(seconds % 60)}`;
}

/** `YYYY-MM-DD` in UTC. Years 0 to 9999. These texts sort chronologically. */
export function formatDate(at: Instant): string {
  return dayText(Math.floor(at / dayMs));
}

/** `YYYY-MM-DD`. */
export function formatCalendarDate(date: CalendarDate): string {
  return `${String(date.year).padStart(4, "0")}-${twoDigits(date.month)}-${twoDigits(date.day)}`;
}

/**
 * The same time of day, `months` calendar months later (earlier if negative), on the last day of a
 * month that is too short: 14 months after 31 December is 28 or 29 February. Not reversible, so a
 * new expiry is counted from the use, never from the former expiry.
 */
export function addMonths(at: Instant, months: number): Instant {
  assert(Number.isInteger(months), "months are added as a whole number");
  const dayNumber = Math.floor(at / dayMs);
  const from = dateOfDay(dayNumber);
  const monthsSinceZero = from.year * 12 + (from.month - 1) + months;
  const year = Math.floor(monthsSinceZero / 12);
  const month = monthsSinceZero - year * 12 + 1;
  const day = Math.min(from.day, daysInMonth(year, month));
  return (dayOfDate({ year, month, day }) * dayMs + (at - dayNumber * dayMs)) as Instant;
}

export function addDays(at: Instant, days: number): Instant {
  assert(Number.isInteger(days), "days are added as a whole number");
  return (at + days * dayMs) as Instant;
}

/**
 * A date in the format of requests, `dd/mm/yyyy`, day and month with or without leading zeros
 * (interface 3.2). Undefined for another format or a day that does not exist.
 */
export function parseDayMonthYear(text: string): CalendarDate | undefined {
  const match = /^(\d{1,2})\/(\d{1,2})\/(\d{4})$/.exec(text);
  if (match === null) return undefined;
  const date = { year: Number(match[3]), month: Number(match[2]), day: Number(match[1]) };
  return isDate(date) ? date : undefined;
}

/**
 * Whole years from a birth to an instant, in UTC. In years of 365 days, a birthday on 29 February
 * counts as 1 March.
 */
export function ageAt(birth: CalendarDate, at: Instant): number {
  const today = dateOfDay(Math.floor(at / dayMs));
  const hadBirthday =
    today.month > birth.month || (today.month === birth.month && today.day >= birth.day);
  return today.year - birth.year - (hadBirthday ? 0 : 1);
}

/** The last instant of a month in UTC. */
export function endOfMonth(year: number, month: number): Instant {
  assert(month >= 1 && month <= 12, "a month is 1 to 12");
  const next =
    month === 12 ? { year: year + 1, month: 1, day: 1 } : { year, month: month + 1, day: 1 };
  return (dayOfDate(next) * dayMs - 1) as Instant;
}

function isDate({ year, month, day }: CalendarDate): boolean {
  return (
    year >= 0 &&
    year <= 9_999 &&
    month >= 1 &&
    month <= 12 &&
    day >= 1 &&
    day <= daysInMonth(year, month)
  );
}

/**
 * Days since 1970-01-01. Years are counted from 1 March, so the leap day is the last one and the
 * starts of the months are linear, with 153 days per five months.
 */
function dayOfDate({ year, month, day }: CalendarDate): number {
  const marchYear = month > 2 ? year : year - 1;
  const era = Math.floor(marchYear / 400);
  const yearOfEra = marchYear - era * 400;
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  const dayOfEra =
    yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * daysIn400Years + dayOfEra - epochDay;
}

/** The inverse of dayOfDate. */
function dateOfDay(dayNumber: number): CalendarDate {
  const shifted = dayNumber + epochDay;
  const era = Math.floor(shifted / daysIn400Years);
  const dayOfEra = shifted - era * daysIn400Years;
  // Removes the leap days that have passed within the era, so that every year has 365 days.
  const leapDays =
    Math.floor(dayOfEra / 1_460) - Math.floor(dayOfEra / 36_524) + Math.floor(dayOfEra / 146_096);
  const yearOfEra = Math.floor((dayOfEra - leapDays) / 365);
  const dayOfYear =
    dayOfEra - (yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9;
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * marchMonth + 2) / 5) + 1,
  };
}

const padded = Array.from({ length: 100 }, (_, value) => String(value).padStart(2, "0"));

function twoDigits(value: number): string {
  return padded[value] ?? String(value);
}

// Nearly every timestamp of a running server is from today, so the text of the last printed day is
// cached.
let lastDay = 0;
let lastDayText = "1970-01-01";

function dayText(dayNumber: number): string {
  if (dayNumber !== lastDay) {
    lastDayText = formatCalendarDate(dateOfDay(dayNumber));
    lastDay = dayNumber;
  }
  return lastDayText;
}

/** `2026-01-31T12:00:00.000Z`. Years 0 to 9999. */
export function formatInstant(at: Instant): string {
  const millisecond = civilFromInstant(at).millisecond;
  return `${formatTimestamp(at).replace(" ", "T")}.${String(millisecond).padStart(3, "0")}Z`;
}

/**
 * A day, a day and a time as the wire prints them, or the format of `formatInstant`, with or
 * without milliseconds: all UTC. Undefined for anything else.
 */
export function parseInstant(text: string): Instant | undefined {
  const parts = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{3}))?)?Z?)?$/.exec(
    text,
  );
  if (parts === null) return undefined;
  const [year = 0, month = 0, dayOfMonth = 0, hour = 0, minute = 0, second = 0, millisecond = 0] =
    parts.slice(1).map((part) => Number(part ?? "0"));
  const date = { year, month, day: dayOfMonth };
  if (!isDate(date) || hour > 23 || minute > 59 || second > 59) return undefined;
  return (startOfDay(date) + ((hour * 60 + minute) * 60 + second) * 1_000 + millisecond) as Instant;
}

const spanUnits: ReadonlyMap<string, number> = new Map([
  ["ms", 1],
  ["s", 1_000],
  ["min", 60_000],
  ["h", 3_600_000],
  ["d", dayMs],
]);

/**
 * `at` plus a time span such as `10s`, `30min`, `36h`, `4d` or `14months`. Undefined if the text is
 * not a span of at most 100 years.
 */
export function afterSpan(at: Instant, span: string): Instant | undefined {
  const parts = /^(\d{1,9}) ?(ms|s|min|h|d|months?)$/.exec(span);
  const count = Number(parts?.[1] ?? "");
  const unit = parts?.[2];
  if (unit === undefined) return undefined;
  if (unit === "month" || unit === "months")
    return count > 1_200 ? undefined : addMonths(at, count);
  const unitMs = spanUnits.get(unit);
  if (unitMs === undefined) return undefined;
  const ms = count * unitMs;
  return ms > 36_525 * dayMs ? undefined : ((at + ms) as Instant);
}
