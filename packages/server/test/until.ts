import { getTestContext } from "node:test";
import { setImmediate, setTimeout } from "node:timers/promises";

/** Longer than any wait of a test takes on a loaded machine. */
const longestMs = 90_000;

/**
 * Resolves with the milliseconds until `holds` returns true. Rejects after `maxMs`, and when the
 * waiting test has ended, because a loop that outlives its test keeps the process of the whole file
 * running. `what` is the condition as a sentence, for the error.
 */
export async function until(
  what: string,
  holds: () => Promise<boolean> | boolean,
  { maxMs = longestMs, everyMs = 10 }: { readonly maxMs?: number; readonly everyMs?: number } = {},
): Promise<number> {
  const signal = getTestContext()?.signal;
  const begin = performance.now();
  while (!(await holds())) {
    if (signal?.aborted === true)
      throw new Error(`the test ended before this was so: ${what}`, { cause: signal.reason });
    if (performance.now() - begin > maxMs) throw new Error(`not within ${maxMs} ms: ${what}`);
    // An aborted pause ends at once; the condition is then checked a last time.
    await (everyMs === 0
      ? setImmediate()
      : setTimeout(everyMs, undefined, signal === undefined ? {} : { signal }).catch(
          () => undefined,
        ));
  }
  return performance.now() - begin;
}
