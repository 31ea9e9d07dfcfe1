import { type Instant, laterBy, minute, second } from "../kernel/instant.ts";

/** So many failures in a row, and the endpoint is left alone for a while. */
const failuresToRest = 5;
const shortestRestMs = 30 * second;
const longestRestMs = 5 * minute;

/**
 * Keeps a receiver that is down from being asked again for each notification that waits for it:
 * after some failures in a row it rests, then one attempt tells whether it is back. Attempts that
 * are not made are not counted against any delivery.
 */
export class Circuit {
  #failures = 0;
  #restUntil: Instant | undefined;
  #restMs = 0;

  /**
   * How many attempts may be under way at `now`, of `most` when all is well: all, one that tells,
   * or none.
   */
  room(now: Instant, most: number): number {
    if (this.#rests(now)) return 0;
    return this.#failures >= failuresToRest ? 1 : most;
  }

  /** When it is asked again; undefined when it does not rest. */
  get restUntil(): Instant | undefined {
    return this.#restUntil;
  }

  /** true: nothing is known against the endpoint. */
  get calm(): boolean {
    return this.#failures === 0 && this.#restUntil === undefined;
  }

  /** Resolves the trouble; true when there was one, and so there may be much that waits. */
  succeeded(): boolean {
    const back = this.#failures >= failuresToRest;
    this.#failures = 0;
    this.#restUntil = undefined;
    return back;
  }

  /**
   * An attempt failed at `now`; `until`: the receiver asked for rest. true when the endpoint begins
   * to rest with this.
   */
  failed(now: Instant, until: Instant | undefined): boolean {
    // Begun before the rest, so this failure says only how long the receiver wants it to be: what
    // fails together does not double the rest.
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

  /** Never longer than it was to rest: the clock may have been set back since. */
  #rests(now: Instant): boolean {
    const leftMs = (this.#restUntil ?? now) - now;
    return leftMs > 0 && leftMs <= this.#restMs;
  }

  #rest(now: Instant, until: Instant): void {
    this.#restUntil = until;
    this.#restMs = until - now;
  }
}
