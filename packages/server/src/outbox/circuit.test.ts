import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Instant, instant, laterBy, minute, second } from "../kernel/instant.ts";
import { Circuit } from "./circuit.ts";

const start = instant(Date.UTC(2026, 10, 28, 12));

/** One that failed five times at `now`. */
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
});
