import assert from "node:assert/strict";
import { test } from "node:test";
import * as given from "../../test/contract/store-fixtures.ts";
import type { Change } from "../stores/change.ts";
import { createMemoryStore } from "../stores/memory/memory-store.ts";
import { changeSettings } from "./change-settings.ts";
import type { OperationContext } from "./operation.ts";
import { accountChange } from "./sandbox-account.ts";

test("changing an account's settings reads that account alone, however many there are", async () => {
  const store = createMemoryStore({ readFails: (method) => method === "accounts" });
  const account = given.newAccount(given.merchantA);
  for (const each of [account, given.newAccount(given.merchantB)])
    await store.commit(accountChange(each, undefined, given.start, []));
  const change = async <C extends Change | undefined>(decide: () => Promise<C>): Promise<C> => {
    const decided = await decide();
    assert.ok(decided !== undefined);
    assert.deepEqual(await store.commit(decided), { outcome: "committed" });
    return decided;
  };
  // The operation uses no other part of the context.
  const context = {
    store,
    account,
    change,
    clock: { now: () => given.start },
  } as unknown as OperationContext;
  const changed = await changeSettings.run(context, (settings) => ({
    ...settings,
    descriptor: "SHOP",
  }));
  assert.deepEqual([changed.version, changed.settings.descriptor], [account.version + 1, "SHOP"]);
  assert.deepEqual(await store.accountById(given.merchantA), changed);
  assert.equal((await store.accountById(given.merchantB))?.version, account.version);
});
