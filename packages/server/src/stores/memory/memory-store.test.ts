import assert from "node:assert/strict";
import { test } from "node:test";
import * as given from "../../../test/contract/store-fixtures.ts";
import type { Scheduler } from "../../kernel/scheduler.ts";
import { createMemoryStore } from "./memory-store.ts";
import type { CommitFault } from "./memory-store.ts";

const { merchantA } = given;
const payment = given.newPayment(1);

/**
 * A store whose first commit meets this fault, and a scheduler whose sleeps end when the test ends
 * them.
 */
function faulty(fault: CommitFault) {
  const faults = [fault];
  const sleeping: (() => void)[] = [];
  const scheduler: Scheduler = {
    sleep: () => new Promise((resolve) => void sleeping.push(resolve)),
    after: () => () => undefined,
  };
  const store = createMemoryStore({ commitFault: () => faults.shift(), scheduler, slowMs: 10 });
  const isStored = async (): Promise<boolean> =>
    (await store.paymentById(merchantA, payment.id)) !== undefined;
  const wake = (): void => sleeping.splice(0).forEach((resolve) => resolve());
  return { store, isStored, wake, change: given.paymentChange(payment) };
}

for (const code of ["unavailable", "overloaded"] as const) {
  test(`a commit that meets ${code} rejects and applies nothing; the next one is taken`, async () => {
    const { store, change, isStored } = faulty(code);

    await assert.rejects(store.commit(change), { name: "StoreError", code });
    assert.equal(await isStored(), false);
    assert.deepEqual(await store.commit(change), { outcome: "committed" });
  });
}

test("a commit that is called stale once applies nothing; the next one is taken", async () => {
  const { store, change, isStored } = faulty("stale");

  assert.deepEqual(await store.commit(change), { outcome: "stale" });
  assert.equal(await isStored(), false);
  assert.deepEqual(await store.commit(change), { outcome: "committed" });
});

test("a commit whose outcome is unknown was applied, or was not", async () => {
  for (const [fault, applied] of [
    ["commit_unknown_applied", true],
    ["commit_unknown_not_applied", false],
  ] as const) {
    const { store, change, isStored } = faulty(fault);
    await assert.rejects(store.commit(change), { code: "commit_unknown" });
    assert.equal(await isStored(), applied);
  }
});

test("a commit whose outcome is unknown may be applied later, unless something else came first", async () => {
  const alone = faulty("commit_unknown_applied_late");
  await assert.rejects(alone.store.commit(alone.change), { code: "commit_unknown" });
  assert.equal(await alone.isStored(), false);
  alone.wake();
  await Promise.resolve();
  assert.equal(await alone.isStored(), true);
  const overtaken = faulty("commit_unknown_applied_late");
  await assert.rejects(overtaken.store.commit(overtaken.change), { code: "commit_unknown" });

  await overtaken.store.commit(given.paymentChange(payment, { facts: [] }));
  overtaken.wake();
  await Promise.resolve();

  assert.deepEqual((await overtaken.store.history(merchantA, payment.id))[0]?.facts, []);
});

test("a slow commit is applied and answered when its time has passed, also when the store is closed meanwhile", async () => {
  const { store, change, isStored, wake } = faulty("slow");
  const answer = store.commit(change);
  assert.equal(await isStored(), false);

  const closed = store.close();
  wake();

  assert.deepEqual(await answer, { outcome: "committed" });
  await closed;
});

test("reads fail on demand, by the method's name", async () => {
  const store = createMemoryStore({ readFails: (method) => method === "accounts" });

  await assert.rejects(store.accounts(), { code: "unavailable" });
  assert.equal(await store.paymentById(merchantA, payment.id), undefined);
});

test("what is handed out is frozen", async () => {
  const store = createMemoryStore();
  await store.commit(given.paymentChange(payment));

  const stored = await store.paymentById(merchantA, payment.id);

  assert.ok(
    Object.isFrozen(stored) &&
      Object.isFrozen(stored?.order.customer) &&
      Object.isFrozen(stored?.order.userValues),
  );
});

test("a copy has everything, however much it is, and neither sees what is written to the other", async () => {
  const store = createMemoryStore();
  const notifications = Array.from(
    { length: 200_000 },
    () => ({ kind: "update", paymentId: payment.id }) as const,
  );
  await store.commit(given.paymentChange(payment, { notifications }));
  const copy = store.copy({});
  assert.equal(copy.size, store.size);
  assert.deepEqual(
    await copy.notificationsOf(merchantA, 199_990, 20),
    await store.notificationsOf(merchantA, 199_990, 20),
  );
  await copy.commit(given.paymentChange(given.newPayment(2)));
  assert.equal(await store.paymentById(merchantA, given.newPayment(2).id), undefined);
  assert.equal(copy.payments, 2);
  assert.equal(store.payments, 1);
});

test("changes of a payment beyond the tenth count for its size", async () => {
  const store = createMemoryStore();
  await store.commit(given.paymentChange(payment));
  const sizes: number[] = [];
  for (let version = 2; version <= 15; version += 1) {
    await store.commit(given.paymentChange({ ...payment, version }));
    sizes.push(store.size);
  }
  const [first = 0] = sizes;
  assert.deepEqual(sizes, [
    ...Array.from({ length: 9 }, () => first),
    first + 1,
    first + 2,
    first + 3,
    first + 4,
    first + 5,
  ]);
});
