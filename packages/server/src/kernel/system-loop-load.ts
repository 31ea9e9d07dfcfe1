import type { LoopLoad } from "./loop-load.ts";

/** Bound when this is loaded (system-scheduler.ts). */
const measure = performance.eventLoopUtilization.bind(performance);

/** Node's own count of the time that the event loop spends outside of its wait for events. One for each user: it measures from call to call. */
export function createSystemLoopLoad(): LoopLoad {
  let last = measure();
  return () => {
    const current = measure();
    const { utilization } = measure(current, last);
    last = current;
    return utilization;
  };
}
