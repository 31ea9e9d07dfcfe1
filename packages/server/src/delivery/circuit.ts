import { type Instant, laterBy, minute, second } from "../kernel/instant.ts";

/** Failures in a row after which the circuit opens. */
const failuresToRest = 5;
const shortestRestMs = 30 * second;
const longestRestMs = 5 * minute;

/**
 * A circuit breaker, so that a receiver that is down is not called for each waiting notification:
 * after some failures in a row the circuit opens, and later one trial attempt shows whether the
 * receiver is back. While it is open no attempts are counted against deliveries.
 */
export class Circuit {
  #failures = 0;
  #restUntil: Instant | undefined;
  #restMs = 0;

  /**
   * How many attempts may be under way at `now`: `most` if all is well, one trial attempt, or none.
   */
  room(now: Instant, most: number): number {
    if (this.#rests(now)) return 0;
    return this.#failures >= failuresToRest ? 1 : most;
  }

  /** When the circuit allows a trial; undefined if it is not open. */
  get restUntil(): Instant | undefined {
    return this.#restUntil;
  }

  /** true: there are no failures. */
  get calm(): boolean {
    return this.#failures === 0 && this.#restUntil === undefined;
  }

  /** Closes the circuit; true if it had been open, so that many deliveries may wait. */
  succeeded(): boolean {
    const back = this.#failures >= failuresToRest;
    this.#failures = 0;
    this.#restUntil = undefined;
    return back;
  }

  /**
   * An attempt failed at `now`; `until`: the receiver requested a pause. Returns true if this opens
   * the circuit.
   */
  failed(now: Instant, until: Instant | undefined): boolean {
    // The attempt began before the circuit opened, so this failure can only extend the pause to the
    // time that the receiver requested: concurrent failures do not double the pause.
    if (this.#failures >= failuresToRest && this.#rests(now)) {
      if (until !== undefined && until > (this.#restUntil ?? now)) this.#rest(now, until);
      return false;
    }
    this.#failures += 1;
    const over = this.#failures - failuresToRest;
    const ownMs = over < 0 ? 0 : Math.min(longestRestMs, shortestRestMs * 2 ** Math.min(over, 10));
    const own = laterBy(now, ownMs);
    const rest = until !== undefined && until > own ? until : own;
    if (rest <= now) return false;
    this.#rest(now, rest);
    return true;
  }

  /** Never longer than the original pause, because the clock may have been set back since. */
  #rests(now: Instant): boolean {
    const leftMs = (this.#restUntil ?? now) - now;
    return leftMs > 0 && leftMs <= this.#restMs;
  }

  #rest(now: Instant, until: Instant): void {
    this.#restUntil = until;
    this.#restMs = until - now;
  }
}
