import type { Scheduler } from "./scheduler.ts";

/** A longer delay would overflow the timer and fire at once. */
const maxTimerMs = 2 ** 31 - 1;

/** Bound when the module is loaded: test runners replace timers around a Cofre in their process. */
const startTimer = setTimeout;
const stopTimer = clearTimeout;

/**
 * Real timers. A wait keeps the process alive: callers pass a signal, or cancel it when they are
 * closed.
 */
export const systemScheduler: Scheduler = { sleep, after };

async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const cancel = after(ms, resolve);
  const abort = (): void => {
    cancel();
    reject(signal?.reason);
  };
  signal?.addEventListener("abort", abort, { once: true });
  try {
    await promise;
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

function after(ms: number, task: () => void): () => void {
  let timer: NodeJS.Timeout;
  const arm = (leftMs: number): void => {
    const nowMs = Math.min(leftMs, maxTimerMs);
    timer = startTimer(() => {
      if (leftMs > nowMs) arm(leftMs - nowMs);
      else task();
    }, nowMs);
  };
  arm(Math.max(0, ms));
  return () => {
    stopTimer(timer);
  };
}
