import type { ElapsedMs } from "./elapsed.ts";

/**
 * The machine's monotonic count. It may stand still while the machine sleeps. Bound when this is
 * loaded (system-scheduler.ts).
 */
export const systemElapsed: ElapsedMs = performance.now.bind(performance);
