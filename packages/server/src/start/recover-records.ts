import type { RecoveredKeys } from "../cli/command.ts";
import type { Config } from "../config/settings.ts";
import { openAuditFile } from "../stores/embedded/audit-file.ts";
import { hasDatabase } from "../stores/embedded/data-folder.ts";
import { KeyringError } from "../vault/key-provider.ts";
import type { KeyRecord } from "../vault/records/key-record.ts";
import type { KeyRecords } from "../vault/records/key-records.ts";
import { RecordKeyring } from "../vault/records/record-keyring.ts";
import { checkedKey } from "../vault/records/opened-key.ts";
import { type EpochRoots, rootLabel, RootKeys } from "../vault/records/root-wraps.ts";
import type { RecoveryKey } from "../vault/recovery/recovery-key.ts";
import { RecoveryWraps } from "../vault/recovery/recovery-wraps.ts";
import type { RowMacs } from "../vault/row-mac.ts";
import { readOnlyKeyRecords, sharedKeyRecords, storedKeyRecords } from "./key-record-storage.ts";
import { databaseFileOf, openStore } from "./open-store.ts";
import { ownRandom, systemPorts } from "./ports.ts";
import { openNewRoot, openOne } from "./recovered-key.ts";

interface Held {
  readonly installation: string;
  readonly stored: readonly KeyRecord[];
}

/**
 * Opens the key records of a database with the recovery key and, with `replaceRoot`, wraps the
 * epoch keys by the root key of the settings. Without it nothing is written. Rejects with
 * KeyringError, StoreOpenError and PostgresOpenError.
 */
export async function recoverRecords(
  config: Config,
  recovery: RecoveryKey,
  replaceRoot: boolean,
): Promise<RecoveredKeys> {
  const held = await heldIn(config);
  const keys = held.stored.filter(({ purpose }) => purpose !== "roots").length;
  if (!replaceRoot) {
    const none = readOnlyKeyRecords({
      keyRecords: async () => [],
      merchantKeyRecords: async () => [],
    });
    await openWith(recovery, held, () => none);
    return { keys, secrets: 0, rootKeyId: undefined };
  }
  await using parts = new AsyncDisposableStack();
  const store = await openStore(config, { write: () => undefined }, systemPorts, parts);
  const keyring = await openWith(recovery, held, (macs) =>
    storedKeyRecords(store, systemPorts.clock, macs),
  );
  const { provider } = await openNewRoot(config, config.environment);
  const own = new RootKeys([provider], new RecoveryWraps(recovery.public));
  const roots: EpochRoots = {
    unwrap: (...call) => own.unwrap(...call),
    // A new root key may have the name of the lost one.
    wrap: (epoch, set) => own.wrap({ ...epoch, present: [] }, set),
  };
  const set = { roots: [provider.keyId], recovery: recovery.public.fingerprint };
  await keyring.changeRoots(set, config.rootKeysFingerprint ?? [], roots);
  return { keys, secrets: 0, rootKeyId: provider.keyId };
}

async function heldIn({ databaseUrl, dataDirectory }: Config): Promise<Held> {
  const file = databaseFileOf(dataDirectory);
  if (databaseUrl === undefined && !hasDatabase(file))
    throw new KeyringError(
      `${dataDirectory} has neither cofre.db nor keys.<n>.json: copy the database or the keys there`,
    );
  const audit =
    databaseUrl === undefined
      ? openAuditFile(file)
      : await (await import("../stores/postgres/audit-database.ts")).openAuditDatabase(databaseUrl);
  try {
    const held = await audit.keys();
    const stored = held === undefined ? [] : await sharedKeyRecords(held.keys);
    if (held === undefined || stored.length === 0)
      throw new KeyringError(
        `the database has no key records, and ${dataDirectory} has no file keys.<n>.json: copy the keys there`,
      );
    return { installation: held.installation, stored };
  } finally {
    await audit.close();
  }
}

/** The recovery key in place of the root key: it unwraps every epoch key that was sealed for it. */
async function openWith(
  recovery: RecoveryKey,
  { installation, stored }: Held,
  records: (macs: RowMacs) => KeyRecords,
): Promise<RecordKeyring> {
  const roots: EpochRoots = {
    wrap: () => Promise.reject(new KeyringError("shares wrap no keys")),
    async unwrap(record, id) {
      const [wrap] = record.wraps;
      const label = rootLabel(id, record.version);
      return checkedKey(record, openOne(wrap?.bytes ?? new Uint8Array(0), label, recovery), id);
    },
  };
  const { clock } = systemPorts;
  return await RecordKeyring.open({
    roots,
    records,
    stored,
    installation,
    random: ownRandom,
    clock,
  });
}
