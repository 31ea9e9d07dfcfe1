import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { instant, second } from "../../src/kernel/instant.ts";
import type { Scheduler } from "../../src/kernel/scheduler.ts";
import { SeededRandom } from "../../src/kernel/seeded-random.ts";
import { Dispatcher } from "../../src/delivery/dispatcher.ts";
import { noChaos } from "../../src/notification/endpoint.ts";
import type { EndpointId } from "../../src/notification/events.ts";
import { SlotLeaseKeeper } from "../../src/recovery/slot-lease-keeper.ts";
import { createMemoryStore } from "../../src/stores/memory/memory-store.ts";
import { StillTime } from "../contract/connector-harness.ts";
import * as given from "../contract/store-fixtures.ts";

/** A merchant in every fourth slot. */
const merchants = Array.from({ length: 8 }, (_, number) => given.merchantId(number * 4 + 1));
const shop = "shop" as EndpointId;
/**
 * Nodes that send the notifications of one store, in time that a test advances. Receivers take
 * longer than a node needs to notice that a slot moves, and the store's reads take `readMs`.
 */
function given8Merchants(context: TestContext, { receiverMs = 3 * second, readMs = 0 } = {}) {
  const time = new StillTime();
  const store = createMemoryStore({ clock: time });
  /** By message: the nodes that the receiver got it from. */
  const received = new Map<string, string[]>();
  let committed = 0;

  /** Commits the payment's notification, and lets the other nodes' reaction time pass. */
  const notify = async (): Promise<void> => {
    committed += 1;
    const merchantId = merchants[committed % merchants.length] ?? given.merchantA;
    const payment = given.newPayment(committed, { merchantId });
    const reported = {
      at: time.now(),
      notifications: [{ kind: "update" as const, paymentId: payment.id }],
      endpoints: [shop],
    };
    await store.commit(given.paymentChange(payment, reported));
  };

  const node = async (number: number) => {
    const name = number.toString(16).padStart(16, "0");
    let isDead = false;
    const never = new Promise<never>(() => undefined);
    const alive = <T>(call: () => Promise<T>): Promise<T> =>
      isDead ? never : call().then((value) => (isDead ? never : value));
    const scheduler: Scheduler = {
      sleep: (ms) => alive(() => time.sleep(ms)),
      after: (ms, task) => time.after(ms, () => void (isDead || task())),
    };
    const keeper = new SlotLeaseKeeper({
      store: {
        renewSlots: (of, leaseMs, release) => alive(() => store.renewSlots(of, leaseMs, release)),
        releaseSlots: (of) => alive(() => store.releaseSlots(of)),
      },
      node: name,
      scheduler,
      elapsedMs: () => Number(time.now()),
      report: () => undefined,
    });
    await keeper.start();
    const endpoints = [{ id: "shop", url: "http://127.0.0.1:1/", enabled: true, secretVersion: 1 }];
    const dispatcher = new Dispatcher({
      store: {
        merchantsDue: (now, after, limit, slots) =>
          alive(() => store.merchantsDue(now, after, limit, slots)),
        queuesDue: (merchantId, now, after, limit) =>
          alive(() => store.queuesDue(merchantId, now, after, limit)),
        deliveriesOfMessage: (to, message) => store.deliveriesOfMessage(to, message),
        deliveriesDue: (to, now, limit) =>
          alive(async () => {
            const due = await store.deliveriesDue(to, now, limit);
            if (readMs > 0) await time.sleep(readMs);
            return due;
          }),
        paymentById: (merchantId, id) => alive(() => store.paymentById(merchantId, id)),
        commit: (change) => alive(() => store.commit(change)),
      },
      accounts: {
        settingsOf: async () => ({ endpoints, chaos: noChaos }),
        disable: async () => undefined,
      },
      sender: {
        send: ({ headers }) =>
          alive(async () => {
            const id = headers["webhook-id"] ?? "";
            received.set(id, [...(received.get(id) ?? []), name]);
            await time.sleep(receiverMs);
            return { kind: "answered", status: 200, retryAfter: undefined };
          }),
      },
      sign: async ({ id, at }) => ({
        "webhook-id": id,
        "webhook-timestamp": String(at),
        "webhook-signature": "v1,AAAA",
      }),
      installation: "test",
      clock: time,
      random: new SeededRandom(name),
      scheduler,
      slotAssignment: keeper,
      report: () => undefined,
      alarm: (what) => assert.fail(what),
    });
    dispatcher.start();
    const stop = async (): Promise<void> => {
      if (isDead) return;
      await dispatcher.stop();
      await keeper.stop();
    };
    context.after(stop);
    return { name, stop, kill: () => void (isDead = true) };
  };

  /** Lets `ms` pass with a few notifications each second, fewer than the receivers can take. */
  const busy = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 150) {
      await notify();
      await time.pass(150);
    }
  };
  return { time, store, received, node, busy, committed: () => committed };
}

describe("several nodes that send notifications", () => {
  test("send each once while nodes come, and share the work", async (context) => {
    const { time, received, node, busy, committed } = given8Merchants(context);
    await node(2);
    await busy(5 * second);
    await node(1);
    await busy(15 * second);
    await node(3);
    await busy(15 * second);
    await time.pass(20 * second);
    assert.equal(received.size, committed());
    assert.deepEqual(
      Array.from(received.values()).filter((nodes) => nodes.length !== 1),
      [],
    );
    const last = Array.from(received.values()).slice(-100).flat();
    assert.deepEqual(new Set(last).size, 3, "control: all of them send in the end");
  });

  test("send nothing twice when an attempt ends while a read is on its way that still shows it", async (context) => {
    const { time, received, node, busy, committed } = given8Merchants(context, {
      receiverMs: 120,
      readMs: 70,
    });
    await node(1);
    await busy(10 * second);
    await time.pass(10 * second);
    assert.equal(received.size, committed());
    assert.ok(Array.from(received.values()).every((nodes) => nodes.length === 1));
  });

  test("send everything that a killed one leaves behind, within its lease and a poll", async (context) => {
    const { time, store, received, node, busy, committed } = given8Merchants(context);
    const [victim] = [await node(1), await node(2)];
    await busy(15 * second);
    const before = received.size;
    victim.kill();
    await busy(5 * second);
    await time.pass(10 * second);
    // Long enough for the queued messages, four at a time.
    await time.pass(30 * second);
    assert.equal(received.size, committed());
    assert.deepEqual(
      await store.merchantsDue(instant(Number.MAX_SAFE_INTEGER), undefined, 10),
      [],
      "and it is written down",
    );
    const repeats = Array.from(received.values()).filter((nodes) => nodes.length > 1);
    // Only the messages in flight at its death, four per merchant at most, and never twice by one
    // node.
    assert.ok(repeats.length <= 4 * merchants.length, `${repeats.length}`);
    assert.ok(repeats.every((nodes) => nodes.join() === "0000000000000001,0000000000000002"));
    assert.ok(before < committed(), "control: something was left");
  });
});
