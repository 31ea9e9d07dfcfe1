import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MerchantId } from "../../server/src/kernel/ids.ts";
import { instant } from "../../server/src/kernel/instant.ts";
import { defaultAccountSettings } from "../../server/src/merchant/settings.ts";
import { digestOfKey, withKeyMac } from "../../server/src/operations/account-directory.ts";
import { accountChange } from "../../server/src/operations/sandbox-account.ts";
import { openEmbeddedStore } from "../../server/src/stores/embedded/embedded-store.ts";
import { rowMacsOf } from "../../server/test/row-macs.ts";
import {
  integrationKey,
  publicIntegrationKey,
  startTestServer,
  type TestServer,
  testEpoch,
} from "../../server/test/server.ts";

export interface MerchantKeys {
  readonly secret: string;
  readonly public: string;
}

/** The sandbox account of the server, and two more. */
export const merchants = [
  { secret: integrationKey, public: publicIntegrationKey },
  { secret: "test_ik_second", public: "test_pk_second" },
  { secret: "test_ik_third", public: "test_pk_third" },
] as const satisfies readonly MerchantKeys[];

export interface ThreeMerchants {
  readonly server: TestServer;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * One server with three accounts, over a real database in its own folder. The two accounts are
 * written to the store, because no endpoint creates such accounts.
 */
export async function startThreeMerchants(): Promise<ThreeMerchants> {
  const folder = mkdtempSync(join(tmpdir(), "cofre-three-"));
  const environment = { COFRE_DATA_DIR: folder };
  await (await startTestServer({ environment })).cofre.close();
  const store = await openEmbeddedStore({ file: join(folder, "cofre.db") });
  const macs = await rowMacsOf(folder);
  for (const [index, keys] of merchants.slice(1).entries()) {
    // After the first one in the order of identifiers, because the first is the sandbox account.
    const id = `fffffff${index + 1}` as MerchantId;
    const account = {
      id,
      version: 1,
      name: `Merchant ${index + 2}`,
      settings: defaultAccountSettings(),
    };
    const granted = [
      withKeyMac(macs, id, { digest: digestOfKey(keys.secret), grants: "secret" }),
      withKeyMac(macs, id, { digest: digestOfKey(keys.public), grants: "public" }),
    ];
    assert.equal(
      (await store.commit(accountChange(account, undefined, instant(testEpoch), granted))).outcome,
      "committed",
    );
  }
  await store.close();
  // Another seed: the second start must not draw the identifiers of the first again.
  const server = await startTestServer({ environment, seed: "three merchants" });
  return {
    server,
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
