import { systemClock } from "../src/kernel/system-clock.ts";
import { SystemRandom } from "../src/kernel/system-random.ts";
import { Keyring } from "../src/vault/keyring.ts";
import { openKeyFiles } from "../src/vault/root-key-file.ts";
import { noEarlierRows, RowMacs } from "../src/vault/row-mac.ts";

/** The MACs of an installation whose first start has made this data directory: for rows that a test writes past its server. */
export async function rowMacsOf(directory: string): Promise<RowMacs> {
  const environment = "sandbox";
  const random = new SystemRandom();
  const { provider, store } = await openKeyFiles({ directory, environment, create: false, random });
  const keyring = await Keyring.open({ provider, store, environment, random, clock: systemClock, create: false });
  return new RowMacs((label) => keyring.derivedKey(label), noEarlierRows);
}
