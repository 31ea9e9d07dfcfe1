import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test, type TestContext } from "node:test";
import { day } from "./instant.ts";
import { systemScheduler } from "./system-scheduler.ts";

/** A scheduler that is loaded while timers are mocked, because it binds the timers at load. */
async function amongMockedTimers(context: TestContext): Promise<typeof systemScheduler> {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const reloaded = (await import(`./system-scheduler.ts?${encodeURIComponent(context.name)}`)) as {
    systemScheduler: typeof systemScheduler;
  };
  return reloaded.systemScheduler;
}

test("a sleep whose signal is aborted beforehand rejects with the reason and leaves no timer", async () => {
  const reason = new Error("closed");
  await assert.rejects(systemScheduler.sleep(day, AbortSignal.abort(reason)), reason);
});

test("a sleep that is aborted meanwhile rejects with the reason", async () => {
  const controller = new AbortController();
  const sleeping = systemScheduler.sleep(day, controller.signal);
  const reason = new Error("closed");
  controller.abort(reason);
  await assert.rejects(sleeping, reason);
});

test("a sleep that ends takes its listener off the signal again", async () => {
  const { signal } = new AbortController();
  const sleeping = systemScheduler.sleep(1, signal);
  assert.equal(getEventListeners(signal, "abort").length, 1);
  await sleeping;
  assert.equal(getEventListeners(signal, "abort").length, 0);
});

test("a task runs once", async (context) => {
  const scheduler = await amongMockedTimers(context);
  let runs = 0;
  scheduler.after(500, () => (runs += 1));
  context.mock.timers.tick(499);
  assert.equal(runs, 0);
  context.mock.timers.tick(1);
  context.mock.timers.tick(5_000);
  assert.equal(runs, 1);
});

test("a cancelled task never runs, and cancelling again does no harm", async (context) => {
  const scheduler = await amongMockedTimers(context);
  let runs = 0;
  const cancel = scheduler.after(500, () => (runs += 1));
  cancel();
  cancel();
  context.mock.timers.tick(5_000);
  assert.equal(runs, 0);
});

test("a delay longer than a timer can hold is waited for whole, and can be cancelled in its second leg", async (context) => {
  const scheduler = await amongMockedTimers(context);
  const ran: string[] = [];
  scheduler.after(40 * day, () => ran.push("kept"));
  const cancel = scheduler.after(40 * day, () => ran.push("cancelled"));
  context.mock.timers.tick(2 ** 31 - 1);
  assert.deepEqual(ran, []);
  cancel();
  context.mock.timers.tick(40 * day - 2 ** 31);
  assert.deepEqual(ran, []);
  context.mock.timers.tick(1);
  assert.deepEqual(ran, ["kept"]);
});

test("timers that are mocked after it was loaded are none of its own", async (context) => {
  context.mock.timers.enable();
  await systemScheduler.sleep(1);
  const late: string[] = [];
  const cancel = systemScheduler.after(day, () => late.push("mocked"));
  context.mock.timers.tick(2 * day);
  cancel();
  assert.deepEqual(late, []);
});
