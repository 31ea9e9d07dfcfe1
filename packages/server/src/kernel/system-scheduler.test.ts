import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { day } from "./instant.ts";
import { systemScheduler } from "./system-scheduler.ts";

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

test("a task runs once", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  let runs = 0;
  systemScheduler.after(500, () => (runs += 1));
  context.mock.timers.tick(499);
  assert.equal(runs, 0);
  context.mock.timers.tick(1);
  context.mock.timers.tick(5_000);
  assert.equal(runs, 1);
});

test("a cancelled task never runs, and cancelling again does no harm", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  let runs = 0;
  const cancel = systemScheduler.after(500, () => (runs += 1));
  cancel();
  cancel();
  context.mock.timers.tick(5_000);
  assert.equal(runs, 0);
});

test("a delay longer than a timer can hold is waited for whole, and can be cancelled in its second leg", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const ran: string[] = [];
  systemScheduler.after(40 * day, () => ran.push("kept"));
  const cancel = systemScheduler.after(40 * day, () => ran.push("cancelled"));
  context.mock.timers.tick(2 ** 31 - 1);
  assert.deepEqual(ran, []);
  cancel();
  context.mock.timers.tick(40 * day - 2 ** 31);
  assert.deepEqual(ran, []);
  context.mock.timers.tick(1);
  assert.deepEqual(ran, ["kept"]);
});
