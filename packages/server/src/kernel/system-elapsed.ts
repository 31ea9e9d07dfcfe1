import type { ElapsedMs } from "./elapsed.ts";

/** The machine's monotonic count. It may stand still while the machine sleeps. */
export const systemElapsed: ElapsedMs = () => performance.now();
