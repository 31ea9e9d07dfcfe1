import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import * as given from "../../test/contract/store-fixtures.ts";
import { standalonePlan, standaloneWorlds } from "../../test/standalone-worlds.ts";
import type { ServiceRecording } from "../payment-service.ts";
import { type MerchantId } from "../kernel/ids.ts";
import { hour, type Instant, instant, second } from "../kernel/instant.ts";
import { SeededRandom } from "../kernel/seeded-random.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import { systemScheduler } from "../kernel/system-scheduler.ts";
import type { Change } from "../stores/change.ts";
import type { World } from "./world.ts";
import { WorldClock } from "./world-clock.ts";
import { type WorldLimits, WorldRefused, type Worlds } from "./worlds.ts";

const random = new SeededRandom("worlds");
const epoch = Date.UTC(2026, 10, 28);

interface Rig {
  readonly worlds: Worlds;
  readonly changed: MerchantId[];
  readonly advance: (ms: number) => void;
  readonly create: (options?: {
    readonly key?: string;
    readonly running?: boolean;
  }) => Promise<World>;
}

function rig(limits: Partial<WorldLimits> = {}): Rig {
  let now = epoch;
  const changed: MerchantId[] = [];
  const worlds = standaloneWorlds({ now: () => instant(now) }, random, {
    limits,
    onChanged: (id) => void changed.push(id),
  });
  return {
    worlds,
    changed,
    advance: (ms) => void (now += ms),
    create: ({ key, running = false } = {}) =>
      worlds.create(standalonePlan(random, { now: instant(epoch), running }, key)),
  };
}

/** A record that clients can add to a world without limit: an idempotent request. */
function claim(world: World, key: string): Promise<unknown> {
  const at = instant(epoch);
  const change: Change = {
    merchantId: world.id,
    at,
    request: {
      next: { key, digest: "0".repeat(64), claimedAt: at, answer: undefined },
      replaces: "nothing",
    },
    facts: [],
    entries: [],
    notifications: [],
  };
  return world.paymentService.store.commit(change);
}

describe("the number of worlds", () => {
  test("is bounded: one that is used is never given up for another", async () => {
    const { worlds, create } = rig({ maxWorlds: 3 });
    for (let made = 0; made < 3; made += 1) await create();
    await assert.rejects(create(), new WorldRefused("full"));
    assert.equal(worlds.size, 3);
    await worlds.close();
    assert.equal(worlds.size, 0);
  });

  test("is kept by giving up the one that was left alone for longest, after an hour", async () => {
    const { worlds, create, advance, changed } = rig({ maxWorlds: 3 });
    const [first, second_, third] = [
      await create({ key: "first" }),
      await create({ key: "second" }),
      await create({ key: "third" }),
    ];
    advance(hour / 2);
    assert.equal(worlds.byKey("first"), first);
    advance(hour / 2 + 1);
    assert.equal(worlds.byKey("third"), third);
    const fourth = await create({ key: "fourth" });
    assert.deepEqual(worlds.list(), [first, third, fourth]);
    assert.equal(worlds.byKey("second"), undefined);
    assert.deepEqual(new Set(changed), new Set([second_.id]));
    await assert.rejects(create(), new WorldRefused("full"));
    await worlds.close();
  });

  test("keys open one world each", async () => {
    const { worlds, create } = rig();
    await create({ key: "mine" });
    await assert.rejects(create({ key: "mine" }), new WorldRefused("key_taken"));
    // Of two concurrent requests, one succeeds.
    const both = await Promise.allSettled([create({ key: "ours" }), create({ key: "ours" })]);
    assert.deepEqual(both.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
    await worlds.close();
  });
});

test("the records of all worlds together are bounded; existing worlds continue, and a deleted world frees its share", async () => {
  const { worlds, create } = rig({ maxRecords: 2_500 });
  const [one, other] = [await create(), await create()];
  for (let made = 0; made < 1_250; made += 1) {
    await claim(one, `a-${made}`);
    await claim(other, `b-${made}`);
  }
  await assert.rejects(claim(one, "one more"), { code: "overloaded" });
  assert.equal(one.size + other.size, 2_500);
  // A change of an account's settings is not a new record.
  const { account } = one.plan;
  const changed = { ...account, version: 2, name: "changed" };
  const change: Change = {
    merchantId: one.id,
    at: instant(epoch),
    account: { next: changed, replaces: 1, keys: [] },
    facts: [],
    entries: [],
    notifications: [],
  };
  assert.deepEqual(await one.paymentService.store.commit(change), { outcome: "committed" });
  await worlds.delete(other);
  await claim(one, "one more");
  await worlds.close();
});

test("long settings count for the records that they take the room of", async () => {
  const { worlds, create } = rig({ maxRecords: 2_500 });
  const [one, other] = [await create(), await create()];
  const routes = Array.from({ length: 50 }, () => ({
    connectors: ["simulator"],
    bins: Array.from({ length: 200 }, () => "411111"),
  }));
  const long = (world: World): Change => {
    const { account } = world.plan;
    const next = { ...account, version: 2, settings: { ...account.settings, routes } };
    return {
      merchantId: world.id,
      at: instant(epoch),
      account: { next, replaces: 1, keys: [] },
      facts: [],
      entries: [],
      notifications: [],
    };
  };
  assert.equal(one.size, 0);
  await one.paymentService.store.commit(long(one));
  assert.ok(one.size > 300, String(one.size));
  while (one.size + other.size <= 1_500) await claim(other, String(other.size));
  await assert.rejects(other.paymentService.store.commit(long(other)), { code: "overloaded" });
  await worlds.close();
});

describe("snapshots", () => {
  test("of all worlds together have a bound, and those of a world that goes make room", async () => {
    const { worlds, create } = rig({ maxSnapshotRecords: 90 });
    const [one, other] = [await create(), await create()];
    assert.ok(one.snapshot("a") && one.snapshot("b") && other.snapshot("c"));
    assert.ok(!other.snapshot("d"));
    // A snapshot that replaces another fits.
    assert.ok(one.snapshot("a"));
    await claim(other, "one more");
    assert.ok(!other.snapshot("c"));
    assert.deepEqual(other.snapshots, ["c"]);
    await worlds.delete(one);
    assert.ok(other.snapshot("c") && other.snapshot("d"));
    await worlds.close();
  });

  test("have the time of their moment, though the world's clock runs", async () => {
    const { worlds, create, advance } = rig();
    const world = await create({ running: true });
    advance(5 * second);
    world.snapshot("then");
    advance(hour);
    assert.ok(await worlds.restore(world, "then"));
    assert.deepEqual(world.time, { now: epoch + 5 * second, running: true });
    advance(second);
    assert.equal(world.time.now, epoch + 6 * second);
    await worlds.close();
  });
});

test("no account can be called what a world is called towards receivers, whose secrets are derived from it", async () => {
  const { worlds, create } = rig();
  const [one, same] = [await create(), await create()];
  assert.equal(one.alias, same.alias);
  assert.doesNotMatch(one.alias, /^[0-9a-f]{8}$/);
  await worlds.close();
});

test("a move of the clock that takes more than a minute says where it was to end, and the next one continues", async () => {
  const { worlds, create, advance } = rig();
  const world = await create();
  const { recovery, store } = world.paymentService;
  for (const number of [1, 2, 3]) {
    const held = {
      ...given.newPayment(number),
      merchantId: world.id,
      state: "authorized",
      attempt: undefined,
    } as const;
    await store.commit(given.paymentChange({ ...held, captureBy: instant(epoch + number * hour) }));
  }
  // A step that takes very long.
  const runDue = recovery.runDue.bind(recovery);
  recovery.runDue = () => {
    advance(25 * second);
    return runDue();
  };
  const to = instant(epoch + 5 * hour);
  const first = await world.move(() => to);
  assert.equal(first?.left, to);
  assert.equal(world.time.now, epoch + hour);
  for (let moves = 0; moves < 20 && world.time.now < to; moves += 1) await world.move(() => to);
  assert.equal(world.time.now, to);
  assert.equal(await world.move(() => undefined), undefined);
  await worlds.close();
});

test("a reset world cancels the moves of its clock, and what ends in the old world does not reach the new one", async () => {
  const recorded: string[] = [];
  const recording: ServiceRecording = {
    connectors: (connectors) => connectors,
    attempted: () => undefined,
    committed: ({ order }) => void recorded.push(order.code),
  };
  const worlds = standaloneWorlds({ now: () => instant(epoch) }, random, { recording });
  const world = await worlds.create(
    standalonePlan(random, { now: instant(epoch), running: false }),
  );
  const { account } = world.plan;
  const held = (number: number, captureBy = instant(epoch + hour)): Change =>
    given.paymentChange({
      ...given.newPayment(number),
      merchantId: world.id,
      state: "authorized",
      attempt: undefined,
      captureBy,
    });
  const old = world.paymentService;
  await old.runner.contextOf(account).change(async () => held(1));
  const [entered, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const runDue = old.recovery.runDue.bind(old.recovery);
  old.recovery.runDue = async () => {
    entered.resolve();
    await gate.promise;
    return runDue();
  };
  const to = instant(epoch + 5 * hour);
  const moves = [world.move(() => to), world.move(() => to)];
  await entered.promise;
  const resets = [worlds.reset(world), worlds.reset(world)];
  const between = world.move(() => to);
  gate.resolve();
  await Promise.all(resets);
  assert.deepEqual(
    (await Promise.all(moves)).map((moved) => moved?.isCancelled),
    [true, true],
  );
  assert.deepEqual([(await between)?.isCancelled, world.time.now], [false, to]);

  // A request of the previous state ends while the time of the present one is moved.
  const { recovery } = world.paymentService;
  const runDueNow = recovery.runDue.bind(recovery);
  let late = 0;
  recovery.runDue = async () => {
    if (world.time.now > to && (late += 1) === 1)
      await old.runner.contextOf(account).change(async () => held(2));
    return runDueNow();
  };
  await world.paymentService.runner
    .contextOf(account)
    .change(async () => held(3, instant(to + hour / 2)));
  const moved = await world.move(() => instant(to + hour));
  assert.ok(late > 0, "control");
  assert.deepEqual(moved?.result, { payments: 1, deliveries: 0, cards: 0 }, "the third lapses");
  assert.equal(world.payments, 1);
  const [first, , third] = [1, 2, 3].map((number) => given.newPayment(number).order.code);
  assert.deepEqual(new Set(recorded), new Set([first, third]));
  await worlds.close();
});

test("a move of the time waits for no pause between cards, however many a world has", async () => {
  const pauses: number[] = [];
  const sleep: Scheduler["sleep"] = async (ms, signal) => {
    if (ms > 0) pauses.push(ms);
    await systemScheduler.sleep(0, signal);
  };
  const worlds = standaloneWorlds({ now: () => instant(epoch) }, random, {
    scheduler: { ...systemScheduler, sleep },
  });
  const world = await worlds.create(
    standalonePlan(random, { now: instant(epoch), running: false }),
  );
  const cards = 2_500;
  for (let number = 1; number <= cards; number += 1) {
    // Two of them have a different time from all others.
    const at = instant(epoch + Math.max(0, number - cards + 2) * second);
    const card = given.newCard(number, { merchantId: world.id, createdAt: at, lastUsedAt: at });
    assert.equal(
      (await world.paymentService.store.commit(given.cardChange(card))).outcome,
      "committed",
    );
  }
  const moved = await world.move(() => instant(epoch + 500 * 24 * hour));
  assert.deepEqual([moved?.result.cards, moved?.left, pauses], [cards, undefined, []]);
  await worlds.close();
});

test("nothing is created after all worlds are deleted", async () => {
  const { worlds, create } = rig();
  await worlds.close();
  await assert.rejects(create({ running: true }), new WorldRefused("full"));
});

test("in a world whose clock runs, due work is done without a request", async () => {
  const { worlds, create, advance } = rig();
  const world = await create({ running: true });
  const rounds: Instant[] = [];
  const { recovery, store } = world.paymentService;
  // The payment is not captured.
  await store.commit(
    given.paymentChange({
      ...given.newPayment(1),
      merchantId: world.id,
      state: "authorized",
      attempt: undefined,
      captureBy: instant(epoch + 3 * second),
    }),
  );
  const runDue = recovery.runDue.bind(recovery);
  recovery.runDue = () => {
    rounds.push(world.time.now);
    return runDue();
  };
  // Nothing is due yet, so no due work runs.
  await sleep(1_200);
  assert.deepEqual(rounds, []);
  advance(5 * second);
  assert.equal(world.time.now, epoch + 5 * second);
  for (let looks = 0; looks < 500 && rounds.length === 0; looks += 1) await sleep(20);
  assert.ok(rounds.length > 0);
  await worlds.close();
  const before = rounds.length;
  await sleep(1_200);
  assert.equal(rounds.length, before);
});

describe("a world's clock", () => {
  const at = (ms: number): Instant => instant(epoch + ms);

  test("is stopped, runs with the system's clock, and never runs backwards with it", () => {
    let system = epoch;
    const clock = new WorldClock({ now: () => instant(system) }, { now: at(10), running: false });
    system += 100;
    assert.equal(clock.now(), at(10));
    clock.run(true);
    system += 7;
    assert.equal(clock.now(), at(17));
    system -= 50;
    assert.equal(clock.now(), at(10));
    system += 50;
    clock.set(at(1_000));
    system += 1;
    assert.equal(clock.now(), at(1_001));
    clock.run(false);
    system += 1_000;
    assert.equal(clock.now(), at(1_001));
  });

  test("has what is to happen later happen at its time, in order", async () => {
    const clock = new WorldClock({ now: () => instant(epoch) }, { now: at(0), running: false });
    const scheduler = clock.scheduler(systemScheduler);
    const happened: string[] = [];
    scheduler.after(20, () => happened.push("second"));
    scheduler.after(10, () => happened.push("first"));
    const cancel = scheduler.after(15, () => happened.push("never"));
    scheduler.after(30, () => happened.push("third"));
    cancel();
    assert.equal(clock.nextTimer, at(10));
    clock.fireTimers();
    assert.deepEqual(happened, []);
    clock.set(at(20));
    clock.fireTimers();
    assert.deepEqual(happened, ["first", "second"]);
    assert.equal(clock.nextTimer, at(30));
    // The number of timers is bounded: the oldest is lost.
    const late: number[] = [];
    for (let ms = 31; ms <= 1_530; ms += 1) scheduler.after(ms, () => late.push(ms));
    clock.set(at(2_000));
    clock.fireTimers();
    assert.equal(late.length, 1_000);
    assert.equal(late[0], 531);
    // While the time is paused, there are no waits.
    const began = performance.now();
    await scheduler.sleep(60_000);
    assert.ok(performance.now() - began < 30_000);
  });

  test("is stopped while it is frozen, and no request waits for it", async () => {
    let system = epoch;
    const clock = new WorldClock({ now: () => instant(system) }, { now: at(0), running: true });
    const scheduler = clock.scheduler(systemScheduler);
    const began = performance.now();
    const waits = scheduler.sleep(60_000);
    system += 5;
    clock.freeze();
    await waits;
    system += 1_000;
    await scheduler.sleep(60_000);
    assert.equal(clock.now(), at(5));
    clock.set(at(90));
    clock.unfreeze();
    system += 1;
    assert.equal(clock.now(), at(91));
    const stopped = scheduler.sleep(60_000);
    clock.run(false);
    await stopped;
    assert.ok(performance.now() - began < 30_000);
  });
});
