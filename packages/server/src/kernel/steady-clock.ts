import { type Clock, clockToleranceMs } from "./clock.ts";
import type { ElapsedMs } from "./elapsed.ts";
import type { Instant } from "./instant.ts";

/**
 * For how long a clock has kept step with the monotonic count. A clock that was just set may be
 * wrong, and so may one whose process has just started: a wrong clock is often corrected within
 * minutes. To be asked more often than a clock drifts by the tolerance.
 */
export class SteadyClock {
  readonly #clock: Clock;
  readonly #elapsedMs: ElapsedMs;
  #last: { readonly at: Instant; readonly elapsedMs: number };
  #since: number;

  constructor(clock: Clock, elapsedMs: ElapsedMs) {
    this.#clock = clock;
    this.#elapsedMs = elapsedMs;
    this.#last = { at: clock.now(), elapsedMs: elapsedMs() };
    this.#since = this.#last.elapsedMs;
  }

  /** Milliseconds since the clock was set last, or since the start. */
  steadyForMs(): number {
    const now = { at: this.#clock.now(), elapsedMs: this.#elapsedMs() };
    const { at, elapsedMs } = this.#last;
    if (Math.abs(now.at - at - (now.elapsedMs - elapsedMs)) > clockToleranceMs)
      this.#since = now.elapsedMs;
    this.#last = now;
    return now.elapsedMs - this.#since;
  }
}
