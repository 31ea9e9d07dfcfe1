import { createSecretKey, type KeyObject } from "node:crypto";
import { assert } from "../../kernel/assert.ts";
import { BoundedMap } from "../../kernel/bounded-map.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import { type Instant, laterBy, second } from "../../kernel/instant.ts";
import type { Random } from "../../kernel/random.ts";
import type { MerchantKey } from "../derived-envelope.ts";
import { KeyringError } from "../key-provider.ts";
import type { RecoveryWraps } from "../recovery/recovery-wraps.ts";
import { newKeyBytes } from "../new-key-bytes.ts";
import { noEarlierRows, RowMacs } from "../row-mac.ts";
import { type CardKeys, derivedKey } from "./card-keys.ts";
import { type KeyRecord, keyNameOf } from "./key-record.ts";
import type { KeyRecords, RecordStep } from "./key-records.ts";
import { KeyRotation } from "./key-rotation.ts";
import { checkValueOf } from "./key-wrap.ts";
import { isAltered } from "./opened-key.ts";
import { isGenuineRecord, type UnsealedRecord, withRecordMac } from "./record-mac.ts";
import { encodeRootSet, parseRootSet, refuseUnpinned, type RootSet } from "./root-set.ts";
import { type EpochRoots, withRecoveryWraps } from "./root-wraps.ts";
import { newRecord, type OpenKey, type RecordPorts, unwrapRecord } from "./wrapped-record.ts";

/** Purposes of keys that an installation has from its first start, besides epoch and merchants. */
export const sharedPurposes = ["records", "tokens", "sign_in", "notifications"] as const;
export type SharedPurpose = (typeof sharedPurposes)[number];

/** Secrets that this process made, for keys that do not exist yet. Wiped when they were used. */
export type NewSecrets = Readonly<Record<SharedPurpose, Uint8Array>>;

interface RecordKeyringOptions {
  readonly roots: EpochRoots;
  /** Called once the `records` key is known, with the MACs of this installation's rows. */
  readonly records: (macs: RowMacs) => KeyRecords;
  /** The stored shared records, as read before. */
  readonly stored: readonly KeyRecord[];
  /** The installation id: 32 lower-case hexadecimal characters. */
  readonly installation: string;
  readonly random: Random;
  readonly clock: Clock;
}

interface OpenRootSet {
  readonly set: RootSet;
  readonly record: KeyRecord;
}

interface MerchantKeys {
  readonly current: MerchantKey | undefined;
  readonly versions: ReadonlyMap<number, MerchantKey>;
}

/** Merchants whose keys are cached; those of others are read and unwrapped again: 20 microseconds. */
const maxCachedMerchants = 20_000;
/**
 * How long a key that was looked for and not found is not looked for again: a card whose key is
 * missing costs one read in this time, not one a request.
 */
const missingMs = 5 * second;
const maxMissing = 1_024;
/** Most attempts to make a merchant's first key while other processes do the same. */
const maxAttempts = 8;

/**
 * Owns the keys of an installation that keeps them as records in its store: one epoch key, wrapped
 * by the root key; below it the keys of shared purposes, which are open from the start, and one key
 * per merchant, opened at its first use. The root key is used at the start only, once for each
 * epoch.
 */
export class RecordKeyring implements CardKeys {
  readonly installation: string;
  /** MACs of rows and of key records, under keys derived from the `records` key. */
  readonly macs: RowMacs;
  /** Makes new versions of the keys. */
  readonly rotation: KeyRotation;
  readonly #options: RecordKeyringOptions;
  readonly #records: KeyRecords;
  #epochs: ReadonlyMap<number, OpenKey>;
  readonly #shared: ReadonlyMap<SharedPurpose, OpenKey>;
  #rootSet: OpenRootSet | undefined;
  readonly #merchants = new BoundedMap<MerchantId, MerchantKeys>(maxCachedMerchants);
  #isFresh: () => boolean = () => true;
  /** How often keys of merchants were forgotten. */
  #forgotten = 0;
  /** Reads that are under way. */
  readonly #reading = new Map<MerchantId, Promise<MerchantKeys>>();
  /** Until when a version of a merchant's key counts as missing. */
  readonly #missing = new BoundedMap<string, Instant>(maxMissing);
  /** The read of epochs for a card that needs one. */
  #refreshing: Promise<void> | undefined;
  /** The read of epochs that is the next one to begin. */
  #queuedRefresh: Promise<void> | undefined;
  #lastRefresh: Promise<void> = Promise.resolve();
  /** Until when no epoch but the open ones counts as existing. */
  #noEpochUntil: Instant | undefined;
  /** Records of the epoch keys that were dropped; undefined while they are open. */
  #dropped: readonly KeyRecord[] | undefined;

  private constructor(options: RecordKeyringOptions, opened: OpenedShared) {
    this.installation = options.installation;
    this.#options = options;
    this.#epochs = opened.epochs;
    this.#shared = opened.shared;
    this.#rootSet = opened.rootSet;
    this.macs = opened.macs;
    this.#records = options.records(opened.macs);
    this.rotation = new KeyRotation({
      ...options,
      macs: opened.macs,
      records: this.#records,
      wrapsOfEpoch: (secret, version) => this.wrapsOfEpoch(secret, version),
      rootSetStep: () => this.rootSetStep(),
      epochs: () => {
        this.#openEpochs();
        return this.#epochs;
      },
      refresh: () => this.refresh(),
      forget: (merchantId) => this.forget(merchantId),
    });
  }

  /**
   * Opens the records of an installation. Uses each root key once for each epoch. Rejects with
   * KeyringError when a record was altered, belongs to another installation or root key, or is
   * missing.
   */
  static async open(options: RecordKeyringOptions): Promise<RecordKeyring> {
    return new RecordKeyring(options, await openShared(options));
  }

  /** A key for one use, named by `label`, derived from the purpose's current key. */
  derivedKey(purpose: SharedPurpose, label: string): KeyObject {
    return derivedKey(this.#keyOf(purpose), this.installation, label);
  }

  /** The secret of a purpose itself. The caller wipes it. */
  secret(purpose: SharedPurpose): Buffer {
    return this.#keyOf(purpose).export();
  }

  /** The root keys and the recovery key of the epoch keys; undefined before it is first stored. */
  get rootSet(): RootSet | undefined {
    return this.#rootSet?.set;
  }

  /** Changes with each change of an epoch's wraps. */
  get epochWraps(): string {
    const macs = [...this.#epochs.values()].map(({ record }) => record.mac);
    return Buffer.concat(macs).toString("hex");
  }

  /** When the set of root keys was changed last. */
  get rootSetChangedAt(): Instant {
    return this.#storedRootSet().record.createdAt;
  }

  /** Opens every epoch key with this root key. Rejects with KeyringError when one does not open. */
  async proveRoot(root: string): Promise<void> {
    const { roots } = this.#options;
    for (const { record } of this.#epochs.values())
      await roots.unwrap(record, this.installation, root);
  }

  /** Whether this root key has wrapped every epoch key. */
  isWrappedBy(root: string): boolean {
    return this.#epochRecords().every((record) => record.wraps.some((wrap) => wrap.root === root));
  }

  /**
   * Drops the keys of epochs and merchants, so that no card is sealed or opened, and no key record
   * is written, until they are opened again. Work that has such a key finishes with it. The keys of
   * shared purposes stay.
   */
  dropCardKeys(): void {
    // A new list: an opening that is under way fails.
    this.#dropped = [...this.#epochRecords()];
    this.#epochs = new Map();
    this.forgetAll();
  }

  /** Opens the epoch keys again, with a root key. Rejects with KeyringError and StoreError. */
  async reopenCardKeys(): Promise<void> {
    if (this.#dropped !== undefined) await this.#readEpochs();
  }

  get areCardKeysDropped(): boolean {
    return this.#dropped !== undefined;
  }

  #epochRecords(): readonly KeyRecord[] {
    return this.#dropped ?? [...this.#epochs.values()].map(({ record }) => record);
  }

  #openEpochs(): readonly OpenKey[] {
    if (this.#dropped !== undefined)
      throw new KeyringError("the keys of cards are dropped while card operations are stopped");
    return [...this.#epochs.values()];
  }

  /**
   * The wraps of a new epoch key, by every root key of the set. They count only if the commit that
   * stores them has `rootSetStep` too: then the set has not changed meanwhile.
   */
  async wrapsOfEpoch(secret: Uint8Array, version: number): Promise<KeyRecord["wraps"]> {
    const { set } = this.#storedRootSet();
    const epoch = { installation: this.installation, version, secret, present: [] };
    return await this.#options.roots.wrap(epoch, set);
  }

  /** Makes a commit fail if the set of root keys has changed since it was read. */
  rootSetStep(): RecordStep {
    const { record } = this.#storedRootSet();
    return this.#changed(record, {});
  }

  /**
   * Replaces the set of root keys, and wraps every epoch key by those in it, in one commit. `pinned`:
   * the fingerprints that the configuration allows. Rejects with KeyringError, and nothing was
   * written, if they do not allow the set, a root key does not answer, or another process changed
   * the keys meanwhile.
   */
  async changeRoots(
    next: Omit<RootSet, "version">,
    pinned: readonly string[],
    roots: EpochRoots = this.#options.roots,
  ): Promise<RootSet> {
    const present = this.#rootSet;
    const set = { ...next, version: (present?.set.version ?? 0) + 1 };
    refuseUnpinned(this.installation, set, pinned);
    await this.#refuseUnopenedEpochs();
    const steps: RecordStep[] = [];
    for (const { record, key } of this.#openEpochs()) {
      const secret = key.export();
      try {
        const { version, wraps } = record;
        const epoch = { installation: this.installation, version, secret, present: wraps };
        steps.push(this.#changed(record, { wraps: await roots.wrap(epoch, set) }));
      } finally {
        secret.fill(0);
      }
    }
    if (present !== undefined)
      steps.push(this.#changed(present.record, { state: "destroyed", wraps: [] }));
    const record = newRootSetRecord(this.#options, this.#currentEpoch(), set);
    steps.push({
      next: withRecordMac(this.macs, this.installation, record),
      before: undefined,
    });
    if (!(await this.#records.commit(steps)))
      throw new KeyringError("the keys were changed meanwhile: repeat it");
    for (const { next: changed } of steps) {
      const open = changed.purpose === "epoch" ? this.#epochs.get(changed.version) : undefined;
      if (open !== undefined)
        this.#epochs = new Map([...this.#epochs, [changed.version, { ...open, record: changed }]]);
      if (changed.purpose === "roots" && changed.version === set.version)
        this.#rootSet = { set, record: changed };
    }
    return set;
  }

  /**
   * Adds the wraps for the recovery key of the set that the stored epoch keys lack, and replaces
   * altered ones. True: records were written, here or by another process, and have to be read again.
   */
  async addRecoveryWraps(recovery: RecoveryWraps): Promise<boolean> {
    const steps = this.#openEpochs().flatMap(({ record, key }) => {
      const secret = key.export();
      const wraps = withRecoveryWraps(record, secret, this.installation, recovery);
      secret.fill(0);
      return wraps === undefined ? [] : [this.#changed(record, { wraps })];
    });
    if (steps.length > 0) await this.#records.commit(steps);
    return steps.length > 0;
  }

  #changed(before: KeyRecord, changed: Partial<UnsealedRecord>): RecordStep {
    const { clock } = this.#options;
    const next = { ...before, ...changed, sequence: before.sequence + 1, changedAt: clock.now() };
    return { next: withRecordMac(this.macs, this.installation, next), before };
  }

  /** All of them have to be wrapped again, and while cards are stopped, they are not in memory. */
  async #refuseUnopenedEpochs(): Promise<void> {
    const stored = await this.#records.shared();
    const unopened = stored.find(
      ({ purpose, state, version }) =>
        purpose === "epoch" && state !== "destroyed" && !this.#epochs.has(version),
    );
    if (unopened !== undefined)
      throw new KeyringError(`the key ${keyNameOf(unopened)} is not open in this process`);
  }

  #storedRootSet(): OpenRootSet {
    assert(this.#rootSet !== undefined, "the set of root keys is stored before it is used");
    return this.#rootSet;
  }

  /** Reads the merchant's keys again at their next use: they were changed. */
  forget(merchantId: MerchantId): void {
    this.#forgotten += 1;
    this.#merchants.delete(merchantId);
    this.#reading.delete(merchantId);
  }

  forgetAll(): void {
    this.#forgotten += 1;
    this.#merchants.clear();
    this.#reading.clear();
  }

  /**
   * While `isFresh` is false, other processes may have made new keys that this one does not know:
   * the key that seals is read at each use then.
   */
  sealWhile(isFresh: () => boolean): void {
    this.#isFresh = isFresh;
  }

  /**
   * Reads the keys that belong to no merchant again: epochs that another process made are open then,
   * and uses the root key for these only. Rejects with KeyringError, without any effect then.
   */
  async refresh(): Promise<void> {
    // Callers share a read that has not begun. One that has begun may have missed their key.
    this.#queuedRefresh ??= this.#lastRefresh.then(async () => {
      this.#queuedRefresh = undefined;
      this.#openEpochs();
      await this.#readEpochs();
    });
    this.#lastRefresh = this.#queuedRefresh.catch(() => undefined);
    await this.#queuedRefresh;
  }

  readyCurrent(merchantId: MerchantId): MerchantKey | undefined {
    return this.#isFresh() ? this.#merchants.get(merchantId)?.current : undefined;
  }

  ready(merchantId: MerchantId, version: number): MerchantKey | undefined {
    return this.#merchants.get(merchantId)?.versions.get(version);
  }

  async current(merchantId: MerchantId): Promise<MerchantKey> {
    for (let attempts = 0; attempts < maxAttempts; attempts += 1) {
      const { current, versions } = await this.#read(merchantId);
      if (current !== undefined) return current;
      // Keys exist, but none seals: a new one would hide that.
      if (versions.size > 0) break;
      await this.#addMerchantKey(merchantId);
      this.#merchants.delete(merchantId);
    }
    throw new KeyringError(`merchant ${merchantId} has no key that seals cards`);
  }

  async find(merchantId: MerchantId, version: number): Promise<MerchantKey | undefined> {
    const name = `${merchantId} ${version}`;
    const until = this.#missing.get(name);
    const now = this.#options.clock.now();
    if (until !== undefined && now < until) return undefined;
    const found = (await this.#read(merchantId)).versions.get(version);
    if (found === undefined) this.#missing.set(name, laterBy(now, missingMs));
    else this.#missing.delete(name);
    return found;
  }

  /** Callers for the same merchant share a read. */
  async #read(merchantId: MerchantId): Promise<MerchantKeys> {
    const known = this.#reading.get(merchantId);
    if (known !== undefined) return await known;
    const reading: Promise<MerchantKeys> = this.#readNow(merchantId).finally(() => {
      if (this.#reading.get(merchantId) === reading) this.#reading.delete(merchantId);
    });
    this.#reading.set(merchantId, reading);
    return await reading;
  }

  async #readNow(merchantId: MerchantId): Promise<MerchantKeys> {
    const forgotten = this.#forgotten;
    const records = await this.#records.ofMerchant(merchantId);
    const versions = new Map<number, MerchantKey>();
    let current: MerchantKey | undefined;
    for (const record of records) {
      if (record.purpose !== "merchant" || record.merchant !== merchantId)
        throw new KeyringError(`merchant ${merchantId} has the key record of another`);
      if (!isGenuineRecord(this.macs, this.installation, record)) throw isAltered(record);
      if (record.state === "destroyed") continue;
      const epochKey = await this.#epochKey(record.epoch ?? 0);
      if (epochKey === undefined)
        throw new KeyringError(
          `the key ${keyNameOf(record)} needs epoch ${record.epoch}, which is not open here`,
        );
      const { version } = record;
      const merchantKey = { version, key: unwrapRecord(record, epochKey, this.installation) };
      versions.set(version, merchantKey);
      if (record.state === "current") current = merchantKey;
    }
    const keys = { current, versions };
    // What was read before `forget` was called is used once.
    if (versions.size > 0 && forgotten === this.#forgotten) this.#merchants.set(merchantId, keys);
    return keys;
  }

  /**
   * The key of an epoch, which another process may have begun since the start: then the root key is
   * used once, for all callers. Undefined when there is none, for a while without looking again.
   */
  async #epochKey(version: number): Promise<KeyObject | undefined> {
    const known = this.#epochs.get(version);
    if (known !== undefined) return known.key;
    if (this.#dropped !== undefined) return undefined;
    if (this.#refreshing === undefined) {
      const now = this.#options.clock.now();
      if (this.#noEpochUntil !== undefined && now < this.#noEpochUntil) return undefined;
      this.#noEpochUntil = laterBy(now, missingMs);
      this.#refreshing = this.refresh().finally(() => (this.#refreshing = undefined));
    }
    await this.#refreshing;
    return this.#epochs.get(version)?.key;
  }

  async #readEpochs(): Promise<void> {
    const dropped = this.#dropped;
    const stored = await this.#records.shared();
    const { epochs, rootSet } = await openShared({ ...this.#options, stored }, this.#epochs);
    if (this.#dropped !== dropped)
      throw new KeyringError("the keys of cards were dropped meanwhile");
    for (const record of this.#epochRecords()) {
      const next = stored.find(
        (each) => each.purpose === "epoch" && each.version === record.version,
      );
      if ((next?.sequence ?? 0) < record.sequence)
        throw new KeyringError(`the key record ${keyNameOf(record)} went back to an earlier state`);
    }
    if ((rootSet?.set.version ?? 0) < (this.#rootSet?.set.version ?? 0))
      throw new KeyringError("the set of root keys went back to an earlier state");
    this.#epochs = epochs;
    this.#rootSet = rootSet;
    this.#dropped = undefined;
  }

  async #addMerchantKey(merchant: MerchantId): Promise<void> {
    const { random } = this.#options;
    const secret = newKeyBytes(random);
    try {
      const record = newRecord(this.#options, this.#currentEpoch(), {
        purpose: "merchant",
        merchant,
        version: 1,
        secret,
      });
      const next = withRecordMac(this.macs, this.installation, record);
      // The epoch may have been destroyed since this process has read the epochs.
      if (!(await this.#records.commit([{ next, before: undefined }]))) await this.refresh();
    } finally {
      secret.fill(0);
    }
  }

  #currentEpoch(): OpenKey {
    const current = this.#openEpochs().find(({ record }) => record.state === "current");
    assert(current !== undefined, "a keyring has a current epoch");
    return current;
  }

  #keyOf(purpose: SharedPurpose): KeyObject {
    const open = this.#shared.get(purpose);
    assert(open !== undefined, "every shared purpose is open from the start");
    return open.key;
  }
}

/**
 * The records of a new installation: epoch 1, wrapped by the root key, and one key for each shared
 * purpose. Wipes `secrets`. `rootSet`: the root keys, and random bytes of their record, apart from
 * those of a seeded world.
 */
export async function newKeyRecords(
  options: Pick<RecordKeyringOptions, "roots" | "installation" | "random" | "clock">,
  secrets: NewSecrets,
  rootSet: { readonly set: RootSet; readonly random: Random },
): Promise<{ readonly macs: RowMacs; readonly records: readonly KeyRecord[] }> {
  const { roots, installation, random, clock } = options;
  const epochSecret = newKeyBytes(random);
  try {
    const now = clock.now();
    const epochKey = createSecretKey(epochSecret);
    const wraps = await roots.wrap(
      { installation, version: 1, secret: epochSecret, present: [] },
      rootSet.set,
    );
    const check = checkValueOf(epochSecret, {
      installation,
      purpose: "epoch",
      merchant: undefined,
      version: 1,
    });
    const epoch: UnsealedRecord = {
      purpose: "epoch",
      version: 1,
      state: "current",
      sequence: 1,
      epoch: undefined,
      check,
      wraps,
      createdAt: now,
      changedAt: now,
    };
    const macs = rowMacsUnder(createSecretKey(secrets.records), installation);
    const epochRecord = withRecordMac(macs, installation, epoch);
    const open = { record: epochRecord, key: epochKey };
    const shared = sharedPurposes.map((purpose) =>
      withRecordMac(
        macs,
        installation,
        newRecord(options, open, { purpose, version: 1, secret: secrets[purpose] }),
      ),
    );
    const set = newRootSetRecord({ ...options, random: rootSet.random }, open, rootSet.set);
    return { macs, records: [epochRecord, ...shared, withRecordMac(macs, installation, set)] };
  } finally {
    epochSecret.fill(0);
    for (const purpose of sharedPurposes) secrets[purpose].fill(0);
  }
}

function newRootSetRecord(options: RecordPorts, epoch: OpenKey, set: RootSet): UnsealedRecord {
  const secret = encodeRootSet(set);
  return newRecord(options, epoch, { purpose: "roots", version: set.version, secret });
}

interface OpenedShared {
  readonly epochs: ReadonlyMap<number, OpenKey>;
  readonly shared: ReadonlyMap<SharedPurpose, OpenKey>;
  readonly rootSet: OpenRootSet | undefined;
  readonly macs: RowMacs;
}

/** `held`: epochs that are open already, and are not unwrapped again. */
async function openShared(
  { roots, installation, stored }: RecordKeyringOptions,
  held: ReadonlyMap<number, OpenKey> = new Map(),
): Promise<OpenedShared> {
  const epochs = new Map<number, OpenKey>();
  for (const record of stored) {
    if (record.purpose !== "epoch" || record.state === "destroyed") continue;
    if (epochs.has(record.version))
      throw new KeyringError(`the key ${keyNameOf(record)} exists twice`);
    const known = held.get(record.version);
    // Its state and its wraps may have changed; the check value identifies the key, and the MACs are verified below.
    const isSame = known !== undefined && Buffer.compare(known.record.check, record.check) === 0;
    const key = isSame ? known.key : await roots.unwrap(record, installation);
    epochs.set(record.version, { record, key });
  }
  const shared = new Map<SharedPurpose, OpenKey>();
  for (const record of stored) {
    const purpose = sharedPurposes.find((each) => each === record.purpose);
    if (purpose === undefined || record.state !== "current") continue;
    if (shared.has(purpose)) throw new KeyringError(`two keys for ${purpose} are current`);
    const epochKey = epochs.get(record.epoch ?? 0)?.key;
    if (epochKey === undefined) throw isAltered(record);
    shared.set(purpose, { record, key: unwrapRecord(record, epochKey, installation) });
  }
  const records = shared.get("records");
  const missing = sharedPurposes.find((purpose) => !shared.has(purpose));
  if (records === undefined || missing !== undefined)
    throw new KeyringError(`the database has no current key for ${missing ?? "records"}`);
  const macs = rowMacsUnder(records.key, installation);
  for (const record of stored)
    if (!isGenuineRecord(macs, installation, record)) throw isAltered(record);
  refuseMisplacedEpochs(epochs);
  return { epochs, shared, macs, rootSet: openRootSet(stored, epochs, installation) };
}

/** The set of root keys; undefined in a database of an earlier version. */
function openRootSet(
  stored: readonly KeyRecord[],
  epochs: ReadonlyMap<number, OpenKey>,
  installation: string,
): OpenRootSet | undefined {
  const all = stored.filter(({ purpose }) => purpose === "roots");
  const sets = all.filter(({ state }) => state === "current");
  const [record] = sets;
  if (record === undefined) {
    if (all.length === 0) return undefined;
    throw new KeyringError("the database has sets of root keys, but none that is current");
  }
  const epochKey = epochs.get(record.epoch ?? 0)?.key;
  if (sets.length > 1 || epochKey === undefined) throw isAltered(record);
  const bytes = unwrapRecord(record, epochKey, installation).export();
  return { set: parseRootSet(bytes, record.version), record };
}

/** Exactly one epoch is current; older ones are retired, and newer ones are not used yet. */
function refuseMisplacedEpochs(epochs: ReadonlyMap<number, OpenKey>): void {
  const current = [...epochs.values()].filter(({ record }) => record.state === "current");
  const [only] = current;
  if (only === undefined || current.length > 1)
    throw new KeyringError(`the database has ${current.length} current epoch keys`);
  for (const { record } of epochs.values()) {
    const isNewer = record.version > only.record.version;
    if (isNewer ? record.state === "retired" : record.state === "made")
      throw new KeyringError(`the key ${keyNameOf(record)} is out of order`);
  }
}

function rowMacsUnder(recordsKey: KeyObject, installation: string): RowMacs {
  return new RowMacs((label) => derivedKey(recordsKey, installation, label), noEarlierRows);
}
