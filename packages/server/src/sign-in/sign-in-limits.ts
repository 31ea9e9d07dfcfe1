import type { Clock } from "../kernel/clock.ts";
import { type Instant, laterBy, minute, second } from "../kernel/instant.ts";
import { networkOf } from "../kernel/network-address.ts";

/** So many tries at once, and one more each time that so much has passed. */
interface Measure {
  readonly most: number;
  readonly everyMs: number;
}

/** Of all whose browser is not known: what is written of them is some 13 MB a day at most. */
const ofAll: Measure = { most: 100, everyMs: 2 * second };
/** Of one of them by where they are: an office behind one address has as many to itself. */
const ofNetwork: Measure = { most: 20, everyMs: 30 * second };
/** Ten in a row, then half an hour, of one known browser (PCI DSS 8.3.4). */
const mostOfBrowser = 10;
const restMs = 30 * minute;
/** Each has signed in once: they are not made up. */
const mostBrowsers = 10_000;
/** Those that are full again are looked for when there are so many. */
const sweptNetworks = 1_000;

/** A try that may be looked at. Exactly one of the two is called when it is not a wrong one. */
export interface Try {
  /** It counts for the browser, which the person has signed in with before, and for nobody else. */
  readonly isKnown: boolean;
  right(): void;
  /** Nobody has looked at it. */
  untried(): void;
}

/**
 * How often somebody may try to sign in, before any work is done. Owns, in this process's memory
 * alone: a measure of all, one of each network that has tried of late, and the wrong tries in a row
 * of known browsers. No network is remembered whose try was not one of all's, so there are some
 * hundreds at most whatever number of addresses comes.
 */
export class SignInLimits {
  readonly #clock: Clock;
  #all: Instant;
  /** When each has all of its tries again. */
  readonly #networks = new Map<string, Instant>();
  /** From the one that tried longest ago on. */
  readonly #browsers = new Map<
    string,
    { readonly failures: number; readonly restsUntil: Instant | undefined }
  >();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#all = clock.now();
  }

  /** How many networks and browsers are remembered. */
  get remembered(): number {
    return this.#networks.size + this.#browsers.size;
  }

  /** `waitMs`: until it is worth trying again. `browser`: of a known one, its name. */
  take(address: string, browser: string | undefined): Try | { readonly waitMs: number } {
    const now = this.#clock.now();
    return (
      (browser === undefined ? undefined : this.#ofBrowser(browser, now)) ??
      this.#ofStranger(networkOf(address), now)
    );
  }

  /** undefined when it has had its tries: it is a stranger's then. */
  #ofBrowser(browser: string, now: Instant): Try | undefined {
    const { failures, restsUntil } = this.#browsers.get(browser) ?? {
      failures: 0,
      restsUntil: undefined,
    };
    // Never longer than it was to rest: the clock may have been set back since.
    if (restsUntil !== undefined && now < restsUntil && restsUntil - now <= restMs + minute)
      return undefined;
    const counted = restsUntil === undefined ? failures + 1 : 1;
    this.#keep(browser, counted, now);
    return {
      isKnown: true,
      right: () => this.#browsers.delete(browser),
      untried: () =>
        this.#keep(browser, Math.max(0, (this.#browsers.get(browser)?.failures ?? 1) - 1), now),
    };
  }

  #keep(browser: string, failures: number, now: Instant): void {
    this.#browsers.delete(browser);
    this.#browsers.set(browser, {
      failures,
      restsUntil: failures >= mostOfBrowser ? laterBy(now, restMs) : undefined,
    });
    const [oldest] = this.#browsers.keys();
    if (this.#browsers.size > mostBrowsers && oldest !== undefined) this.#browsers.delete(oldest);
  }

  #ofStranger(network: string, now: Instant): Try | { readonly waitMs: number } {
    const own = taken(ofNetwork, this.#networks.get(network), now);
    if ("waitMs" in own) return own;
    const all = taken(ofAll, this.#all, now);
    if ("waitMs" in all) return all;
    this.#all = all.fullAt;
    this.#sweep(now);
    this.#networks.set(network, own.fullAt);
    const giveBack = (): void => {
      this.#all = laterBy(this.#all, -ofAll.everyMs);
      const fullAt = laterBy(this.#networks.get(network) ?? now, -ofNetwork.everyMs);
      if (fullAt > this.#clock.now()) this.#networks.set(network, fullAt);
      else this.#networks.delete(network);
    };
    return { isKnown: false, right: giveBack, untried: giveBack };
  }

  #sweep(now: Instant): void {
    if (this.#networks.size < sweptNetworks) return;
    for (const [network, fullAt] of this.#networks)
      if (fullAt <= now) this.#networks.delete(network);
  }
}

/**
 * One number holds how many are left: when all are there again. A clock that was set back takes no
 * more than there is.
 */
function taken(
  { most, everyMs }: Measure,
  fullAt: Instant | undefined,
  now: Instant,
): { readonly fullAt: Instant } | { readonly waitMs: number } {
  const leftMs = (fullAt ?? now) - now;
  // Later than it can be by more than a correction of the clock: it was set back, and this says
  // nothing.
  const usedMs =
    leftMs > most * everyMs + minute ? 0 : Math.min(Math.max(leftMs, 0), most * everyMs);
  const missingMs = usedMs + everyMs;
  const waitMs = missingMs - most * everyMs;
  return waitMs > 0 ? { waitMs } : { fullAt: laterBy(now, missingMs) };
}
