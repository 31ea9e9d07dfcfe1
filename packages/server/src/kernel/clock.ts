import type { Instant } from "./instant.ts";

/** Port: the only source of the present time. */
export interface Clock {
  now(): Instant;
}

/** What this machine's clock may differ from the one that processes share, in milliseconds. */
export const clockToleranceMs = 2_000;

/**
 * How far this machine's clock is ahead of another one, at least, in milliseconds; below 0: behind.
 * The other clock was read at some moment between `before` and `after`.
 */
export function aheadOf(theirs: number, before: Instant, after: Instant): number {
  if (theirs < before) return before - theirs;
  return theirs > after ? after - theirs : 0;
}
