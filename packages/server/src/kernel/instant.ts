/**
 * A moment in UTC, in milliseconds since 1970-01-01T00:00:00Z. Calendar arithmetic is in
 * calendar.ts. Domain code never reads the system time (see clock.ts).
 */
export type Instant = number & { readonly [brand]: "Instant" };
declare const brand: unique symbol;

export function instant(epochMs: number): Instant {
  return epochMs as Instant;
}

export function laterBy(at: Instant, ms: number): Instant {
  return (at + ms) as Instant;
}

export const second = 1_000;
export const minute = 60 * second;
export const hour = 60 * minute;
export const day = 24 * hour;
