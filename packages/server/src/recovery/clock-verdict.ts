import { clockToleranceMs } from "../kernel/clock.ts";
import type { ClockReadings } from "../stores/store.ts";

/**
 * Whether a node's clock counts as right. `aheadMs` is what it is ahead of the database's. What is
 * endangered by a wrong clock is judged by the nodes' clocks among one another, so the database's
 * is one reading among several (decisions/0017).
 *
 * `isTrusted`: the clock was right when it was last compared, and has not been set since, by the
 * monotonic count. Alone, such a clock stays right whatever the database's shows, because then it
 * is the database's that was set.
 */
export function isClockRight(
  aheadMs: number,
  { others, last }: ClockReadings,
  isTrusted: boolean,
): boolean {
  if (others.length === 0)
    return isTrusted || isNear(aheadMs, 0) || (last !== undefined && isNear(aheadMs, last));
  const clocks = [aheadMs, ...others];
  // The database's clock decides between two halves.
  if (clocks.length % 2 === 0) clocks.push(0);
  const median = clocks.toSorted((left, right) => left - right)[(clocks.length - 1) / 2];
  const isConfirmed = [...others, 0].some((other) => isNear(aheadMs, other));
  return isConfirmed && median !== undefined && isNear(aheadMs, median);
}

/**
 * Whether another node that counts as right has a clock that this one cannot be right beside: one
 * of the two is going to stop.
 */
export function isContested(aheadMs: number, { others }: ClockReadings): boolean {
  // Two clocks that are right may differ from the median by the tolerance each.
  return others.some((other) => Math.abs(aheadMs - other) > 2 * clockToleranceMs);
}

function isNear(left: number, right: number): boolean {
  return Math.abs(left - right) <= clockToleranceMs;
}
