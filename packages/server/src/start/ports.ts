import type { Clock } from "../kernel/clock.ts";
import type { Random } from "../kernel/random.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import { systemClock } from "../kernel/system-clock.ts";
import { SystemRandom } from "../kernel/system-random.ts";
import { systemScheduler } from "../kernel/system-scheduler.ts";
import type { WatchedClock } from "../kernel/watched-clock.ts";

/** Time and chance: the system's own, or what a test plugs in. */
export interface Ports {
  readonly clock: Clock;
  readonly random: Random;
  readonly scheduler: Scheduler;
}

/** With a clock that knows the latest time it has shown. */
export interface WatchedPorts extends Ports {
  readonly clock: WatchedClock;
}

export const systemPorts: Ports = {
  clock: systemClock,
  random: new SystemRandom(),
  scheduler: systemScheduler,
};

/**
 * Notifications draw from a source of their own: what a seeded world draws does not depend on who
 * was told what, and when.
 */
export const ownRandom = new SystemRandom();
