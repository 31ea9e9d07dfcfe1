import { getTestContext } from "node:test";
import { setImmediate, setTimeout } from "node:timers/promises";

/** Longer than anything that a test waits for takes on a loaded machine. */
const longestMs = 90_000;

/**
 * Resolves with the milliseconds it took until `holds` answers true. Rejects after `mostMs`, and as
 * soon as the test that waits is over: a loop that outlives its test keeps the process of the whole
 * file running. `what` is the fact as a sentence; the error says it.
 */
export async function until(
  what: string,
  holds: () => Promise<boolean> | boolean,
  {
    mostMs = longestMs,
    everyMs = 10,
  }: { readonly mostMs?: number; readonly everyMs?: number } = {},
): Promise<number> {
  const signal = getTestContext()?.signal;
  const begin = performance.now();
  while (!(await holds())) {
    if (signal?.aborted === true)
      throw new Error(`the test ended before this was so: ${what}`, { cause: signal.reason });
    if (performance.now() - begin > mostMs) throw new Error(`not within ${mostMs} ms: ${what}`);
    // An aborted pause ends at once; the fact is then looked at a last time.
    await (everyMs === 0
      ? setImmediate()
      : setTimeout(everyMs, undefined, signal === undefined ? {} : { signal }).catch(
          () => undefined,
        ));
  }
  return performance.now() - begin;
}
