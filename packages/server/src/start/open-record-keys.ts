import { createSecretKey } from "node:crypto";
import type { Config } from "../config/settings.ts";
import {
  makeNotificationKeys,
  notificationKeysOf,
  type RsaPair,
} from "../delivery/notification-keys.ts";
import { assert } from "../kernel/assert.ts";
import { newInstallationId, refuseOtherInstallation } from "../production/installation-id.ts";
import type { RunningStore } from "../stores/store.ts";
import { type KeyProvider, KeyringError } from "../vault/key-provider.ts";
import { createMemoryKeyProvider } from "../vault/memory-key-provider.ts";
import { createWorldCardKeys, derivedKey } from "../vault/records/card-keys.ts";
import type { KeyRecord } from "../vault/records/key-record.ts";
import { refuseUnpinned, type RootSet, rootSetFingerprint } from "../vault/records/root-set.ts";
import type { KeyRecords } from "../vault/records/key-records.ts";
import { newKeyRecords, RecordKeyring } from "../vault/records/record-keyring.ts";
import { RootKeys } from "../vault/records/root-wraps.ts";
import { newKeyBytes } from "../vault/new-key-bytes.ts";
import { createRecordVault } from "../vault/record-vault.ts";
import { openKeyFiles } from "../vault/root-key-file.ts";
import { noEarlierRows, RowMacs } from "../vault/row-mac.ts";
import { createSealing } from "../vault/sealed-secret.ts";
import type { Vault } from "../vault/vault.ts";
import { sharedKeyRecords, storedKeyRecords } from "./key-record-storage.ts";
import type { Keys } from "./keys.ts";
import { openRecoveryKey } from "./open-recovery-key.ts";
import type { RemoteRoots } from "./open-root-key.ts";
import { ownRandom, type Ports } from "./ports.ts";

type KeyStore = Pick<RunningStore, "keys" | "users" | "identity">;

interface RecordKeysOptions {
  readonly store: KeyStore;
  /** The shared records in the store; none in a new installation. */
  readonly stored: readonly KeyRecord[];
  readonly remote: RemoteRoots;
  /** Made into the key pair of notifications by a new installation. */
  readonly pair: Promise<RsaPair> | undefined;
}

/**
 * Opens the keys of an installation that keeps them as records in its store, or makes them: cards
 * are sealed in format 2.
 */
export async function openRecordKeys(
  config: Config,
  { clock, random }: Pick<Ports, "clock" | "random">,
  { store, stored, remote, pair }: RecordKeysOptions,
): Promise<Keys> {
  const create = stored.length === 0;
  const recovery = await openRecoveryKey(config);
  const providers = await recordRootsOf(config, remote, create);
  const roots = new RootKeys(providers, recovery);
  const installation = await installationIdOf(store, config, create ? random : undefined);
  const open = async (records: readonly KeyRecord[]): Promise<RecordKeyring> =>
    await RecordKeyring.open({
      roots,
      records: (macs) => storedKeyRecords(store, clock, macs),
      stored: records,
      installation,
      random,
      clock,
    });
  const set = { roots: roots.keyIds, recovery: recovery?.key.fingerprint };
  const made = { store, installation, roots, clock, random, pair };
  let keyring = await open(create ? await makeRecords(config, made, set) : stored);
  const isChanged = await settleRootSet(config, keyring, set);
  if (recovery !== undefined && (await keyring.addRecoveryWraps(recovery))) {
    // What is stored counts.
    keyring = await open(await sharedKeyRecords(store.keys));
    if (await keyring.addRecoveryWraps(recovery))
      throw new KeyringError("the wraps for the recovery key were not stored");
  }
  return {
    sealing: createSealing({
      key: keyring.derivedKey("sign_in", "users"),
      random: ownRandom,
      earlier: undefined,
    }),
    remoteRoot: remote.first,
    nextRoot: remote.next,
    rootKeyIds: roots.keyIds,
    isRootFileMissing: remote.first === undefined && providers[0] === remote.next,
    rootSet: { ...rootSetOf(keyring), isChanged },
    recovery,
    vault: recordVault(keyring, random),
    worldVault: createWorldVault(installation, random),
    macs: keyring.macs,
    keyring,
    upgrade: { ...noEarlierRows },
    earlierRows: undefined,
    keySetId: installation,
    notificationKeys: notificationKeysOf(keyring.secret("notifications")),
  };
}

/**
 * Stores the set of root keys of a database that has none, and changes it to another recovery key
 * of the configuration, as far as the configuration allows the result. Root keys are never added by
 * a start. Rejects with KeyringError when the configuration does not allow the set. True: it was
 * changed.
 */
async function settleRootSet(
  { rootKeysFingerprint: pinned = [] }: Config,
  keyring: RecordKeyring,
  configured: Omit<RootSet, "version">,
): Promise<boolean> {
  const { rootSet: stored, installation } = keyring;
  const recovery = configured.recovery ?? stored?.recovery;
  if (stored !== undefined && stored.recovery === recovery) {
    refuseUnpinned(installation, stored, pinned);
    return false;
  }
  // Without a set, the root keys are those that have wrapped every key.
  const roots = stored?.roots ?? configured.roots.filter((root) => keyring.isWrappedBy(root));
  await keyring.changeRoots({ roots, recovery }, pinned);
  return true;
}

function rootSetOf({ rootSet, installation }: RecordKeyring) {
  assert(rootSet !== undefined, "a start stores the set of root keys");
  const { version, roots, recovery } = rootSet;
  return { version, roots, recovery, fingerprint: rootSetFingerprint(installation, rootSet) };
}

export function recordVault(keyring: RecordKeyring, random: Ports["random"]): Vault {
  return createRecordVault({
    keys: keyring,
    tokens: keyring.derivedKey("tokens", "token digests"),
    macs: keyring.macs,
    random,
  });
}

/** Opens records without a store that is running: those of a file, or of another's database. */
export async function openRecordsForReading(
  config: Config,
  { clock }: Pick<Ports, "clock">,
  {
    installation,
    stored,
    remote,
    records,
  }: Pick<RecordKeysOptions, "stored" | "remote"> & {
    readonly installation: string;
    readonly records: KeyRecords;
  },
): Promise<RecordKeyring> {
  return await RecordKeyring.open({
    roots: new RootKeys(await recordRootsOf(config, remote, false), undefined),
    records: () => records,
    stored,
    installation,
    random: ownRandom,
    clock,
  });
}

/** Keys of worlds live as long as the process: their rows do, too. */
function createWorldVault(installation: string, random: Ports["random"]): Vault {
  const bytes = newKeyBytes(ownRandom);
  const key = createSecretKey(bytes);
  bytes.fill(0);
  return createRecordVault({
    keys: createWorldCardKeys(installation, key),
    tokens: derivedKey(key, installation, "token digests"),
    macs: new RowMacs((label) => derivedKey(key, installation, label), noEarlierRows),
    random,
  });
}

/**
 * The holders of the root keys: services, the file `root.key`, or this process's memory. A file that
 * cannot be opened is left out if there is another root key.
 */
async function recordRootsOf(
  { dataDirectory: directory, environment }: Config,
  { first, next }: RemoteRoots,
  create: boolean,
): Promise<readonly KeyProvider[]> {
  const others = next === undefined ? [] : [next];
  if (directory === ":memory:") return [first ?? createMemoryKeyProvider(ownRandom), ...others];
  const options = { directory, environment, create, random: ownRandom, root: first };
  try {
    return [(await openKeyFiles(options)).provider, ...others];
  } catch (error) {
    if (create || next === undefined || !(error instanceof KeyringError)) throw error;
    return others;
  }
}

/**
 * The installation id, which the first start writes beside the database's identity. Rejects with
 * OtherInstallation when it is not the one of the settings.
 */
async function installationIdOf(
  { identity }: KeyStore,
  { environment, installationId }: Config,
  random: Ports["random"] | undefined,
): Promise<string> {
  const { keys } =
    random === undefined
      ? await identity.read()
      : await identity.raise({ keys: newInstallationId(environment, random) });
  if (keys === undefined)
    throw new KeyringError("the database has keys, but no installation id: restore its backup");
  refuseOtherInstallation(keys, environment, installationId);
  return keys;
}

interface NewRecordsOptions {
  readonly store: KeyStore;
  readonly installation: string;
  readonly roots: RootKeys;
  readonly clock: Ports["clock"];
  readonly random: Ports["random"];
  readonly pair: Promise<RsaPair> | undefined;
}

/** Makes the records of a new installation; if another process was faster, those of the other. */
async function makeRecords(
  { environment, rootKeysFingerprint: pinned = [] }: Config,
  { store, installation, roots, clock, random, pair }: NewRecordsOptions,
  set: Omit<RootSet, "version">,
): Promise<readonly KeyRecord[]> {
  const own = { random: ownRandom, clock };
  const rootSet = { ...set, version: 1 };
  refuseUnpinned(installation, rootSet, pinned);
  const { macs, records } = await newKeyRecords(
    { roots, installation, clock, random },
    {
      records: newKeyBytes(random),
      tokens: newKeyBytes(random),
      sign_in: newKeyBytes(random),
      notifications: await makeNotificationKeys({ environment, pair, ...own }),
    },
    { set: rootSet, random: ownRandom },
  );
  const steps = records.map((next) => ({ next, before: undefined }));
  if (await storedKeyRecords(store, clock, macs).commit(steps)) return records;
  const others = await sharedKeyRecords(store.keys);
  assert(others.length > 0, "a record that conflicts is stored");
  return others;
}
