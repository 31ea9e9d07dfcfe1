import { BoundedMap } from "../kernel/bounded-map.ts";
import type { Clock } from "../kernel/clock.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { type Instant, minute } from "../kernel/instant.ts";
import { networkOf } from "../kernel/network-address.ts";
import { takenFrom, type TokenBucket } from "../kernel/token-bucket.ts";
import type { Log } from "../logging/log-event.ts";
import type { Account, AccountSettings } from "../merchant/account.ts";
import type { Pan } from "../vault/pan.ts";
import type { Visitor } from "../wire/endpoint.ts";
import { refusal } from "../wire/errors/refusal.ts";

/** What is counted. */
type Counted = "requests" | "cards" | "failures";

/** All networks together may do this many times as much as one. */
const networksPerKey = 20;
/** Networks in memory. The counters of the one that was seen least recently are dropped. */
const maxNetworks = 50_000;
/** Accounts in memory; only those with a limit. */
const maxAccounts = 10_000;
/** Interval of the log events about one account, in milliseconds. */
const reportMs = minute;

const windows = {
  requests: { setting: "publicRequestsPerMinute", windowMs: minute },
  cards: { setting: "publicCardsPerTenMinutes", windowMs: 10 * minute },
  failures: { setting: "publicFailuresPerTenMinutes", windowMs: 10 * minute },
} as const satisfies Record<Counted, { setting: keyof AccountSettings; windowMs: number }>;

/** The buckets of a network or of a key: when each is full again. */
interface Buckets {
  readonly fullAt: Map<Counted, Instant>;
  /** Digests of the latest different cards of a network, oldest first. */
  readonly cards: string[];
}

interface Reported {
  at: Instant;
  refused: number;
}

interface PublicKeyLimitsOptions {
  /** Real time, also for worlds: their test clocks do not measure how fast requests come. */
  readonly clock: Clock;
  readonly log: Log;
  /** Equal for equal card numbers; see vault/passing-digest.ts. */
  readonly digestOf: (pan: Pan) => string;
}

/**
 * Limits of requests with a public key, which every visitor of a shop has: requests, different cards
 * and failures, of one network and of all together. They slow down programs that try out card
 * numbers. Counts in this process's memory only, so each node counts for itself.
 */
export class PublicKeyLimits {
  readonly #options: PublicKeyLimitsOptions;
  readonly #networks = new BoundedMap<string, Buckets>(maxNetworks);
  readonly #keys = new BoundedMap<MerchantId, Buckets>(maxAccounts);
  readonly #reported = new BoundedMap<MerchantId, Reported>(maxAccounts);

  constructor(options: PublicKeyLimitsOptions) {
    this.#options = options;
  }

  /** Networks in memory. */
  get remembered(): number {
    return this.#networks.size;
  }

  /** Counts a request. Throws the refusal COFRE-178 if a limit of the account is reached. */
  visit({ id, settings }: Account, address: string): Visitor {
    const name = `${id} ${networkOf(address)}`;
    this.#take("requests", id, name, settings);
    // Counted when they happen; here only whether one is left.
    this.#take("failures", id, name, settings, false);
    return {
      card: (pan) => this.#card(pan, id, name, settings),
      failed: () => {
        if (this.#missingMs("failures", id, name, settings) === undefined)
          this.#count("failures", id, name, settings);
      },
    };
  }

  #card(pan: Pan, id: MerchantId, name: string, settings: AccountSettings): void {
    const most = settings[windows.cards.setting];
    if (most === 0) return;
    const digest = this.#options.digestOf(pan);
    const { cards } = this.#networkOf(name);
    if (cards.includes(digest)) return;
    this.#take("cards", id, name, settings);
    cards.push(digest);
    if (cards.length > most) cards.splice(0, cards.length - most);
  }

  /** Throws if the network or the key has used up what is counted. */
  #take(
    counted: Counted,
    id: MerchantId,
    name: string,
    settings: AccountSettings,
    isCounted = true,
  ): void {
    const waitMs = this.#missingMs(counted, id, name, settings);
    if (waitMs !== undefined) {
      this.#report(counted, id);
      throw refusal("COFRE-178").after(waitMs);
    }
    if (isCounted) this.#count(counted, id, name, settings);
  }

  /** Time until the network and the key have one left; undefined if they have one now. */
  #missingMs(
    counted: Counted,
    id: MerchantId,
    name: string,
    settings: AccountSettings,
  ): number | undefined {
    const now = this.#options.clock.now();
    let waitMs: number | undefined;
    for (const [bucket, buckets] of this.#bucketsOf(counted, id, name, settings)) {
      const taken = takenFrom(bucket, buckets.fullAt.get(counted), now);
      if ("waitMs" in taken) waitMs = Math.max(waitMs ?? 0, taken.waitMs);
    }
    return waitMs;
  }

  #count(counted: Counted, id: MerchantId, name: string, settings: AccountSettings): void {
    const now = this.#options.clock.now();
    for (const [bucket, buckets] of this.#bucketsOf(counted, id, name, settings)) {
      const taken = takenFrom(bucket, buckets.fullAt.get(counted), now);
      if ("fullAt" in taken) buckets.fullAt.set(counted, taken.fullAt);
    }
  }

  /** The bucket of the network and the one of the key; none if the account has no such limit. */
  #bucketsOf(
    counted: Counted,
    id: MerchantId,
    name: string,
    settings: AccountSettings,
  ): readonly (readonly [TokenBucket, Buckets])[] {
    const { setting, windowMs } = windows[counted];
    const max = settings[setting];
    if (max === 0) return [];
    const everyMs = Math.ceil(windowMs / max);
    let ofKey = this.#keys.get(id);
    if (ofKey === undefined) {
      ofKey = { fullAt: new Map(), cards: [] };
      this.#keys.set(id, ofKey);
    }
    return [
      [{ max, everyMs }, this.#networkOf(name)],
      [{ max: max * networksPerKey, everyMs: Math.ceil(everyMs / networksPerKey) }, ofKey],
    ];
  }

  #networkOf(name: string): Buckets {
    const buckets = this.#networks.get(name) ?? { fullAt: new Map(), cards: [] };
    this.#networks.set(name, buckets);
    return buckets;
  }

  /** Logs refusals, at most one event a minute for an account. */
  #report(counted: Counted, merchantId: MerchantId): void {
    const { clock, log } = this.#options;
    const now = clock.now();
    const reported = this.#reported.get(merchantId);
    const sinceMs = now - (reported?.at ?? Number.NEGATIVE_INFINITY);
    if (reported !== undefined && 0 <= sinceMs && sinceMs < reportMs) {
      reported.refused += 1;
      return;
    }
    log.write({
      event: "public_key_limited",
      limit: counted,
      refused: (reported?.refused ?? 0) + 1,
      merchantId,
    });
    this.#reported.set(merchantId, { at: now, refused: 0 });
  }
}
