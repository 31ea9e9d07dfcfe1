import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { day, hour, laterBy, second } from "../../src/kernel/instant.ts";
import type { MerchantId } from "../../src/kernel/ids.ts";
import { urlEndpoint } from "../../src/notification/endpoint.ts";
import { type EndpointId, newDelivery } from "../../src/notification/events.ts";
import * as given from "../contract/store-fixtures.ts";
import { deliveriesOf, endpoint, ok, PostOffice, type Received, status } from "./post-office.ts";

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
  office: PostOffice,
  merchantId: MerchantId,
  perSecond: number,
  seconds: number,
): Promise<Map<string, number>> {
  const committed = new Map<string, number>();
  for (let count = 0; count < perSecond * seconds; count += 1) {
    const { id } = await office.event(merchantId);
    committed.set(id, office.time.now());
    await office.run(
      Math.floor(((count + 1) * second) / perSecond) - Math.floor((count * second) / perSecond),
    );
  }
  return committed;
}

describe("one receiver", () => {
  test("that answers in 300 ms is given 150 messages a second and more", async () => {
    const office = new PostOffice({ answer: () => ({ outcome: ok, afterMs: 300 }) });
    office.account(given.merchantA, [endpoint("shop")]);
    for (let count = 0; count < 4_000; count += 1) await office.event(given.merchantA);
    office.start();
    await office.run(5 * second);
    const before = office.received.length;
    await office.run(10 * second);
    const perSecond = (office.received.length - before) / 10;
    assert.ok(perSecond >= 150, `${perSecond} a second`);
    await office.stop();
  });

  test("that answers in 300 ms hears of 100 charges a second within a second", async () => {
    const office = new PostOffice({ answer: () => ({ outcome: ok, afterMs: 300 }) });
    office.account(given.merchantA, [endpoint("shop")]);
    office.start();
    const committed = await eachSecond(office, given.merchantA, 100, 30);
    await office.run(2 * second);
    const late = waits(office.received, committed);
    assert.equal(late.length, 3_000);
    // In the first seconds the dispatcher learns the endpoint's capacity.
    const steady = late.slice(500);
    assert.ok(percentile(steady, 0.99) < second, `p99 ${percentile(steady, 0.99)} ms`);
    await office.stop();
  });

  test("whose workers are few is given about as many messages at a time, and stays quick", async () => {
    const workers = 10;
    /** When each of its workers is free. */
    const free = Array.from({ length: workers }, () => 0);
    let [slowest, most] = [0, 0];
    const office = new PostOffice({
      answer: ({ at }) => {
        const worker = free.indexOf(Math.min(...free));
        const done = Math.max(at, free[worker] ?? 0) + 100;
        free[worker] = done;
        if (office.received.length > 2_000) slowest = Math.max(slowest, done - at);
        return { outcome: ok, afterMs: done - at };
      },
    });
    office.account(given.merchantA, [endpoint("shop")]);
    for (let count = 0; count < 6_000; count += 1) await office.event(given.merchantA);
    office.start();
    await office.run(20 * second);
    const [early, late] = [5, 15].map(
      (at) =>
        office.received.filter((each) => each.at < (office.received[0]?.at ?? 0) + at * second)
          .length,
    );
    most = ((late ?? 0) - (early ?? 0)) / 10;
    assert.ok(most > 70, `${most} a second of 100`);
    assert.ok(slowest < 400, `the slowest of the later ones took ${slowest} ms instead of 100`);
    await office.stop();
  });

  test("that says 429 to more than it takes is given less, and everything in the end", async () => {
    let underWay = 0;
    const refused: number[] = [];
    const office = new PostOffice({
      answer: ({ at }) => {
        if (underWay >= 10) {
          refused.push(at);
          return { outcome: status(429), afterMs: 20 };
        }
        underWay += 1;
        void office.time.sleep(200).then(() => (underWay -= 1));
        return { outcome: ok, afterMs: 200 };
      },
    });
    office.account(given.merchantA, [endpoint("shop")]);
    for (let count = 0; count < 2_000; count += 1) await office.event(given.merchantA);
    office.start();
    await office.run(hour);
    assert.ok(
      (await deliveriesOf(office.store, given.merchantA)).every(
        ({ state }) => state === "delivered",
      ),
    );
    assert.ok(refused.length > 0 && refused.length < 400, `${refused.length} refused of 2,000`);
    await office.stop();
  });
});

describe("what waits", () => {
  test("is not read when another merchant has something new, of which only its own queue is", async () => {
    const office = new PostOffice({ pollMs: hour });
    const [waiting] = hostile;
    assert.ok(waiting !== undefined);
    office.account(waiting, []);
    office.account(innocent, [endpoint("shop")]);
    const now = office.time.now();
    const payment = await office.payment(waiting, "https://order.example/");
    for (let number = 1; number <= 20_000; number += 1) {
      const name = urlEndpoint(`https://order${number}.example/`);
      const made = newDelivery(
        { merchantId: waiting, endpoint: name, number, paymentId: payment.id, kind: "update" },
        now,
      );
      const next = { ...made, dueAt: laterBy(now, hour), attempts: 1 };
      await office.store.commit({
        merchantId: waiting,
        at: now,
        facts: [],
        entries: [],
        notifications: [],
        deliveries: [{ next, replaces: undefined }],
      });
    }
    office.start();
    await office.run(second);
    assert.deepEqual(Object.fromEntries(office.calls), { merchantsDue: 1 });
    office.calls.clear();
    await office.event(innocent);
    await office.run(second);
    assert.equal(office.received.length, 1);
    assert.deepEqual(Object.fromEntries(office.calls), { deliveriesDue: 2, send: 1, commit: 1 });
    await office.stop();
  });
});

describe("other merchants", () => {
  test("with a thousand addresses on servers that hang delay an innocent one by less than a second", async () => {
    const office = new PostOffice({
      answer: ({ url }) => (url.includes("hangs") ? hanging : { outcome: ok, afterMs: 20 }),
    });
    office.account(innocent, [endpoint("shop")]);
    for (const merchantId of hostile) office.account(merchantId, []);
    for (const [index, merchantId] of hostile.entries()) {
      for (let count = 0; count < 250; count += 1)
        await office.event(
          merchantId,
          `https://hangs${index}-${count % 2}.example/?order=${count}`,
        );
    }
    office.start();
    await office.run(second);
    const committed = await eachSecond(office, innocent, 10, 60);
    await office.run(second);
    const late = waits(office.received, committed);
    assert.equal(late.length, 600);
    assert.ok(Math.max(...late) < 100, `the slowest took ${Math.max(...late)} ms`);
    await office.stop();
  });

  test("with a server that hangs for each address leave a quarter of the places for one that has none", async () => {
    const office = new PostOffice({
      answer: ({ url }) => (url.includes("hangs") ? hanging : { outcome: ok, afterMs: 20 }),
    });
    office.account(innocent, [endpoint("shop")]);
    const many = Array.from({ length: 20 }, (_, number) => given.merchantId(number + 1));
    for (const merchantId of many) {
      office.account(merchantId, []);
      for (let count = 0; count < 60; count += 1)
        await office.event(merchantId, `https://hangs${count}.example/`);
    }
    office.start();
    await office.run(second);
    // Each merchant has at least one place; beyond that they share at most three quarters of all
    // places.
    assert.ok(office.received.length <= 192 + many.length, `${office.received.length} under way`);
    const committed = await eachSecond(office, innocent, 5, 10);
    await office.run(second);
    assert.ok(Math.max(...waits(office.received, committed)) < 100);
    await office.stop();
  });

  test("whose receivers are left alone for a while are looked at with each poll, and not for each message of another one", async () => {
    const office = new PostOffice({
      answer: ({ url }) =>
        url.includes("down")
          ? { outcome: { kind: "failed", cause: "connection" }, afterMs: 5 }
          : { outcome: ok, afterMs: 20 },
    });
    const many = Array.from({ length: 100 }, (_, number) => given.merchantId(number + 1));
    for (const merchantId of many) {
      office.account(merchantId, [endpoint("down")]);
      for (let count = 0; count < 20; count += 1) await office.event(merchantId);
    }
    office.account(given.merchantId(101), []);
    office.start();
    await office.run(40 * second);
    for (let count = 0; count < 1_000; count += 1)
      await office.event(given.merchantId(101), `https://shop${count}.example/`);
    office.calls.clear();
    await office.run(3 * second);
    assert.ok(office.received.length > 1_500, "control: the other one's are sent");
    const read = office.calls.get("queuesDue") ?? 0;
    assert.ok(read <= 4 * many.length + 200, `${read} reads of queues`);
    await office.stop();
  });

  test("with 50,000 due deliveries delay another one's first by less than a second, and fill no more memory than a few queues", async () => {
    const office = new PostOffice();
    const [busy] = hostile;
    assert.ok(busy !== undefined);
    office.account(busy, []);
    office.account(innocent, [endpoint("shop")]);
    const now = office.time.now();
    const payment = await office.payment(busy, "https://order.example/");
    for (let number = 1; number <= 50_000; number += 1) {
      // Named as in the earlier version: a queue for each address.
      const name = `url-${number.toString(16).padStart(32, "0")}` as EndpointId;
      const next = newDelivery(
        { merchantId: busy, endpoint: name, number, paymentId: payment.id, kind: "update" },
        now,
      );
      await office.store.commit({
        merchantId: busy,
        at: now,
        facts: [],
        entries: [],
        notifications: [],
        deliveries: [{ next, replaces: undefined }],
      });
    }
    const { id } = await office.event(innocent);
    office.start();
    await office.run(second);
    const first = office.received.find(({ hash }) => hash === id);
    assert.ok(first !== undefined && first.at - now < second);
    assert.ok(office.received.length < 10_000, "control: the others are not all sent");
    const read = office.calls.get("deliveriesDue") ?? 0;
    assert.ok(
      read <= office.received.length + 256,
      `${read} queues read for ${office.received.length} messages`,
    );
    await office.stop();
  });
});

describe("reads of the store that fail", () => {
  for (const read of ["merchantsDue", "queuesDue", "deliveriesDue"]) {
    test(`three times in a row, ${read} alone, make notifications a failing job until it works`, async () => {
      const office = new PostOffice();
      office.account(given.merchantA, [endpoint("shop")]);
      await office.event(given.merchantA);
      office.fails = (each) => each === read;
      office.start();
      await office.run(10 * second);
      assert.deepEqual(office.received, []);
      assert.deepEqual(office.reads.failing(), ["notifications"]);
      assert.deepEqual(
        office.failures.map((failure) => failure.read),
        [read],
        "it is reported by its name, and not each time",
      );
      office.fails = () => false;
      await office.run(2 * second);
      assert.equal(office.received.length, 1);
      assert.deepEqual(office.reads.failing(), []);
      await office.stop();
    });
  }

  for (const read of ["queuesDue", "deliveriesDue"]) {
    test(`of one merchant, ${read}, keep no other's notifications back`, async () => {
      const office = new PostOffice();
      const [unreadable] = hostile;
      assert.ok(unreadable !== undefined);
      office.account(unreadable, [endpoint("shop")]);
      office.account(innocent, [endpoint("shop")]);
      await office.event(unreadable);
      await office.run(second);
      const { id } = await office.event(innocent);
      office.fails = (each, merchantId) => each === read && merchantId === unreadable;
      office.start();
      await office.run(second / 2);
      assert.deepEqual(
        office.received.map(({ hash }) => hash),
        [id],
      );
      await office.stop();
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
      const office = new PostOffice();
      const [many] = hostile;
      assert.ok(many !== undefined);
      office.account(many, [endpoint("shop")]);
      office.account(innocent, [endpoint("shop")]);
      for (let made = 0; made < count; made += 1) await office.event(many);
      await office.run(month + second);
      office.account(many, now);
      const { id } = await office.event(innocent);
      let commitsBefore: number | undefined;
      office.answer = ({ hash }) => {
        if (hash === id) commitsBefore = office.calls.get("commit") ?? 0;
        return { outcome: ok, afterMs: 20 };
      };
      office.start();
      await office.run(second / 2);
      assert.ok(
        commitsBefore !== undefined && commitsBefore <= 5,
        `${commitsBefore} commits before the other merchant's message`,
      );
      assert.ok(
        (office.calls.get("commit") ?? 0) <= 34,
        `${office.calls.get("commit")} commits before the next poll`,
      );
      await office.run(10 * second);
      const ended = (await deliveriesOf(office.store, many)).filter(
        (each) => each.state === "failed" && each.outcome === outcome,
      );
      assert.equal(ended.length, count);
      await office.stop();
    });
  }
});
