/**
 * Calls a task at the end of this turn of the event loop. As it is when this is loaded
 * (system-scheduler.ts).
 */
export const atEndOfTurn: (task: () => void) => void = setImmediate;

/** Resolves at the end of this turn: requests that have arrived are served before. */
export function endOfTurn(): Promise<void> {
  return new Promise((resolve) => {
    atEndOfTurn(resolve);
  });
}
