import { createHash, createHmac } from "node:crypto";
import { systemClock } from "../src/kernel/system-clock.ts";
import { SystemRandom } from "../src/kernel/system-random.ts";
import { Keyring } from "../src/vault/keyring.ts";
import { openKeyFiles } from "../src/vault/root-key-file.ts";
import { noEarlierRows, RowMacs } from "../src/vault/row-mac.ts";

async function keyringOf(directory: string): Promise<Keyring> {
  const environment = "sandbox";
  const random = new SystemRandom();
  const { provider, store } = await openKeyFiles({ directory, environment, create: false, random });
  return Keyring.open({ provider, store, environment, random, clock: systemClock, create: false });
}

/**
 * The stored digests of a merchant's token, computed independently from the keys in the data
 * directory.
 */
export async function tokenDigestsOf(
  directory: string,
): Promise<(merchantId: string, token: string) => string> {
  const root = (await keyringOf(directory)).derivedKey("token digest 1");
  return (merchantId, token) => {
    const key = createHmac("sha256", root).update(merchantId).digest();
    return createHmac("sha256", key)
      .update(createHash("sha256").update(token).digest())
      .digest("hex");
  };
}

/**
 * The MACs of an installation whose first start has made this data directory: for rows that a test
 * writes without its server.
 */
export async function rowMacsOf(directory: string): Promise<RowMacs> {
  const keyring = await keyringOf(directory);
  return new RowMacs((label) => keyring.derivedKey(label), noEarlierRows);
}
