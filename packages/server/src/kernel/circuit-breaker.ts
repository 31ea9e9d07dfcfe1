import { type Instant, laterBy } from "./instant.ts";

export interface CircuitLimits {
  /** The circuit opens after this number of consecutive failures. */
  readonly failuresToOpen: number;
  /** The first open interval, doubled with each failure that follows, up to the longest. */
  readonly firstOpenMs: number;
  readonly longestOpenMs: number;
}

/** `open`: no call may begin. `half_open`: one trial call at a time. `closed`: any number. */
export type CircuitState = "closed" | "open" | "half_open";

/**
 * The state of a circuit breaker, so that a remote system that is down is not called for each
 * waiting task. Callers report the results of their calls and pass the time, so decisions can be
 * repeated in a simulation; the libraries for this read the system's clock and own the calls.
 */
export class CircuitBreaker {
  readonly #limits: CircuitLimits;
  #failures = 0;
  #openUntil: Instant | undefined;
  #openMs = 0;

  constructor(limits: CircuitLimits) {
    this.#limits = limits;
  }

  stateAt(now: Instant): CircuitState {
    if (this.#isOpen(now)) return "open";
    return this.#hasOpened ? "half_open" : "closed";
  }

  /** How many calls may be in flight at `now`: `max` if the circuit is closed, one, or none. */
  room(now: Instant, max: number): number {
    const state = this.stateAt(now);
    return state === "closed" ? max : state === "half_open" ? 1 : 0;
  }

  /** When the circuit allows a trial call; undefined if it is closed. */
  get openUntil(): Instant | undefined {
    return this.#openUntil;
  }

  /** true: there are no failures. */
  get calm(): boolean {
    return this.#failures === 0 && this.#openUntil === undefined;
  }

  /** Closes the circuit. Returns whether failures had opened it, so that many tasks may wait. */
  succeeded(): boolean {
    const hadOpened = this.#hasOpened;
    this.#failures = 0;
    this.#openUntil = undefined;
    return hadOpened;
  }

  /**
   * A call failed at `now`. `until`: the remote system requested a pause. `isTrial`: the call began
   * while the circuit was half-open, and counts even if the clock was set back since. Returns true
   * if this opens the circuit.
   */
  failed(now: Instant, until: Instant | undefined, isTrial = false): boolean {
    // The call began before the circuit opened, so this failure can only extend the pause to the
    // time that the remote system requested: concurrent failures do not double the pause.
    if (!isTrial && this.#hasOpened && this.#isOpen(now)) {
      if (until !== undefined && until > (this.#openUntil ?? now)) this.#open(now, until);
      return false;
    }
    const { failuresToOpen, firstOpenMs, longestOpenMs } = this.#limits;
    this.#failures += 1;
    const over = this.#failures - failuresToOpen;
    const ownMs = over < 0 ? 0 : Math.min(longestOpenMs, firstOpenMs * 2 ** Math.min(over, 10));
    const own = laterBy(now, ownMs);
    const end = until !== undefined && until > own ? until : own;
    if (end <= now) return false;
    this.#open(now, end);
    return true;
  }

  get #hasOpened(): boolean {
    return this.#failures >= this.#limits.failuresToOpen;
  }

  /** Never longer than the original pause, because the clock may have been set back since. */
  #isOpen(now: Instant): boolean {
    const leftMs = (this.#openUntil ?? now) - now;
    return leftMs > 0 && leftMs <= this.#openMs;
  }

  #open(now: Instant, until: Instant): void {
    this.#openUntil = until;
    this.#openMs = until - now;
  }
}
