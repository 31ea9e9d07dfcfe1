import { createHash, createHmac, type KeyObject } from "node:crypto";
import { join } from "node:path";
import { Secret } from "../src/kernel/secret.ts";
import { systemClock } from "../src/kernel/system-clock.ts";
import { SystemRandom } from "../src/kernel/system-random.ts";
import { readOnlyKeyRecords, sharedKeyRecords } from "../src/start/key-record-storage.ts";
import { openAuditFile } from "../src/stores/embedded/audit-file.ts";
import { openAuditDatabase } from "../src/stores/postgres/audit-database.ts";
import { Keyring } from "../src/vault/keyring.ts";
import { RecordKeyring } from "../src/vault/records/record-keyring.ts";
import { RootKeys } from "../src/vault/records/root-wraps.ts";
import { openKeyFiles } from "../src/vault/root-key-file.ts";
import { noEarlierRows, RowMacs } from "../src/vault/row-mac.ts";

interface InstallationKeys {
  /** The key above the merchants' keys for digests of tokens. */
  readonly tokens: KeyObject;
  readonly macs: RowMacs;
}

/**
 * The keys of an installation whose first start has made this data directory: its records in
 * `databaseUrl`, or in the directory's file; those of an earlier version are in files.
 */
async function keysOf(directory: string, databaseUrl?: string): Promise<InstallationKeys> {
  const audit =
    databaseUrl === undefined
      ? openAuditFile(join(directory, "cofre.db"))
      : await openAuditDatabase(new Secret(databaseUrl));
  try {
    const held = await audit.keys();
    const stored = held === undefined ? [] : await sharedKeyRecords(held.keys);
    const [environment, random, clock] = ["sandbox", new SystemRandom(), systemClock] as const;
    const files = await openKeyFiles({ directory, environment, create: false, random });
    const { provider, store } = files;
    if (held === undefined || stored.length === 0) {
      const keyring = await Keyring.open({
        provider,
        store,
        environment,
        random,
        clock,
        create: false,
      });
      return {
        tokens: keyring.derivedKey("token digest 1"),
        macs: new RowMacs((label) => keyring.derivedKey(label), noEarlierRows),
      };
    }
    const keyring = await RecordKeyring.open({
      roots: new RootKeys([provider], undefined),
      stored,
      installation: held.installation,
      records: () =>
        readOnlyKeyRecords({ keyRecords: async () => [], merchantKeyRecords: async () => [] }),
      random,
      clock,
    });
    return { tokens: keyring.derivedKey("tokens", "token digests"), macs: keyring.macs };
  } finally {
    await audit.close();
  }
}

/** The stored digests of a merchant's token, computed independently from the installation's keys. */
export async function tokenDigestsOf(
  directory: string,
  databaseUrl?: string,
): Promise<(merchantId: string, token: string) => string> {
  const { tokens } = await keysOf(directory, databaseUrl);
  return (merchantId, token) => {
    const key = createHmac("sha256", tokens).update(merchantId).digest();
    return createHmac("sha256", key)
      .update(createHash("sha256").update(token).digest())
      .digest("hex");
  };
}

/** The MACs of an installation, for rows that a test writes without its server. */
export async function rowMacsOf(directory: string, databaseUrl?: string): Promise<RowMacs> {
  return (await keysOf(directory, databaseUrl)).macs;
}
