import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Payment } from "../payment/payment.ts";
import { lowestPaymentId } from "../payment/payment-id.ts";
import { day, hour, instant, laterBy } from "../kernel/instant.ts";
import { openEmbeddedStore } from "../stores/embedded/embedded-store.ts";
import { createMemoryStore } from "../stores/memory/memory-store.ts";
import type { Store } from "../stores/store.ts";
import type { Brand } from "../vault/brand.ts";
import * as given from "../../test/contract/store-fixtures.ts";
import {
  type Counted,
  type CountInput,
  countPayments,
  countStates,
  evenBounds,
  type Group,
  maxCounted,
} from "./count-payments.ts";
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

function countedStates(store: Store) {
  const context = { store, account: given.newAccount(merchantA) } as unknown as OperationContext;
  return countStates.run(context, undefined);
}

test("payments are counted by state in the store: no payment is read", async () => {
  const store = createMemoryStore();
  const refunds = [given.newRefund(1, { amount: 900n })];
  const refunded = {
    state: "captured",
    authorized: 900n,
    captured: 900n,
    refunded: 900n,
    refunds,
  } as const;
  for (const [index, changes] of [refunded, {}, {}].entries())
    await store.commit(given.paymentChange(given.newPayment(index + 1, changes)));
  const calls: PropertyKey[] = [];
  const watched = new Proxy(store, {
    get(target, name) {
      calls.push(name);
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
  assert.deepEqual(await countedStates(watched), {
    counts: { authorizing: 2, captured: 1, refunded: 1 },
    examined: 3,
    complete: true,
  });
  assert.deepEqual(calls, ["paymentsCounted"]);
});

describe("what is counted of an account's payments", () => {
  test("falls into the periods in which they were made, and what is outside of them or another's does not count", async () => {
    const store = createMemoryStore();
    for (const [index, afterMs] of [-1, 0, hour - 1, hour, 3 * hour - 1, 3 * hour].entries()) {
      const made = payment(afterMs, index + 1);
      await store.commit(given.paymentChange(made));
      if (index % 2 === 1) await store.commit(given.paidChange(made));
    }
    await store.commit(given.paymentChange(payment(5, 77, merchantB)));
    const { periods, groups, examined, complete } = await count(store, {
      bounds: evenBounds("hour", start, laterBy(start, 3 * hour)),
      only: {},
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
      [["USD", { authorized: paid.authorized, captured: paid.captured, refunded: 0n }]],
    );
    assert.deepEqual(
      groups.brand.map(({ value, tally }) => [value, tally.payments, tally.approved]),
      [["visa", 4, 2]],
    );
    assert.deepEqual([examined, complete], [4, true]);
  });

  describe("by brand, country, currency and decline reason", () => {
    const verdict = { ...given.approval, approved: false, authorizationCode: undefined };
    const insufficient = { ...verdict, reason: "insufficient_funds" } as const;
    const expired = { ...verdict, reason: "expired_card" } as const;
    const refund = given.refundedNext(payment(0, 1), [given.newRefund(1)]);
    const back = { refunded: refund.refunded, refunds: refund.refunds, chargeback: given.dispute };
    const rows: readonly (readonly [string, string, Brand, Partial<Payment>])[] = [
      ["mx", "MXN", "visa", { state: "captured", authorized: 500n, captured: 500n }],
      ["mx", "USD", "visa", { state: "declined", verdict: insufficient }],
      ["br", "BRL", "elo", { state: "declined", verdict: expired }],
      [
        "br",
        "USD",
        "visa",
        {
          state: "captured",
          authorized: 800n,
          captured: 700n,
          ...back,
        },
      ],
      ["br", "USD", "elo", { state: "declined", verdict: insufficient }],
      // A payment that is still open is not declined, whatever its verdict.
      ["br", "USD", "elo", { state: "reversing", verdict: expired }],
    ];
    const counts = async (only: CountInput["only"]) => {
      const store = createMemoryStore();
      for (const [index, [country, currency, brand, over]] of rows.entries()) {
        const made = payment(index, index + 1);
        const { order } = made;
        await store.commit(
          given.paymentChange({
            ...made,
            order: {
              ...order,
              country,
              amount: { ...order.amount, currency },
              card: { ...given.cardIn(order), brand },
            },
            attempt: undefined,
            ...over,
          }),
        );
      }
      const { total, periods, groups, reasons } = await count(store, {
        bounds: evenBounds("hour", start, laterBy(start, hour)),
        only,
      });
      assert.deepEqual(periods[0]?.tally, total, "the only period has all of them");
      const short = (group: Group) => group.map(({ value, tally }) => `${value} ${tally.payments}`);
      return {
        total,
        brand: short(groups.brand),
        country: short(groups.country),
        currency: short(groups.currency),
        reasons: short(reasons),
      };
    };

    test("has the totals of each value, and never adds up amounts of two currencies", async () => {
      const { total, ...groups } = await counts({});
      assert.deepEqual(groups, {
        brand: ["elo 3", "visa 3"],
        country: ["br 4", "mx 2"],
        currency: ["USD 4", "BRL 1", "MXN 1"],
        reasons: ["insufficient_funds 2", "expired_card 1"],
      });
      assert.deepEqual(
        [total.payments, total.approved, total.declined, total.disputed],
        [6, 2, 3, 1],
      );
      assert.deepEqual(Object.fromEntries(total.amounts), {
        MXN: { authorized: 500n, captured: 500n, refunded: 0n },
        USD: { authorized: 800n, captured: 700n, refunded: 100n },
        BRL: { authorized: 0n, captured: 0n, refunded: 0n },
      });
    });

    test("is limited to one value, and still counts the other values of the same member", async () => {
      const { total, ...groups } = await counts({ currency: "USD" });
      assert.deepEqual(groups, {
        brand: ["elo 2", "visa 2"],
        country: ["br 3", "mx 1"],
        currency: ["USD 4", "BRL 1", "MXN 1"],
        reasons: ["insufficient_funds 2"],
      });
      assert.deepEqual([total.payments, [...total.amounts.keys()]], [4, ["USD"]]);
      const both = await counts({ currency: "USD", country: "br" });
      assert.deepEqual(both.currency, ["USD 3", "BRL 1"], "of that country");
      assert.deepEqual(both.country, ["br 3", "mx 1"], "of that currency");
      assert.deepEqual(both.brand, ["elo 2", "visa 1"]);
      assert.equal((await counts({ brand: "amex" })).total.payments, 0);
    });
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
      const input = { bounds: evenBounds("day", start, laterBy(start, day)), only: {} };
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
      const states = await countedStates(store);
      assert.deepEqual(states, {
        counts: { authorizing: maxCounted },
        examined: maxCounted,
        complete: true,
      });
      await make(maxCounted + 1, 1);
      assert.deepEqual(await countedStates(store), { ...states, complete: false });
      const most = await count(store, input);
      assert.deepEqual([most.examined, most.complete], [maxCounted, false]);
      const later = await count(store, {
        ...input,
        bounds: evenBounds("day", instant(start + day), laterBy(start, 2 * day)),
      });
      assert.deepEqual([later.examined, later.complete, later.groups.brand], [0, true, []]);
      await store.close();
    },
  );
});
