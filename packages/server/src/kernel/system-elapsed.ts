import type { ElapsedMs } from "./elapsed.ts";

/**
 * The machine's monotonic time. It may stop while the machine sleeps. Bound when the module is
 * loaded (system-scheduler.ts).
 */
export const systemElapsed: ElapsedMs = performance.now.bind(performance);
