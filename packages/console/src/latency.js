// Durations of requests, from the account's request log if there is one.
import { call, offers } from "./api.js";

/** Most pages of the log in one refresh: as many requests as the log keeps. */
const mostPages = 20;
const mostKept = 1_000;

/** @typedef {{ number: number, path: string, duration_ms?: number }} Recorded */
/**
 * @typedef {{ path: string, number: number, median: number, slow: number, slowest: number }}
 * PathTimes
 */

/**
 * Reads the log from where it last ended; returns the durations of each path; undefined without a
 * log.
 * @param {AbortSignal} signal
 * @returns {() => Promise<readonly PathTimes[] | undefined>}
 */
export function answerTimes(signal) {
  /** @type {Recorded[]} */
  let known = [];
  return async () => {
    if (!(await offers("/__cofre/requests"))) return undefined;
    for (let pages = 0; pages < mostPages && !signal.aborted; pages += 1) {
      const asked = { after: known.at(-1)?.number ?? 0 };
      const { requests, next } = /** @type {{ requests: Recorded[], next: number | null }} */ (
        await call("/__cofre/requests", asked)
      );
      known = [...known, ...requests].slice(-mostKept);
      if (next === null) break;
    }
    return timesOf(known);
  };
}

/**
 * The most used path first.
 * @param {readonly Recorded[]} requests
 * @returns {readonly PathTimes[]}
 */
export function timesOf(requests) {
  /** @type {Map<string, number[]>} */
  const byPath = new Map();
  for (const { path, duration_ms: duration } of requests) {
    if (duration === undefined) continue;
    const times = byPath.get(path) ?? [];
    byPath.set(path, times);
    times.push(duration);
  }
  return [...byPath]
    .map(([path, times]) => {
      const sorted = times.toSorted((left, right) => left - right);
      const at = (/** @type {number} */ share) =>
        sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
      return { path, number: sorted.length, median: at(0.5), slow: at(0.95), slowest: at(1) };
    })
    .toSorted((left, right) => (left.path < right.path ? -1 : 1))
    .toSorted((left, right) => right.number - left.number);
}
