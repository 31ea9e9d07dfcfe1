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

/** An account, and what the key that found it grants. */
export interface KeyHolder {
  readonly account: Account;
  readonly grants: KeyGrant;
}

const maximumCached = 10_000;
/** What another process has changed of an account is seen here after so long at most. */
const keptMs = 2 * second;

/**
 * SHA-256 of an integration key: keys are never kept, and looked up by digest only, so lookups tell
 * nothing by their time.
 */
export function digestOfKey(key: string): KeyDigest {
  return sha256Hex(key) as KeyDigest;
}

/** The key with the MAC that it is stored with. */
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
 * Accounts by key and by id, remembered for two seconds. Owns two bounded caches of what the store
 * holds; whoever changes an account calls `forget` with it, so that this process sees it at once.
 * Unknown keys are not remembered, so that guessing cannot fill the cache.
 */
export class AccountDirectory {
  readonly #store: Pick<Store, "accountByKey" | "accountById">;
  readonly #checked: CheckedKeys | undefined;
  readonly #byDigest: Remembered<KeyDigest, KeyHolder>;
  readonly #byId: Remembered<MerchantId, Account>;

  constructor(
    store: Pick<Store, "accountByKey" | "accountById">,
    clock: Clock,
    checked?: CheckedKeys,
  ) {
    this.#store = store;
    this.#checked = checked;
    this.#byDigest = new Remembered(clock);
    this.#byId = new Remembered(clock);
  }

  /**
   * The account that this key opens: at once when it is remembered. Rejects with
   * `store_unavailable`.
   */
  byKey(key: string): KeyHolder | Promise<KeyHolder | undefined> {
    const digest = digestOfKey(key);
    const known = this.#byDigest.known(digest);
    if (known !== undefined) return known;
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
 * Values by key, each read anew when it is older than `keptMs`, by one reader for all who ask
 * meanwhile.
 */
class Remembered<Key, Value> {
  readonly #clock: Clock;
  readonly #values = new Map<Key, { readonly value: Value; readonly readAt: Instant }>();
  readonly #underWay = new Map<Key, Promise<Value | undefined>>();
  /** Counts what was forgotten: what was being read then may be what it was before. */
  #forgotten = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  known(key: Key): Value | undefined {
    const known = this.#values.get(key);
    if (known === undefined) return undefined;
    const ageMs = this.#clock.now() - known.readAt;
    // Below zero the clock was set back, and says nothing of the age.
    return 0 <= ageMs && ageMs < keptMs ? known.value : undefined;
  }

  async get(key: Key, reading: () => Promise<Value | undefined>): Promise<Value | undefined> {
    const known = this.known(key);
    if (known !== undefined) return known;
    const underWay = this.#underWay.get(key) ?? this.#read(key, reading);
    this.#underWay.set(key, underWay);
    try {
      return await underWay;
    } finally {
      if (this.#underWay.get(key) === underWay) this.#underWay.delete(key);
    }
  }

  forget(concerns: (value: Value) => boolean): void {
    this.#forgotten += 1;
    this.#underWay.clear();
    for (const [key, { value }] of this.#values) if (concerns(value)) this.#values.delete(key);
  }

  async #read(key: Key, reading: () => Promise<Value | undefined>): Promise<Value | undefined> {
    const [forgotten, readAt] = [this.#forgotten, this.#clock.now()];
    const value = await reading();
    if (forgotten !== this.#forgotten) return value;
    // To the end of the line: the one that was read first is the first to go.
    this.#values.delete(key);
    if (value === undefined) return undefined;
    const [oldest] = this.#values.keys();
    if (this.#values.size >= maximumCached && oldest !== undefined) this.#values.delete(oldest);
    this.#values.set(key, { value, readAt });
    return value;
  }
}

/** An account that an earlier version wrote has the default of whatever switch is newer than it. */
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
