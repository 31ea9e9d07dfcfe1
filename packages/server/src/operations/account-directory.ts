import { BoundedMap } from "../kernel/bounded-map.ts";
import type { Clock } from "../kernel/clock.ts";
import { sha256Hex } from "../kernel/digest.ts";
import type { KeyDigest, MerchantId } from "../kernel/ids.ts";
import { type Instant, second } from "../kernel/instant.ts";
import type { Account } from "../merchant/account.ts";
import { defaultAccountSettings } from "../merchant/settings.ts";
import type { AccountKey, KeyGrant } from "../stores/change.ts";
import type { Store } from "../stores/store.ts";
import type { RowMacs } from "../vault/row-mac.ts";
import { read } from "./commit.ts";

/** An account and the rights of the key that was presented. */
export interface Credential {
  readonly account: Account;
  readonly grants: KeyGrant;
}

const maximumCached = 10_000;
/** Maximum age of a cached account: changes by other processes are visible after this time. */
const cacheMs = 2 * second;

/**
 * SHA-256 of an integration key. Keys themselves are not stored; lookups use the digest only, so
 * their timing reveals nothing about the key.
 */
export function digestOfKey(key: string): KeyDigest {
  return sha256Hex(key) as KeyDigest;
}

/** The key with the MAC that is stored with it. */
export function withKeyMac(
  macs: Pick<RowMacs, "of">,
  merchantId: MerchantId,
  { digest, grants }: AccountKey,
): AccountKey {
  return { digest, grants, mac: macs.of("account_key", [digest, merchantId, grants]) };
}

interface CheckedKeys {
  readonly macs: Pick<RowMacs, "accepts">;
  /** Called with the account that a refused row names. */
  readonly refused: (merchantId: MerchantId) => void;
}

/**
 * Accounts by key and by id, cached for two seconds. Owns two bounded caches of the store's
 * accounts; code that changes an account calls `forget`, so that this process sees the change
 * immediately. Unknown keys are not cached, so guessing cannot fill the cache.
 */
export class AccountDirectory {
  readonly #store: Pick<Store, "accountByKey" | "accountById">;
  readonly #checked: CheckedKeys | undefined;
  readonly #byDigest: ReadThroughCache<KeyDigest, Credential>;
  readonly #byId: ReadThroughCache<MerchantId, Account>;

  constructor(
    store: Pick<Store, "accountByKey" | "accountById">,
    clock: Clock,
    checked?: CheckedKeys,
  ) {
    this.#store = store;
    this.#checked = checked;
    this.#byDigest = new ReadThroughCache(clock);
    this.#byId = new ReadThroughCache(clock);
  }

  /**
   * The account of this key and the rights of the key; synchronous if cached. Rejects with
   * `store_unavailable`.
   */
  byKey(key: string): Credential | Promise<Credential | undefined> {
    const digest = digestOfKey(key);
    const cached = this.#byDigest.cached(digest);
    if (cached !== undefined) return cached;
    return this.#byDigest.get(digest, async () => {
      const holder = await read(this.#store.accountByKey(digest));
      if (holder === undefined) return undefined;
      const { account, grants, mac } = holder;
      if (this.#checked?.macs.accepts("account_key", [digest, account.id, grants], mac) === false) {
        this.#checked.refused(account.id);
        return undefined;
      }
      return { grants, account: withAllSettings(account) };
    });
  }

  /** The account with this id. Rejects with `store_unavailable`. */
  byId(id: MerchantId): Promise<Account | undefined> {
    return this.#byId.get(id, async () => {
      const account = await read(this.#store.accountById(id));
      return account === undefined ? undefined : withAllSettings(account);
    });
  }

  forget(id: MerchantId): void {
    this.#byId.forget((account) => account.id === id);
    this.#byDigest.forget(({ account }) => account.id === id);
  }
}

/**
 * Values by key, read again when older than `cacheMs`. Concurrent callers of a key share one read.
 */
class ReadThroughCache<Key, Value> {
  readonly #clock: Clock;
  readonly #values = new BoundedMap<Key, { readonly value: Value; readonly readAt: Instant }>(
    maximumCached,
  );
  readonly #reads = new Map<Key, Promise<Value | undefined>>();
  /**
   * Number of `forget` calls. A read that was running during one may have an old value and is not
   * cached.
   */
  #invalidations = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  cached(key: Key): Value | undefined {
    const entry = this.#values.get(key);
    if (entry === undefined) return undefined;
    const ageMs = this.#clock.now() - entry.readAt;
    // A negative age means that the clock was set back: the real age is unknown.
    return 0 <= ageMs && ageMs < cacheMs ? entry.value : undefined;
  }

  async get(key: Key, reading: () => Promise<Value | undefined>): Promise<Value | undefined> {
    const cached = this.cached(key);
    if (cached !== undefined) return cached;
    const pending = this.#reads.get(key) ?? this.#read(key, reading);
    this.#reads.set(key, pending);
    try {
      return await pending;
    } finally {
      if (this.#reads.get(key) === pending) this.#reads.delete(key);
    }
  }

  forget(concerns: (value: Value) => boolean): void {
    this.#invalidations += 1;
    this.#reads.clear();
    for (const [key, { value }] of this.#values) if (concerns(value)) this.#values.delete(key);
  }

  async #read(key: Key, reading: () => Promise<Value | undefined>): Promise<Value | undefined> {
    const [forgotten, readAt] = [this.#invalidations, this.#clock.now()];
    const value = await reading();
    if (forgotten !== this.#invalidations) return value;
    if (value === undefined) this.#values.delete(key);
    else this.#values.set(key, { value, readAt });
    return value;
  }
}

/** Adds the defaults of settings that did not exist when an earlier version stored the account. */
function withAllSettings(account: Account): Account {
  const defaults = defaultAccountSettings();
  const simulator = { ...defaults.simulator, ...account.settings.simulator };
  const notificationChaos = {
    ...defaults.notificationChaos,
    ...account.settings.notificationChaos,
  };
  return {
    ...account,
    settings: { ...defaults, ...account.settings, simulator, notificationChaos },
  };
}
