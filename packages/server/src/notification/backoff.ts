import { assert } from "../kernel/assert.ts";
import { daysInMonth, startOfDay } from "../kernel/calendar.ts";
import { day, hour, type Instant, laterBy, minute, second } from "../kernel/instant.ts";
import type { Random } from "../kernel/random.ts";

/** Delay after the previous attempt; 75.6 hours in all. The first attempt is immediate. */
const delaysMs = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
] as const;

export const maximumAttempts = delaysMs.length + 1;

/** The longest pause that a receiver can request. */
export const longestRetryAfterMs = day;

/**
 * Time of the next attempt after this many failed ones; undefined after the last. Up to a tenth
 * later at random, so that concurrent failures are not retried together; never earlier, so that the
 * whole schedule exceeds three days.
 */
export function nextAttemptAt(attempts: number, at: Instant, random: Random): Instant | undefined {
  assert(attempts >= 1, "an attempt comes before its repetition");
  const delayMs = delaysMs[attempts - 1];
  if (delayMs === undefined) return undefined;
  const [high = 0, low = 0] = random.bytes(2);
  return laterBy(at, delayMs + Math.floor((delayMs * (high * 256 + low)) / 655_360));
}

/**
 * The longest wait of a delivery after this many failed attempts, unless its receiver requested
 * more.
 */
export function longestDelayMs(attempts: number): number {
  return attempts === 0 ? 0 : Math.ceil((delaysMs[attempts - 1] ?? 0) * 1.1);
}

/**
 * The moment of a Retry-After header (RFC 9110 10.2.3: seconds, or a date in the only form that
 * senders may still use), at most a day from now; undefined if there is none, it has passed, or it
 * is invalid.
 */
export function retryAfter(header: string | undefined, now: Instant): Instant | undefined {
  const text = header?.trim() ?? "";
  const at = /^\d{1,9}$/.test(text) ? laterBy(now, Number(text) * second) : httpDate(text);
  if (at === undefined || at <= now) return undefined;
  const latest = laterBy(now, longestRetryAfterMs);
  return at < latest ? at : latest;
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** `Sun, 06 Nov 1994 08:49:37 GMT`. */
function httpDate(text: string): Instant | undefined {
  const match =
    /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (\d\d) ([A-Z][a-z]{2}) (\d{4}) ([01]\d|2[0-3]):([0-5]\d):([0-5]\d) GMT$/.exec(
      text,
    );
  if (match === null) return undefined;
  const [, date, monthName = "", yearText, hours, minutes, seconds] = match;
  const [year, month, dayOfMonth] = [Number(yearText), months.indexOf(monthName) + 1, Number(date)];
  if (month === 0 || dayOfMonth < 1 || dayOfMonth > daysInMonth(year, month)) return undefined;
  const start = startOfDay({ year, month, day: dayOfMonth });
  return laterBy(start, Number(hours) * hour + Number(minutes) * minute + Number(seconds) * second);
}
