import { clockToleranceMs } from "../kernel/clock.ts";
import type { ClockReadings } from "../stores/store.ts";

/**
 * Whether a node's clock counts as right. `aheadMs` is its lead over the database's clock. A clock
 * is dangerous when it differs from those of other nodes, so the nodes' clocks are compared with
 * one another, and the database's is one reading among several (decisions/0017).
 *
 * `isTrusted`: the clock was right at the last comparison and has not been set since, measured by
 * monotonic time. Without other nodes such a clock stays right whatever the database's clock shows,
 * because then the database's clock was set.
 */
export function isClockRight(
  aheadMs: number,
  { others, last }: ClockReadings,
  isTrusted: boolean,
): boolean {
  if (others.length === 0)
    return isTrusted || isNear(aheadMs, 0) || (last !== undefined && isNear(aheadMs, last));
  const clocks = [aheadMs, ...others];
  // With an even number of clocks, the database's clock decides.
  if (clocks.length % 2 === 0) clocks.push(0);
  const median = clocks.toSorted((left, right) => left - right)[(clocks.length - 1) / 2];
  const isConfirmed = [...others, 0].some((other) => isNear(aheadMs, other));
  return isConfirmed && median !== undefined && isNear(aheadMs, median);
}

/**
 * Whether another node that counts as right has a clock that contradicts this one's: one of the two
 * will stop.
 */
export function isContested(aheadMs: number, { others }: ClockReadings): boolean {
  // Two right clocks may each differ from the median by the tolerance.
  return others.some((other) => Math.abs(aheadMs - other) > 2 * clockToleranceMs);
}

function isNear(left: number, right: number): boolean {
  return Math.abs(left - right) <= clockToleranceMs;
}
