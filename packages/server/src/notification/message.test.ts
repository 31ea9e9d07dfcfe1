import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { merchantA, paymentId, start } from "../../test/contract/store-fixtures.ts";
import { noChaos } from "./endpoint.ts";
import { type Delivery, type EndpointId, newDelivery, openMessage } from "./events.ts";
import { withOutcomeOfFirst, withMessageNumber, batched } from "./message.ts";

/** Notification `number` of the payment with that number, which may be combined with others. */
function open(number: number, over: Partial<Delivery> = {}): Delivery {
  const of = {
    merchantId: merchantA,
    endpoint: "shop" as EndpointId,
    number,
    paymentId: paymentId(number),
    kind: "update",
  } as const;
  return { ...newDelivery(of, start, true), ...over };
}

const numbersOf = (message: readonly Delivery[]): readonly number[] =>
  message.map(({ number }) => number);

describe("what goes together as one message", () => {
  test("is what waits of the same type, each payment once, up to the limit, in the order of the numbers", () => {
    const due = [
      open(7),
      open(2),
      open(9, { kind: "refund" }),
      open(10, { paymentId: paymentId(5) }),
      open(11, { paymentId: paymentId(2) }),
      open(12, { message: 4 }),
      open(13, { message: undefined }),
      open(3),
    ];
    assert.deepEqual(numbersOf(batched(open(5), due, 100, undefined)), [2, 3, 5, 7]);
    assert.deepEqual(numbersOf(batched(open(5), due, 3, undefined)), [2, 5, 7]);
    assert.deepEqual(numbersOf(batched(open(5), due, 2, undefined)), [5, 7]);
    assert.deepEqual(numbersOf(batched(open(5), due, 1, undefined)), [5]);
    assert.deepEqual(numbersOf(batched(open(5), [], 100, undefined)), [5]);
    // Sorted as numbers, not as texts.
    assert.deepEqual(
      numbersOf(batched(open(10), [open(9), open(100)], 100, undefined)),
      [9, 10, 100],
    );
  });

  test("is nothing else for a delivery whose message is its own, or fixed", () => {
    for (const message of [undefined, 5])
      assert.deepEqual(numbersOf(batched(open(5, { message }), [open(6)], 100, undefined)), [5]);
  });

  test("is nothing that the sandbox does something to of its own", () => {
    for (const chaos of [
      { drop: 1_000 },
      { delay: 1_000 },
      { reorder: 1_000 },
      { double: 1_000 },
      { breakSignature: 1_000 },
    ]) {
      const all = { ...noChaos, delayMs: 60_000, ...chaos };
      assert.deepEqual(
        numbersOf(batched(open(5), [open(6)], 100, all)),
        [5],
        JSON.stringify(chaos),
      );
    }
    assert.deepEqual(numbersOf(batched(open(5), [open(6)], 100, noChaos)), [5, 6]);
    assert.deepEqual(
      numbersOf(batched(open(5), [open(6)], 100, { ...noChaos, beforeAnswer: 1_000 })),
      [5, 6],
    );
  });

  test("is stored under its lowest number, in a next version of each", () => {
    assert.deepEqual(withMessageNumber([open(2), open(5)]), [
      open(2, { version: 2, message: 2 }),
      open(5, { version: 2, message: 2 }),
    ]);
  });

  test("shares whatever becomes of the first, and nothing else of it", () => {
    const became = { state: "delivered", dueAt: start, attempts: 3, outcome: "200" } as const;
    const message = [
      open(2, { version: 4 }),
      open(5, { version: 7, message: openMessage }),
    ] as const;
    assert.deepEqual(withOutcomeOfFirst([...message], open(2, { version: 9, ...became })), [
      open(2, { version: 5, ...became }),
      open(5, { version: 8, ...became }),
    ]);
  });
});
