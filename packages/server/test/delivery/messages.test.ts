import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hour, minute, second } from "../../src/kernel/instant.ts";
import { replay } from "../../src/delivery/replay.ts";
import type { Payment } from "../../src/payment/payment.ts";
import { merchantA } from "../contract/store-fixtures.ts";
import { Chance } from "../support/chance.ts";
import { deliveriesOf, endpoint, ok, PostOffice, type Received, status } from "./post-office.ts";

/** Several payments in one message, for an endpoint that accepts them. */

const shop = (hashesPerCall: number) => endpoint("shop", { hashesPerCall });

/** `count` notifications of `count` payments, committed while nothing is sent. */
async function waiting(office: PostOffice, count: number): Promise<Payment[]> {
  const payments: Payment[] = [];
  for (let reported = 0; reported < count; reported += 1)
    payments.push(await office.event(merchantA));
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

async function allDelivered(office: PostOffice): Promise<void> {
  const states = (await deliveriesOf(office.store, merchantA)).map(({ state }) => state);
  assert.deepEqual(new Set(states), new Set(["delivered"]));
}

describe("several payments in one message", () => {
  test("go together up to the endpoint's limit, with the numbers in the order of the hashes; another endpoint hears each alone", async () => {
    const office = new PostOffice();
    office.account(merchantA, [shop(10), endpoint("books")]);
    const payments = await waiting(office, 25);
    office.start();
    await office.run(minute);

    const of = (id: string): Received[] =>
      office.received.filter(({ url }) => url.includes(`//${id}.`));
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
    await allDelivered(office);
    assert.equal(office.early, 0);
    await office.stop();
  });

  test("are of one type, and a payment is there once: its next notification waits for the message", async () => {
    const office = new PostOffice({ answer: () => ({ outcome: ok, afterMs: 500 }) });
    office.account(merchantA, [shop(10)]);
    const [first, second] = await waiting(office, 3);
    assert.ok(first !== undefined && second !== undefined);
    await office.tell(first, "refund");
    await office.tell(second, "update");
    office.start();
    await office.run(minute);
    assert.deepEqual(
      office.received.map(({ numbers }) => numbers),
      [[1, 2, 3], [4], [5]],
    );
    await office.stop();
  });

  test("what happens while a message is under way goes together with the next one", async () => {
    const office = new PostOffice({ answer: () => ({ outcome: ok, afterMs: 300 }) });
    office.account(merchantA, [shop(100)]);
    office.start();
    for (let reported = 0; reported < 30; reported += 1) {
      await office.event(merchantA);
      await office.run(10);
    }
    await office.run(minute);
    assert.equal(office.received[0]?.numbers.length, 1, "nobody waits for company");
    assert.ok(office.received.length <= 4, `${office.received.length} messages`);
    await allDelivered(office);
    await office.stop();
  });

  test("a receiver that hangs does not keep what comes later waiting for more than two seconds or so", async () => {
    let hangs = 1;
    const office = new PostOffice({
      answer: () => ({ outcome: ok, afterMs: hangs-- > 0 ? 19 * second : 20 }),
    });
    office.account(merchantA, [shop(100)]);
    office.start();
    await office.event(merchantA);
    await office.run(second);
    const late = await office.event(merchantA);
    await office.run(3 * second);
    assert.ok(office.received.some(({ hashes }) => hashes.includes(late.id)));
    await office.stop();
  });

  test("that fails is tried again whole, under its id, and given up whole", async () => {
    const office = new PostOffice({
      answer: () => ({ outcome: status(500), afterMs: 10 }),
      pollMs: minute,
    });
    office.account(merchantA, [shop(5)]);
    await waiting(office, 5);
    office.start();
    await office.run(120 * hour);
    assert.deepEqual(
      office.received.map(({ attempt }) => attempt),
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    );
    assertStable(office.received);
    const ends = (await deliveriesOf(office.store, merchantA)).map(
      ({ state, attempts, outcome }) => `${state} ${attempts} ${outcome}`,
    );
    assert.deepEqual(new Set(ends), new Set(["failed 10 500"]));
    await office.stop();
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
      const office = new PostOffice({
        answer: () => ({ outcome: isDown ? status(503) : ok, afterMs: 10 }),
      });
      office.account(merchantA, [shop(4)]);
      await waiting(office, 4);
      office.start();
      await office.run(second);
      assert.equal(office.received.length, 1);
      office.account(merchantA, [next]);
      isDown = false;
      await waiting(office, 4);
      await office.run(hour);
      assertStable(office.received);
      assert.ok(
        office.received.some(
          ({ numbers, answered }) => answered === ok && numbers.length === 4 && numbers[0] === 1,
        ),
      );
      const longest = Math.max(
        ...office.received.filter(({ number }) => number > 4).map(({ numbers }) => numbers.length),
      );
      assert.ok(longest <= (next.hashesPerCall ?? 1), `${longest} in one of the new messages`);
      await allDelivered(office);
      await office.stop();
    });
  }

  test("what was sent alone is never put together with others, however the limit is raised", async () => {
    let isDown = true;
    const office = new PostOffice({
      answer: () => ({ outcome: isDown ? status(503) : ok, afterMs: 10 }),
    });
    office.account(merchantA, [endpoint("shop")]);
    await waiting(office, 3);
    // The process dies after the receiver has answered and before the result is stored.
    office.step = (step) => step === "before commit";
    office.start();
    await office.run(second);
    assert.ok(office.received.length > 0 && !office.isRunning);
    office.step = () => false;
    office.account(merchantA, [shop(10)]);
    isDown = false;
    office.start();
    await office.run(hour);
    assertStable(office.received);
    await allDelivered(office);
    await office.stop();
  });

  test("while the endpoint is off, and is over whole when the endpoint is taken away", async () => {
    let isDown = true;
    const office = new PostOffice({
      answer: () => ({ outcome: isDown ? status(503) : ok, afterMs: 10 }),
    });
    office.account(merchantA, [shop(4)]);
    await waiting(office, 8);
    office.start();
    await office.run(100);
    const before = office.received.length;
    assert.ok(before > 0);
    office.account(merchantA, [{ ...shop(4), enabled: false }]);
    isDown = false;
    await office.run(hour);
    assert.equal(office.received.length, before);
    office.account(merchantA, []);
    await office.run(hour);
    const ends = (await deliveriesOf(office.store, merchantA)).map(
      ({ state, outcome }) => `${state} ${outcome}`,
    );
    assert.deepEqual(new Set(ends), new Set(["failed endpoint_removed"]));
    assert.equal(office.received.length, before);

    const { endpoints } = { endpoints: [shop(4)] };
    office.account(merchantA, endpoints);
    const parts = { store: office.store, clock: office.time };
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
    await office.run(minute);
    assertStable(office.received);
    await allDelivered(office);
    await office.stop();
  });

  test("when one of its payments is replayed: all of it is heard again, once, under the same id", async () => {
    const office = new PostOffice();
    office.account(merchantA, [shop(4)]);
    const payments = await waiting(office, 4);
    office.start();
    await office.run(second);
    assert.deepEqual(
      office.received.map(({ numbers }) => numbers),
      [[1, 2, 3, 4]],
    );
    const settings = {
      endpoints: office.endpointsOf(merchantA),
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
    const parts = { store: office.store, clock: office.time };
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
    office.nudge();
    await office.run(minute);
    assert.deepEqual(
      office.received.map(({ numbers }) => numbers),
      [
        [1, 2, 3, 4],
        [1, 2, 3, 4],
      ],
    );
    assert.deepEqual(await replay(parts, merchantA, settings, { from: 2, to: 3 }), {
      deliveries: 4,
      next: undefined,
    });
    office.nudge();
    await office.run(minute);
    assert.equal(office.received.length, 3);
    assertStable(office.received);
    await allDelivered(office);
    await office.stop();
  });

  test("wherever the sender dies", async () => {
    let deaths = 0;
    for (let killAt = 0; killAt < 200; killAt += 1) {
      const office = new PostOffice();
      office.account(merchantA, [shop(3)]);
      await waiting(office, 7);
      let steps = 0;
      office.step = () => (steps += 1) - 1 === killAt;
      office.start();
      await office.run(3 * second);
      const died = !office.isRunning;
      deaths += died ? 1 : 0;
      if (died) {
        // The next process has another limit.
        office.account(merchantA, [shop(1 + (killAt % 5))]);
        office.start();
      }
      await office.run(minute);
      assertStable(office.received);
      await allDelivered(office);
      assert.deepEqual(new Set(office.received.flatMap(({ numbers }) => numbers)).size, 7);
      assert.deepEqual(office.alarms, []);
      await office.stop();
      if (!died) break;
    }
    assert.ok(deaths > 15, `control: ${deaths} deaths`);
  });

  test("through receivers that fail half of the time, stores that fail, deaths, and a limit that changes all the time", async () => {
    for (const seed of [1, 2, 3]) {
      const chance = new Chance(seed);
      let quiet = false;
      const office = new PostOffice({
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
      office.account(merchantA, [shop(5), endpoint("books")]);
      office.step = () => !quiet && chance.happens(4);
      office.start();
      let payments: Payment[] = [];
      for (let reported = 0; reported < 400; reported += 1) {
        const known = chance.happens(300)
          ? payments[chance.below(Math.max(1, payments.length))]
          : undefined;
        const next = await office.tell(known ?? (await office.payment(merchantA)));
        if (next !== undefined) payments = [...payments.filter(({ id }) => id !== next.id), next];
        if (reported % 10 === 0)
          office.account(merchantA, [shop(chance.between(1, 12)), endpoint("books")]);
        if (chance.happens(300)) await office.run(chance.between(5, 800));
        if (!office.isRunning) office.start();
      }
      quiet = true;
      if (!office.isRunning) office.start();
      await office.run(6 * hour);
      await allDelivered(office);
      const toShop = office.received.filter(({ url }) => url.includes("//shop."));
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
      assert.equal(office.early, 0);
      assert.deepEqual(office.alarms, []);
      await office.stop();
    }
  });
});
