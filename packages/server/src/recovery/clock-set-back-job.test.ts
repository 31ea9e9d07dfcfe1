import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { StillTime } from "../../test/contract/connector-harness.ts";
import * as given from "../../test/contract/store-fixtures.ts";
import { day, instant, laterBy, second } from "../kernel/instant.ts";
import { JobReads, type ReadFailure } from "../kernel/job-reads.ts";
import type { MerchantId } from "../kernel/ids.ts";
import type { EndpointId } from "../notification/events.ts";
import { createMemoryStore, type ReadMethod } from "../stores/memory/memory-store.ts";
import type { Store } from "../stores/store.ts";
import { ClockSetBackJob } from "./clock-set-back-job.ts";

const { merchantA, merchantB } = given;

/**
 * A clock that was a day ahead and was set back, and a delivery of each merchant with a time from
 * before that.
 */
async function setBack(context: TestContext) {
  const time = new StillTime();
  const failing = new Set<ReadMethod>();
  const store = createMemoryStore({ clock: time, readFails: (method) => failing.has(method) });
  const ahead = laterBy(time.now(), day);
  for (const merchantId of [merchantA, merchantB]) {
    await store.commit(given.accountChange(given.newAccount(merchantId), []));
    const payment = given.newPayment(1, { merchantId });
    await store.commit(given.paymentChange(payment));
    await store.commit(
      given.paymentChange(
        { ...payment, version: 2 },
        {
          at: ahead,
          notifications: [{ kind: "update", paymentId: payment.id }],
          endpoints: ["shop" as EndpointId],
        },
      ),
    );
  }
  const failures: ReadFailure[] = [];
  const reads = new JobReads(time, (failure) => void failures.push(failure));
  const start = async (over: Partial<Store> = {}): Promise<void> => {
    const job = new ClockSetBackJob({
      store: over.deliveriesOf === undefined ? store : withDeliveriesOf(store, over.deliveriesOf),
      clock: { now: () => time.now(), highest: ahead },
      scheduler: time,
      seenAt: undefined,
      report: () => undefined,
      reads: reads.of("clock_set_back"),
    });
    context.after(() => job.stop());
    job.start();
    // The first round begins immediately.
    await new Promise(setImmediate);
  };
  const dueOf = async (merchantId: MerchantId): Promise<number> =>
    (await store.queuesDue(merchantId, time.now(), undefined, 10)).length;
  return { time, store, failing, failures, reads, start, dueOf };
}

/** The store with one read replaced. */
function withDeliveriesOf(store: Store, deliveriesOf: Store["deliveriesOf"]): Store {
  return new Proxy(store, {
    get: (target, name) => {
      if (name === "deliveriesOf") return deliveriesOf;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
}

for (const read of ["accounts", "paymentsInFlight", "deliveriesOf"] as const) {
  test(`${read} that fails three times in a row makes the look for a clock that was set back a failing job, until it works`, async (context) => {
    const { time, failing, failures, reads, start, dueOf } = await setBack(context);
    failing.add(read);
    await start();
    await time.pass(5 * second);
    assert.deepEqual(reads.failing(), ["clock_set_back"]);
    assert.deepEqual(
      failures.map((failure) => failure.read),
      [read],
    );
    assert.equal(await dueOf(merchantA), 0, "control: nothing was done");
    failing.clear();
    await time.pass(12 * second);
    assert.deepEqual([reads.failing(), await dueOf(merchantA)], [[], 1]);
  });
}

test("one merchant's deliveries that can't be read delay no other merchant's", async (context) => {
  const { time, store, reads, start, dueOf } = await setBack(context);
  let isReadable = false;
  await start({
    deliveriesOf: async (merchantId, ...args) => {
      if (merchantId === merchantA && !isReadable) throw new Error("the read takes too long");
      return store.deliveriesOf(merchantId, ...args);
    },
  });
  await time.pass(5 * second);
  assert.deepEqual([await dueOf(merchantA), await dueOf(merchantB)], [0, 1]);
  assert.deepEqual(reads.failing(), ["clock_set_back"]);
  isReadable = true;
  await time.pass(2 * second);
  assert.deepEqual([await dueOf(merchantA), reads.failing()], [1, []]);
});

test("deliveries of a merchant that fill several pages are all due now", async (context) => {
  const { time, store, start } = await setBack(context);
  const payment = given.newPayment(2);
  await store.commit(given.paymentChange(payment));
  const notifications = Array.from(
    { length: 500 },
    () => ({ kind: "update", paymentId: payment.id }) as const,
  );
  const endpoints = ["books", "shop"] as EndpointId[];
  await store.commit(
    given.paymentChange(
      { ...payment, version: 2 },
      { at: laterBy(time.now(), day), notifications, endpoints },
    ),
  );
  await start();
  await time.pass(2 * second);
  const waiting = await store.deliveriesOf(merchantA, 0, 10_000, "waiting");
  assert.equal(waiting.length, 1_001);
  assert.ok(waiting.every(({ dueAt }) => dueAt <= instant(time.now())));
});
