import assert from "node:assert/strict";
import { test } from "node:test";
import { StillTime } from "../../test/contract/connector-harness.ts";
import {
  bareOrder,
  newAttempt,
  newPayment,
  paymentChange,
} from "../../test/contract/store-fixtures.ts";
import { cardOf } from "../../test/vectors/cards.ts";
import { connectorsOf } from "../connectors/connector-set.ts";
import { createSimulator } from "../connectors/simulator/simulator-connector.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { hour, instant } from "../kernel/instant.ts";
import { RateLimit } from "../kernel/rate-limit.ts";
import { SeededRandom } from "../kernel/seeded-random.ts";
import { allSlots } from "../kernel/slot-assignment.ts";
import { defaultAccountSettings } from "../merchant/settings.ts";
import { AccountDirectory } from "../operations/account-directory.ts";
import { direct } from "../operations/direct.ts";
import { refund } from "../operations/refund.ts";
import { Runner } from "../operations/runner.ts";
import type { Payment } from "../payment/payment.ts";
import { type Store, StoreError } from "../stores/store.ts";
import type { WorldStore } from "../stores/world-store.ts";
import { createMemoryStore } from "../stores/memory/memory-store.ts";
import { CvvCache } from "../vault/cvv-cache.ts";
import { Keyring } from "../vault/keyring.ts";
import { createLocalVault } from "../vault/local-vault.ts";
import {
  createMemoryKeyProvider,
  createMemoryWrappedKeyStore,
} from "../vault/memory-key-provider.ts";
import { RecoveryJob, type RecoveryRateLimits, type RecoveryProgress } from "./recovery-job.ts";

const account = {
  id: "0000000a" as MerchantId,
  version: 1,
  name: "Shop",
  settings: defaultAccountSettings(),
};

const paced = (time: StillTime): RecoveryRateLimits => ({
  payments: new RateLimit(time, 4, 5),
  pages: new RateLimit(time, 1, 20),
});

function same(store: WorldStore): Store {
  return store;
}

async function given(
  names: readonly string[] = ["simulator"],
  slotAssignment = allSlots,
  around: (store: WorldStore) => Store = same,
  rateLimitsOf: (time: StillTime) => RecoveryRateLimits | undefined = () => undefined,
) {
  const time = new StillTime();
  const random = new SeededRandom("recovery job");
  const ports = { clock: time, random };
  const keys = { provider: createMemoryKeyProvider(random), store: createMemoryWrappedKeyStore() };
  const keyring = await Keyring.open({ ...keys, ...ports, environment: "test", create: true });
  const store = around(createMemoryStore());
  const simulator = createSimulator({ clock: time, scheduler: time });
  const others = names
    .slice(1)
    .map((name) => ({ ...createSimulator({ clock: time, scheduler: time }), name }));
  const runner = new Runner({
    ...ports,
    store,
    vault: createLocalVault({ keyring, environment: "test", random }),
    connectors: connectorsOf([{ ...simulator, name: names[0] ?? "" }, ...others]),
    cvvCache: new CvvCache(random),
    acquirerTimeoutMs: 30_000,
    endpointsOf: () => [],
    onNotificationsCommitted: () => undefined,
    alarm: ({ what }) => assert.fail(what),
  });
  const reports: RecoveryProgress[] = [];
  const report = (progress: RecoveryProgress): void => void reports.push(progress);
  const job = new RecoveryJob({
    store,
    runner,
    accounts: new AccountDirectory(store, time),
    clock: time,
    scheduler: time,
    slotAssignment,
    report,
    rateLimits: rateLimitsOf(time),
  });
  const change = {
    merchantId: account.id,
    at: time.now(),
    facts: [],
    entries: [],
    notifications: [],
  };
  await store.commit({ ...change, account: { next: account, replaces: undefined, keys: [] } });
  return { time, store, simulator, runner, job, reports };
}

test("a refund whose outcome stays unknown is reported as overdue after an hour of asking, and settles when the acquirer answers", async () => {
  const { time, store, simulator, runner, job, reports } = await given();
  const source = {
    kind: "pan",
    card: cardOf("4111111111111111"),
    cvv: undefined,
    cryptogram: undefined,
  } as const;
  const { payment } = await runner.run(direct, account, {
    order: bareOrder("order-1"),
    source,
    local: false,
    createToken: undefined,
  });
  await runner.run(refund, account, {
    selector: { hash: payment.id },
    amount: "30.00",
    description: "changed their mind",
    code: undefined,
  });
  const refundState = async () =>
    (await store.paymentById(account.id, payment.id))?.refunds[0]?.state;
  await job.start();
  await job.runDue();

  simulator.instruct(account.id, { next: "lose_answer", times: 20 });
  await time.pass(10 * 60_000);
  assert.equal(await refundState(), "sending");
  // The control: an unknown outcome raises no alarm within minutes.
  assert.equal(reports.length, 0);

  await time.pass(2 * hour);
  const [first] = reports;
  assert.deepEqual(
    [first?.kind, first?.state, first?.paymentId],
    ["overdue", "refund_sending", payment.id],
  );

  await time.pass(3 * hour);
  assert.equal(await refundState(), "confirmed");
  assert.equal(simulator.books().merchants[0]?.money[0]?.refunded, 30_00n);
  const reported = reports.length;
  await time.pass(hour);
  assert.equal(reports.length, reported);
  await job.stop();
});

/** A payment whose inquiry has been due for up to an hour; higher numbers are due later. */
async function dueOf(
  { time, store }: Awaited<ReturnType<typeof given>>,
  number: number,
  connector: string,
  merchantId: MerchantId,
) {
  const model = newPayment(number, { merchantId });
  const sentAt = instant(time.now() - hour + number);
  const attempt = newAttempt({
    kind: "sale",
    number: 1,
    sentAt,
    answerBy: sentAt,
    recheckAt: instant(sentAt + 1),
    checks: 0,
  });
  const payment: Payment = { ...model, order: { ...model.order, connector }, attempt, attempts: 1 };
  assert.equal((await store.commit(paymentChange(payment))).outcome, "committed");
  return payment;
}

test("of thousands that are due, a round that has read to the last of them leaves none to a later time", async () => {
  const parts = await given();
  const { time, store, job } = parts;
  // As many as one round reads, of which it takes up some.
  for (let number = 1; number <= 2_000; number += 1)
    await dueOf(parts, number, "simulator", account.id);
  const left = async () => (await store.paymentsDue(time.now(), 10_000)).length;
  // Like a world whose clock is moved: rounds until one does nothing.
  for (
    let before = Number.POSITIVE_INFINITY, now = await left();
    now < before;
    now = await left()
  ) {
    before = now;
    await job.runDue();
  }
  assert.equal(await left(), 0);
  await job.stop();
});

test("an acquirer that answers slowly, with thousands of payments due, does not delay the recovery of other acquirers' payments", async () => {
  const parts = await given(["slow", "quick"], { ...allSlots, isAlone: false });
  const { time, store, job } = parts;
  const change = { at: time.now(), facts: [], entries: [], notifications: [] };
  const slowAccount = { ...account, id: "0000000b" as MerchantId, settings: withLatency(25_000) };
  await store.commit({
    ...change,
    merchantId: slowAccount.id,
    account: { next: slowAccount, replaces: undefined, keys: [] },
  });
  for (let number = 1; number <= 5_000; number += 1)
    await dueOf(parts, number, "slow", slowAccount.id);
  // The last one in due order.
  const quick = await dueOf(parts, 5_001, "quick", account.id);
  await job.start();
  await time.pass(10_000);

  assert.equal((await store.paymentById(account.id, quick.id))?.attempt, undefined);
  const stillDue = await store.paymentsDue(time.now(), 10_000);
  assert.equal(stillDue.length, 5_000, "control: nothing of the slow one has had its answer yet");
  const stopped = job.stop();
  await time.pass(60_000);
  await stopped;
});

test("thousands of one acquirer that are due behind those of a slow one do not wait for it", async () => {
  const parts = await given(["slow", "quick"], { ...allSlots, isAlone: false });
  const { time, store, job } = parts;
  const change = { at: time.now(), facts: [], entries: [], notifications: [] };
  const slowAccount = { ...account, id: "0000000b" as MerchantId, settings: withLatency(25_000) };
  await store.commit({
    ...change,
    merchantId: slowAccount.id,
    account: { next: slowAccount, replaces: undefined, keys: [] },
  });
  for (let number = 1; number <= 500; number += 1)
    await dueOf(parts, number, "slow", slowAccount.id);
  for (let number = 501; number <= 2_500; number += 1)
    await dueOf(parts, number, "quick", account.id);
  await job.start();
  await time.pass(3_000);

  const left = await store.paymentsDue(time.now(), 10_000);
  assert.deepEqual(
    [left.length, new Set(left.map(({ merchantId }) => merchantId))],
    [500, new Set([slowAccount.id])],
  );
  const stopped = job.stop();
  await time.pass(60_000);
  await stopped;
});

test("payments that fail each time hold up no others of their acquirer", async () => {
  const parts = await given(["simulator"], { ...allSlots, isAlone: false });
  const { time, store, job } = parts;
  const withoutAccount = "0000000b" as MerchantId;
  for (let number = 1; number <= 3; number += 1)
    await dueOf(parts, number, "simulator", withoutAccount);
  for (let number = 4; number <= 2_003; number += 1)
    await dueOf(parts, number, "simulator", account.id);
  await job.start();
  await time.pass(3_000);
  assert.deepEqual(
    new Set((await store.paymentsDue(time.now(), 10_000)).map(({ merchantId }) => merchantId)),
    new Set([withoutAccount]),
  );
  await job.stop();
});

test("thousands that are due at one acquirer are all done soon, with few in hand at a time and few read for each", async () => {
  let read = 0;
  let largestPage = 0;
  const parts = await given(["simulator"], { ...allSlots, isAlone: false }, (store) =>
    withCalls(store, {
      paymentsDue: async (...args) => {
        const due = await store.paymentsDue(...args);
        read += due.length;
        largestPage = Math.max(largestPage, due.length);
        return due;
      },
    }),
  );
  const { time, store, job } = parts;
  for (let number = 1; number <= 3_000; number += 1)
    await dueOf(parts, number, "simulator", account.id);
  await job.start();
  // One poll: passed-over payments do not wait for the next one.
  await time.pass(1_500);
  assert.equal((await store.paymentsDue(time.now(), 10_000)).length, 0);
  assert.ok(largestPage <= 50, `control of the page: ${largestPage}`);
  assert.ok(read <= 5 * 3_000, `${read} were read`);
  await job.stop();
});

test("while the store refuses changes, what is passed over waits for the next poll", async () => {
  let refused = 0;
  let isRefusing = false;
  const parts = await given(["simulator"], { ...allSlots, isAlone: false }, (store) =>
    withCalls(store, {
      commit: async (change) => {
        if (!isRefusing) return store.commit(change);
        refused += 1;
        throw new StoreError("unavailable");
      },
    }),
  );
  const { time, store, job } = parts;
  for (let number = 1; number <= 500; number += 1)
    await dueOf(parts, number, "simulator", account.id);
  isRefusing = true;
  await job.start();
  await time.pass(5_500);
  assert.ok(refused >= 64, `control: ${refused} changes were refused`);
  assert.ok(refused <= 5 * 150, `${refused} changes were refused in five polls`);

  isRefusing = false;
  await time.pass(3_000);
  assert.equal((await store.paymentsDue(time.now(), 10_000)).length, 0);
  await job.stop();
});

/** Counts payments by the moment of their first change. */
function countingBegins(begunAt: Map<number, number>) {
  const begun = new Set<string>();
  return (store: WorldStore): Store =>
    withCalls(store, {
      commit: (change) => {
        const id = change.payment?.replaces === undefined ? undefined : change.payment.next.id;
        if (id !== undefined && !begun.has(id))
          begunAt.set(change.at, (begunAt.get(change.at) ?? 0) + 1);
        if (id !== undefined) begun.add(id);
        return store.commit(change);
      },
    });
}

test("with a rate limit, thousands of payments due at one moment start a few per period, for any acquirer", async () => {
  const begunAt = new Map<number, number>();
  const slotAssignment = { ...allSlots, isAlone: false };
  const parts = await given(["one", "other"], slotAssignment, countingBegins(begunAt), paced);
  const { time, store, job } = parts;
  for (let number = 1; number <= 2_000; number += 1)
    await dueOf(parts, number, number % 2 === 0 ? "one" : "other", account.id);
  await job.start();
  await time.pass(5_000);
  assert.equal((await store.paymentsDue(time.now(), 10_000)).length, 0);
  const begun = [...begunAt.values()];
  assert.equal(
    begun.reduce((sum, count) => sum + count, 0),
    2_000,
  );
  assert.equal(Math.max(...begun), 4);
  await job.stop();
});

test("with a rate limit, pages are read one at a time with a pause, also while all payments of an acquirer wait", async () => {
  const readAt: number[] = [];
  const counted = (store: WorldStore): Store =>
    withCalls(store, {
      paymentsDue: (...values) => {
        readAt.push(time.now());
        return store.paymentsDue(...values);
      },
    });
  const slotAssignment = { ...allSlots, isAlone: false };
  const parts = await given(["slow"], slotAssignment, counted, paced);
  const { time, store, job } = parts;
  const change = { at: time.now(), facts: [], entries: [], notifications: [] };
  const slowAccount = { ...account, version: 2, settings: withLatency(25_000) };
  await store.commit({
    ...change,
    merchantId: account.id,
    account: { next: slowAccount, replaces: 1, keys: [] },
  });
  for (let number = 1; number <= 1_000; number += 1) await dueOf(parts, number, "slow", account.id);
  await job.start();
  await time.pass(5_000);
  assert.ok(readAt.length > 1_000 / 50);
  const pauses = readAt.slice(1).map((at, index) => at - (readAt[index] ?? 0));
  assert.equal(Math.min(...pauses), 20);
});

test("a job that stops does not wait for the rate limit of its queued payments", async () => {
  const parts = await given(["simulator"], allSlots, same, paced);
  const { time, job } = parts;
  for (let number = 1; number <= 2_000; number += 1)
    await dueOf(parts, number, "simulator", account.id);
  await job.start();
  let isStopped = false;
  const stopped = job.stop().then(() => (isStopped = true));
  // The payments that wait for the rate limit: sixteen per acquirer.
  await time.pass(100);
  assert.ok(isStopped);
  await stopped;
});

/** The store, with some of its calls replaced. */
function withCalls(store: WorldStore, calls: Partial<Store>): Store {
  return new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(calls, name) ?? Reflect.get(target, name);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

function withLatency(latencyMs: number): typeof account.settings {
  return { ...account.settings, simulator: { ...account.settings.simulator, latencyMs } };
}
