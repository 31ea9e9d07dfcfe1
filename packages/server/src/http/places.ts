import { assert } from "../kernel/assert.ts";
import type { Clock } from "../kernel/clock.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { type Instant, second } from "../kernel/instant.ts";

export interface PlaceLimits {
  /** Requests in progress. */
  readonly max: number;
  /**
   * Of these, the requests of one account, whatever others do; undefined: as many as the accounts
   * that send requests leave it.
   */
  readonly maxPerAccount: number | undefined;
  /** Of these, the requests of all worlds together, which any client may create. */
  readonly maxForWorlds: number;
}

export type PlaceRefusal = "in_flight_of_account" | "in_flight_of_worlds";

/**
 * Waiting requests of one account, in addition to those that have a place, as a multiple of all
 * places. They wait for something simulated.
 */
const waitingShare = 1;
/** The same for all accounts together. */
const waitingShareOfAll = 4;
/** The share of all places that an account has at least, however many others send requests. */
const minShare = 1 / 4;
/**
 * The share of all places that a single active account leaves free: for the console, and for the
 * first requests of another account.
 */
const reservedShare = 1 / 8;
/** An account that has sent nothing for this long has no share of the places. */
const activeMs = 10 * second;

/**
 * Owns the places for requests in progress. An account cannot exceed its share, nor can all worlds
 * together, so that a slow account leaves the others theirs (a limit for all tasks alike is in
 * kernel/concurrency-limit.ts). A request that waits for something simulated, such as the
 * acquirer's latency, needs no place meanwhile.
 *
 * If only one account sends requests, it may use all places but a reserve. If others send requests
 * as well, an account gets further places only below its share. The reserve is free for others at
 * once, and more becomes free as requests end.
 */
export class Places {
  readonly #limits: PlaceLimits;
  readonly #clock: Clock;
  readonly #ofAccount = new Map<MerchantId, number>();
  /**
   * Time of the last request of each account, the earliest first; only within the last `activeMs`.
   */
  readonly #lastRequestAt = new Map<MerchantId, Instant>();
  readonly #waitingOf = new Map<MerchantId, number>();
  #taken = 0;
  #ofWorlds = 0;
  #waiting = 0;
  #open = 0;
  #whenEmpty: (() => void) | undefined;

  constructor(limits: PlaceLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  get taken(): number {
    return this.#taken;
  }

  get isFull(): boolean {
    return this.#taken >= this.#limits.max;
  }

  /** Takes a place without checking whether one is free: the caller has checked. */
  take(): Place {
    this.#taken += 1;
    this.#open += 1;
    return new Place(this);
  }

  /** Resolves when no request is in progress, including waiting ones. */
  empty(): Promise<void> {
    if (this.#open === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const earlier = this.#whenEmpty;
      this.#whenEmpty = () => {
        earlier?.();
        resolve();
      };
    });
  }

  /** Resolves every pending `empty` call. */
  giveUp(): void {
    this.#whenEmpty?.();
  }

  /** For Place only. undefined: the place is assigned to the account. */
  assign(merchantId: MerchantId, isWorld: boolean): PlaceRefusal | undefined {
    if ((this.#ofAccount.get(merchantId) ?? 0) >= this.#shareOf(merchantId))
      return "in_flight_of_account";
    if (isWorld && this.#ofWorlds >= this.#limits.maxForWorlds) return "in_flight_of_worlds";
    count(this.#ofAccount, merchantId, 1);
    if (isWorld) this.#ofWorlds += 1;
    return undefined;
  }

  /** For Place only. false: too many requests wait already, and this one keeps its place. */
  pause(merchantId: MerchantId | undefined, isWorld: boolean): boolean {
    const { max } = this.#limits;
    if (merchantId === undefined || this.#waiting >= max * waitingShareOfAll) return false;
    if ((this.#waitingOf.get(merchantId) ?? 0) >= max * waitingShare) return false;
    this.#waiting += 1;
    count(this.#waitingOf, merchantId, 1);
    this.#give(merchantId, isWorld);
    return true;
  }

  /** For Place only: the request continues after its wait, even if no place is free. */
  resume(merchantId: MerchantId, isWorld: boolean): void {
    this.#waiting -= 1;
    count(this.#waitingOf, merchantId, -1);
    this.#taken += 1;
    count(this.#ofAccount, merchantId, 1);
    if (isWorld) this.#ofWorlds += 1;
  }

  /** For Place only. */
  leave(merchantId: MerchantId | undefined, isWorld: boolean): void {
    this.#give(merchantId, isWorld);
    this.#open -= 1;
    if (this.#open === 0) this.#whenEmpty?.();
  }

  /** How many places an account that sends a request now may have. */
  #shareOf(merchantId: MerchantId): number {
    const { max, maxPerAccount } = this.#limits;
    if (maxPerAccount !== undefined) return maxPerAccount;
    const now = this.#clock.now();
    // Moved to the end of the map, so that the earliest entry is first.
    this.#lastRequestAt.delete(merchantId);
    this.#lastRequestAt.set(merchantId, now);
    for (const [other, at] of this.#lastRequestAt) {
      // A time in the future is from before the clock was set back.
      if (at <= now && now - at < activeMs) break;
      this.#lastRequestAt.delete(other);
    }
    const shared = max - Math.ceil(max * reservedShare);
    return Math.max(1, Math.floor(max * minShare), Math.floor(shared / this.#lastRequestAt.size));
  }

  #give(merchantId: MerchantId | undefined, isWorld: boolean): void {
    this.#taken -= 1;
    if (merchantId === undefined) return;
    count(this.#ofAccount, merchantId, -1);
    if (isWorld) this.#ofWorlds -= 1;
  }
}

/** The place of one request. */
export class Place {
  readonly #places: Places;
  #merchantId: MerchantId | undefined;
  #isWorld = false;
  /** Waits in progress: they may be nested. */
  #waits = 0;
  #isPaused = false;
  #isLeft = false;

  constructor(places: Places) {
    this.#places = places;
  }

  /**
   * Assigns the place to an account. Returns the reason if it is refused; the place then counts for
   * no account.
   */
  assign(merchantId: MerchantId, isWorld: boolean): PlaceRefusal | undefined {
    assert(this.#merchantId === undefined, "a place is one account's");
    const refusal = this.#places.assign(merchantId, isWorld);
    if (refusal === undefined) {
      this.#merchantId = merchantId;
      this.#isWorld = isWorld;
    }
    return refusal;
  }

  /** Returns the given wait for something simulated, and releases the place until it is over. */
  readonly while = <Value>(wait: Promise<Value>): Promise<Value> => {
    this.#begin();
    return wait.finally(() => this.#end());
  };

  leave(): void {
    assert(!this.#isLeft, "a place is left once");
    this.#isLeft = true;
    if (this.#isPaused && this.#merchantId !== undefined)
      this.#places.resume(this.#merchantId, this.#isWorld);
    this.#isPaused = false;
    this.#places.leave(this.#merchantId, this.#isWorld);
  }

  #begin(): void {
    this.#waits += 1;
    if (this.#waits === 1 && !this.#isLeft)
      this.#isPaused = this.#places.pause(this.#merchantId, this.#isWorld);
  }

  #end(): void {
    this.#waits -= 1;
    if (this.#waits > 0 || !this.#isPaused || this.#merchantId === undefined) return;
    this.#isPaused = false;
    this.#places.resume(this.#merchantId, this.#isWorld);
  }
}

function count(counts: Map<MerchantId, number>, merchantId: MerchantId, more: 1 | -1): void {
  const next = (counts.get(merchantId) ?? 0) + more;
  if (next === 0) counts.delete(merchantId);
  else counts.set(merchantId, next);
}
