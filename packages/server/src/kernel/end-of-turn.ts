/**
 * Calls a task at the end of this turn of the event loop. Bound when the module is loaded
 * (system-scheduler.ts).
 */
export const atEndOfTurn: (task: () => void) => void = setImmediate;

/** Resolves at the end of this turn, after requests that have arrived were served. */
export function endOfTurn(): Promise<void> {
  return new Promise((resolve) => {
    atEndOfTurn(resolve);
  });
}
