import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { day, hour, laterBy, second } from "../../src/kernel/instant.ts";
import type { MerchantId } from "../../src/kernel/ids.ts";
import { urlEndpoint } from "../../src/notification/endpoint.ts";
import { type EndpointId, newDelivery } from "../../src/notification/events.ts";
import * as given from "../contract/store-fixtures.ts";
import {
  deliveriesOf,
  endpoint,
  ok,
  DeliveryHarness,
  type Received,
  status,
} from "./delivery-harness.ts";

const innocent = given.merchantId(99);
const hostile = [1, 2, 3, 4].map((number) => given.merchantId(number));
const hanging = { outcome: ok, afterMs: hour };

/** Milliseconds from each notification of the merchant until its first attempt. */
function waits(received: readonly Received[], committed: ReadonlyMap<string, number>): number[] {
  return received.flatMap(({ hash, attempt, at }) => {
    const since = committed.get(hash);
    return attempt > 1 || since === undefined ? [] : [at - since];
  });
}

function percentile(values: readonly number[], share: number): number {
  return (
    values.toSorted((left, right) => left - right)[Math.floor(values.length * share)] ?? Number.NaN
  );
}

/**
 * Commits `perSecond` notifications of a merchant a second for `seconds`; returns when each was
 * committed, by its payment's hash.
 */
async function eachSecond(
  harness: DeliveryHarness,
  merchantId: MerchantId,
  perSecond: number,
  seconds: number,
): Promise<Map<string, number>> {
  const committed = new Map<string, number>();
  for (let count = 0; count < perSecond * seconds; count += 1) {
    const { id } = await harness.event(merchantId);
    committed.set(id, harness.time.now());
    await harness.run(
      Math.floor(((count + 1) * second) / perSecond) - Math.floor((count * second) / perSecond),
    );
  }
  return committed;
}

describe("one receiver", () => {
  test("that answers in 300 ms is given 150 messages a second and more", async () => {
    const harness = new DeliveryHarness({ answer: () => ({ outcome: ok, afterMs: 300 }) });
    harness.account(given.merchantA, [endpoint("shop")]);
    for (let count = 0; count < 4_000; count += 1) await harness.event(given.merchantA);
    harness.start();
    await harness.run(5 * second);
    const before = harness.received.length;
    await harness.run(10 * second);
    const perSecond = (harness.received.length - before) / 10;
    assert.ok(perSecond >= 150, `${perSecond} a second`);
    await harness.stop();
  });

  test("that answers in 300 ms is notified of 100 charges a second within a second", async () => {
    const harness = new DeliveryHarness({ answer: () => ({ outcome: ok, afterMs: 300 }) });
    harness.account(given.merchantA, [endpoint("shop")]);
    harness.start();
    const committed = await eachSecond(harness, given.merchantA, 100, 30);
    await harness.run(2 * second);
    const late = waits(harness.received, committed);
    assert.equal(late.length, 3_000);
    // In the first seconds the dispatcher learns the endpoint's capacity.
    const steady = late.slice(500);
    assert.ok(percentile(steady, 0.99) < second, `p99 ${percentile(steady, 0.99)} ms`);
    await harness.stop();
  });

  test("whose workers are few is given about as many messages at a time, and stays quick", async () => {
    const workers = 10;
    /** When each of its workers is free. */
    const free = Array.from({ length: workers }, () => 0);
    let [slowest, most] = [0, 0];
    const harness = new DeliveryHarness({
      answer: ({ at }) => {
        const worker = free.indexOf(Math.min(...free));
        const done = Math.max(at, free[worker] ?? 0) + 100;
        free[worker] = done;
        if (harness.received.length > 2_000) slowest = Math.max(slowest, done - at);
        return { outcome: ok, afterMs: done - at };
      },
    });
    harness.account(given.merchantA, [endpoint("shop")]);
    for (let count = 0; count < 6_000; count += 1) await harness.event(given.merchantA);
    harness.start();
    await harness.run(20 * second);
    const [early, late] = [5, 15].map(
      (at) =>
        harness.received.filter((each) => each.at < (harness.received[0]?.at ?? 0) + at * second)
          .length,
    );
    most = ((late ?? 0) - (early ?? 0)) / 10;
    assert.ok(most > 70, `${most} a second of 100`);
    assert.ok(slowest < 400, `the slowest of the later ones took ${slowest} ms instead of 100`);
    await harness.stop();
  });

  test("that says 429 to more than it takes is given less, and everything in the end", async () => {
    let underWay = 0;
    const refused: number[] = [];
    const harness = new DeliveryHarness({
      answer: ({ at }) => {
        if (underWay >= 10) {
          refused.push(at);
          return { outcome: status(429), afterMs: 20 };
        }
        underWay += 1;
        void harness.time.sleep(200).then(() => (underWay -= 1));
        return { outcome: ok, afterMs: 200 };
      },
    });
    harness.account(given.merchantA, [endpoint("shop")]);
    for (let count = 0; count < 2_000; count += 1) await harness.event(given.merchantA);
    harness.start();
    await harness.run(hour);
    assert.ok(
      (await deliveriesOf(harness.store, given.merchantA)).every(
        ({ state }) => state === "delivered",
      ),
    );
    assert.ok(refused.length > 0 && refused.length < 400, `${refused.length} refused of 2,000`);
    await harness.stop();
  });
});

describe("what waits", () => {
  test("is not read when another merchant has something new, of which only its own queue is", async () => {
    const harness = new DeliveryHarness({ pollMs: hour });
    const [waiting] = hostile;
    assert.ok(waiting !== undefined);
    harness.account(waiting, []);
    harness.account(innocent, [endpoint("shop")]);
    const now = harness.time.now();
    const payment = await harness.payment(waiting, "https://order.example/");
    for (let number = 1; number <= 20_000; number += 1) {
      const name = urlEndpoint(`https://order${number}.example/`);
      const made = newDelivery(
        { merchantId: waiting, endpoint: name, number, paymentId: payment.id, kind: "update" },
        now,
      );
      const next = { ...made, dueAt: laterBy(now, hour), attempts: 1 };
      await harness.store.commit({
        merchantId: waiting,
        at: now,
        facts: [],
        entries: [],
        notifications: [],
        deliveries: [{ next, replaces: undefined }],
      });
    }
    harness.start();
    await harness.run(second);
    assert.deepEqual(Object.fromEntries(harness.calls), { merchantsDue: 1 });
    harness.calls.clear();
    await harness.event(innocent);
    await harness.run(second);
    assert.equal(harness.received.length, 1);
    assert.deepEqual(Object.fromEntries(harness.calls), { deliveriesDue: 2, send: 1, commit: 1 });
    await harness.stop();
  });
});

describe("other merchants", () => {
  test("with a thousand addresses on servers that hang delay an innocent one by less than a second", async () => {
    const harness = new DeliveryHarness({
      answer: ({ url }) => (url.includes("hangs") ? hanging : { outcome: ok, afterMs: 20 }),
    });
    harness.account(innocent, [endpoint("shop")]);
    for (const merchantId of hostile) harness.account(merchantId, []);
    for (const [index, merchantId] of hostile.entries()) {
      for (let count = 0; count < 250; count += 1)
        await harness.event(
          merchantId,
          `https://hangs${index}-${count % 2}.example/?order=${count}`,
        );
    }
    harness.start();
    await harness.run(second);
    const committed = await eachSecond(harness, innocent, 10, 60);
    await harness.run(second);
    const late = waits(harness.received, committed);
    assert.equal(late.length, 600);
    assert.ok(Math.max(...late) < 100, `the slowest took ${Math.max(...late)} ms`);
    await harness.stop();
  });

  test("with a server that hangs for each address leave a quarter of the places for one that has none", async () => {
    const harness = new DeliveryHarness({
      answer: ({ url }) => (url.includes("hangs") ? hanging : { outcome: ok, afterMs: 20 }),
    });
    harness.account(innocent, [endpoint("shop")]);
    const many = Array.from({ length: 20 }, (_, number) => given.merchantId(number + 1));
    for (const merchantId of many) {
      harness.account(merchantId, []);
      for (let count = 0; count < 60; count += 1)
        await harness.event(merchantId, `https://hangs${count}.example/`);
    }
    harness.start();
    await harness.run(second);
    // Each merchant has at least one place; beyond that they share at most three quarters of all
    // places.
    assert.ok(harness.received.length <= 192 + many.length, `${harness.received.length} under way`);
    const committed = await eachSecond(harness, innocent, 5, 10);
    await harness.run(second);
    assert.ok(Math.max(...waits(harness.received, committed)) < 100);
    await harness.stop();
  });

  test("whose receivers are paused are read with each poll, and not for each message of another merchant", async () => {
    const harness = new DeliveryHarness({
      answer: ({ url }) =>
        url.includes("down")
          ? { outcome: { kind: "failed", cause: "connection" }, afterMs: 5 }
          : { outcome: ok, afterMs: 20 },
    });
    const many = Array.from({ length: 100 }, (_, number) => given.merchantId(number + 1));
    for (const merchantId of many) {
      harness.account(merchantId, [endpoint("down")]);
      for (let count = 0; count < 20; count += 1) await harness.event(merchantId);
    }
    harness.account(given.merchantId(101), []);
    harness.start();
    await harness.run(40 * second);
    for (let count = 0; count < 1_000; count += 1)
      await harness.event(given.merchantId(101), `https://shop${count}.example/`);
    harness.calls.clear();
    await harness.run(3 * second);
    assert.ok(harness.received.length > 1_500, "control: the other one's are sent");
    const read = harness.calls.get("queuesDue") ?? 0;
    assert.ok(read <= 4 * many.length + 200, `${read} reads of queues`);
    await harness.stop();
  });

  test("with 50,000 due deliveries delay another one's first by less than a second, and fill no more memory than a few queues", async () => {
    const harness = new DeliveryHarness();
    const [busy] = hostile;
    assert.ok(busy !== undefined);
    harness.account(busy, []);
    harness.account(innocent, [endpoint("shop")]);
    const now = harness.time.now();
    const payment = await harness.payment(busy, "https://order.example/");
    for (let number = 1; number <= 50_000; number += 1) {
      // Named as in the earlier version: a queue for each address.
      const name = `url-${number.toString(16).padStart(32, "0")}` as EndpointId;
      const next = newDelivery(
        { merchantId: busy, endpoint: name, number, paymentId: payment.id, kind: "update" },
        now,
      );
      await harness.store.commit({
        merchantId: busy,
        at: now,
        facts: [],
        entries: [],
        notifications: [],
        deliveries: [{ next, replaces: undefined }],
      });
    }
    const { id } = await harness.event(innocent);
    harness.start();
    await harness.run(second);
    const first = harness.received.find(({ hash }) => hash === id);
    assert.ok(first !== undefined && first.at - now < second);
    assert.ok(harness.received.length < 10_000, "control: the others are not all sent");
    const read = harness.calls.get("deliveriesDue") ?? 0;
    assert.ok(
      read <= harness.received.length + 256,
      `${read} queues read for ${harness.received.length} messages`,
    );
    await harness.stop();
  });
});

describe("reads of the store that fail", () => {
  for (const read of ["merchantsDue", "queuesDue", "deliveriesDue"]) {
    test(`three times in a row, ${read} alone, make notifications a failing job until it works`, async () => {
      const harness = new DeliveryHarness();
      harness.account(given.merchantA, [endpoint("shop")]);
      await harness.event(given.merchantA);
      harness.fails = (each) => each === read;
      harness.start();
      await harness.run(10 * second);
      assert.deepEqual(harness.received, []);
      assert.deepEqual(harness.reads.failing(), ["notifications"]);
      assert.deepEqual(
        harness.failures.map((failure) => failure.read),
        [read],
        "it is reported by its name, and not each time",
      );
      harness.fails = () => false;
      await harness.run(2 * second);
      assert.equal(harness.received.length, 1);
      assert.deepEqual(harness.reads.failing(), []);
      await harness.stop();
    });
  }

  for (const read of ["queuesDue", "deliveriesDue"]) {
    test(`of one merchant, ${read}, keep no other's notifications back`, async () => {
      const harness = new DeliveryHarness();
      const [unreadable] = hostile;
      assert.ok(unreadable !== undefined);
      harness.account(unreadable, [endpoint("shop")]);
      harness.account(innocent, [endpoint("shop")]);
      await harness.event(unreadable);
      await harness.run(second);
      const { id } = await harness.event(innocent);
      harness.fails = (each, merchantId) => each === read && merchantId === unreadable;
      harness.start();
      await harness.run(second / 2);
      assert.deepEqual(
        harness.received.map(({ hash }) => hash),
        [id],
      );
      await harness.stop();
    });
  }
});

describe("deliveries that are ended without an attempt", () => {
  const count = 5_000;
  const month = 30 * day;
  const cases = [
    { what: "because their endpoint was taken away", outcome: "endpoint_removed", now: [] },
    { what: "because they waited for too long", outcome: "expired", now: [endpoint("shop")] },
    {
      what: "because they waited for too long, while their endpoint is off",
      outcome: "expired",
      now: [endpoint("shop", { enabled: false })],
    },
  ];
  for (const { what, outcome, now } of cases) {
    test(`${what}, are a bounded number between two polls, and delay no other merchant's`, async () => {
      const harness = new DeliveryHarness();
      const [many] = hostile;
      assert.ok(many !== undefined);
      harness.account(many, [endpoint("shop")]);
      harness.account(innocent, [endpoint("shop")]);
      for (let made = 0; made < count; made += 1) await harness.event(many);
      await harness.run(month + second);
      harness.account(many, now);
      const { id } = await harness.event(innocent);
      let commitsBefore: number | undefined;
      harness.answer = ({ hash }) => {
        if (hash === id) commitsBefore = harness.calls.get("commit") ?? 0;
        return { outcome: ok, afterMs: 20 };
      };
      harness.start();
      await harness.run(second / 2);
      assert.ok(
        commitsBefore !== undefined && commitsBefore <= 5,
        `${commitsBefore} commits before the other merchant's message`,
      );
      assert.ok(
        (harness.calls.get("commit") ?? 0) <= 34,
        `${harness.calls.get("commit")} commits before the next poll`,
      );
      await harness.run(10 * second);
      const ended = (await deliveriesOf(harness.store, many)).filter(
        (each) => each.state === "failed" && each.outcome === outcome,
      );
      assert.equal(ended.length, count);
      await harness.stop();
    });
  }
});
