import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { everySlot, slotCount, slotOf } from "../../src/kernel/slot.ts";
import { instant } from "../../src/kernel/instant.ts";
import type { EndpointId } from "../../src/notification/events.ts";
import type { Store } from "../../src/stores/store.ts";
import * as given from "./store-fixtures.ts";

const leaseMs = 60_000;
const nodes = [
  "0000000000000001",
  "0000000000000002",
  "0000000000000003",
  "0000000000000004",
  "0000000000000005",
] as const;
const [first, second, third] = nodes;

/** Slot promises of a store that several processes share. */
export function describeSlots(name: string, open: () => Promise<Store>): void {
  describe(`${name} deals the slots to the nodes that live`, () => {
    test("one alone holds all; a second one gets what the first gives back, and no more than its share", async (context) => {
      const store = await open();
      context.after(() => store.close());
      const all = Array.from(everySlot);
      assert.deepEqual(await store.renewSlots(second, leaseMs, []), {
        slots: all,
        share: 32,
        nodes: 1,
      });
      assert.deepEqual(await store.renewSlots(first, leaseMs, []), {
        slots: [],
        share: 16,
        nodes: 2,
      });
      assert.deepEqual(
        await store.renewSlots(second, leaseMs, []),
        { slots: all, share: 16, nodes: 2 },
        "nothing is taken away from who lives",
      );
      assert.deepEqual(await store.renewSlots(second, leaseMs, [31, 30, 0]), {
        slots: all.slice(1, 30),
        share: 16,
        nodes: 2,
      });
      assert.deepEqual(
        await store.renewSlots(first, leaseMs, [5]),
        { slots: [0, 30, 31], share: 16, nodes: 2 },
        "nobody gives back another's",
      );
      await store.renewSlots(second, leaseMs, all.slice(1, 14));
      assert.deepEqual((await store.renewSlots(first, leaseMs, [])).slots, [
        ...all.slice(0, 14),
        30,
        31,
      ]);
      assert.deepEqual((await store.renewSlots(second, leaseMs, [])).slots, all.slice(14, 30));
    });

    test("shares add up to all slots, whatever the number of nodes", async (context) => {
      const store = await open();
      context.after(() => store.close());
      for (let count = 1; count <= nodes.length; count += 1) {
        const living = nodes.slice(0, count);
        for (const node of living) await store.renewSlots(node, leaseMs, []);
        const held = await Promise.all(living.map((node) => store.renewSlots(node, leaseMs, [])));
        const shares = held.map(({ share }) => share);
        assert.equal(
          shares.reduce((sum, share) => sum + share),
          slotCount,
        );
        assert.ok(Math.max(...shares) - Math.min(...shares) <= 1, shares.join());
        assert.ok(held.every((each) => each.nodes === count));
      }
    });

    test("a node whose lease has run out counts no longer, and what it held is free", async (context) => {
      const store = await open();
      context.after(() => store.close());
      await store.renewSlots(first, leaseMs, []);
      await store.renewSlots(second, leaseMs, []);
      await store.renewSlots(first, leaseMs, Array.from(everySlot).slice(16));
      assert.deepEqual(
        (await store.renewSlots(second, 0, [])).slots.length,
        16,
        "it asks, and is dead at once",
      );
      assert.deepEqual(await store.renewSlots(third, leaseMs, []), {
        slots: Array.from(everySlot).slice(16),
        share: 16,
        nodes: 2,
      });
      // If it is still alive, it learns that it holds nothing.
      assert.deepEqual((await store.renewSlots(second, leaseMs, [])).slots, []);
      assert.deepEqual(
        (await store.renewSlots(first, 0, [])).slots,
        Array.from(everySlot).slice(0, 16),
      );
      assert.deepEqual(
        (await store.renewSlots(second, leaseMs, [])).slots,
        Array.from(everySlot).slice(0, 16),
      );
    });

    test("a node whose lease has run out keeps slots that no other node has taken", async (context) => {
      const store = await open();
      context.after(() => store.close());
      await store.renewSlots(first, 0, []);
      assert.deepEqual((await store.renewSlots(first, leaseMs, [])).slots.length, slotCount);
    });

    test("a node that leaves holds nothing at once, and one that was never there may leave", async (context) => {
      const store = await open();
      context.after(() => store.close());
      await store.renewSlots(first, leaseMs, []);
      await store.releaseSlots(second);
      assert.deepEqual((await store.renewSlots(third, leaseMs, [])).slots, []);
      await store.releaseSlots(first);
      assert.deepEqual(await store.renewSlots(third, leaseMs, []), {
        slots: Array.from(everySlot),
        share: slotCount,
        nodes: 1,
      });
    });

    test("nodes that ask at once never hold the same slot", async (context) => {
      const store = await open();
      context.after(() => store.close());
      for (let round = 0; round < 5; round += 1) {
        const held = await Promise.all(
          nodes.map((node) => store.renewSlots(node, leaseMs, [round, 31 - round])),
        );
        const again = await Promise.all(nodes.map((node) => store.renewSlots(node, leaseMs, [])));
        for (const answers of [held, again])
          assert.ok(answers.every(({ slots }) => slots.length <= slotCount));
        const slots = again.flatMap((answer) => answer.slots);
        assert.equal(new Set(slots).size, slots.length);
      }
    });
  });

  describe(`${name} keeps what the clocks of nodes showed`, () => {
    test("each node reads the others' that count as right, and the latest of all", async (context) => {
      const store = await open();
      context.after(() => store.close());
      const read = (node: string) => store.clockReadings?.(node);
      assert.deepEqual(await read(first), { others: [], last: undefined });
      await store.noteClock?.(first, 60_000);
      assert.deepEqual(await read(first), { others: [], last: 60_000 });
      await store.noteClock?.(second, -7);
      await store.noteClock?.(third, 5);
      assert.deepEqual(await read(first), { others: [-7, 5], last: 5 });
      await store.noteClock?.(second, 9);
      assert.deepEqual(await read(first), { others: [5, 9], last: 9 });
      assert.deepEqual(await read(third), { others: [9, 60_000], last: 9 });
    });

    test("a node whose clock is off, or that is gone, is not among the others; what it noted last may still be the latest", async (context) => {
      const store = await open();
      context.after(() => store.close());
      await store.noteClock?.(first, 1);
      await store.noteClock?.(second, 2);
      await store.noteClock?.(second, undefined);
      await store.noteClock?.(third, undefined);
      assert.deepEqual(await store.clockReadings?.(first), { others: [], last: 2 });
      await store.noteClock?.(second, 3);
      assert.deepEqual(await store.clockReadings?.(first), { others: [3], last: 3 });
    });
  });
}

/** Promises of every store about reads for some slots. */
export function describeSlotReads(name: string, open: () => Promise<Store>): void {
  describe(`${name} reads what is due slot by slot`, () => {
    /** One merchant in each slot. */
    const merchants = Array.from({ length: slotCount }, (_, number) =>
      given.merchantId(number * 256 + ((number * 5) % 256)),
    );

    test("payments: of the slots asked for, and on from a payment, also among those due at the same time", async (context) => {
      const store = await open();
      context.after(() => store.close());
      const due = async (
        number: number,
        merchantId: (typeof merchants)[number],
        ms: number,
      ): Promise<void> => {
        const attempt = given.newAttempt({ recheckAt: instant(given.start + ms) });
        await store.commit(given.paymentChange(given.newPayment(number, { merchantId, attempt })));
      };
      for (const [number, merchantId] of merchants.entries())
        await due(number + 1, merchantId, Math.floor(number / 4));
      const now = instant(given.start + 100);
      const whole = await store.paymentsDue(now, 100);
      assert.equal(whole.length, slotCount);
      for (const wanted of [[], [0], [31], [1, 2, 3, 30], Array.from(everySlot)]) {
        const slots = new Set(wanted);
        const expected = whole.filter(({ merchantId }) => slots.has(slotOf(merchantId)));
        assert.deepEqual(await store.paymentsDue(now, 100, slots), expected, wanted.join());
        assert.deepEqual(
          await store.paymentsDue(now, 2, slots),
          expected.slice(0, 2),
          wanted.join(),
        );
        for (const [index, payment] of expected.entries()) {
          assert.deepEqual(
            await store.paymentsDue(now, 3, slots, payment),
            expected.slice(index + 1, index + 4),
            `after ${index}`,
          );
        }
      }
      // The position is that of the read, which may be later by now.
      const [seen] = whole;
      assert.ok(seen !== undefined);
      const later = {
        ...seen,
        version: 2,
        attempt: given.newAttempt({ recheckAt: instant(given.start + 99) }),
      };
      await store.commit(given.paymentChange(later));
      const after = await store.paymentsDue(now, 100, everySlot, seen);
      assert.deepEqual(
        [after.length, after[0]?.id, after.at(-1)?.id],
        [slotCount, whole[1]?.id, seen.id],
      );
    });

    test("merchants with deliveries: of the slots asked for", async (context) => {
      const store = await open();
      context.after(() => store.close());
      const shop = "shop" as EndpointId;
      for (const merchantId of merchants) {
        const payment = given.newPayment(1, { merchantId });
        const notified = {
          notifications: [{ kind: "update" as const, paymentId: payment.id }],
          endpoints: [shop],
        };
        await store.commit(given.paymentChange(payment, notified));
      }
      const now = instant(given.start + 1_000_000);
      const whole = await store.merchantsDue(now, undefined, 100);
      assert.equal(whole.length, slotCount);
      for (const wanted of [[], [0], [31], [1, 2, 3, 30]]) {
        const slots = new Set(wanted);
        const expected = whole.filter(({ merchantId }) => slots.has(slotOf(merchantId)));
        assert.deepEqual(
          await store.merchantsDue(now, undefined, 100, slots),
          expected,
          wanted.join(),
        );
        assert.deepEqual(
          await store.merchantsDue(now, expected[0], 2, slots),
          expected.slice(1, 3),
          wanted.join(),
        );
      }
    });
  });
}
