import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type EndpointId, newDelivery } from "../../notification/events.ts";
import { createMemoryStore } from "../../stores/memory/memory-store.ts";
import type { Store } from "../../stores/store.ts";
import * as given from "../../../test/contract/store-fixtures.ts";
import { newestInput, newestNotifications } from "./newest-notifications.ts";

const { merchantA, merchantB, start } = given;
const shop = "shop" as EndpointId;

/**
 * `count` notifications of one payment, each waiting for delivery to the shop; those in `failed`
 * have failed.
 */
async function storeWith(count: number, failed: readonly number[] = []): Promise<Store> {
  const store = createMemoryStore();
  const payment = given.newPayment(1);
  await store.commit(given.paymentChange(payment));
  for (let version = 2; version <= count + 1; version += 1) {
    const notifications = [{ kind: "update", paymentId: payment.id }] as const;
    await store.commit(
      given.paymentChange({ ...payment, version }, { notifications, endpoints: [shop] }),
    );
  }
  for (const number of failed) {
    const of = {
      merchantId: merchantA,
      endpoint: shop,
      number,
      paymentId: payment.id,
      kind: "update",
    } as const;
    const next = { ...newDelivery(of, start), version: 2, state: "failed" } as const;
    const { outcome } = await store.commit({
      merchantId: merchantA,
      at: start,
      facts: [],
      entries: [],
      notifications: [],
      deliveries: [{ next, replaces: 1 }],
    });
    assert.equal(outcome, "committed");
  }
  return store;
}

async function numbers(
  store: Store,
  input: Partial<Parameters<typeof newestNotifications>[2]>,
): Promise<readonly unknown[]> {
  const found = await newestNotifications(store, merchantA, {
    before: undefined,
    limit: 3,
    state: undefined,
    ...input,
  });
  assert.deepEqual(
    found.deliveries.map(({ number }) => number),
    found.rows.map(({ number }) => number),
    "each with its delivery",
  );
  return [found.rows.map(({ number }) => number), found.next];
}

describe("notifications from the newest down", () => {
  test("there are none of an account without notifications", async () => {
    const store = await storeWith(3);
    const found = await newestNotifications(store, merchantB, {
      before: undefined,
      limit: 3,
      state: undefined,
    });
    assert.deepEqual(found, { rows: [], deliveries: [], next: undefined });
  });

  test("the newest is found however many there are, and pages follow one another", async () => {
    for (const count of [1, 2, 3, 4, 5, 7, 8, 9, 16, 31])
      assert.deepEqual(
        (await numbers(await storeWith(count), { limit: 1 }))[0],
        [count],
        String(count),
      );
    const store = await storeWith(7);
    assert.deepEqual(await numbers(store, {}), [[7, 6, 5], 5]);
    assert.deepEqual(await numbers(store, { before: 5 }), [[4, 3, 2], 2]);
    assert.deepEqual(await numbers(store, { before: 2 }), [[1], undefined]);
    assert.deepEqual(await numbers(store, { before: 1 }), [[], undefined]);
  });

  test("those in a state are found, and no more than is asked for", async () => {
    const store = await storeWith(9, [2, 5, 6, 8]);
    assert.deepEqual(await numbers(store, { state: "failed" }), [[8, 6, 5], 5]);
    assert.deepEqual(await numbers(store, { state: "failed", before: 5 }), [[2], undefined]);
    assert.deepEqual(await numbers(store, { state: "waiting", limit: 9 }), [
      [9, 7, 4, 3, 1],
      undefined,
    ]);
    assert.deepEqual(await numbers(store, { state: "delivered" }), [[], undefined]);
  });

  test("one call reads 2,000 numbers and says where to continue", async () => {
    const store = await storeWith(2_600, [2_300, 2_299, 601, 600]);
    assert.deepEqual(await numbers(store, { state: "failed", limit: 9 }), [
      [2_300, 2_299, 601],
      601,
    ]);
    assert.deepEqual(await numbers(store, { state: "failed", limit: 9, before: 601 }), [
      [600],
      undefined,
    ]);
  });

  test("what is asked for in another way is refused", () => {
    const codeOf = (params: Readonly<Record<string, string>>): unknown => {
      const input = newestInput(params);
      return "status" in input
        ? (JSON.parse(input.body) as Record<string, unknown>)["status_code"]
        : undefined;
    };
    assert.equal(codeOf({ order: "newest" }), undefined);
    assert.equal(codeOf({ state: "failed" }), "COFRE-60");
    assert.equal(codeOf({ order: "oldest" }), "COFRE-60");
    assert.equal(codeOf({ order: "newest", state: "lost" }), "COFRE-60");
    for (const wrong of [{ limit: "0" }, { limit: "101" }, { before: "0" }, { before: "x" }])
      assert.equal(codeOf({ order: "newest", ...wrong }), "COFRE-61");
    assert.deepEqual(
      newestInput({ order: "newest", limit: "100", before: "7", state: "waiting" }),
      {
        before: 7,
        limit: 100,
        state: "waiting",
      },
    );
  });
});
