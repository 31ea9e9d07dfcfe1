import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CircuitBreaker } from "./circuit-breaker.ts";
import { type Instant, instant, laterBy, minute, second } from "./instant.ts";

const start = instant(Date.UTC(2026, 10, 28, 12));
const limits = { failuresToOpen: 5, firstOpenMs: 30 * second, longestOpenMs: 5 * minute };

/** A circuit that has failed five times at `now`. */
function opened(now: Instant, until?: Instant): CircuitBreaker {
  const circuit = new CircuitBreaker(limits);
  for (let time = 0; time < 5; time += 1) circuit.failed(now, until);
  return circuit;
}

describe("a circuit breaker", () => {
  test("is open for half a minute after five failures, and then allows one trial", () => {
    const circuit = opened(start);
    assert.equal(circuit.stateAt(laterBy(start, 30 * second - 1)), "open");
    assert.equal(circuit.room(laterBy(start, 30 * second - 1), 4), 0);
    assert.equal(circuit.stateAt(laterBy(start, 30 * second)), "half_open");
    assert.equal(circuit.room(laterBy(start, 30 * second), 4), 1);
    assert.equal(circuit.succeeded(), true);
    assert.equal(circuit.stateAt(laterBy(start, 30 * second)), "closed");
    assert.equal(circuit.room(laterBy(start, 30 * second), 4), 4);
  });

  test("is open for as long as the remote system requests", () => {
    const circuit = opened(start, laterBy(start, 10 * minute));
    assert.equal(circuit.room(laterBy(start, 10 * minute - 1), 4), 0);
    assert.equal(circuit.room(laterBy(start, 10 * minute), 4), 1);
  });

  test("is not open for longer when the clock is set back", () => {
    assert.equal(opened(start).room(instant(start - 60 * minute), 4), 1);
    const requested = opened(start, laterBy(start, 10 * minute));
    assert.equal(requested.room(instant(start - 1), 4), 1);
    assert.equal(requested.room(start, 4), 0, "control: at the beginning it is open");
  });

  test("opens with the fifth consecutive failure, each time for twice as long, up to five minutes", () => {
    const circuit = new CircuitBreaker(limits);
    for (let time = 0; time < 4; time += 1) assert.equal(circuit.failed(start, undefined), false);
    assert.deepEqual(
      [circuit.openUntil, circuit.room(start, 4), circuit.calm],
      [undefined, 4, false],
    );
    let now = start;
    const failsAgain = (): number => {
      assert.equal(circuit.failed(now, undefined), true);
      const openMs = (circuit.openUntil ?? now) - now;
      now = laterBy(now, openMs);
      return openMs;
    };
    for (const seconds of [30, 60, 120, 240, 300, 300])
      assert.equal(failsAgain(), seconds * second);
    for (let time = 0; time < 100; time += 1) assert.equal(failsAgain(), 5 * minute);
  });

  test("does not count failures of calls that began before it opened, except a longer requested pause", () => {
    const circuit = opened(start);
    const meanwhile = laterBy(start, 30 * second - 1);
    for (let time = 0; time < 123; time += 1)
      assert.equal(circuit.failed(meanwhile, undefined), false);
    assert.equal(circuit.openUntil, laterBy(start, 30 * second));
    assert.equal(circuit.failed(meanwhile, laterBy(start, 20 * second)), false);
    assert.equal(circuit.openUntil, laterBy(start, 30 * second), "nor does it open for less");
    assert.equal(circuit.failed(meanwhile, laterBy(start, 10 * minute)), false);
    assert.deepEqual(
      [circuit.openUntil, circuit.room(start, 4), circuit.room(laterBy(start, 10 * minute), 4)],
      [laterBy(start, 10 * minute), 1, 1],
    );
    assert.equal(circuit.room(meanwhile, 4), 0);
    circuit.failed(laterBy(start, 10 * minute), undefined);
    assert.equal(
      circuit.openUntil,
      laterBy(start, 11 * minute),
      "the attempt that follows the pause doubles it",
    );
  });

  test("counts a failed trial although the clock was set back into the open interval", () => {
    const circuit = opened(start);
    assert.equal(circuit.failed(laterBy(start, 1), undefined), false, "control: not a trial");
    assert.equal(circuit.failed(laterBy(start, 1), undefined, true), true);
    assert.equal(circuit.openUntil, laterBy(start, 60 * second + 1));
  });

  test("is opened by the first failure with a requested pause, and never for less than its own", () => {
    const probed = new CircuitBreaker(limits);
    assert.equal(probed.failed(start, laterBy(start, 1)), true);
    assert.deepEqual(
      [probed.openUntil, probed.room(start, 4), probed.calm],
      [laterBy(start, 1), 0, false],
    );
    assert.equal(probed.room(laterBy(start, 1), 4), 4, "after the pause all calls may begin");
    assert.equal(new CircuitBreaker(limits).failed(start, start), false);
    assert.equal(new CircuitBreaker(limits).failed(start, laterBy(start, -1)), false);
    const own = opened(start, laterBy(start, 1 * second));
    assert.equal(own.openUntil, laterBy(start, 30 * second));
  });

  test("has no state before the first failure and after a success", () => {
    const circuit = new CircuitBreaker(limits);
    assert.equal(circuit.calm, true);
    assert.equal(circuit.succeeded(), false);
    for (let time = 0; time < 4; time += 1) circuit.failed(start, undefined);
    assert.equal(circuit.succeeded(), false, "four failures do not open it");
    assert.deepEqual([circuit.calm, circuit.openUntil], [true, undefined]);
    const probed = new CircuitBreaker(limits);
    probed.failed(start, laterBy(start, 1 * minute));
    assert.equal(probed.succeeded(), false);
    assert.deepEqual([probed.calm, probed.openUntil, probed.room(start, 4)], [true, undefined, 4]);
  });
});
