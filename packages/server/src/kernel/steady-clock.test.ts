import assert from "node:assert/strict";
import { test } from "node:test";
import { day, hour, instant, minute, second } from "./instant.ts";
import { SteadyClock } from "./steady-clock.ts";

test("a clock is steady since the start, or since it was set ahead or back, and drift does not count", () => {
  let [now, elapsedMs] = [Date.UTC(2026, 10, 28), 5_000];
  const pass = (ms: number, driftMs = 0): void => {
    elapsedMs += ms;
    now += ms + driftMs;
  };
  const clock = new SteadyClock({ now: () => instant(now) }, () => elapsedMs);
  assert.equal(clock.steadyForMs(), 0);
  pass(hour);
  assert.equal(clock.steadyForMs(), hour);
  for (let looks = 0; looks < 60; looks += 1) {
    pass(minute, second);
    clock.steadyForMs();
  }
  assert.equal(clock.steadyForMs(), 2 * hour, "a minute of drift in an hour");
  for (const step of [31 * day, -31 * day, 3 * second, -3 * second]) {
    pass(minute, step);
    assert.equal(clock.steadyForMs(), 0, `set by ${step} ms`);
    pass(minute);
    assert.equal(clock.steadyForMs(), minute);
  }
});
