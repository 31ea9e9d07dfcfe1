import type { Config } from "../config/settings.ts";
import type { RsaPair } from "../delivery/notification-keys.ts";
import { hasDatabase } from "../stores/embedded/data-folder.ts";
import type { RunningStore } from "../stores/store.ts";
import { KeyringError } from "../vault/key-provider.ts";
import { hasKeyFiles, hasWrappedKeys } from "../vault/root-key-file.ts";
import { sharedKeyRecords } from "./key-record-storage.ts";
import type { Keys } from "./keys.ts";
import { openFileKeys } from "./open-file-keys.ts";
import { openRecordKeys } from "./open-record-keys.ts";
import { remoteRootKeys } from "./open-root-key.ts";
import { databaseFileOf } from "./open-store.ts";
import type { Ports } from "./ports.ts";

/**
 * Whether this looks like a first start. Whether to create keys is decided after the store was
 * read.
 */
export async function hasNoKeys({ dataDirectory, databaseUrl, rootKey }: Config): Promise<boolean> {
  if (dataDirectory === ":memory:") return true;
  // With a key service there are no files, only the database.
  if (rootKey.kind !== "file")
    return databaseUrl === undefined && !hasDatabase(databaseFileOf(dataDirectory));
  return !(await hasKeyFiles(dataDirectory));
}

/** `create`: nothing was sealed yet. */
export async function openKeys(
  config: Config,
  ports: Pick<Ports, "clock" | "random" | "scheduler" | "elapsedMs">,
  store: Pick<RunningStore, "keys" | "users" | "identity">,
  create: boolean,
  pair?: Promise<RsaPair>,
): Promise<Keys> {
  const remote = remoteRootKeys(config, ports);
  const stored = await sharedKeyRecords(store.keys);
  const { dataDirectory } = config;
  const isNew = create && (dataDirectory === ":memory:" || !(await hasWrappedKeys(dataDirectory)));
  if (stored.length > 0 || isNew)
    return await openRecordKeys(config, ports, { store, stored, remote, pair });
  if (config.environment === "production")
    throw new KeyringError(
      `${dataDirectory} has keys of an earlier version, which production does not use: name an empty COFRE_DATA_DIR`,
    );
  return await openFileKeys(config, ports, remote.first);
}
