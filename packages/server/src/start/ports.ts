import type { Clock } from "../kernel/clock.ts";
import type { ElapsedMs } from "../kernel/elapsed.ts";
import type { Random } from "../kernel/random.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import { systemClock } from "../kernel/system-clock.ts";
import { systemElapsed } from "../kernel/system-elapsed.ts";
import { SystemRandom } from "../kernel/system-random.ts";
import { systemScheduler } from "../kernel/system-scheduler.ts";
import type { WatchedClock } from "../kernel/watched-clock.ts";

/** Time and randomness: the system's own, or a test's. */
export interface Ports {
  readonly clock: Clock;
  readonly random: Random;
  readonly scheduler: Scheduler;
  /** Jobs that delete compare the clock with it. Slots and leases use the system's own. */
  readonly elapsedMs: ElapsedMs;
}

/** With a clock that has the latest time it has returned. */
export interface WatchedPorts extends Ports {
  readonly clock: WatchedClock;
}

export const systemPorts: Ports = {
  clock: systemClock,
  random: new SystemRandom(),
  scheduler: systemScheduler,
  elapsedMs: systemElapsed,
};

/**
 * Notifications have their own random source, so that the draws of a seeded world do not depend on
 * the order and timing of deliveries.
 */
export const ownRandom = new SystemRandom();
