import { type Clock, clockToleranceMs } from "./clock.ts";
import type { ElapsedMs } from "./elapsed.ts";
import { hour, type Instant } from "./instant.ts";

/** A clock that was set may be wrong for this long; what is deleted does not come back. */
const steadyMs = hour;

/**
 * Measures for how long a clock has agreed with monotonic time. A clock that was just set may be
 * wrong, and so may the clock of a process that just started: a wrong clock is often corrected
 * within minutes. Must be called more often than the clock drifts by the tolerance.
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

  /** Whether the clock has agreed with monotonic time for an hour. */
  isSteady(): boolean {
    return this.steadyForMs() >= steadyMs;
  }

  /** Milliseconds since the clock was last set, or since the start. */
  steadyForMs(): number {
    const now = { at: this.#clock.now(), elapsedMs: this.#elapsedMs() };
    const { at, elapsedMs } = this.#last;
    if (Math.abs(now.at - at - (now.elapsedMs - elapsedMs)) > clockToleranceMs)
      this.#since = now.elapsedMs;
    this.#last = now;
    return now.elapsedMs - this.#since;
  }
}
