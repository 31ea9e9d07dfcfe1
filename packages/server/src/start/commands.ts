import type { OpenAudit } from "../cli/command.ts";
import type { Config } from "../config/settings.ts";
import { hexOf } from "../kernel/ids.ts";
import { systemClock } from "../kernel/system-clock.ts";
import { nextEpoch } from "../recovery/incarnation-keeper.ts";
import { isGenuineEntry } from "../sign-in/checked-users.ts";
import type { MoveSides } from "../store-migration/move-store.ts";
import type { BackedUp, Restored } from "../stores/backup.ts";
import { openAuditFile } from "../stores/embedded/audit-file.ts";
import { backUpFile, markAsPutBack, restoreFile } from "../stores/embedded/backup-file.ts";
import { openMoveSource } from "../stores/embedded/move-source.ts";
import type { AuditRow } from "../user/audit-chain.ts";
import type { AuditLog } from "../user/audit-log.ts";
import { KeyringError } from "../vault/key-provider.ts";
import { Keyring } from "../vault/keyring.ts";
import { recoverable } from "../vault/recovery/recovery-wraps.ts";
import { hasKeyFiles, openKeyFiles } from "../vault/root-key-file.ts";
import { RowMacs } from "../vault/row-mac.ts";
import { lastUnkeyedEntryOf, openKeys, upgradeNoteOf } from "./open-keys.ts";
import { remoteRootKey } from "./open-root-key.ts";
import { databaseFileOf, databaseOf } from "./open-store.ts";
import { ownRandom, type Ports, systemPorts } from "./ports.ts";

/**
 * The input of `cofre audit`: the database if one is configured, otherwise the file, which a
 * running server may have open.
 */
export async function openAudit(config: Config): Promise<OpenAudit> {
  const { databaseUrl, dataDirectory } = config;
  const audit =
    databaseUrl === undefined
      ? openAuditFile(databaseFileOf(dataDirectory))
      : await (await import("../stores/postgres/audit-database.ts")).openAuditDatabase(databaseUrl);
  const isGenuine = await entryCheckOf(config).catch((error: unknown) => {
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

/**
 * Whether an entry of the audit log was written with the keys in the data directory; undefined when
 * there are none.
 */
async function entryCheckOf(config: Config): Promise<((row: AuditRow) => boolean) | undefined> {
  const { dataDirectory: directory, environment } = config;
  if (directory === ":memory:" || !(await hasKeyFiles(directory))) return undefined;
  const root = remoteRootKey(config, systemPorts);
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
  const macs = new RowMacs((label) => keyring.derivedKey(label), upgrade);
  return (row) =>
    isGenuineEntry({ macs, lastUnkeyedEntry: () => lastUnkeyedEntryOf(upgrade) }, row);
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
  const { vault } = await openKeys(config, ports, false);
  const database = databaseOf(config, ports.clock);
  const target =
    database === undefined
      ? undefined
      : await (await import("../stores/postgres/move-target.ts")).openMoveTarget(database);
  parts.defer(() => target?.close());
  const open = parts.move();
  return { source, target, vault, random: ports.random, close: () => open.disposeAsync() };
}
