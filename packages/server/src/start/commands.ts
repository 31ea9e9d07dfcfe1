import type { OpenAudit, StoredKeys } from "../cli/command.ts";
import type { Config } from "../config/settings.ts";
import { hexOf } from "../kernel/ids.ts";
import { systemClock } from "../kernel/system-clock.ts";
import { nextEpoch } from "../recovery/incarnation-keeper.ts";
import { isGenuineEntry } from "../sign-in/checked-users.ts";
import type { MoveSides } from "../store-migration/move-store.ts";
import type { BackedUp, Restored } from "../stores/backup.ts";
import { openAuditFile, openKeysOfFile } from "../stores/embedded/audit-file.ts";
import { backUpFile, markAsPutBack, restoreFile } from "../stores/embedded/backup-file.ts";
import { openMoveSource } from "../stores/embedded/move-source.ts";
import type { HeldKeys } from "../stores/key-record-store.ts";
import type { AuditRow } from "../user/audit-chain.ts";
import type { AuditLog } from "../user/audit-log.ts";
import { type KeyProvider, KeyringError } from "../vault/key-provider.ts";
import { Keyring } from "../vault/keyring.ts";
import type { KeyRecord } from "../vault/records/key-record.ts";
import { recoverable } from "../vault/recovery/recovery-wraps.ts";
import { hasKeyFiles, hasWrappedKeys, openKeyFiles } from "../vault/root-key-file.ts";
import { lastUnkeyedEntryOf, noEarlierRows, RowMacs, type RowUpgrade } from "../vault/row-mac.ts";
import type { Vault } from "../vault/vault.ts";
import { readOnlyKeyRecords, sharedKeyRecords } from "./key-record-storage.ts";
import { openFileKeys, upgradeNoteOf } from "./open-file-keys.ts";
import { openRecordsForReading, recordVault } from "./open-record-keys.ts";
import { type RemoteRoots, remoteRootKeys } from "./open-root-key.ts";
import { databaseFileOf, databaseOf } from "./open-store.ts";
import { ownRandom, type Ports, systemPorts } from "./ports.ts";

/**
 * The input of `cofre audit`: the database if one is configured, otherwise the file, which a
 * running server may have open.
 */
export async function openAudit(config: Config): Promise<OpenAudit> {
  const audit = await openForReading(config);
  const isGenuine = await entryCheckOf(config, audit).catch((error: unknown) => {
    if (error instanceof KeyringError) return undefined;
    throw error;
  });
  if (isGenuine === undefined) return audit;
  const { log } = audit;
  const checked: AuditLog = {
    auditAfter: (after, limit) => log.auditAfter(after, limit),
    auditHead: () => log.auditHead(),
    userByName: (key) => log.userByName(key),
    isGenuine,
  };
  return { ...audit, log: checked, close: () => audit.close() };
}

/** The input of `cofre keys`. */
export async function storedKeys(config: Config): Promise<StoredKeys | undefined> {
  const database = await openForReading(config);
  try {
    const held = await database.keys();
    if (held === undefined) return undefined;
    return { installation: held.installation, records: await sharedKeyRecords(held.keys) };
  } finally {
    await database.close();
  }
}

/** The database if one is configured, otherwise the file. */
async function openForReading({ databaseUrl, dataDirectory }: Config) {
  return databaseUrl === undefined
    ? openAuditFile(databaseFileOf(dataDirectory))
    : await (await import("../stores/postgres/audit-database.ts")).openAuditDatabase(databaseUrl);
}

/**
 * Whether an entry of the audit log was written with the installation's keys; undefined when they
 * are not here. Rejects with KeyringError when they do not open.
 */
async function entryCheckOf(
  config: Config,
  audit: { keys(): Promise<HeldKeys | undefined> },
): Promise<((row: AuditRow) => boolean) | undefined> {
  const { dataDirectory: directory } = config;
  if (directory === ":memory:") return undefined;
  const remote = remoteRootKeys(config, systemPorts);
  if (remote.first === undefined && remote.next === undefined && !(await hasKeyFiles(directory)))
    return undefined;
  const held = (await hasWrappedKeys(directory)) ? undefined : await audit.keys();
  const stored = held === undefined ? [] : await sharedKeyRecords(held.keys);
  const { macs, upgrade } =
    held === undefined || stored.length === 0
      ? await fileMacsOf(config, remote.first)
      : {
          macs: await recordMacsOf(config, held.installation, stored, remote),
          upgrade: noEarlierRows,
        };
  return (row) =>
    isGenuineEntry({ macs, lastUnkeyedEntry: () => lastUnkeyedEntryOf(upgrade) }, row);
}

async function recordMacsOf(
  config: Config,
  installation: string,
  stored: readonly KeyRecord[],
  remote: RemoteRoots,
): Promise<RowMacs> {
  const records = readOnlyKeyRecords({
    keyRecords: async () => [],
    merchantKeyRecords: async () => [],
  });
  const held = { installation, stored, remote, records };
  return (await openRecordsForReading(config, systemPorts, held)).macs;
}

async function fileMacsOf(
  config: Config,
  root: KeyProvider | undefined,
): Promise<{ readonly macs: RowMacs; readonly upgrade: RowUpgrade }> {
  const { dataDirectory: directory, environment } = config;
  const random = ownRandom;
  const files = await openKeyFiles({ directory, environment, create: false, random, root });
  const { store, secretFile } = files;
  const provider = recoverable(files.provider, undefined);
  const keyring = await Keyring.open({
    provider,
    store,
    environment,
    random,
    clock: systemClock,
    create: false,
  });
  const upgrade = await upgradeNoteOf(config, {
    provider,
    random,
    file: secretFile("rows"),
  }).load();
  return { macs: new RowMacs((label) => keyring.derivedKey(label), upgrade), upgrade };
}

/** Copies the file into a directory; a running server may have it open. */
export async function backUp({ dataDirectory }: Config, directory: string): Promise<BackedUp> {
  return backUpFile(databaseFileOf(dataDirectory), directory, hexOf(ownRandom.bytes(4)));
}

/** Replaces the file with a backup; no server may have it open. */
export async function restore(
  { dataDirectory }: Config,
  directory: string,
  replace: boolean,
): Promise<Restored> {
  return restoreFile(directory, databaseFileOf(dataDirectory), hexOf(ownRandom.bytes(4)), replace);
}

/**
 * Starts a new incarnation. Resolves with its epoch, which running nodes read from the database; or
 * with undefined when the next start begins it.
 */
export async function beginIncarnation(
  config: Config,
  { clock }: Pick<Ports, "clock"> = systemPorts,
): Promise<number | undefined> {
  const database = databaseOf(config, clock);
  if (database !== undefined)
    return (await import("../stores/postgres/put-back.ts")).raiseEpoch(database, (known) =>
      nextEpoch(clock, known),
    );
  markAsPutBack(databaseFileOf(config.dataDirectory));
  return undefined;
}

/**
 * The input of `cofre migrate-store`: the file, which no server may have open, its keys, and the
 * database if one is configured.
 */
export async function openMoveSides(
  config: Config,
  ports: Ports = systemPorts,
): Promise<MoveSides> {
  await using parts = new AsyncDisposableStack();
  const source = await openMoveSource(databaseFileOf(config.dataDirectory));
  parts.defer(() => source.close());
  const ofFile = openKeysOfFile(databaseFileOf(config.dataDirectory));
  parts.defer(() => ofFile.close());
  const vault = await vaultOf(config, ports, ofFile.held);
  const database = databaseOf(config, ports.clock);
  const target =
    database === undefined
      ? undefined
      : await (await import("../stores/postgres/move-target.ts")).openMoveTarget(database);
  parts.defer(() => target?.close());
  const open = parts.move();
  return { source, target, vault, random: ports.random, close: () => open.disposeAsync() };
}

/** The vault that opens the cards of a file. */
async function vaultOf(
  config: Config,
  ports: Ports,
  held: ReturnType<typeof openKeysOfFile>["held"],
): Promise<Vault> {
  const remote = remoteRootKeys(config, ports);
  const stored = held === undefined ? [] : await sharedKeyRecords(held.keys);
  if (held === undefined || stored.length === 0)
    return (await openFileKeys(config, ports, remote.first)).vault;
  const { installation, keys } = held;
  const records = readOnlyKeyRecords(keys);
  const opened = { installation, stored, remote, records };
  return recordVault(await openRecordsForReading(config, ports, opened), ports.random);
}
