import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import { StillTime } from "../../test/contract/connector-harness.ts";
import * as given from "../../test/contract/store-fixtures.ts";
import type { Clock } from "../kernel/clock.ts";
import { day, hour, type Instant, instant, laterBy, minute } from "../kernel/instant.ts";
import { type SlotAssignment, allSlots } from "../kernel/slot-assignment.ts";
import type { EndpointId } from "../notification/events.ts";
import type { Change } from "../stores/change.ts";
import { openEmbeddedStore } from "../stores/embedded/embedded-store.ts";
import { createMemoryStore } from "../stores/memory/memory-store.ts";
import type { Store } from "../stores/store.ts";
import { type Deleted, RetentionJob, type RetentionParts } from "./retention-job.ts";

const { merchantA, merchantB } = given;
const periods = { requestsMs: 30 * day, deliveriesMs: 90 * day };
const noDeletion = { facts: [], entries: [], notifications: [] } as const;
const digest = "ab".repeat(32);

async function claimed(
  store: Store,
  key: string,
  claimedAt: Instant,
  isAnswered = true,
  merchantId = merchantA,
): Promise<void> {
  const claim = { key, digest, claimedAt, answer: undefined };
  const write = (request: NonNullable<Change["request"]>) =>
    store.commit({ merchantId, at: claimedAt, request, ...noDeletion });
  assert.deepEqual(await write({ next: claim, replaces: "nothing" }), { outcome: "committed" });
  if (isAnswered)
    await write({ next: { ...claim, answer: { status: 200, body: "{}" } }, replaces: "claim" });
}

/** Which of these keys exist. */
async function keysOf(
  store: Store,
  keys: readonly string[],
  merchantId = merchantA,
): Promise<readonly string[]> {
  const found = await Promise.all(keys.map((key) => store.namedRequest(merchantId, key)));
  return keys.filter((_, index) => found[index] !== undefined);
}

/** A clock that can be set, with a monotonic time that cannot. */
class SetClock implements Clock {
  readonly #time: StillTime;
  aheadMs = 0;

  constructor(time: StillTime) {
    this.#time = time;
  }

  now(): Instant {
    return laterBy(this.#time.now(), this.aheadMs);
  }
}

function jobOn(
  store: RetentionParts["store"],
  time: StillTime,
  over: Partial<RetentionParts> = {},
): RetentionJob {
  const parts = {
    store,
    periods,
    clock: time,
    elapsedMs: () => Number(time.now()),
    scheduler: time,
    slotAssignment: allSlots,
  };
  return new RetentionJob({ ...parts, report: () => undefined, ...over });
}

describe("the job that deletes old records", () => {
  test("deletes answered keys that were claimed 30 days ago, to the millisecond, and no others", async (context) => {
    const time = new StillTime();
    const store = createMemoryStore();
    const old = laterBy(time.now(), -30 * day);
    await claimed(store, "old", old);
    await claimed(store, "young", laterBy(old, 1));
    await claimed(store, "open", laterBy(old, -300 * day), false);
    await claimed(store, "old", laterBy(old, -day), true, merchantB);
    const reports: Deleted[] = [];
    const job = jobOn(store, time, { report: (deleted) => void reports.push(deleted) });
    context.after(() => job.stop());

    await job.runDue();
    assert.deepEqual(await keysOf(store, ["old", "young", "open"]), ["young", "open"]);
    assert.deepEqual(await keysOf(store, ["old"], merchantB), []);
    assert.deepEqual(reports, [{ requests: 2, deliveries: 0 }]);
    await job.runDue();
    assert.equal(reports.length, 1, "a round without a deletion reports nothing");
  });

  test("deletes deliveries that ended 90 days ago, to the millisecond, and none that waits", async () => {
    const time = new StillTime();
    const store = createMemoryStore();
    const old = laterBy(time.now(), -90 * day);
    const shop = "shop" as EndpointId;
    const states = ["delivered", "failed", "delivered", "waiting"] as const;
    for (const [index, state] of states.entries()) {
      const payment = given.newPayment(index + 1);
      await store.commit(given.paymentChange(payment));
      const reported = {
        notifications: [{ kind: "update", paymentId: payment.id }],
        endpoints: [shop],
      } as const;
      await store.commit(given.paymentChange({ ...payment, version: 2 }, reported));
      const [delivery] = await store.deliveriesBetween(merchantA, index + 1, index + 1, 1);
      assert.ok(delivery !== undefined);
      const next = { ...delivery, version: 2, state, dueAt: index === 2 ? laterBy(old, 1) : old };
      await store.commit({
        merchantId: merchantA,
        at: old,
        deliveries: [{ next, replaces: 1 }],
        ...noDeletion,
      });
    }
    const reports: Deleted[] = [];
    await jobOn(store, time, { report: (deleted) => void reports.push(deleted) }).runDue();
    assert.deepEqual(
      (await store.deliveriesOf(merchantA, 1, 10)).map(({ number }) => number),
      [3, 4],
    );
    assert.deepEqual(reports, [{ requests: 0, deliveries: 2 }]);
    assert.equal((await store.notificationsOf(merchantA, 0, 10)).length, 4);
  });

  test("begins when the clock has been steady for an hour, and continues each hour", async (context) => {
    const time = new StillTime();
    const store = createMemoryStore();
    const begin = time.now();
    await claimed(store, "first", laterBy(begin, -30 * day));
    await claimed(store, "second", laterBy(begin, -30 * day + 90 * minute));
    const job = jobOn(store, time);
    job.start();
    context.after(() => job.stop());
    await time.pass(hour - 1);
    assert.deepEqual(await keysOf(store, ["first", "second"]), ["first", "second"]);
    await time.pass(minute);
    assert.deepEqual(await keysOf(store, ["first", "second"]), ["second"]);
    await time.pass(hour);
    assert.deepEqual(await keysOf(store, ["first", "second"]), []);
  });

  test("a clock that is set ahead deletes nothing, whether it is set back soon or the server is started while it is ahead", async (context) => {
    const time = new StillTime();
    const clock = new SetClock(time);
    const store = createMemoryStore();
    for (let number = 0; number < 300; number += 1)
      await claimed(store, `key-${number}`, time.now());
    const count = async () =>
      (await store.answeredRequests(laterBy(time.now(), 365 * day), 1_000)).length;
    const job = jobOn(store, time, { clock });
    job.start();
    context.after(() => job.stop());
    await time.pass(3 * hour);
    clock.aheadMs = 365 * day;
    const atStart = jobOn(store, time, { clock });
    atStart.start();
    context.after(() => atStart.stop());
    await time.pass(59 * minute);
    clock.aheadMs = 0;
    await time.pass(5 * hour);
    assert.equal(await count(), 300);
    // A control: if the clock stays like this, the record is deleted eventually.
    clock.aheadMs = 365 * day;
    await time.pass(63 * minute);
    assert.equal(await count(), 0);
  });

  test("a clock that is set ahead in the middle of a round ends the round", async (context) => {
    const time = new StillTime();
    const clock = new SetClock(time);
    const memory = createMemoryStore();
    for (let number = 0; number < 300; number += 1)
      await claimed(memory, `key-${number}`, laterBy(time.now(), -31 * day));
    const store = {
      answeredRequests: memory.answeredRequests.bind(memory),
      endedDeliveries: memory.endedDeliveries.bind(memory),
      commit: (change: Change) => {
        clock.aheadMs = 365 * day;
        return memory.commit(change);
      },
    };
    const job = jobOn(store, time, { clock });
    job.start();
    context.after(() => job.stop());
    await time.pass(62 * minute);
    assert.equal(
      (await memory.answeredRequests(time.now(), 1_000)).length,
      100,
      "two hundred of the first piece",
    );
  });

  test("a node without the first slot deletes nothing, and one that loses it goes no further", async (context) => {
    const time = new StillTime();
    const store = createMemoryStore();
    for (let number = 0; number < 500; number += 1)
      await claimed(store, `key-${number}`, laterBy(time.now(), -31 * day));
    const count = async () => (await store.answeredRequests(time.now(), 1_000)).length;
    const none: SlotAssignment = { ...allSlots, leases: () => new Map() };
    await jobOn(store, time, { slotAssignment: none }).runDue();
    assert.equal(await count(), 500);

    let begun = 0;
    const losing: SlotAssignment = {
      ...allSlots,
      leases: () => new Map([[0, { begin: () => (begun++ === 0 ? () => undefined : undefined) }]]),
    };
    const job = jobOn(store, time, { slotAssignment: losing });
    job.start();
    context.after(() => job.stop());
    await time.pass(62 * minute);
    assert.equal(await count(), 300);
  });

  test("a key that is answered again, or claimed again, after it was read stays", async () => {
    const time = new StillTime();
    const memory = createMemoryStore();
    await claimed(memory, "old", laterBy(time.now(), -31 * day));
    const racing = {
      endedDeliveries: memory.endedDeliveries.bind(memory),
      answeredRequests: async (before: Instant, limit: number) => {
        const found = await memory.answeredRequests(before, limit);
        // Another process has deleted it meanwhile, and its client has sent the next request with
        // it.
        await memory.commit({
          merchantId: merchantA,
          at: time.now(),
          requestDeletion: { keys: ["old"], claimedBefore: before },
          ...noDeletion,
        });
        await claimed(memory, "old", time.now());
        return found;
      },
      commit: memory.commit.bind(memory),
    };
    await jobOn(racing, time).runDue();
    assert.equal((await memory.namedRequest(merchantA, "old"))?.claimedAt, time.now());
  });

  test("a process that ends between two pieces leaves the others, and the next one deletes them", async (context) => {
    const time = new StillTime();
    const store = createMemoryStore();
    for (let number = 0; number < 500; number += 1)
      await claimed(store, `key-${number}`, laterBy(time.now(), -31 * day + number));
    await claimed(store, "young", time.now());
    let commits = 0;
    const killed = {
      answeredRequests: store.answeredRequests.bind(store),
      endedDeliveries: store.endedDeliveries.bind(store),
      commit: (change: Change) => {
        commits += 1;
        return commits > 2 ? new Promise<never>(() => undefined) : store.commit(change);
      },
    };
    const first = jobOn(killed, time);
    first.start();
    await time.pass(62 * minute);
    assert.equal((await store.answeredRequests(laterBy(time.now(), -day), 1_000)).length, 300);
    const next = jobOn(store, time);
    next.start();
    context.after(() => next.stop());
    await time.pass(62 * minute);
    assert.equal((await store.answeredRequests(laterBy(time.now(), -day), 1_000)).length, 0);
    assert.deepEqual(await keysOf(store, ["young"]), ["young"]);
  });

  test("100,000 keys are deleted in small pieces, and other changes are written between them", async (context) => {
    const folder = mkdtempSync(join(tmpdir(), "cofre-retention-"));
    context.after(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, "cofre.db");
    await (await openEmbeddedStore({ file })).close();
    const time = new StillTime();
    const database = new DatabaseSync(file);
    database
      .prepare(
        `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 100000)
         INSERT INTO named_request (merchant, key, digest, claimed_at, status, body)
         SELECT unhex(CASE n % 10 WHEN 0 THEN ? ELSE ? END), 'key-' || n, unhex(?), ? + n, 200, '{}' FROM n`,
      )
      .run(merchantB, merchantA, digest, time.now() - 31 * day);
    database.close();
    const store = await openEmbeddedStore({ file });
    context.after(() => store.close());

    let [underWay, maxInFlight, largest, others, atOnce] = [0, 0, 0, 0, 0];
    const counted = {
      endedDeliveries: store.endedDeliveries.bind(store),
      answeredRequests: (before: Instant, limit: number) => {
        atOnce = Math.max(atOnce, limit);
        return store.answeredRequests(before, limit);
      },
      commit: async (change: Change) => {
        largest = Math.max(largest, change.requestDeletion?.keys.length ?? 0);
        underWay += 1;
        maxInFlight = Math.max(maxInFlight, underWay);
        const result = await store.commit(change);
        underWay -= 1;
        return result;
      },
    };
    const ended = Promise.withResolvers<Deleted>();
    let round: (() => void) | undefined;
    let elapsedMs = 0;
    const job = new RetentionJob({
      store: counted,
      periods,
      clock: { now: () => laterBy(time.now(), elapsedMs) },
      elapsedMs: () => elapsedMs,
      slotAssignment: allSlots,
      report: ended.resolve,
      scheduler: {
        after: (_, task) => {
          round = task;
          return () => undefined;
        },
        // The job does nothing during a pause, so a change of a payment waits for one piece at
        // most.
        sleep: async () => {
          assert.equal(underWay, 0);
          others += 1;
          if (others % 50 === 0)
            assert.deepEqual(await store.commit(given.paymentChange(given.newPayment(others))), {
              outcome: "committed",
            });
        },
      },
    });
    job.start();
    elapsedMs = hour;
    round?.();
    assert.deepEqual(await ended.promise, { requests: 100_000, deliveries: 0 });
    await job.stop();
    assert.deepEqual([atOnce, largest, others], [200, 100, 500]);
    assert.ok(maxInFlight <= 3, `${maxInFlight} changes at once`);
    assert.deepEqual(await store.answeredRequests(instant(Number.MAX_SAFE_INTEGER), 10), []);
  });
});
