import { createHmac, createSecretKey, hkdfSync, type KeyObject } from "node:crypto";
import { assert } from "../kernel/assert.ts";
import { BoundedMap } from "../kernel/bounded-map.ts";
import type { Clock } from "../kernel/clock.ts";
import type { MerchantId } from "../kernel/ids.ts";
import type { Instant } from "../kernel/instant.ts";
import type { Random } from "../kernel/random.ts";
import { keyLength } from "./aes.ts";
import type { EpochKey } from "./envelope.ts";
import { KeyringError, type KeyProvider, KeysChangedElsewhere } from "./key-provider.ts";

export const keyPurposes = ["epoch", "fingerprint"] as const;
export type KeyPurpose = (typeof keyPurposes)[number];

/** A stored key: wrapped by the root key and bound to environment, purpose and id. */
export interface WrappedKey {
  readonly purpose: KeyPurpose;
  /** Counts up from 1 within the purpose. New cards are sealed under the highest epoch. */
  readonly id: number;
  readonly createdAt: Instant;
  /**
   * Upper bound of the number of data keys that this key has wrapped, reserved in blocks ahead of
   * use: a crash never makes it too low.
   */
  readonly wrapsReserved: number;
  readonly wrapped: Uint8Array;
}

export interface WrappedKeys {
  readonly environment: string;
  /** `keyId` of the provider that wrapped them. */
  readonly rootKeyId: string;
  readonly keys: readonly WrappedKey[];
}

/**
 * Storage of the wrapped keys. `save` replaces all of them durably and atomically, or rejects and
 * changes nothing; it also rejects when another process has replaced them since they were last
 * loaded or saved here.
 */
export interface WrappedKeyStore {
  load(): Promise<WrappedKeys | undefined>;
  save(keys: WrappedKeys): Promise<void>;
}

interface KeyringLimits {
  /**
   * An epoch key wraps at most this number of data keys; then the next epoch starts automatically
   * (reliability 2.1).
   */
  readonly wrapsPerEpoch: number;
  /** Wraps reserved with one save; at most this number is lost to the count by a crash. */
  readonly wrapsPerReservation: number;
  /** Merchants' fingerprint keys that are cached; others are derived again. */
  readonly fingerprintKeysReady: number;
}

/** Most retries of a change when other processes were faster. */
const maxTries = 100;

const defaultLimits: KeyringLimits = {
  wrapsPerEpoch: 2 ** 30,
  wrapsPerReservation: 2 ** 16,
  fingerprintKeysReady: 4_096,
};

interface KeyringOptions {
  readonly provider: KeyProvider;
  readonly store: WrappedKeyStore;
  readonly environment: string;
  readonly random: Random;
  readonly clock: Clock;
  /**
   * Whether keys may be created when there are none: only before anything was sealed, because new
   * keys open nothing.
   */
  readonly create: boolean;
  readonly limits?: Partial<KeyringLimits>;
}

/** Public data of a key, for `keys inventory`. */
export interface KeyFacts {
  readonly purpose: KeyPurpose;
  readonly id: number;
  readonly createdAt: Instant;
  readonly wrapsReserved: number;
  /** `current` seals and opens; `retired` opens only. */
  readonly status: "current" | "retired";
}

export function isEnvironmentId(text: string): boolean {
  return /^[a-z0-9-]{1,32}$/.test(text);
}

type SettledOptions = KeyringOptions & { readonly limits: KeyringLimits };

interface HeldKey {
  readonly record: WrappedKey;
  readonly key: KeyObject;
}

/**
 * Owns the keys below the root: epoch keys, of which exactly one seals, and the key from which the
 * merchants' fingerprint keys are derived. All are held as KeyObjects from startup; outside the
 * process they are stored wrapped only.
 */
export class Keyring {
  readonly environment: string;
  readonly #options: SettledOptions;
  #epochs: ReadonlyMap<number, HeldKey> = new Map();
  #fingerprints: HeldKey | undefined;
  #current: EpochKey | undefined;
  /** Wraps by the current epoch that are reserved in its record and not used yet. */
  #wrapsLeft = 0;
  readonly #merchantKeys: BoundedMap<MerchantId, KeyObject>;
  /** Serializes changes of the stored keys. */
  #lastChange: Promise<unknown> = Promise.resolve();

  private constructor(options: SettledOptions) {
    this.environment = options.environment;
    this.#options = options;
    this.#merchantKeys = new BoundedMap(options.limits.fingerprintKeysReady);
  }

  /**
   * Opens the keys of an installation, or creates them if there are none. Calls the provider now,
   * so that no card ever waits for it. Rejects with KeyringError when the keys belong to another
   * environment or root key, or do not unwrap.
   */
  static async open(options: KeyringOptions): Promise<Keyring> {
    assert(
      isEnvironmentId(options.environment),
      "an environment is named by lower-case letters, digits and dashes",
    );
    const keyring = new Keyring({ ...options, limits: { ...defaultLimits, ...options.limits } });
    // If several processes start for the first time at once, one creates the keys.
    await whenNobodyIsFaster(async () => await keyring.#load());
    return keyring;
  }

  async #load(): Promise<void> {
    const { provider, store, environment, create } = this.#options;
    const kept = await store.load();
    if (kept !== undefined && kept.environment !== environment) {
      throw new KeyringError(
        `the keys belong to the environment ${kept.environment}, this is ${environment}`,
      );
    }
    if (kept !== undefined && kept.rootKeyId !== provider.keyId) {
      throw new KeyringError(
        `the keys are wrapped by the root key ${kept.rootKeyId}, this one is ${provider.keyId}`,
      );
    }
    if (kept === undefined && (!create || this.#current !== undefined)) {
      throw new KeyringError(
        "the keys are missing, but there are cards that were sealed with them: restore the keys from their backup",
      );
    }
    const records = kept?.keys ?? [];
    const held = await Promise.all(
      records.map(async (record) => ({ record, key: await this.#unwrap(record) })),
    );
    const fingerprints = held.filter(({ record }) => record.purpose === "fingerprint");
    const epochs = held.filter(({ record }) => record.purpose === "epoch");
    if (fingerprints.length > 1)
      throw new KeyringError("the keys hold more than one fingerprint key");
    if (new Set(epochs.map(({ record }) => record.id)).size !== epochs.length)
      throw new KeyringError("the keys hold an epoch twice");
    if (held.length > 0) {
      const [fingerprint] = fingerprints;
      // Creating the missing key again would hide that the data it protected is lost.
      if (fingerprint === undefined || epochs.length === 0)
        throw new KeyringError("the keys hold no epoch, or no fingerprint key");
      this.#adopt(fingerprint, epochs);
      return;
    }
    const made = [await this.#create("fingerprint", 1), await this.#create("epoch", 1)] as const;
    await this.#save(made);
    this.#adopt(made[0], [made[1]]);
  }

  /**
   * Identifies this set of keys: equal exactly for the keys that open the same data. Reveals
   * nothing of them.
   */
  get mark(): string {
    return createHmac("sha256", this.#fingerprinting().key)
      .update(`cofre database mark 1\0${this.environment}`)
      .digest("hex")
      .slice(0, 32);
  }

  /** The epoch that seals. */
  get currentEpoch(): number {
    return this.#sealing().id;
  }

  epochKey(id: number): KeyObject | undefined {
    return this.#epochs.get(id)?.key;
  }

  /**
   * The current epoch's key for one wrap, taken from the reserved ones; undefined when they are
   * used up: see nextWrap.
   */
  wrapReady(): EpochKey | undefined {
    if (this.#wrapsLeft === 0) return undefined;
    this.#wrapsLeft -= 1;
    return this.#sealing();
  }

  /** Like wrapReady, but reserves a block or starts a new epoch first if necessary. */
  async nextWrap(): Promise<EpochKey> {
    // Other waiting callers may take a whole block first; 1,000 blocks are more than there can be
    // waiting callers.
    for (let attempt = 0; attempt < 1_000; attempt += 1) {
      const ready = this.wrapReady();
      if (ready !== undefined) return ready;
      await this.#exclusively(async () => {
        if (this.#wrapsLeft === 0) await this.#change(async () => await this.#reserve());
      });
    }
    throw new KeyringError("no wrap could be reserved");
  }

  /**
   * Starts a new epoch: from now on only it seals, earlier ones only open. Resolves with its
   * number.
   */
  async addEpoch(): Promise<number> {
    return await this.#exclusively(
      async () => await this.#change(async () => await this.#addEpoch()),
    );
  }

  /**
   * Reads the stored keys again: another process that shares them may have started an epoch.
   * Rejects with KeyringError, without any effect then.
   */
  async refresh(): Promise<void> {
    await this.#exclusively(async () => await whenNobodyIsFaster(async () => await this.#load()));
  }

  /**
   * Changes the stored keys; repeats the change on top of what another process has stored in the
   * meantime.
   */
  async #change<T>(change: () => Promise<T>): Promise<T> {
    let isCurrent = true;
    return await whenNobodyIsFaster(async () => {
      if (!isCurrent) await this.#load();
      isCurrent = false;
      return await change();
    });
  }

  /**
   * A merchant's fingerprint key: derived per merchant, so that fingerprints of two merchants
   * cannot be compared.
   */
  fingerprintKey(merchantId: MerchantId): KeyObject {
    const ready = this.#merchantKeys.get(merchantId);
    if (ready !== undefined) return ready;
    const derived = createHmac("sha256", this.#fingerprinting().key)
      .update(`cofre fingerprint 1\0${this.environment}\0${merchantId}`)
      .digest();
    const key = createSecretKey(derived);
    derived.fill(0);
    this.#merchantKeys.set(merchantId, key);
    return key;
  }

  /**
   * A key for one purpose, named by `label`: HKDF-SHA-256 of the fingerprint key, which is the only
   * key of an installation that is in every copy of its key files and never changes. Domain
   * separation: HKDF uses that key as its input, fingerprints use it as an HMAC key.
   */
  derivedKey(label: string): KeyObject {
    const info = `cofre derived 1\0${this.environment}\0${label}`;
    const derived = new Uint8Array(
      hkdfSync("sha256", this.#fingerprinting().key, new Uint8Array(0), info, keyLength),
    );
    const key = createSecretKey(derived);
    derived.fill(0);
    return key;
  }

  inventory(): readonly KeyFacts[] {
    return [this.#fingerprinting(), ...this.#epochs.values()].map(({ record }) => ({
      purpose: record.purpose,
      id: record.id,
      createdAt: record.createdAt,
      wrapsReserved: record.wrapsReserved,
      status:
        record.purpose === "fingerprint" || record.id === this.currentEpoch ? "current" : "retired",
    }));
  }

  async #reserve(): Promise<void> {
    const { wrapsPerEpoch, wrapsPerReservation } = this.#options.limits;
    const current = this.#epochs.get(this.currentEpoch);
    assert(current !== undefined, "the epoch that seals is held");
    const block = Math.min(wrapsPerReservation, wrapsPerEpoch - current.record.wrapsReserved);
    if (block <= 0) {
      await this.#addEpoch();
      return;
    }
    const reserved = {
      ...current,
      record: { ...current.record, wrapsReserved: current.record.wrapsReserved + block },
    };
    const next = [...this.#epochs.values()].map((held) => (held === current ? reserved : held));
    await this.#save([this.#fingerprinting(), ...next]);
    this.#adopt(this.#fingerprinting(), next);
    this.#wrapsLeft = block;
  }

  async #addEpoch(): Promise<number> {
    const next = [...this.#epochs.values(), await this.#create("epoch", this.currentEpoch + 1)];
    await this.#save([this.#fingerprinting(), ...next]);
    this.#adopt(this.#fingerprinting(), next);
    return this.currentEpoch;
  }

  #adopt(fingerprint: HeldKey, epochs: readonly HeldKey[]): void {
    const [newest] = epochs.toSorted((one, other) => other.record.id - one.record.id);
    assert(newest !== undefined, "a keyring has an epoch");
    this.#fingerprints = fingerprint;
    this.#epochs = new Map(epochs.map((held) => [held.record.id, held]));
    this.#current = { id: newest.record.id, key: newest.key };
    // The remainder of an earlier block stays reserved and unused.
    this.#wrapsLeft = 0;
  }

  async #create(purpose: KeyPurpose, id: number): Promise<HeldKey> {
    const { provider, random, clock } = this.#options;
    const bytes = random.bytes(keyLength);
    try {
      const wrapped = await provider.wrap(bytes, this.#label(purpose, id));
      return {
        record: { purpose, id, createdAt: clock.now(), wrapsReserved: 0, wrapped },
        key: createSecretKey(bytes),
      };
    } finally {
      bytes.fill(0);
    }
  }

  async #unwrap({ purpose, id, wrapped }: WrappedKey): Promise<KeyObject> {
    const bytes = await this.#options.provider.unwrap(wrapped, this.#label(purpose, id));
    if (bytes.length !== keyLength)
      throw new KeyringError("the root key's provider gave a key that is not of 256 bits");
    const key = createSecretKey(bytes);
    bytes.fill(0);
    return key;
  }

  #label(purpose: KeyPurpose, id: number): string {
    return `${this.environment}/${purpose}/${id}`;
  }

  async #save(held: readonly HeldKey[]): Promise<void> {
    const { store, provider } = this.#options;
    await store.save({
      environment: this.environment,
      rootKeyId: provider.keyId,
      keys: held.map(({ record }) => record),
    });
  }

  async #exclusively<T>(change: () => Promise<T>): Promise<T> {
    const result = this.#lastChange.then(change);
    // A failed change has no effect; its own caller gets the error.
    this.#lastChange = result.catch(() => undefined);
    return await result;
  }

  #sealing(): EpochKey {
    assert(this.#current !== undefined, "a keyring is loaded before it is used");
    return this.#current;
  }

  #fingerprinting(): HeldKey {
    assert(this.#fingerprints !== undefined, "a keyring is loaded before it is used");
    return this.#fingerprints;
  }
}

async function whenNobodyIsFaster<T>(change: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await change();
    } catch (error) {
      if (!(error instanceof KeysChangedElsewhere) || tries === maxTries) throw error;
    }
  }
}
