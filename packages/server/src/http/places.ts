import { assert } from "../kernel/assert.ts";
import type { Clock } from "../kernel/clock.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { type Instant, second } from "../kernel/instant.ts";

export interface PlaceLimits {
  /** Requests whose work is under way. */
  readonly most: number;
  /**
   * Of these, those of one account, whatever others do; undefined: as many as the accounts that
   * send requests leave it.
   */
  readonly mostOfAccount: number | undefined;
  /** Of these, those of all worlds together, which anybody may make. */
  readonly mostOfWorlds: number;
}

export type PlaceRefusal = "in_flight_of_account" | "in_flight_of_worlds";

/**
 * Requests of one account that wait for something simulated, beside those that have a place: as
 * many as there are places.
 */
const waitingShare = 1;
/** The same of all accounts together. */
const waitingShareOfAll = 4;
/** Of all places, what an account has at least, however many others send requests. */
const leastShare = 1 / 4;
/**
 * Of all places, what the only account leaves free: for the console, and for the first requests of
 * another account.
 */
const reservedShare = 1 / 8;
/** An account that has sent nothing for this long shares no places. */
const activeMs = 10 * second;

/**
 * Owns the places for requests whose work is under way. One account has no more than its share of
 * them, and neither have all worlds, so that a slow one leaves the others theirs. Who waits for
 * something simulated, such as the acquirer's latency, needs no place meanwhile.
 *
 * The only account that sends requests has all places but a reserve. When others send requests as
 * well, an account gets further places only below its share. The reserve is free for others at
 * once, and more becomes free as the requests under way end.
 */
export class Places {
  readonly #limits: PlaceLimits;
  readonly #clock: Clock;
  readonly #ofAccount = new Map<MerchantId, number>();
  /** When each account sent its last request, the earliest first; of the last `activeMs` only. */
  readonly #askedAt = new Map<MerchantId, Instant>();
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
    return this.#taken >= this.#limits.most;
  }

  /** Takes a place, whether or not one is free: the caller has looked. */
  take(): Place {
    this.#taken += 1;
    this.#open += 1;
    return new Place(this);
  }

  /** Resolves when no request is under way, those that wait included. */
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

  /** Whoever waits for the end of all work waits no longer. */
  giveUp(): void {
    this.#whenEmpty?.();
  }

  /** For Place only. undefined: the account has it now. */
  assign(merchantId: MerchantId, isWorld: boolean): PlaceRefusal | undefined {
    if ((this.#ofAccount.get(merchantId) ?? 0) >= this.#shareOf(merchantId))
      return "in_flight_of_account";
    if (isWorld && this.#ofWorlds >= this.#limits.mostOfWorlds) return "in_flight_of_worlds";
    count(this.#ofAccount, merchantId, 1);
    if (isWorld) this.#ofWorlds += 1;
    return undefined;
  }

  /** For Place only. false: too many wait already, and this one keeps its place. */
  pause(merchantId: MerchantId | undefined, isWorld: boolean): boolean {
    const { most } = this.#limits;
    if (merchantId === undefined || this.#waiting >= most * waitingShareOfAll) return false;
    if ((this.#waitingOf.get(merchantId) ?? 0) >= most * waitingShare) return false;
    this.#waiting += 1;
    count(this.#waitingOf, merchantId, 1);
    this.#give(merchantId, isWorld);
    return true;
  }

  /** For Place only: what waited goes on, though there may be no free place. */
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
    const { most, mostOfAccount } = this.#limits;
    if (mostOfAccount !== undefined) return mostOfAccount;
    const now = this.#clock.now();
    // At the end of the map, so that the earliest is its first.
    this.#askedAt.delete(merchantId);
    this.#askedAt.set(merchantId, now);
    for (const [other, at] of this.#askedAt) {
      // A time in the future is from before the clock was set back.
      if (at <= now && now - at < activeMs) break;
      this.#askedAt.delete(other);
    }
    const shared = most - Math.ceil(most * reservedShare);
    return Math.max(1, Math.floor(most * leastShare), Math.floor(shared / this.#askedAt.size));
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
  /** Waits that are under way: one may be within another. */
  #waits = 0;
  #isPaused = false;
  #isLeft = false;

  constructor(places: Places) {
    this.#places = places;
  }

  /** Counts the place to an account; says why that is refused, and then it counts to none. */
  assign(merchantId: MerchantId, isWorld: boolean): PlaceRefusal | undefined {
    assert(this.#merchantId === undefined, "a place is one account's");
    const refusal = this.#places.assign(merchantId, isWorld);
    if (refusal === undefined) {
      this.#merchantId = merchantId;
      this.#isWorld = isWorld;
    }
    return refusal;
  }

  /** Passes a wait for something simulated on, and needs no place until it is over. */
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
