import { createHash, createHmac, type KeyObject } from "node:crypto";
import { join } from "node:path";
import { Secret } from "../src/kernel/secret.ts";
import { systemClock } from "../src/kernel/system-clock.ts";
import { SystemRandom } from "../src/kernel/system-random.ts";
import { readOnlyKeyRecords, sharedKeyRecords } from "../src/start/key-record-storage.ts";
import { openAuditFile } from "../src/stores/embedded/audit-file.ts";
import { openAuditDatabase } from "../src/stores/postgres/audit-database.ts";
import { RecordKeyring } from "../src/vault/records/record-keyring.ts";
import { openKeyFiles } from "../src/vault/root-key-file.ts";
import type { RowMacs } from "../src/vault/row-mac.ts";

/**
 * The keys of an installation whose first start has made this data directory: its records in
 * `databaseUrl`, or in the directory's file.
 */
async function keyringOf(directory: string, databaseUrl?: string): Promise<RecordKeyring> {
  const audit =
    databaseUrl === undefined
      ? openAuditFile(join(directory, "cofre.db"))
      : await openAuditDatabase(new Secret(databaseUrl));
  try {
    const held = await audit.keys();
    if (held === undefined) throw new Error("the installation has no key records");
    const random = new SystemRandom();
    const environment = "sandbox";
    const { provider } = await openKeyFiles({ directory, environment, create: false, random });
    return await RecordKeyring.open({
      provider,
      stored: await sharedKeyRecords(held.keys),
      installation: held.installation,
      records: () =>
        readOnlyKeyRecords({ keyRecords: async () => [], merchantKeyRecords: async () => [] }),
      random,
      clock: systemClock,
    });
  } finally {
    await audit.close();
  }
}

/** The stored digests of a merchant's token, computed independently from the installation's keys. */
export async function tokenDigestsOf(
  directory: string,
  databaseUrl?: string,
): Promise<(merchantId: string, token: string) => string> {
  const root: KeyObject = (await keyringOf(directory, databaseUrl)).derivedKey(
    "tokens",
    "token digests",
  );
  return (merchantId, token) => {
    const key = createHmac("sha256", root).update(merchantId).digest();
    return createHmac("sha256", key)
      .update(createHash("sha256").update(token).digest())
      .digest("hex");
  };
}

/** The MACs of an installation, for rows that a test writes without its server. */
export async function rowMacsOf(directory: string, databaseUrl?: string): Promise<RowMacs> {
  return (await keyringOf(directory, databaseUrl)).macs;
}
