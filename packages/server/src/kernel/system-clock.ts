import type { Clock } from "./clock.ts";
import { instant } from "./instant.ts";

/** The machine's wall clock, in UTC milliseconds. It may step when the machine's time is corrected; only this file asks for it. */
export const systemClock: Clock = { now: () => instant(Date.now()) };
