import type { Clock } from "./clock.ts";
import { instant } from "./instant.ts";

/** Bound when the module is loaded, whatever replaces it later (system-scheduler.ts). */
const present = Date.now;

/**
 * The machine's wall clock, in UTC milliseconds. It may step when the machine's time is corrected.
 * Only this file reads it.
 */
export const systemClock: Clock = { now: () => instant(present()) };
