import { createHmac, createSecretKey, hkdfSync, type KeyObject } from "node:crypto";
import { assert } from "../kernel/assert.ts";
import { BoundedMap } from "../kernel/bounded-map.ts";
import type { Clock } from "../kernel/clock.ts";
import type { MerchantId } from "../kernel/ids.ts";
import type { Instant } from "../kernel/instant.ts";
import type { Random } from "../kernel/random.ts";
import { keyLength } from "./aes.ts";
import type { VersionedKek } from "./envelope.ts";
import {
  KeyringError,
  type KeyProvider,
  KeysChangedElsewhere,
  provenWrap,
} from "./key-provider.ts";
import type { RecoveryWraps } from "./recovery/recovery-wraps.ts";

/** `epoch`: the stored name of the key encryption keys. */
export const keyPurposes = ["epoch", "fingerprint"] as const;
export type KeyPurpose = (typeof keyPurposes)[number];

/** A stored key: wrapped by the root key and bound to environment, purpose and id. */
export interface WrappedKey {
  readonly purpose: KeyPurpose;
  /** Counts up from 1 within the purpose. New cards are sealed under the highest key version. */
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
   * A key encryption key wraps at most this number of data keys; then the next key version starts
   * automatically (reliability 2.1).
   */
  readonly wrapsPerKeyVersion: number;
  /** Wraps reserved with one save; at most this number is lost to the count by a crash. */
  readonly wrapsPerReservation: number;
  /** Merchants' fingerprint keys that are cached; others are derived again. */
  readonly cachedFingerprintKeys: number;
}

/** Most retries of a change when other processes were faster. */
const maxAttempts = 100;

const defaultLimits: KeyringLimits = {
  wrapsPerKeyVersion: 2 ** 30,
  wrapsPerReservation: 2 ** 16,
  cachedFingerprintKeys: 4_096,
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
  /** Adds what the stored keys lack, if there is a recovery key. */
  readonly recovery?: RecoveryWraps | undefined;
  readonly limits?: Partial<KeyringLimits>;
}

/** Public data of a key, for `keys inventory`. */
export interface KeyInfo {
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

interface LoadedKey {
  readonly record: WrappedKey;
  readonly key: KeyObject;
}

/**
 * Owns the keys below the root: key encryption keys, of which exactly one seals, and the key from
 * which the merchants' fingerprint keys are derived. All are held as KeyObjects from startup;
 * outside the process they are stored wrapped only.
 */
export class Keyring {
  readonly environment: string;
  readonly #options: SettledOptions;
  #keks: ReadonlyMap<number, LoadedKey> = new Map();
  #fingerprints: LoadedKey | undefined;
  #current: VersionedKek | undefined;
  /** Wraps by the current key version that are reserved in its record and not used yet. */
  #wrapsLeft = 0;
  readonly #merchantKeys: BoundedMap<MerchantId, KeyObject>;
  /** Serializes changes of the stored keys. */
  #lastChange: Promise<unknown> = Promise.resolve();
  /** The read of the stored keys that is the next one to begin. */
  #queuedRefresh: Promise<void> | undefined;

  private constructor(options: SettledOptions) {
    this.environment = options.environment;
    this.#options = options;
    this.#merchantKeys = new BoundedMap(options.limits.cachedFingerprintKeys);
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
    await retryOnConflict(async () => await keyring.#load());
    if (options.recovery !== undefined) await keyring.#addRecoveryWraps(options.recovery);
    return keyring;
  }

  /** Stores the wraps for the recovery key that the stored keys lack, and reads them back. */
  async #addRecoveryWraps(recovery: RecoveryWraps): Promise<void> {
    await this.#change(async () => {
      const held = [this.#fingerprinting(), ...this.#keks.values()];
      const whole = held.map((each) => this.#withRecoveryWrap(each, recovery));
      if (whole.every((each, at) => each === held[at])) return;
      await this.#save(whole);
      // Read back: what is stored counts.
      await this.#load();
      const isStored = [this.#fingerprinting(), ...this.#keks.values()].every(
        (each) => this.#withRecoveryWrap(each, recovery) === each,
      );
      if (!isStored) throw new KeyringError("the wraps for the recovery key were not stored");
    });
  }

  #withRecoveryWrap(held: LoadedKey, recovery: RecoveryWraps): LoadedKey {
    const { purpose, id, wrapped } = held.record;
    const bytes = held.key.export();
    const whole = recovery.missing(wrapped, bytes, this.#label(purpose, id));
    bytes.fill(0);
    return whole === undefined ? held : { ...held, record: { ...held.record, wrapped: whole } };
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
      records.map(async (record) => ({
        record,
        key: this.#heldKeyOf(record) ?? (await this.#unwrap(record)),
      })),
    );
    const fingerprints = held.filter(({ record }) => record.purpose === "fingerprint");
    const keks = held.filter(({ record }) => record.purpose === "epoch");
    if (fingerprints.length > 1)
      throw new KeyringError("the keys hold more than one fingerprint key");
    if (new Set(keks.map(({ record }) => record.id)).size !== keks.length)
      throw new KeyringError("the keys hold a key version twice");
    if (held.length > 0) {
      const [fingerprint] = fingerprints;
      // Creating the missing key again would hide that the data it protected is lost.
      if (fingerprint === undefined || keks.length === 0)
        throw new KeyringError("the keys hold no key version, or no fingerprint key");
      this.#adopt(fingerprint, keks);
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
  get keySetId(): string {
    return createHmac("sha256", this.#fingerprinting().key)
      .update(`cofre database mark 1\0${this.environment}`)
      .digest("hex")
      .slice(0, 32);
  }

  /** The key version that seals. */
  get currentKeyVersion(): number {
    return this.#sealing().id;
  }

  kek(id: number): KeyObject | undefined {
    return this.#keks.get(id)?.key;
  }

  /**
   * The current key version's key for one wrap, taken from the reserved ones; undefined when they
   * are used up: see nextWrap.
   */
  reservedWrap(): VersionedKek | undefined {
    if (this.#wrapsLeft === 0) return undefined;
    this.#wrapsLeft -= 1;
    return this.#sealing();
  }

  /** Like reservedWrap, but reserves a block or starts a new key version first if necessary. */
  async nextWrap(): Promise<VersionedKek> {
    // Other waiting callers may take a whole block first; 1,000 blocks are more than there can be
    // waiting callers.
    for (let attempt = 0; attempt < 1_000; attempt += 1) {
      const ready = this.reservedWrap();
      if (ready !== undefined) return ready;
      await this.#exclusively(async () => {
        if (this.#wrapsLeft === 0) await this.#change(async () => await this.#reserve());
      });
    }
    throw new KeyringError("no wrap could be reserved");
  }

  /**
   * Starts a new key version: from now on only it seals, earlier ones only open. Resolves with its
   * number.
   */
  async addKeyVersion(): Promise<number> {
    return await this.#exclusively(
      async () => await this.#change(async () => await this.#addKeyVersion()),
    );
  }

  /**
   * Reads the stored keys again: another process that shares them may have started a key version.
   * Only keys that are new here are unwrapped. Rejects with KeyringError, without any effect then.
   */
  async refresh(): Promise<void> {
    // Callers share a read that has not begun. One that has begun may have missed their key.
    this.#queuedRefresh ??= this.#exclusively(async () => {
      this.#queuedRefresh = undefined;
      await retryOnConflict(async () => await this.#load());
    });
    await this.#queuedRefresh;
  }

  /**
   * Changes the stored keys; repeats the change on top of what another process has stored in the
   * meantime.
   */
  async #change<T>(change: () => Promise<T>): Promise<T> {
    let isCurrent = true;
    return await retryOnConflict(async () => {
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

  inventory(): readonly KeyInfo[] {
    return [this.#fingerprinting(), ...this.#keks.values()].map(({ record }) => ({
      purpose: record.purpose,
      id: record.id,
      createdAt: record.createdAt,
      wrapsReserved: record.wrapsReserved,
      status:
        record.purpose === "fingerprint" || record.id === this.currentKeyVersion
          ? "current"
          : "retired",
    }));
  }

  async #reserve(): Promise<void> {
    const { wrapsPerKeyVersion, wrapsPerReservation } = this.#options.limits;
    const current = this.#keks.get(this.currentKeyVersion);
    assert(current !== undefined, "the key version that seals is held");
    const block = Math.min(wrapsPerReservation, wrapsPerKeyVersion - current.record.wrapsReserved);
    if (block <= 0) {
      await this.#addKeyVersion();
      return;
    }
    const reserved = {
      ...current,
      record: { ...current.record, wrapsReserved: current.record.wrapsReserved + block },
    };
    const next = [...this.#keks.values()].map((held) => (held === current ? reserved : held));
    await this.#save([this.#fingerprinting(), ...next]);
    this.#adopt(this.#fingerprinting(), next);
    this.#wrapsLeft = block;
  }

  async #addKeyVersion(): Promise<number> {
    const next = [...this.#keks.values(), await this.#create("epoch", this.currentKeyVersion + 1)];
    await this.#save([this.#fingerprinting(), ...next]);
    this.#adopt(this.#fingerprinting(), next);
    return this.currentKeyVersion;
  }

  #adopt(fingerprint: LoadedKey, keks: readonly LoadedKey[]): void {
    const [newest] = keks.toSorted((one, other) => other.record.id - one.record.id);
    assert(newest !== undefined, "a keyring has a key version");
    this.#fingerprints = fingerprint;
    this.#keks = new Map(keks.map((held) => [held.record.id, held]));
    this.#current = { id: newest.record.id, key: newest.key };
    // The remainder of an earlier block stays reserved and unused.
    this.#wrapsLeft = 0;
  }

  async #create(purpose: KeyPurpose, id: number): Promise<LoadedKey> {
    const { provider, random, clock } = this.#options;
    const bytes = random.bytes(keyLength);
    try {
      const wrapped = await provenWrap(provider, bytes, this.#label(purpose, id));
      return {
        record: { purpose, id, createdAt: clock.now(), wrapsReserved: 0, wrapped },
        key: createSecretKey(bytes),
      };
    } finally {
      bytes.fill(0);
    }
  }

  /** The key of a record whose wrapped key is the one that was unwrapped here before. */
  #heldKeyOf({ purpose, id, wrapped }: WrappedKey): KeyObject | undefined {
    const held = purpose === "epoch" ? this.#keks.get(id) : this.#fingerprints;
    const isSame = held?.record.id === id && Buffer.compare(held.record.wrapped, wrapped) === 0;
    return isSame ? held.key : undefined;
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

  async #save(held: readonly LoadedKey[]): Promise<void> {
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

  #sealing(): VersionedKek {
    assert(this.#current !== undefined, "a keyring is loaded before it is used");
    return this.#current;
  }

  #fingerprinting(): LoadedKey {
    assert(this.#fingerprints !== undefined, "a keyring is loaded before it is used");
    return this.#fingerprints;
  }
}

async function retryOnConflict<T>(change: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await change();
    } catch (error) {
      if (!(error instanceof KeysChangedElsewhere) || attempt === maxAttempts) throw error;
    }
  }
}
