import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hour, minute, second } from "../../src/kernel/instant.ts";
import { replay } from "../../src/delivery/replay.ts";
import type { Payment } from "../../src/payment/payment.ts";
import { merchantA } from "../contract/store-fixtures.ts";
import { Chance } from "../support/chance.ts";
import {
  deliveriesOf,
  endpoint,
  ok,
  DeliveryHarness,
  type Received,
  status,
} from "./delivery-harness.ts";

/** Several payments in one message, for an endpoint that accepts them. */

const shop = (hashesPerCall: number) => endpoint("shop", { hashesPerCall });

/** `count` notifications of `count` payments, committed while nothing is sent. */
async function waiting(harness: DeliveryHarness, count: number): Promise<Payment[]> {
  const payments: Payment[] = [];
  for (let reported = 0; reported < count; reported += 1)
    payments.push(await harness.event(merchantA));
  return payments;
}

/**
 * Messages with one id have the same numbers and hashes each time, and no other id has them; each
 * number is in one message only.
 */
function assertStable(received: readonly Received[]): void {
  const contents = new Map<string, string>();
  const messages = new Map<number, string>();
  for (const { id, numbers, hashes } of received) {
    const content = JSON.stringify([numbers, hashes]);
    assert.equal(contents.get(id) ?? content, content, "a repetition tells the same");
    contents.set(id, content);
    for (const number of numbers) {
      assert.equal(messages.get(number) ?? id, id, `number ${number} is in one message`);
      messages.set(number, id);
    }
  }
}

async function allDelivered(harness: DeliveryHarness): Promise<void> {
  const states = (await deliveriesOf(harness.store, merchantA)).map(({ state }) => state);
  assert.deepEqual(new Set(states), new Set(["delivered"]));
}

describe("several payments in one message", () => {
  test("go together up to the endpoint's limit, with the numbers in the order of the hashes; another endpoint receives each alone", async () => {
    const harness = new DeliveryHarness();
    harness.account(merchantA, [shop(10), endpoint("books")]);
    const payments = await waiting(harness, 25);
    harness.start();
    await harness.run(minute);

    const of = (id: string): Received[] =>
      harness.received.filter(({ url }) => url.includes(`//${id}.`));
    assert.deepEqual(
      of("shop").map(({ numbers }) => numbers.length),
      [10, 10, 5],
    );
    assert.deepEqual(
      of("shop").flatMap(({ numbers }) => numbers),
      Array.from({ length: 25 }, (_, index) => index + 1),
    );
    assert.deepEqual(
      of("shop").flatMap(({ hashes }) => hashes),
      payments.map(({ id }) => id),
    );
    assert.equal(of("books").length, 25);
    await allDelivered(harness);
    assert.equal(harness.early, 0);
    await harness.stop();
  });

  test("are of one type, and a payment is there once: its next notification waits for the message", async () => {
    const harness = new DeliveryHarness({ answer: () => ({ outcome: ok, afterMs: 500 }) });
    harness.account(merchantA, [shop(10)]);
    const [first, second] = await waiting(harness, 3);
    assert.ok(first !== undefined && second !== undefined);
    await harness.notify(first, "refund");
    await harness.notify(second, "update");
    harness.start();
    await harness.run(minute);
    assert.deepEqual(
      harness.received.map(({ numbers }) => numbers),
      [[1, 2, 3], [4], [5]],
    );
    await harness.stop();
  });

  test("what happens while a message is under way goes together with the next one", async () => {
    const harness = new DeliveryHarness({ answer: () => ({ outcome: ok, afterMs: 300 }) });
    harness.account(merchantA, [shop(100)]);
    harness.start();
    for (let reported = 0; reported < 30; reported += 1) {
      await harness.event(merchantA);
      await harness.run(10);
    }
    await harness.run(minute);
    assert.equal(harness.received[0]?.numbers.length, 1, "a message does not wait for others");
    assert.ok(harness.received.length <= 4, `${harness.received.length} messages`);
    await allDelivered(harness);
    await harness.stop();
  });

  test("a receiver that hangs does not keep what comes later waiting for more than two seconds or so", async () => {
    let hangs = 1;
    const harness = new DeliveryHarness({
      answer: () => ({ outcome: ok, afterMs: hangs-- > 0 ? 19 * second : 20 }),
    });
    harness.account(merchantA, [shop(100)]);
    harness.start();
    await harness.event(merchantA);
    await harness.run(second);
    const late = await harness.event(merchantA);
    await harness.run(3 * second);
    assert.ok(harness.received.some(({ hashes }) => hashes.includes(late.id)));
    await harness.stop();
  });

  test("that fails is tried again whole, under its id, and given up whole", async () => {
    const harness = new DeliveryHarness({
      answer: () => ({ outcome: status(500), afterMs: 10 }),
      pollMs: minute,
    });
    harness.account(merchantA, [shop(5)]);
    await waiting(harness, 5);
    harness.start();
    await harness.run(120 * hour);
    assert.deepEqual(
      harness.received.map(({ attempt }) => attempt),
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    );
    assertStable(harness.received);
    const ends = (await deliveriesOf(harness.store, merchantA)).map(
      ({ state, attempts, outcome }) => `${state} ${attempts} ${outcome}`,
    );
    assert.deepEqual(new Set(ends), new Set(["failed 10 500"]));
    await harness.stop();
  });
});

describe("a message that was fixed stays as it is", () => {
  for (const [what, next] of [
    ["takes fewer", shop(2)],
    ["takes one", endpoint("shop")],
    ["takes more", shop(100)],
  ] as const) {
    test(`when the endpoint ${what} before it is tried again`, async () => {
      let isDown = true;
      const harness = new DeliveryHarness({
        answer: () => ({ outcome: isDown ? status(503) : ok, afterMs: 10 }),
      });
      harness.account(merchantA, [shop(4)]);
      await waiting(harness, 4);
      harness.start();
      await harness.run(second);
      assert.equal(harness.received.length, 1);
      harness.account(merchantA, [next]);
      isDown = false;
      await waiting(harness, 4);
      await harness.run(hour);
      assertStable(harness.received);
      assert.ok(
        harness.received.some(
          ({ numbers, answered }) => answered === ok && numbers.length === 4 && numbers[0] === 1,
        ),
      );
      const longest = Math.max(
        ...harness.received.filter(({ number }) => number > 4).map(({ numbers }) => numbers.length),
      );
      assert.ok(longest <= (next.hashesPerCall ?? 1), `${longest} in one of the new messages`);
      await allDelivered(harness);
      await harness.stop();
    });
  }

  test("what was sent alone is never put together with others, however the limit is raised", async () => {
    let isDown = true;
    const harness = new DeliveryHarness({
      answer: () => ({ outcome: isDown ? status(503) : ok, afterMs: 10 }),
    });
    harness.account(merchantA, [endpoint("shop")]);
    await waiting(harness, 3);
    // The process dies after the receiver has answered and before the result is stored.
    harness.step = (step) => step === "before commit";
    harness.start();
    await harness.run(second);
    assert.ok(harness.received.length > 0 && !harness.isRunning);
    harness.step = () => false;
    harness.account(merchantA, [shop(10)]);
    isDown = false;
    harness.start();
    await harness.run(hour);
    assertStable(harness.received);
    await allDelivered(harness);
    await harness.stop();
  });

  test("while the endpoint is off, and is over whole when the endpoint is taken away", async () => {
    let isDown = true;
    const harness = new DeliveryHarness({
      answer: () => ({ outcome: isDown ? status(503) : ok, afterMs: 10 }),
    });
    harness.account(merchantA, [shop(4)]);
    await waiting(harness, 8);
    harness.start();
    await harness.run(100);
    const before = harness.received.length;
    assert.ok(before > 0);
    harness.account(merchantA, [{ ...shop(4), enabled: false }]);
    isDown = false;
    await harness.run(hour);
    assert.equal(harness.received.length, before);
    harness.account(merchantA, []);
    await harness.run(hour);
    const ends = (await deliveriesOf(harness.store, merchantA)).map(
      ({ state, outcome }) => `${state} ${outcome}`,
    );
    assert.deepEqual(new Set(ends), new Set(["failed endpoint_removed"]));
    assert.equal(harness.received.length, before);

    const { endpoints } = { endpoints: [shop(4)] };
    harness.account(merchantA, endpoints);
    const parts = { store: harness.store, clock: harness.time };
    const settings = {
      endpoints,
      chaos: {
        seed: "",
        drop: 0,
        delay: 0,
        reorder: 0,
        delayMs: 0,
        double: 0,
        breakSignature: 0,
        beforeAnswer: 0,
      },
    };
    assert.deepEqual(await replay(parts, merchantA, settings, { failedFrom: 1 }), {
      deliveries: 8,
      next: undefined,
    });
    await harness.run(minute);
    assertStable(harness.received);
    await allDelivered(harness);
    await harness.stop();
  });

  test("when one of its payments is replayed: all of it is received again, once, under the same id", async () => {
    const harness = new DeliveryHarness();
    harness.account(merchantA, [shop(4)]);
    const payments = await waiting(harness, 4);
    harness.start();
    await harness.run(second);
    assert.deepEqual(
      harness.received.map(({ numbers }) => numbers),
      [[1, 2, 3, 4]],
    );
    const settings = {
      endpoints: harness.endpointsOf(merchantA),
      chaos: {
        seed: "",
        drop: 0,
        delay: 0,
        reorder: 0,
        delayMs: 0,
        double: 0,
        breakSignature: 0,
        beforeAnswer: 0,
      },
    };
    const parts = { store: harness.store, clock: harness.time };
    const third = payments[2]?.id;
    assert.ok(third !== undefined);
    assert.deepEqual(await replay(parts, merchantA, settings, { paymentId: third }), {
      deliveries: 4,
      next: undefined,
    });
    assert.equal(
      (await replay(parts, merchantA, settings, { paymentId: third })).deliveries,
      0,
      "it waits already",
    );
    harness.nudge();
    await harness.run(minute);
    assert.deepEqual(
      harness.received.map(({ numbers }) => numbers),
      [
        [1, 2, 3, 4],
        [1, 2, 3, 4],
      ],
    );
    assert.deepEqual(await replay(parts, merchantA, settings, { from: 2, to: 3 }), {
      deliveries: 4,
      next: undefined,
    });
    harness.nudge();
    await harness.run(minute);
    assert.equal(harness.received.length, 3);
    assertStable(harness.received);
    await allDelivered(harness);
    await harness.stop();
  });

  test("wherever the sender dies", async () => {
    let deaths = 0;
    for (let killAt = 0; killAt < 200; killAt += 1) {
      const harness = new DeliveryHarness();
      harness.account(merchantA, [shop(3)]);
      await waiting(harness, 7);
      let steps = 0;
      harness.step = () => (steps += 1) - 1 === killAt;
      harness.start();
      await harness.run(3 * second);
      const died = !harness.isRunning;
      deaths += died ? 1 : 0;
      if (died) {
        // The next process has another limit.
        harness.account(merchantA, [shop(1 + (killAt % 5))]);
        harness.start();
      }
      await harness.run(minute);
      assertStable(harness.received);
      await allDelivered(harness);
      assert.deepEqual(new Set(harness.received.flatMap(({ numbers }) => numbers)).size, 7);
      assert.deepEqual(harness.alarms, []);
      await harness.stop();
      if (!died) break;
    }
    assert.ok(deaths > 15, `control: ${deaths} deaths`);
  });

  test("through receivers that fail half of the time, stores that fail, deaths, and a limit that changes all the time", async () => {
    for (const seed of [1, 2, 3]) {
      const chance = new Chance(seed);
      let quiet = false;
      const harness = new DeliveryHarness({
        seed,
        answer: () => {
          const fails = !quiet && chance.happens(500);
          return {
            outcome: fails ? status(500) : ok,
            afterMs: !quiet && chance.happens(50) ? hour : chance.between(1, 60),
          };
        },
        store: {
          commitFault: ({ deliveries = [] }) => {
            if (quiet || deliveries.length === 0 || !chance.happens(60)) return undefined;
            return (
              [
                "unavailable",
                "stale",
                "commit_unknown_applied",
                "commit_unknown_not_applied",
                "commit_unknown_applied_late",
              ] as const
            )[chance.below(5)];
          },
          readFails: () => !quiet && chance.happens(5),
          slowMs: 20,
        },
      });
      harness.account(merchantA, [shop(5), endpoint("books")]);
      harness.step = () => !quiet && chance.happens(4);
      harness.start();
      let payments: Payment[] = [];
      for (let reported = 0; reported < 400; reported += 1) {
        const known = chance.happens(300)
          ? payments[chance.below(Math.max(1, payments.length))]
          : undefined;
        const next = await harness.notify(known ?? (await harness.payment(merchantA)));
        if (next !== undefined) payments = [...payments.filter(({ id }) => id !== next.id), next];
        if (reported % 10 === 0)
          harness.account(merchantA, [shop(chance.between(1, 12)), endpoint("books")]);
        if (chance.happens(300)) await harness.run(chance.between(5, 800));
        if (!harness.isRunning) harness.start();
      }
      quiet = true;
      if (!harness.isRunning) harness.start();
      await harness.run(6 * hour);
      await allDelivered(harness);
      const toShop = harness.received.filter(({ url }) => url.includes("//shop."));
      assertStable(toShop);
      assert.ok(
        toShop.some(({ numbers }) => numbers.length > 3),
        "control: some went together",
      );
      assert.ok(
        toShop.some(({ attempt, numbers }) => attempt > 1 && numbers.length > 1),
        "control: some of those were tried again",
      );
      const before = new Map<string, number>();
      for (const { numbers, hashes } of toShop) {
        for (const [index, hash] of hashes.entries()) {
          const number = numbers[index] ?? 0;
          assert.ok(number >= (before.get(hash) ?? 0), "a payment's notifications come in order");
          before.set(hash, number);
        }
      }
      assert.equal(harness.early, 0);
      assert.deepEqual(harness.alarms, []);
      await harness.stop();
    }
  });
});
