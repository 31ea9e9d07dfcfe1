import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { day, hour, minute, second } from "../../src/kernel/instant.ts";
import { urlEndpoint } from "../../src/notification/endpoint.ts";
import type { Payment } from "../../src/payment/payment.ts";
import { noChaos } from "../../src/notification/endpoint.ts";
import { replay } from "../../src/delivery/replay.ts";
import { merchantA, merchantB, merchantId } from "../contract/store-fixtures.ts";
import {
  deliveriesOf,
  endpoint,
  ok,
  DeliveryHarness,
  type Received,
  status,
} from "./delivery-harness.ts";

const hanging = { outcome: ok, afterMs: hour };

function to(harness: DeliveryHarness, id: string): Received[] {
  return harness.received.filter(({ url }) => url.includes(`//${id}.`));
}

describe("a notification", () => {
  test("reaches each endpoint of its account once, at once, and no other", async () => {
    const harness = new DeliveryHarness();
    harness.account(merchantA, [endpoint("shop"), endpoint("books")]);
    harness.account(merchantB, [endpoint("other")]);
    harness.start();
    const begun = harness.time.now();
    const payment = await harness.event(merchantA);
    await harness.run(minute);

    assert.equal(harness.received.length, 2);
    for (const { hash, number, attempt, at } of harness.received) {
      assert.deepEqual([hash, number, attempt], [payment.id, 1, 1]);
      assert.ok(at - begun < 50);
    }
    assert.deepEqual(harness.received.map(({ url }) => url).sort(), [
      "https://books.example/notify",
      "https://shop.example/notify",
    ]);
    assert.equal(new Set(harness.received.map(({ id }) => id)).size, 2);
    assert.deepEqual(
      (await deliveriesOf(harness.store, merchantA)).map(({ state, attempts, outcome }) => [
        state,
        attempts,
        outcome,
      ]),
      [
        ["delivered", 1, "200"],
        ["delivered", 1, "200"],
      ],
    );
    await harness.stop();
  });

  test("goes to the payment's own address alone, when it has one", async () => {
    const harness = new DeliveryHarness();
    harness.account(merchantA, [endpoint("shop")]);
    harness.start();
    await harness.event(merchantA, "https://order.example/17");
    await harness.run(minute);

    assert.deepEqual(
      harness.received.map(({ url }) => url),
      ["https://order.example/17"],
    );
    const [delivery] = await deliveriesOf(harness.store, merchantA);
    assert.equal(delivery?.endpoint, urlEndpoint("https://order.example/17"));
    await harness.stop();
  });

  test("of an account without endpoints is kept and leads to no delivery", async () => {
    const harness = new DeliveryHarness();
    harness.account(merchantA, []);
    harness.start();
    await harness.event(merchantA);
    await harness.run(minute);

    assert.equal((await harness.store.notificationsOf(merchantA, 0, 10)).length, 1);
    assert.deepEqual(await deliveriesOf(harness.store, merchantA), []);
    assert.equal(harness.received.length, 0);
    await harness.stop();
  });

  test("of a change that was not committed is never sent", async () => {
    const refused: string[] = [];
    const harness = new DeliveryHarness({
      store: {
        commitFault: ({ notifications }) => {
          if (notifications.length === 0 || refused.length > 0) return undefined;
          refused.push("once");
          return "unavailable";
        },
      },
    });
    harness.account(merchantA, [endpoint("shop")]);
    harness.start();
    const payment = await harness.payment(merchantA);
    assert.equal(await harness.notify(payment), undefined);
    await harness.run(minute);
    assert.equal(harness.received.length, 0);
    assert.ok((await harness.notify(payment)) !== undefined, "control: the next one is committed");
    await harness.run(minute);
    assert.equal(harness.received.length, 1);
    await harness.stop();
  });
});

describe("a receiver that fails", () => {
  test("is tried ten times over three days, each time under the same id, and then no more", async () => {
    const harness = new DeliveryHarness({
      answer: () => ({ outcome: status(500), afterMs: 10 }),
      pollMs: minute,
    });
    harness.account(merchantA, [endpoint("shop")]);
    harness.start();
    await harness.event(merchantA);
    await harness.run(5 * day);

    assert.equal(harness.received.length, 10);
    assert.equal(new Set(harness.received.map(({ id }) => id)).size, 1);
    assert.deepEqual(
      harness.received.map(({ attempt }) => attempt),
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    );
    const waits = harness.received
      .slice(1)
      .map(({ at }, index) => at - (harness.received[index]?.at ?? 0));
    for (const [index, least] of [
      5 * second,
      5 * minute,
      30 * minute,
      2 * hour,
      5 * hour,
      10 * hour,
      14 * hour,
      20 * hour,
      24 * hour,
    ].entries()) {
      const waited = waits[index] ?? 0;
      // A tenth of jitter, the poll interval, and the circuit breaker's pauses for an endpoint that
      // fails repeatedly.
      assert.ok(
        waited >= least && waited <= least * 1.1 + 2 * minute + 5 * minute,
        `attempt ${index + 2} after ${waited} ms`,
      );
    }
    const [delivery] = await deliveriesOf(harness.store, merchantA);
    assert.deepEqual(
      [delivery?.state, delivery?.attempts, delivery?.outcome],
      ["failed", 10, "500"],
    );
    assert.equal(harness.events.at(-1)?.kind, "failed");
    await harness.stop();
  });

  for (const [what, answer] of [
    ["redirects", { outcome: status(302), afterMs: 10 }],
    ["refuses", { outcome: status(400), afterMs: 10 }],
    ["answers after the timeout", hanging],
    ["resets", { outcome: { kind: "failed", cause: "connection" }, afterMs: 10 }],
    [
      "has an address that must not be reached",
      { outcome: { kind: "refused", cause: "address" }, afterMs: 0 },
    ],
  ] as const) {
    test(`because it ${what}, is tried again and reached when it no longer does`, async () => {
      let failures = 3;
      const harness = new DeliveryHarness({
        answer: () => (failures-- > 0 ? answer : { outcome: ok, afterMs: 10 }),
      });
      harness.account(merchantA, [endpoint("shop")]);
      harness.start();
      await harness.event(merchantA);
      await harness.run(hour);

      assert.equal(harness.received.length, 4);
      assert.equal(new Set(harness.received.map(({ id }) => id)).size, 1);
      assert.equal((await deliveriesOf(harness.store, merchantA))[0]?.state, "delivered");
      await harness.stop();
    });
  }

  test("and asks for a rest with Retry-After receives nothing until it is over, about other payments either", async () => {
    let busy = true;
    const harness = new DeliveryHarness({
      answer: () => ({ outcome: busy ? status(429, "600") : ok, afterMs: 10 }),
    });
    harness.account(merchantA, [endpoint("shop")]);
    harness.start();
    await harness.event(merchantA);
    await harness.run(second);
    busy = false;
    await harness.event(merchantA);
    await harness.run(290 * second);
    // Another process does not know the open circuit, but the delivery has its own due time.
    harness.account(merchantA, [endpoint("shop")]);
    await harness.stop();
    harness.start();
    await harness.run(290 * second);
    assert.deepEqual(
      harness.received.map(({ number }) => number),
      [1, 2],
    );
    await harness.run(25 * second);
    assert.deepEqual(
      harness.received.map(({ number }) => number),
      [1, 2, 1],
    );
    await harness.stop();
  });

  test("with 410 is switched off where everybody sees it; what is for it is kept, and sent when it is on again", async () => {
    let gone = true;
    const harness = new DeliveryHarness({
      answer: ({ url }) => ({
        outcome: gone && url.includes("shop") ? status(410) : ok,
        afterMs: 10,
      }),
    });
    harness.account(merchantA, [endpoint("shop"), endpoint("books")]);
    harness.start();
    await harness.event(merchantA);
    await harness.run(minute);
    assert.equal(typeof harness.endpointsOf(merchantA)[0]?.goneAt, "number");
    assert.ok(harness.events.some(({ kind, endpoint: id }) => kind === "gone" && id === "shop"));
    await harness.event(merchantA);
    await harness.run(hour);
    assert.equal(to(harness, "shop").length, 1, "nothing is sent to what is gone");
    assert.equal(to(harness, "books").length, 2);

    gone = false;
    harness.account(merchantA, [endpoint("shop"), endpoint("books")]);
    await harness.run(5 * second);
    assert.deepEqual(
      to(harness, "shop").map(({ number }) => number),
      [1, 1, 2],
    );
    await harness.stop();
  });

  test("of a payment's own address with 410 ends that delivery only", async () => {
    const harness = new DeliveryHarness({ answer: () => ({ outcome: status(410), afterMs: 10 }) });
    harness.account(merchantA, []);
    harness.start();
    await harness.event(merchantA, "https://order.example/17");
    await harness.run(hour);
    assert.equal(harness.received.length, 1);
    assert.equal((await deliveriesOf(harness.store, merchantA))[0]?.state, "failed");
    await harness.stop();
  });
});

describe("endpoints that are off or taken away", () => {
  test("what happens while an endpoint is off is sent when it is on", async () => {
    const harness = new DeliveryHarness();
    harness.account(merchantA, [endpoint("shop", { enabled: false })]);
    harness.start();
    for (let count = 0; count < 100; count += 1) await harness.event(merchantA);
    await harness.run(10 * minute);
    assert.equal(harness.received.length, 0);
    harness.account(merchantA, [endpoint("shop")]);
    await harness.run(minute);
    assert.equal(harness.received.length, 100);
    await harness.stop();
  });

  test("two thousand endpoints that are off cost nothing while they are off, whatever waits for them", async () => {
    const harness = new DeliveryHarness();
    const merchants = Array.from({ length: 500 }, (_, number) => merchantId(number + 100));
    const off = ["a", "b", "c", "d"].map((id) => endpoint(id, { enabled: false }));
    for (const each of merchants) {
      harness.account(each, off);
      await harness.event(each);
    }
    harness.start();
    await harness.run(10 * second);
    harness.calls.clear();
    await harness.run(10 * minute);
    assert.deepEqual(
      Object.fromEntries(harness.calls),
      { merchantsDue: harness.calls.get("merchantsDue") },
      "each round finds no merchant",
    );
    await harness.stop();
  });

  test("what waits for longer than 30 days is over as expired, and a replay brings it back", async () => {
    const harness = new DeliveryHarness({ pollMs: hour });
    harness.account(merchantA, [endpoint("shop", { enabled: false })]);
    harness.start();
    for (let count = 0; count < 150; count += 1) await harness.event(merchantA);
    await harness.run(29 * day);
    await harness.event(merchantA);
    assert.ok(
      (await deliveriesOf(harness.store, merchantA)).every(({ state }) => state === "waiting"),
    );
    await harness.run(3 * day);
    const states = (await deliveriesOf(harness.store, merchantA)).map(
      ({ state, outcome }) => `${state} ${outcome}`,
    );
    assert.deepEqual(
      states.map((each, index) =>
        index < 150 ? each === "failed expired" : each === "waiting undefined",
      ),
      states.map(() => true),
    );
    assert.equal(harness.events.filter(({ outcome }) => outcome === "expired").length, 150);

    await replay(
      { store: harness.store, clock: harness.time },
      merchantA,
      { endpoints: harness.endpointsOf(merchantA), chaos: noChaos },
      { failedFrom: 1 },
    );
    harness.account(merchantA, [endpoint("shop")]);
    await harness.run(2 * hour);
    assert.equal(harness.received.length, 151);
    await harness.stop();
  });

  test("a receiver that is down for longer than 30 days is no longer asked about what is older", async () => {
    const harness = new DeliveryHarness({
      pollMs: hour,
      answer: () => ({ outcome: { kind: "failed", cause: "connection" }, afterMs: 5 }),
    });
    harness.account(merchantA, []);
    harness.start();
    for (let count = 0; count < 400; count += 1)
      await harness.event(merchantA, `https://shop.example/?order=${count}`);
    await harness.run(32 * day);
    const outcomes = (await deliveriesOf(harness.store, merchantA)).map(
      ({ state, outcome }) => `${state} ${outcome}`,
    );
    assert.deepEqual(new Set(outcomes), new Set(["failed expired"]));
    const before = harness.received.length;
    await harness.run(day);
    assert.equal(harness.received.length, before);
    await harness.stop();
  });

  test("what waits for an endpoint that is taken away has failed, and says why", async () => {
    const harness = new DeliveryHarness();
    harness.account(merchantA, [endpoint("shop", { enabled: false })]);
    harness.start();
    for (let count = 0; count < 100; count += 1) await harness.event(merchantA);
    await harness.run(minute);
    harness.account(merchantA, []);
    await harness.run(minute);
    const states = (await deliveriesOf(harness.store, merchantA)).map(
      ({ state, outcome }) => `${state} ${outcome}`,
    );
    assert.deepEqual(new Set(states), new Set(["failed endpoint_removed"]));
    assert.equal(harness.received.length, 0);
    await harness.stop();
  });
});

describe("order", () => {
  test("the next notification of a payment waits for the one before, others pass", async () => {
    let failures = 3;
    const harness = new DeliveryHarness({
      answer: ({ number }) => ({
        outcome: number === 1 && failures-- > 0 ? status(500) : ok,
        afterMs: 10,
      }),
    });
    harness.account(merchantA, [endpoint("shop")]);
    harness.start();
    const payment = await harness.event(merchantA);
    const other = await harness.payment(merchantA);
    await harness.notify(payment, "refund");
    await harness.notify(other);
    await harness.run(hour);

    const delivered = harness.received
      .filter(({ answered }) => answered === ok)
      .map(({ number }) => number);
    assert.deepEqual(delivered, [3, 1, 2]);
    await harness.stop();
  });

  test("two notifications of one change keep their order too", async () => {
    const harness = new DeliveryHarness({ answer: () => ({ outcome: ok, afterMs: 100 }) });
    harness.account(merchantA, [endpoint("shop")]);
    harness.start();
    let payment: Payment | undefined = await harness.event(merchantA);
    for (let count = 0; count < 20; count += 1)
      payment = payment === undefined ? undefined : await harness.notify(payment, "refund");
    await harness.run(hour);
    assert.deepEqual(
      harness.received.map(({ number }) => number),
      Array.from({ length: 21 }, (_, index) => index + 1),
    );
    await harness.stop();
  });
});

describe("one receiver that is dead", () => {
  test("and lets every request hang delays neither another endpoint of its account nor another account", async () => {
    const harness = new DeliveryHarness({
      answer: ({ url }) => (url.includes("dead") ? hanging : { outcome: ok, afterMs: 20 }),
    });
    harness.account(merchantA, [endpoint("dead"), endpoint("shop")]);
    harness.account(merchantB, [endpoint("other")]);
    harness.start();
    const committed = new Map<string, number>();
    for (let count = 0; count < 1_500; count += 1) {
      const { id } = await harness.event(count % 3 === 0 ? merchantB : merchantA);
      committed.set(id, harness.time.now());
      await harness.run(100);
    }
    await harness.run(5 * second);

    const late = [...to(harness, "shop"), ...to(harness, "other")].map(
      ({ at, hash }) => at - (committed.get(hash) ?? 0),
    );
    assert.equal(late.length, 1_500);
    assert.ok(Math.max(...late) < 100, `the slowest took ${Math.max(...late)} ms`);
    // The circuit opens: 150 seconds would have 30 attempts of 20 seconds, four at once.
    assert.ok(to(harness, "dead").length <= 15, `${to(harness, "dead").length} attempts`);
    assert.ok(harness.events.some(({ kind }) => kind === "resting"));
    await harness.stop();
  });

  test("with a message in each of its places when it dies receives everything a short pause after their timeout", async () => {
    let isDead = true;
    const harness = new DeliveryHarness({
      answer: () => (isDead ? hanging : { outcome: ok, afterMs: 20 }),
    });
    harness.account(merchantA, [endpoint("shop")]);
    harness.start();
    for (let count = 0; count < 20; count += 1) await harness.event(merchantA);
    await harness.run(10 * second);
    assert.equal(harness.received.length, 8, "control: so many are under way together");
    // The attempts end after 20 seconds, and the fifth failure opens the circuit for 30.
    await harness.run(15 * second);
    isDead = false;
    await harness.run(30 * second);
    const states = (await deliveriesOf(harness.store, merchantA)).map(({ state }) => state);
    assert.deepEqual(
      states,
      Array.from({ length: 20 }, () => "delivered"),
    );
    assert.equal(harness.events.filter(({ kind }) => kind === "resting").length, 1);
    await harness.stop();
  });

  test("under many addresses of its own takes up its account's share and no more", async () => {
    const harness = new DeliveryHarness({
      answer: ({ url }) => (url.includes("dead") ? hanging : { outcome: ok, afterMs: 20 }),
    });
    harness.account(merchantA, []);
    harness.account(merchantB, [endpoint("other")]);
    harness.start();
    for (let count = 0; count < 300; count += 1)
      await harness.event(merchantA, `https://dead${count % 50}.example/${count}`);
    await harness.run(second);
    const begun = harness.time.now();
    await harness.event(merchantB);
    await harness.run(second);
    const [other] = to(harness, "other");
    assert.ok(other !== undefined && other.at - begun < 50);
    const atOnce = harness.received.filter(
      ({ url, at }) => url.includes("dead") && at < begun,
    ).length;
    assert.ok(atOnce <= 96, `${atOnce} attempts at once`);
    await harness.stop();
  });

  test("for three days loses nothing: all that happened meanwhile is there within minutes of its return", async () => {
    const harness = new DeliveryHarness({ pollMs: minute });
    harness.account(merchantA, [endpoint("shop"), endpoint("books")]);
    harness.start();
    const down = harness.time.now() + hour;
    const back = down + 3 * day;
    harness.answer = ({ url, at }) =>
      url.includes("shop") && at >= down && at < back
        ? { outcome: { kind: "failed", cause: "connection" }, afterMs: 5 }
        : { outcome: ok, afterMs: 20 };
    let events = 0;
    while (harness.time.now() < back) {
      await harness.event(merchantA);
      events += 1;
      await harness.run(5 * minute);
    }
    const during = to(harness, "shop").filter(({ at }) => at >= down && at < back).length;
    await harness.run(10 * minute);

    const delivered = new Set(
      to(harness, "shop")
        .filter(({ answered }) => answered === ok)
        .map(({ number }) => number),
    );
    assert.equal(delivered.size, events);
    assert.equal(new Set(to(harness, "books").map(({ number }) => number)).size, events);
    assert.ok(during < 1_100, `${during} attempts while it was down`);
    assert.ok(
      (await deliveriesOf(harness.store, merchantA)).every(({ state }) => state === "delivered"),
    );
    await harness.stop();
  });
});

describe("the sender dies", () => {
  async function oneEvent(
    killAt: number,
  ): Promise<{ readonly steps: string[]; readonly harness: DeliveryHarness }> {
    const harness = new DeliveryHarness();
    const steps: string[] = [];
    harness.account(merchantA, [endpoint("shop")]);
    harness.start();
    harness.step = (what) => {
      steps.push(what);
      return steps.length - 1 === killAt;
    };
    const payment = await harness.event(merchantA);
    await harness.notify(payment, "refund");
    await harness.run(5 * second);
    if (killAt < steps.length) harness.start();
    await harness.run(minute);
    return { steps, harness };
  }

  test("at each point of a delivery: it is made all the same, repeats have the same id, and the order holds", async () => {
    const { steps } = await oneEvent(Number.POSITIVE_INFINITY);
    assert.ok(
      steps.includes("before send") &&
        steps.includes("after send") &&
        steps.includes("after commit"),
    );
    let repeats = 0;
    for (let killAt = 0; killAt < Math.min(steps.length, 40); killAt += 1) {
      const { harness } = await oneEvent(killAt);
      const numbers = harness.received.map(({ number }) => number);
      assert.deepEqual([...new Set(numbers)], [1, 2], `killed ${steps[killAt]}`);
      assert.deepEqual(
        numbers,
        numbers.toSorted((left, right) => left - right),
        `killed ${steps[killAt]}`,
      );
      assert.equal(new Set(harness.received.map(({ id }) => id)).size, 2);
      assert.ok(
        (await deliveriesOf(harness.store, merchantA)).every(({ state }) => state === "delivered"),
      );
      repeats += numbers.length - 2;
      await harness.stop();
    }
    assert.ok(repeats > 0, "control: some deaths are between sending and keeping that it was sent");
  });

  test("is stopped: what is under way is given up, stays due, and is sent at the next start", async () => {
    const harness = new DeliveryHarness({ answer: () => hanging });
    harness.account(merchantA, [endpoint("shop")]);
    harness.start();
    await harness.event(merchantA);
    await harness.run(second);
    await harness.stop();
    assert.equal(harness.received.length, 1);
    const [waiting] = await deliveriesOf(harness.store, merchantA);
    assert.deepEqual([waiting?.state, waiting?.attempts], ["waiting", 0]);
    harness.answer = () => ({ outcome: ok, afterMs: 10 });
    harness.start();
    await harness.run(second);
    assert.deepEqual(
      harness.received.map(({ attempt }) => attempt),
      [1, 1],
    );
    assert.equal(new Set(harness.received.map(({ id }) => id)).size, 1);
    await harness.stop();
  });
});

describe("a store that takes nothing", () => {
  test("sends the same to a receiver a few times, at first once a second, then more and more seldom, until it takes something", async () => {
    let broken = false;
    const harness = new DeliveryHarness({
      store: { commitFault: () => (broken ? "unavailable" : undefined) },
    });
    harness.account(merchantA, [endpoint("shop")]);
    harness.start();
    await harness.event(merchantA);
    broken = true;
    await harness.run(hour);
    const count = harness.received.length;
    assert.ok(count > 5 && count < 25, `${count} times`);
    assert.equal(new Set(harness.received.map(({ id }) => id)).size, 1);
    broken = false;
    await harness.run(6 * minute);
    assert.equal(harness.received.length, count + 1);
    assert.equal((await deliveriesOf(harness.store, merchantA))[0]?.state, "delivered");
    await harness.stop();
  });
});

describe("what came of many deliveries", () => {
  test("is kept in few commits, while the next messages go out", async () => {
    const commits: number[] = [];
    const harness = new DeliveryHarness({
      store: {
        commitFault: ({ deliveries = [] }) => {
          if (deliveries.length > 0) commits.push(deliveries.length);
          return deliveries.length > 0 ? "slow" : undefined;
        },
        slowMs: 100,
      },
    });
    harness.account(merchantA, [endpoint("shop")]);
    for (let count = 0; count < 200; count += 1) await harness.event(merchantA);
    harness.start();
    await harness.run(minute);

    assert.equal(harness.received.length, 200);
    assert.ok(
      (await deliveriesOf(harness.store, merchantA)).every(({ state }) => state === "delivered"),
    );
    assert.equal(
      commits.reduce((sum, each) => sum + each, 0),
      200,
    );
    assert.ok(commits.length < 40, `${commits.length} commits`);
    await harness.stop();
  });

  test("is kept one by one when one of them was moved since", async () => {
    let refused = 0;
    const harness = new DeliveryHarness({
      store: {
        commitFault: ({ deliveries = [] }) => {
          if (deliveries.length === 1) return "slow";
          if (deliveries.length > 1) refused += 1;
          return deliveries.length > 1 ? "stale" : undefined;
        },
        slowMs: 50,
      },
    });
    harness.account(merchantA, [endpoint("shop")]);
    for (let count = 0; count < 20; count += 1) await harness.event(merchantA);
    harness.start();
    await harness.run(minute);
    assert.ok(refused > 0, "control: some were to be kept together");
    assert.equal(harness.received.length, 20);
    assert.ok(
      (await deliveriesOf(harness.store, merchantA)).every(({ state }) => state === "delivered"),
    );
    await harness.stop();
  });

  test("is not kept when the sender dies: no more than a bounded number is received again", async () => {
    const harness = new DeliveryHarness({
      store: {
        commitFault: ({ deliveries = [] }) => (deliveries.length > 0 ? "slow" : undefined),
        slowMs: hour,
      },
    });
    harness.account(merchantA, [endpoint("shop")]);
    for (let count = 0; count < 200; count += 1) await harness.event(merchantA);
    harness.start();
    await harness.run(minute);
    assert.ok(
      harness.received.length > 4 && harness.received.length <= 40,
      `${harness.received.length} received and not recorded`,
    );
    harness.kill();
  });
});

describe("chaos for testers", () => {
  const events = 400;

  async function under(
    chaos: Parameters<DeliveryHarness["account"]>[2],
    perPayment = 1,
  ): Promise<DeliveryHarness> {
    const harness = new DeliveryHarness();
    harness.account(merchantA, [endpoint("shop")], chaos);
    harness.start();
    for (let count = 0; count < events / perPayment; count += 1) {
      let payment: Payment | undefined = await harness.payment(merchantA);
      for (let reported = 0; reported < perPayment && payment !== undefined; reported += 1)
        payment = await harness.notify(payment);
    }
    await harness.run(hour);
    assert.ok(
      (await deliveriesOf(harness.store, merchantA)).every(({ state }) => state === "delivered"),
    );
    await harness.stop();
    return harness;
  }

  test("drops some, for good, and shows which", async () => {
    const harness = await under({ drop: 250 });
    const dropped = (await deliveriesOf(harness.store, merchantA)).filter(
      ({ outcome }) => outcome === "dropped",
    );
    assert.ok(dropped.length > 50 && dropped.length < 150, `${dropped.length} dropped`);
    const received = new Set(harness.received.map(({ number }) => number));
    assert.equal(received.size, events - dropped.length);
    for (const { number } of dropped) assert.ok(!received.has(number));
  });

  test("sends some twice under one id", async () => {
    const harness = await under({ double: 250 });
    const twice = harness.received.length - events;
    assert.ok(twice > 50 && twice < 150, `${twice} doubled`);
    assert.equal(new Set(harness.received.map(({ id }) => id)).size, events);
  });

  test("delays some, and the payment's next ones with them", async () => {
    const harness = await under({ delay: 250, delayMs: minute }, 2);
    const late = harness.received.filter(
      ({ at }) => at - (harness.received[0]?.at ?? 0) >= minute - second,
    );
    assert.ok(late.length > 80 && late.length < 250, `${late.length} late`);
    assert.deepEqual(outOfOrder(harness.received), 0);
  });

  test("lets a payment's later ones overtake", async () => {
    const harness = await under({ reorder: 250, delayMs: minute }, 4);
    assert.ok(outOfOrder(harness.received) > 20);
  });

  test("breaks signatures, all of them, and only of those that it draws", async () => {
    const harness = await under({ breakSignature: 250 });
    const broken = harness.received.filter(
      ({ headers }) => headers["webhook-signature"] !== "v1,AAAA",
    );
    assert.ok(broken.length > 50 && broken.length < 150);
    for (const { headers } of broken) assert.equal(headers["webhook-signature"], "v1,BAAA");
  });

  test("does the same to the same notifications each time", async () => {
    const [first, second] = [
      await under({ drop: 250, seed: "one" }),
      await under({ drop: 250, seed: "one" }),
    ];
    const other = await under({ drop: 250, seed: "two" });
    const numbers = (harness: DeliveryHarness): number[] =>
      harness.received.map(({ number }) => number).toSorted((a, b) => a - b);
    assert.deepEqual(numbers(second), numbers(first));
    assert.notDeepEqual(numbers(other), numbers(first));
  });
});

/** How often a receiver got a payment's notification after a later one of the same payment. */
function outOfOrder(received: readonly Received[]): number {
  const highest = new Map<string, number>();
  let count = 0;
  for (const { hash, url, number } of received) {
    const key = `${url} ${hash}`;
    if (number < (highest.get(key) ?? 0)) count += 1;
    highest.set(key, Math.max(number, highest.get(key) ?? 0));
  }
  return count;
}
