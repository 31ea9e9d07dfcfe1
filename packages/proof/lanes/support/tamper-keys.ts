import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { MerchantId, TokenDigest } from "../../../server/src/kernel/ids.ts";
import { instant } from "../../../server/src/kernel/instant.ts";
import { systemClock } from "../../../server/src/kernel/system-clock.ts";
import { SystemRandom } from "../../../server/src/kernel/system-random.ts";
import { KeyringError } from "../../../server/src/vault/key-provider.ts";
import { createRecordVault } from "../../../server/src/vault/record-vault.ts";
import type {
  KeyPurpose,
  KeyRecord,
  KeyState,
} from "../../../server/src/vault/records/key-record.ts";
import { RecordKeyring, sharedPurposes } from "../../../server/src/vault/records/record-keyring.ts";
import { RootKeys } from "../../../server/src/vault/records/root-wraps.ts";
import { openKeyFiles } from "../../../server/src/vault/root-key-file.ts";
import { maskOf } from "../../../server/src/vault/mask.ts";
import { VaultError } from "../../../server/src/vault/vault.ts";
import type { Place, Row } from "./tamper-database.ts";

const random = new SystemRandom();

/** The keys of an installation from its rows and its root key, read without its server. */
export interface JudgeKeys {
  /** The card's mask; undefined if these keys do not open it. */
  maskOf(card: Row): Promise<string | undefined>;
  /** Secrets that no text may contain: the root key and the keys below it, in hex and in base64. */
  readonly secrets: readonly string[];
}

export async function judgeKeysOf({ directory, writer }: Place): Promise<JudgeKeys> {
  const records = (await writer.rows("key_record")).map(recordOf);
  const [identity] = await writer.rows("identity");
  const { provider } = await openKeyFiles({
    directory,
    environment: "sandbox",
    create: false,
    random,
  });
  const shared = records.filter(({ merchant }) => merchant === undefined);
  const keyring = await RecordKeyring.open({
    roots: new RootKeys([provider], undefined),
    stored: shared,
    installation: String(identity?.["keys"]),
    records: () => ({
      shared: async () => shared,
      ofMerchant: async (id) => records.filter(({ merchant }) => merchant === id),
      commit: () => Promise.reject(new KeyringError("nothing is written here")),
      move: () => Promise.reject(new KeyringError("nothing is written here")),
    }),
    random,
    clock: systemClock,
  });
  const vault = createRecordVault({
    keys: keyring,
    tokens: keyring.derivedKey("tokens", "token digests"),
    macs: keyring.macs,
    random,
  });
  return {
    async maskOf(row) {
      const owner = {
        merchantId: hexIn(row, "merchant") as MerchantId,
        tokenDigest: hexIn(row, "token_digest") as TokenDigest,
        recordVersion: Number(row["version"]),
      };
      try {
        return await vault.use(bytesIn(row, "ref"), owner, async ({ pan }) => maskOf(pan));
      } catch (error) {
        if (error instanceof VaultError) return undefined;
        throw error;
      }
    },
    secrets: [
      ...sharedPurposes.map((purpose) => keyring.secret(purpose)),
      readFileSync(join(directory, "root.key")).subarray(-32),
    ].flatMap((secret) => [secret.toString("hex"), secret.toString("base64")]),
  };
}

function recordOf(row: Row): KeyRecord {
  const merchant = hexIn(row, "merchant");
  const wraps = JSON.parse(String(row["wraps"])) as readonly (readonly [string, string])[];
  return {
    purpose: String(row["purpose"]) as KeyPurpose,
    ...(merchant === "" ? {} : { merchant: merchant as MerchantId }),
    version: Number(row["version"]),
    state: String(row["state"]) as KeyState,
    sequence: Number(row["sequence"]),
    epoch: row["epoch"] === null ? undefined : Number(row["epoch"]),
    check: bytesIn(row, "check_value"),
    wraps: wraps.map(([root, hex]) => ({ root, bytes: Buffer.from(hex, "hex") })),
    createdAt: instant(Number(row["created_at"])),
    changedAt: instant(Number(row["changed_at"])),
    mac: bytesIn(row, "mac"),
  };
}

function bytesIn(row: Row, column: string): Uint8Array {
  const value = row[column];
  return value instanceof Uint8Array ? value : new Uint8Array(0);
}

export function hexIn(row: Row, column: string): string {
  return Buffer.from(bytesIn(row, column)).toString("hex");
}
