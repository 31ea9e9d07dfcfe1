import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { lowestPaymentId } from "../payment/payment-id.ts";
import { day, hour, instant, laterBy } from "../kernel/instant.ts";
import { openEmbeddedStore } from "../stores/embedded/embedded-store.ts";
import { createMemoryStore } from "../stores/memory/memory-store.ts";
import type { Store } from "../stores/store.ts";
import * as given from "../../test/contract/store-fixtures.ts";
import { type Counted, type CountInput, countPayments, maxCounted } from "./count-payments.ts";
import type { OperationContext } from "./operation.ts";

const { merchantA, merchantB, start } = given;

/**
 * A payment that many milliseconds after the start, with a realistic id, which begins with the
 * time.
 */
function payment(afterMs: number, number: number, merchantId = merchantA) {
  const createdAt = laterBy(start, afterMs);
  const id = (lowestPaymentId(createdAt).slice(0, 12) +
    given.paymentId(number).slice(12)) as ReturnType<typeof given.paymentId>;
  return given.newPayment(number, { merchantId, createdAt, id });
}

function count(store: Store, input: CountInput): Promise<Counted> {
  // The operation uses no other part of the context.
  return countPayments.run(
    { store, account: given.newAccount(merchantA) } as unknown as OperationContext,
    input,
  );
}

describe("what is counted of an account's payments", () => {
  test("falls into the periods in which they were made, and what is outside of them or another's does not count", async () => {
    const store = createMemoryStore();
    for (const [index, afterMs] of [-1, 0, hour - 1, hour, 3 * hour - 1, 3 * hour].entries()) {
      const made = payment(afterMs, index + 1);
      await store.commit(given.paymentChange(made));
      if (index % 2 === 1) await store.commit(given.paidChange(made));
    }
    await store.commit(given.paymentChange(payment(5, 77, merchantB)));
    const { periods, brands, examined, complete } = await count(store, {
      per: "hour",
      from: start,
      to: laterBy(start, 3 * hour),
    });
    assert.deepEqual(
      periods.map(({ from, tally }) => [
        from - start,
        tally.payments,
        tally.approved,
        tally.declined,
      ]),
      [
        [0, 2, 1, 0],
        [hour, 1, 1, 0],
        [2 * hour, 1, 0, 0],
      ],
    );
    const paid = given.paidNext(payment(0, 2));
    assert.deepEqual(
      [...(periods[0]?.tally.amounts ?? [])],
      [["USD", { authorized: paid.authorized, captured: paid.captured }]],
    );
    assert.deepEqual(
      brands.map(({ brand, tally }) => [brand, tally.payments, tally.approved]),
      [["visa", 4, 2]],
    );
    assert.deepEqual([examined, complete], [4, true]);
  });

  test(
    "is of the 10,000 newest payments at most, and takes little",
    { timeout: 120_000 },
    async (context) => {
      const store = await openEmbeddedStore({ file: ":memory:" });
      const make = async (first: number, numbers: number): Promise<void> => {
        await Promise.all(
          Array.from({ length: numbers }, (_, index) =>
            store.commit(given.paymentChange(payment(first + index, first + index))),
          ),
        );
      };
      for (let first = 1; first <= maxCounted; first += 500) await make(first, 500);
      const input = { per: "day", from: start, to: laterBy(start, day) } as const;
      const all = await count(store, input);
      assert.deepEqual(
        [all.examined, all.complete, all.periods[0]?.tally.payments],
        [maxCounted, true, maxCounted],
      );
      let least = Number.POSITIVE_INFINITY;
      for (let round = 0; round < 5; round += 1) {
        const before = process.threadCpuUsage();
        await count(store, input);
        const { user, system } = process.threadCpuUsage(before);
        least = Math.min(least, (user + system) / 1_000);
      }
      context.diagnostic(`${maxCounted} payments: ${least} ms of CPU`);
      assert.ok(least < 100, `${least} ms of CPU`);
      await make(maxCounted + 1, 1);
      const most = await count(store, input);
      assert.deepEqual([most.examined, most.complete], [maxCounted, false]);
      const later = await count(store, {
        ...input,
        from: instant(start + day),
        to: laterBy(start, 2 * day),
      });
      assert.deepEqual([later.examined, later.complete, later.brands], [0, true, []]);
      await store.close();
    },
  );
});
