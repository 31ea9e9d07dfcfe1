import { assert } from "../kernel/assert.ts";
import { daysInMonth, startOfDay } from "../kernel/calendar.ts";
import { day, hour, type Instant, laterBy, minute, second } from "../kernel/instant.ts";
import type { Random } from "../kernel/random.ts";

/** How long after the attempt before: 75.6 hours in all. The first attempt is made at once. */
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

/** A receiver cannot ask for a longer rest than this. */
export const longestRetryAfterMs = day;

/**
 * When to try again after so many failed attempts; undefined when that was the last. Up to a tenth
 * later by chance, so that what failed together does not come back together; never earlier, so that
 * the whole schedule outlasts three days.
 */
export function nextAttemptAt(attempts: number, at: Instant, random: Random): Instant | undefined {
  assert(attempts >= 1, "an attempt comes before its repetition");
  const delayMs = delaysMs[attempts - 1];
  if (delayMs === undefined) return undefined;
  const [high = 0, low = 0] = random.bytes(2);
  return laterBy(at, delayMs + Math.floor((delayMs * (high * 256 + low)) / 655_360));
}

/**
 * What a delivery waits at most after so many failed attempts, unless its receiver asked for more.
 */
export function longestDelayMs(attempts: number): number {
  return attempts === 0 ? 0 : Math.ceil((delaysMs[attempts - 1] ?? 0) * 1.1);
}

/**
 * The moment that a Retry-After header names (RFC 9110 10.2.3: seconds, or a date of the one form
 * that may still be sent), never more than a day from now; undefined when there is none, it is
 * over, or cannot be read.
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
