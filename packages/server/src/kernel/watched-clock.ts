import type { Clock } from "./clock.ts";
import type { Instant } from "./instant.ts";

/**
 * Another clock, and the latest time that it has shown to anybody: a clock that was ahead for a
 * moment leaves times that were stamped then.
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
