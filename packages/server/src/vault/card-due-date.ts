import { endOfMonth, formatDate } from "../kernel/calendar.ts";
import { day, type Instant, laterBy } from "../kernel/instant.ts";

/** A card's expiry as printed on it: `month` 1 to 12, `year` with four digits. */
export interface CardDueDate {
  readonly month: number;
  readonly year: number;
}

/**
 * The last instant of a card's expiry month. A card is valid as long as it is that month anywhere:
 * last in UTC-12, where the month ends twelve hours later than in UTC.
 */
export function endOfDueMonth(year: number, month: number): Instant {
  return laterBy(endOfMonth(year, month), day / 2);
}

/**
 * `mm/yyyy`, the month with or without a leading zero (interface 2.1). Undefined for another format
 * or a month that does not exist.
 */
export function parseCardDueDate(text: string): CardDueDate | undefined {
  const match = /^(0?[1-9]|1[0-2])\/(\d{4})$/.exec(text);
  return match === null ? undefined : { month: Number(match[1]), year: Number(match[2]) };
}

/** `mm/yyyy`, nine years from now: the expiry of an example card. */
export function exampleDueDate(now: Instant): string {
  return `12/${Number(formatDate(now).slice(0, 4)) + 9}`;
}
