import { reading } from "./permission.ts";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { StillTime } from "../../test/contract/connector-harness.ts";
import * as given from "../../test/contract/store-fixtures.ts";
import { connectorsOf } from "../connectors/connector-set.ts";
import { createSimulator } from "../connectors/simulator/simulator-connector.ts";
import { SeededRandom } from "../kernel/seeded-random.ts";
import { defaultAccountSettings } from "../merchant/settings.ts";
import { IdempotentRequests } from "../operations/idempotent-requests.ts";
import { Runner } from "../operations/runner.ts";
import { createMemoryStore } from "../stores/memory/memory-store.ts";
import { CvvCache } from "../vault/cvv-cache.ts";
import { Keyring } from "../vault/keyring.ts";
import { createLocalVault } from "../vault/local-vault.ts";
import {
  createMemoryKeyProvider,
  createMemoryWrappedKeyStore,
} from "../vault/memory-key-provider.ts";
import type { WireRequest } from "./endpoint.ts";
import { commonErrors } from "./answers/errors.ts";
import { idempotent } from "./idempotency.ts";
import type { TreeObject } from "./decode/tree.ts";

/** Sends requests to an endpoint at `path`, and returns the digests with which they reached it. */
async function namesAt(
  path: string,
  ...sent: readonly (readonly [key: string, params: TreeObject])[]
): Promise<(string | undefined)[]> {
  const [clock, random, store] = [new StillTime(), new SeededRandom("names"), createMemoryStore()];
  const keys = { provider: createMemoryKeyProvider(random), store: createMemoryWrappedKeyStore() };
  const keyring = await Keyring.open({ ...keys, clock, random, environment: "test", create: true });
  const runner = new Runner({
    clock,
    random,
    store,
    vault: createLocalVault({ keyring, environment: "test", random }),
    connectors: connectorsOf([createSimulator({ clock, scheduler: clock })]),
    cvvCache: new CvvCache(random),
    acquirerTimeoutMs: 30_000,
    endpointsOf: () => [],
    onNotificationsCommitted: () => undefined,
    alarm: () => undefined,
  });
  const names: (string | undefined)[] = [];
  const handle = async ({ named }: WireRequest) => {
    names.push(named?.digest);
    return { status: 200, body: "{}", keep: false };
  };
  const row = {
    path,
    doc: "page",
    key: "secret",
    permission: reading,
    recorded: false,
    family: "json",
    cors: false,
    handle,
  } as const;
  const endpoint = idempotent(row, commonErrors, {
    requests: new IdempotentRequests(store, clock, { isAlone: true }),
    runner,
  });
  const account = { ...given.newAccount(given.merchantA), settings: defaultAccountSettings() };
  for (const [idempotencyKey, params] of sent) {
    const headers = { idempotencyKey } as WireRequest["headers"];
    await endpoint.handle({ method: "POST", params, headers, account, grants: "secret" });
  }
  return names;
}

describe("the name of a request with an Idempotency-Key", () => {
  test("is the same for the same request, and another for another key, other content or another endpoint", async () => {
    const [first, again, otherKey] = await namesAt(
      "/ws/capture",
      ["one", { amount: "40.00" }],
      ["one", { amount: "40.00" }],
      ["two", { amount: "40.00" }],
    );
    const [otherContent] = await namesAt("/ws/capture", ["one", { amount: "41.00" }]);
    const [otherEndpoint] = await namesAt("/ws/cancel", ["one", { amount: "40.00" }]);
    const [elsewhere] = await namesAt("/ws/capture", ["one", { amount: "40.00" }]);
    assert.match(first ?? "", /^[0-9a-f]{64}$/);
    assert.deepEqual([again, elsewhere], [first, first], "a later process knows it again");
    assert.equal(new Set([first, otherKey, otherContent, otherEndpoint]).size, 4);
  });
});
