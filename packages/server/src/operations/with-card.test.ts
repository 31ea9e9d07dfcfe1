import assert from "node:assert/strict";
import { test } from "node:test";
import * as given from "../../test/contract/store-fixtures.ts";
import { runDeclared } from "../../test/run-declared.ts";
import { cardOf } from "../../test/vectors/cards.ts";
import { connectorsOf } from "../connectors/connector-set.ts";
import { createSimulator } from "../connectors/simulator/simulator-connector.ts";
import { SystemRandom } from "../kernel/system-random.ts";
import { systemClock } from "../kernel/system-clock.ts";
import { systemScheduler } from "../kernel/system-scheduler.ts";
import { createMemoryStore } from "../stores/memory/memory-store.ts";
import type { Store } from "../stores/store.ts";
import { CvvCache } from "../vault/cvv-cache.ts";
import { Keyring } from "../vault/keyring.ts";
import { createLocalVault } from "../vault/local-vault.ts";
import {
  createMemoryKeyProvider,
  createMemoryWrappedKeyStore,
} from "../vault/memory-key-provider.ts";
import { unkeyedDigest } from "../vault/token.ts";
import { cardByToken } from "./with-card.ts";
import { Runner } from "./runner.ts";
import { tokenize } from "./tokenize.ts";

const token = "a token of the merchant's choice, stored by the version before";
const environment = "sandbox";

async function earlierInstallation() {
  const random = new SystemRandom();
  const keys = { provider: createMemoryKeyProvider(random), store: createMemoryWrappedKeyStore() };
  const keyring = await Keyring.open({
    ...keys,
    environment,
    random,
    clock: systemClock,
    create: true,
  });
  const vault = createLocalVault({
    keyring,
    environment,
    random,
    upgrade: { earlier: "read", lastUnkeyedEntry: 0 },
  });
  const store = createMemoryStore();
  const account = given.newAccount(given.merchantA);
  const earlier = { ...given.newCard(1), tokenDigest: unkeyedDigest(token) };
  await store.commit(given.cardChange(earlier));
  return { random, vault, store, account, earlier };
}

for (const readsBefore of [0, 1, 2]) {
  test(`a card that the upgrade of rows moves after ${readsBefore} reads is found`, async () => {
    const { vault, store, account, earlier } = await earlierInstallation();
    const [tokenDigest] = vault.tokenDigests(account.id, token);
    const moved = { ...earlier, tokenDigest, version: earlier.version + 1 };
    const move = async (): Promise<void> => {
      const card = { next: moved, replaces: earlier.version, from: earlier.tokenDigest };
      assert.equal((await store.commit({ ...given.cardChange(moved), card })).outcome, "committed");
    };
    let reads = 0;
    const movingStore: Pick<Store, "cardByToken"> = {
      async cardByToken(...args) {
        if (reads === readsBefore) await move();
        reads += 1;
        return store.cardByToken(...args);
      },
    };
    const found = await cardByToken({ store: movingStore, vault, account }, token);
    assert.equal(found?.createdAt, earlier.createdAt);
  });
}

test("no second card is stored under a token of an earlier version whose card is not moved yet", async () => {
  const { random, vault, store, account, earlier } = await earlierInstallation();
  const runner = new Runner({
    clock: systemClock,
    random,
    store,
    vault,
    connectors: connectorsOf([createSimulator({ clock: systemClock, scheduler: systemScheduler })]),
    cvvCache: new CvvCache(random),
    acquirerTimeoutMs: 30_000,
    endpointsOf: () => [],
    onNotificationsCommitted: () => undefined,
    alarm: () => undefined,
  });
  const keep = (chosen: string) =>
    runDeclared(runner, tokenize, account, { card: cardOf("4111111111111111"), token: chosen });
  await assert.rejects(keep(token), { code: "token_taken" });
  assert.equal((await cardByToken({ store, vault, account }, token))?.version, earlier.version);
  assert.equal((await keep("u".repeat(32))).token, "u".repeat(32), "control: another token");
});
