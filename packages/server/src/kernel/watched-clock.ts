import type { Clock } from "./clock.ts";
import type { Instant } from "./instant.ts";

/**
 * Wraps a clock and records the latest time that it has returned: a clock that was ahead for a
 * moment leaves records with those times.
 */
export class WatchedClock implements Clock {
  readonly #clock: Clock;
  #highest: Instant;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#highest = clock.now();
  }

  get highest(): Instant {
    return this.#highest;
  }

  now(): Instant {
    const now = this.#clock.now();
    if (now > this.#highest) this.#highest = now;
    return now;
  }
}
