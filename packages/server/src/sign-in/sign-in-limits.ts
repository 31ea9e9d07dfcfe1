import { BoundedMap } from "../kernel/bounded-map.ts";
import type { Clock } from "../kernel/clock.ts";
import { type Instant, laterBy, minute, second } from "../kernel/instant.ts";
import { networkOf } from "../kernel/network-address.ts";
import { takenFrom, type TokenBucket } from "../kernel/token-bucket.ts";

/** All attempts from unknown browsers together: bounds their audit entries to about 13 MB a day. */
const ofAll: TokenBucket = { max: 100, everyMs: 2 * second };
/** Attempts from unknown browsers per network: an office behind one address shares one bucket. */
const ofNetwork: TokenBucket = { max: 20, everyMs: 30 * second };
/** Ten consecutive failures of one known browser, then half an hour (PCI DSS 8.3.4). */
const maxPerBrowser = 10;
const lockoutMs = 30 * minute;
/** Each has signed in once, so attackers cannot create them at will. */
const maxBrowsers = 10_000;
/** From this number on, full buckets are removed. */
const sweptNetworks = 1_000;

/**
 * An attempt that is within the limits. Exactly one of the two methods is called unless it fails.
 */
export interface AllowedAttempt {
  /** Counts for the browser, with which the user has signed in before, and for no one else. */
  readonly isKnown: boolean;
  succeeded(): void;
  /** The attempt was not evaluated. */
  notEvaluated(): void;
}

/**
 * Rate limits of sign-in attempts, applied before any work is done. Owns, in this process's memory
 * only: one bucket for all attempts, one for each network with recent attempts, and the consecutive
 * failures of known browsers. A network gets a bucket only if the attempt passes the overall
 * bucket, so there are some hundreds at most, regardless of the number of addresses.
 * A network's bucket is never dropped before it is full, so this map is not a BoundedMap.
 */
export class SignInLimits {
  readonly #clock: Clock;
  #all: Instant;
  /** When each network's bucket is full again. */
  readonly #networks = new Map<string, Instant>();
  /** Ordered by the last attempt, oldest first. */
  readonly #browsers = new BoundedMap<
    string,
    { readonly failures: number; readonly blockedUntil: Instant | undefined }
  >(maxBrowsers);

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#all = clock.now();
  }

  /** Number of networks and browsers in memory. */
  get remembered(): number {
    return this.#networks.size + this.#browsers.size;
  }

  /**
   * `browser`: the id of a known browser. `waitMs`: time until the next attempt can be accepted.
   */
  take(address: string, browser: string | undefined): AllowedAttempt | { readonly waitMs: number } {
    const now = this.#clock.now();
    return (
      (browser === undefined ? undefined : this.#ofBrowser(browser, now)) ??
      this.#ofUnknownBrowser(networkOf(address), now)
    );
  }

  /** undefined when its attempts are used up: the attempt counts as an unknown browser's. */
  #ofBrowser(browser: string, now: Instant): AllowedAttempt | undefined {
    const { failures, blockedUntil } = this.#browsers.get(browser) ?? {
      failures: 0,
      blockedUntil: undefined,
    };
    // Never longer than the lockout itself: the clock may have been set back since.
    if (
      blockedUntil !== undefined &&
      now < blockedUntil &&
      blockedUntil - now <= lockoutMs + minute
    )
      return undefined;
    const counted = blockedUntil === undefined ? failures + 1 : 1;
    this.#keep(browser, counted, now);
    return {
      isKnown: true,
      succeeded: () => this.#browsers.delete(browser),
      notEvaluated: () =>
        this.#keep(browser, Math.max(0, (this.#browsers.get(browser)?.failures ?? 1) - 1), now),
    };
  }

  #keep(browser: string, failures: number, now: Instant): void {
    this.#browsers.set(browser, {
      failures,
      blockedUntil: failures >= maxPerBrowser ? laterBy(now, lockoutMs) : undefined,
    });
  }

  #ofUnknownBrowser(network: string, now: Instant): AllowedAttempt | { readonly waitMs: number } {
    const own = takenFrom(ofNetwork, this.#networks.get(network), now);
    if ("waitMs" in own) return own;
    const all = takenFrom(ofAll, this.#all, now);
    if ("waitMs" in all) return all;
    this.#all = all.fullAt;
    this.#sweep(now);
    this.#networks.set(network, own.fullAt);
    const restore = (): void => {
      this.#all = laterBy(this.#all, -ofAll.everyMs);
      const fullAt = laterBy(this.#networks.get(network) ?? now, -ofNetwork.everyMs);
      if (fullAt > this.#clock.now()) this.#networks.set(network, fullAt);
      else this.#networks.delete(network);
    };
    return { isKnown: false, succeeded: restore, notEvaluated: restore };
  }

  #sweep(now: Instant): void {
    if (this.#networks.size < sweptNetworks) return;
    for (const [network, fullAt] of this.#networks)
      if (fullAt <= now) this.#networks.delete(network);
  }
}
