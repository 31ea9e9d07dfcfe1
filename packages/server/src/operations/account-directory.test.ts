import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { instant } from "../kernel/instant.ts";
import type { MerchantId } from "../kernel/ids.ts";
import type { Account, AccountSettings } from "../merchant/account.ts";
import { defaultAccountSettings } from "../merchant/settings.ts";
import { createMemoryStore } from "../stores/memory/memory-store.ts";
import type { Store } from "../stores/store.ts";
import { AccountDirectory, digestOfKey } from "./account-directory.ts";
import { accountChange } from "./sandbox-account.ts";

const id = "0a0b0c0d" as MerchantId;
const account: Account = { id, version: 1, name: "Loja", settings: defaultAccountSettings() };

async function storeWith(kept: Account): Promise<Store> {
  const store = createMemoryStore();
  await store.commit(
    accountChange(kept, undefined, instant(0), [
      { digest: digestOfKey("the key"), grants: "secret" },
    ]),
  );
  return store;
}

const still = { now: () => instant(0) };

describe("the directory of accounts", () => {
  test("finds an account by key and by id, and knows no other key", async () => {
    const directory = new AccountDirectory(await storeWith(account), still);
    assert.deepEqual(await directory.byKey("the key"), { account, grants: "secret" });
    assert.deepEqual(await directory.byId(id), account);
    assert.equal(await directory.byKey("another key"), undefined);
    assert.equal(await directory.byId("ffffffff" as MerchantId), undefined);
  });

  test("shows a changed account once it has been forgotten", async () => {
    const store = await storeWith(account);
    const directory = new AccountDirectory(store, still);
    await directory.byKey("the key");
    await directory.byId(id);
    const next: Account = {
      ...account,
      version: 2,
      settings: { ...account.settings, partialCapture: true },
    };
    await store.commit(accountChange(next, 1, instant(0), []));
    assert.deepEqual((await directory.byKey("the key"))?.account, account);
    directory.forget(id);
    assert.deepEqual(
      [(await directory.byKey("the key"))?.account, await directory.byId(id)],
      [next, next],
    );
  });

  test("shows what another process changed after two seconds, also when the clock was set back", async () => {
    for (const [laterMs, shown] of [
      [1_999, 1],
      [2_000, 2],
      [-1, 2],
    ] as const) {
      const store = await storeWith(account);
      let now = instant(1_000_000);
      const directory = new AccountDirectory(store, { now: () => now });
      await Promise.all([directory.byKey("the key"), directory.byId(id)]);
      await store.commit(accountChange({ ...account, version: 2 }, 1, instant(0), []));
      now = instant(now + laterMs);
      const versions = [
        (await directory.byKey("the key"))?.account.version,
        (await directory.byId(id))?.version,
      ];
      assert.deepEqual(versions, [shown, shown], `${laterMs}`);
    }
  });

  test("reads once for all who ask at once, and remembers nothing that was read before it was forgotten", async () => {
    const store = await storeWith(account);
    const gate = Promise.withResolvers<void>();
    let reads = 0;
    const slow = {
      accountByKey: store.accountByKey.bind(store),
      accountById: async (of: MerchantId) => {
        reads += 1;
        const found = await store.accountById(of);
        await gate.promise;
        return found;
      },
    };
    const directory = new AccountDirectory(slow, still);
    const before = Promise.all([directory.byId(id), directory.byId(id)]);
    assert.equal(reads, 1);
    await store.commit(accountChange({ ...account, version: 2 }, 1, instant(0), []));
    directory.forget(id);
    const after = directory.byId(id);
    gate.resolve();
    assert.deepEqual(
      (await before).map((each) => each?.version),
      [1, 1],
    );
    assert.equal((await after)?.version, 2);
    assert.equal((await directory.byId(id))?.version, 2);
    assert.equal(reads, 2);
  });

  test("gives an account of an earlier version the defaults of settings that are newer", async () => {
    const {
      captureWindowDays: _window,
      simulator: _simulator,
      notificationChaos: chaos,
      ...others
    } = account.settings;
    const { beforeAnswer: _beforeAnswer, ...notificationChaos } = chaos;
    const older = { ...others, notificationChaos };
    const directory = new AccountDirectory(
      await storeWith({
        ...account,
        settings: { ...older, partialCapture: true } as AccountSettings,
      }),
      still,
    );
    const expected = { ...account.settings, partialCapture: true };
    assert.deepEqual((await directory.byKey("the key"))?.account.settings, expected);
    assert.deepEqual((await directory.byId(id))?.settings, expected);
  });
});
