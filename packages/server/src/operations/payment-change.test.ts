import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as given from "../../test/contract/store-fixtures.ts";
import type { PaymentChange } from "../decisions/steps.ts";
import { BrokenInvariant } from "../kernel/assert.ts";
import type { Payment } from "../payment/payment.ts";
import type { Change } from "../stores/change.ts";
import { createMemoryStore, type MemoryStoreOptions } from "../stores/memory/memory-store.ts";
import { commitDecision } from "./commit.ts";
import { changePayment, recordPayment } from "./payment-change.ts";

/** A stored payment, and a function that changes it; `options` apply after it is stored. */
async function stored(options: MemoryStoreOptions = {}) {
  let isArmed = false;
  const store = createMemoryStore({
    commitFault: (change) => (isArmed ? options.commitFault?.(change) : undefined),
    readFails: (method) => isArmed && options.readFails?.(method) === true,
  });
  const payment = given.newPayment(1);
  await store.commit(given.paymentChange(payment));
  isArmed = true;
  return {
    store,
    payment,
    context: {
      store,
      change: <C extends Change | undefined>(decide: () => Promise<C>) =>
        commitDecision(store, decide),
    },
  };
}

const next = (payment: Payment): PaymentChange =>
  given.paymentChange({ ...payment, version: payment.version + 1 }) as PaymentChange;

describe("a change of a payment", () => {
  test("is decided on the payment as it was seen, and is what is stored then", async () => {
    const { store, context, payment } = await stored();
    const seen: Payment[] = [];
    const { payment: after, change } = await changePayment(context, payment, (current) => {
      seen.push(current);
      return next(current);
    });
    assert.equal(seen.length, 1);
    assert.equal(seen[0], payment);
    assert.equal(after, change.payment.next);
    assert.equal((await store.paymentById(given.merchantA, payment.id))?.version, 2);
  });

  test("is decided again on what is stored when another change was faster", async () => {
    const { store, context, payment } = await stored();
    await store.commit(next(payment));
    const seen: number[] = [];
    const { payment: after } = await changePayment(context, payment, (current) => {
      seen.push(current.version);
      return next(current);
    });
    assert.deepEqual([seen, after.version], [[1, 2], 3]);
  });

  test("that is none leaves the payment as it was decided on", async () => {
    const { store, context, payment } = await stored();
    assert.deepEqual(await changePayment(context, payment, () => undefined), {
      payment,
      change: undefined,
    });
    await store.commit(next(payment));
    const { payment: after, change } = await changePayment(context, payment, (current) =>
      current.version === 1 ? next(current) : undefined,
    );
    assert.deepEqual([after.version, change], [2, undefined]);
  });

  test("fails when what is stored cannot be read, or is gone", async () => {
    const { store, context, payment } = await stored({
      readFails: (method) => method === "paymentById",
    });
    await store.commit(next(payment));
    await assert.rejects(changePayment(context, payment, next), { code: "store_unavailable" });
    const { context: others } = await stored();
    await assert.rejects(
      changePayment(others, { ...given.newPayment(2), version: 1 }, (current) => next(current)),
      new BrokenInvariant("a committed payment can be read"),
    );
  });
});

describe("what an acquirer said", () => {
  test("is recorded", async () => {
    const { context, payment } = await stored();
    const { payment: after, change } = await recordPayment(context, payment, next);
    assert.deepEqual([after.version, after], [2, change?.payment.next]);
  });

  test("leaves the payment in flight when it could not be written, or may not be", async () => {
    for (const fault of [
      "unavailable",
      "overloaded",
      "commit_unknown_applied",
      "commit_unknown_not_applied",
    ] as const) {
      const { context, payment } = await stored({ commitFault: () => fault });
      assert.deepEqual(await recordPayment(context, payment, next), {
        payment,
        change: undefined,
        superseded: false,
      });
    }
  });

  test("does not hide anything else", async () => {
    const { context, payment } = await stored({ commitFault: () => "stale" });
    await assert.rejects(recordPayment(context, payment, next), { code: "payment_in_flight" });
    await assert.rejects(
      recordPayment(context, payment, () => {
        throw new TypeError("a fault");
      }),
      TypeError,
    );
  });
});
