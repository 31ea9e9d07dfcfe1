import { type Instant, laterBy, minute } from "./instant.ts";

/** Holds `max` units, and regains one every `everyMs` milliseconds. */
export interface TokenBucket {
  readonly max: number;
  readonly everyMs: number;
}

/**
 * Takes a unit from a bucket, whose state is one number: the time when it is full again (undefined:
 * it is full). `waitMs`: it is empty, and has a unit again after this time. A clock that was set
 * back never takes more than its content.
 */
export function takenFrom(
  { max, everyMs }: TokenBucket,
  fullAt: Instant | undefined,
  now: Instant,
): { readonly fullAt: Instant } | { readonly waitMs: number } {
  const leftMs = (fullAt ?? now) - now;
  // Later than possible, beyond a small correction: the clock was set back, and the value is
  // ignored.
  const usedMs = leftMs > max * everyMs + minute ? 0 : Math.min(Math.max(leftMs, 0), max * everyMs);
  const missingMs = usedMs + everyMs;
  const waitMs = missingMs - max * everyMs;
  return waitMs > 0 ? { waitMs } : { fullAt: laterBy(now, missingMs) };
}
