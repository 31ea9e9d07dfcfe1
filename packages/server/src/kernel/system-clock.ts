import type { Clock } from "./clock.ts";
import { instant } from "./instant.ts";

/** As it is when this is loaded, whatever stands in its place later (system-scheduler.ts). */
const present = Date.now;

/**
 * The machine's wall clock, in UTC milliseconds. It may step when the machine's time is corrected;
 * only this file asks for it.
 */
export const systemClock: Clock = { now: () => instant(present()) };
