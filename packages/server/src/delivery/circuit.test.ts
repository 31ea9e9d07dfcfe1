import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Instant, instant, laterBy, minute, second } from "../kernel/instant.ts";
import { Circuit } from "./circuit.ts";

const start = instant(Date.UTC(2026, 10, 28, 12));

/** A circuit that has failed five times at `now`. */
function resting(now: Instant, until?: Instant): Circuit {
  const circuit = new Circuit();
  for (let time = 0; time < 5; time += 1) circuit.failed(now, until);
  return circuit;
}

describe("the rest of an endpoint", () => {
  test("is half a minute after five failures, and then one attempt tells", () => {
    const circuit = resting(start);
    assert.equal(circuit.room(laterBy(start, 30 * second - 1), 4), 0);
    assert.equal(circuit.room(laterBy(start, 30 * second), 4), 1);
    assert.equal(circuit.succeeded(), true);
    assert.equal(circuit.room(laterBy(start, 30 * second), 4), 4);
  });

  test("is as long as the receiver asked for", () => {
    const circuit = resting(start, laterBy(start, 10 * minute));
    assert.equal(circuit.room(laterBy(start, 10 * minute - 1), 4), 0);
    assert.equal(circuit.room(laterBy(start, 10 * minute), 4), 1);
  });

  test("is not longer for a clock that is set back meanwhile", () => {
    assert.equal(resting(start).room(instant(start - 60 * minute), 4), 1);
    const asked = resting(start, laterBy(start, 10 * minute));
    assert.equal(asked.room(instant(start - 1), 4), 1);
    assert.equal(asked.room(start, 4), 0, "control: at the beginning of its rest it rests");
  });

  test("begins with the fifth failure in a row, and is twice as long each time, up to five minutes", () => {
    const circuit = new Circuit();
    for (let time = 0; time < 4; time += 1) assert.equal(circuit.failed(start, undefined), false);
    assert.deepEqual(
      [circuit.restUntil, circuit.room(start, 4), circuit.calm],
      [undefined, 4, false],
    );
    let now = start;
    const failsAgain = (): number => {
      assert.equal(circuit.failed(now, undefined), true);
      const restMs = (circuit.restUntil ?? now) - now;
      now = laterBy(now, restMs);
      return restMs;
    };
    for (const seconds of [30, 60, 120, 240, 300, 300])
      assert.equal(failsAgain(), seconds * second);
    for (let time = 0; time < 100; time += 1) assert.equal(failsAgain(), 5 * minute);
  });

  test("is not longer for attempts that were begun before it, unless the receiver asks for more", () => {
    const circuit = resting(start);
    const meanwhile = laterBy(start, 30 * second - 1);
    for (let time = 0; time < 123; time += 1)
      assert.equal(circuit.failed(meanwhile, undefined), false);
    assert.equal(circuit.restUntil, laterBy(start, 30 * second));
    assert.equal(circuit.failed(meanwhile, laterBy(start, 20 * second)), false);
    assert.equal(circuit.restUntil, laterBy(start, 30 * second), "nor shorter");
    assert.equal(circuit.failed(meanwhile, laterBy(start, 10 * minute)), false);
    assert.deepEqual(
      [circuit.restUntil, circuit.room(start, 4), circuit.room(laterBy(start, 10 * minute), 4)],
      [laterBy(start, 10 * minute), 1, 1],
    );
    assert.equal(circuit.room(meanwhile, 4), 0);
    circuit.failed(laterBy(start, 10 * minute), undefined);
    assert.equal(
      circuit.restUntil,
      laterBy(start, 11 * minute),
      "the attempt that follows the rest doubles it",
    );
  });

  test("is begun by the first failure when the receiver asks for it, and is never shorter than its own", () => {
    const asked = new Circuit();
    assert.equal(asked.failed(start, laterBy(start, 1)), true);
    assert.deepEqual(
      [asked.restUntil, asked.room(start, 4), asked.calm],
      [laterBy(start, 1), 0, false],
    );
    assert.equal(asked.room(laterBy(start, 1), 4), 4, "a rest that is over lets all through again");
    assert.equal(new Circuit().failed(start, start), false);
    assert.equal(new Circuit().failed(start, laterBy(start, -1)), false);
    const own = resting(start, laterBy(start, 1 * second));
    assert.equal(own.restUntil, laterBy(start, 30 * second));
  });

  test("is nothing that is known of one that has not failed, or has succeeded since", () => {
    const circuit = new Circuit();
    assert.equal(circuit.calm, true);
    assert.equal(circuit.succeeded(), false);
    for (let time = 0; time < 4; time += 1) circuit.failed(start, undefined);
    assert.equal(circuit.succeeded(), false, "four failures are no trouble");
    assert.deepEqual([circuit.calm, circuit.restUntil], [true, undefined]);
    const asked = new Circuit();
    asked.failed(start, laterBy(start, 1 * minute));
    assert.equal(asked.succeeded(), false);
    assert.deepEqual([asked.calm, asked.restUntil, asked.room(start, 4)], [true, undefined, 4]);
  });
});
