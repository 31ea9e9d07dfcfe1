import { sha256Hex } from "../kernel/digest.ts";
import type { KeyDigest, MerchantId } from "../kernel/ids.ts";
import type { Account } from "../merchant/account.ts";
import { defaultAccountSettings } from "../merchant/settings.ts";
import type { KeyGrant } from "../stores/change.ts";
import type { Store } from "../stores/store.ts";
import { read } from "./commit.ts";

/** An account, and what the key that found it grants. */
export interface KeyHolder {
  readonly account: Account;
  readonly grants: KeyGrant;
}

const maximumCached = 10_000;

/** SHA-256 of an integration key: keys are never kept, and looked up by digest only, so lookups tell nothing by their time. */
export function digestOfKey(key: string): KeyDigest {
  return sha256Hex(key) as KeyDigest;
}

/**
 * Accounts by key and by id, remembered. Owns two bounded caches of what the store holds; whoever changes an account calls
 * `forget` with it. Unknown keys are not remembered, so that guessing cannot fill the cache.
 */
export class AccountDirectory {
  readonly #store: Store;
  readonly #byDigest = new Map<KeyDigest, KeyHolder>();
  readonly #byId = new Map<MerchantId, Account>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** The account that this key opens. Rejects with `store_unavailable`. */
  async byKey(key: string): Promise<KeyHolder | undefined> {
    const digest = digestOfKey(key);
    const cached = this.#byDigest.get(digest);
    if (cached !== undefined) return cached;
    const holder = await read(this.#store.accountByKey(digest));
    if (holder === undefined) return undefined;
    const complete = { ...holder, account: withAllSettings(holder.account) };
    remember(this.#byDigest, digest, complete);
    return complete;
  }

  /** The account with this id. Rejects with `store_unavailable`. */
  async byId(id: MerchantId): Promise<Account | undefined> {
    const cached = this.#byId.get(id);
    if (cached !== undefined) return cached;
    for (const account of await read(this.#store.accounts())) remember(this.#byId, account.id, withAllSettings(account));
    return this.#byId.get(id);
  }

  forget(id: MerchantId): void {
    this.#byId.delete(id);
    for (const [digest, holder] of this.#byDigest) if (holder.account.id === id) this.#byDigest.delete(digest);
  }
}

/** An account that an earlier version wrote has the default of whatever switch is newer than it. */
function withAllSettings(account: Account): Account {
  const defaults = defaultAccountSettings();
  const simulator = { ...defaults.simulator, ...account.settings.simulator };
  const notificationChaos = { ...defaults.notificationChaos, ...account.settings.notificationChaos };
  return { ...account, settings: { ...defaults, ...account.settings, simulator, notificationChaos } };
}

function remember<K, V>(cache: Map<K, V>, key: K, value: V): void {
  if (cache.size >= maximumCached) {
    const oldest = cache.keys().next();
    if (oldest.done !== true) cache.delete(oldest.value);
  }
  cache.set(key, value);
}
