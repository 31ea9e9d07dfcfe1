import type { Instant } from "./instant.ts";

/** Port: the only source of the present time. */
export interface Clock {
  now(): Instant;
}

/** Maximum difference between this machine's clock and the shared one, in milliseconds. */
export const clockToleranceMs = 2_000;

/**
 * Minimum lead of this machine's clock over another one, in milliseconds; negative: behind. The
 * other clock was read between `before` and `after`.
 */
export function aheadOf(theirs: number, before: Instant, after: Instant): number {
  if (theirs < before) return before - theirs;
  return theirs > after ? after - theirs : 0;
}
