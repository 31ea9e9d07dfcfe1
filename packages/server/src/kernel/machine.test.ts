import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { BrokenInvariant } from "./assert.ts";
import { defineMachine, type MachineDefinition } from "./machine.ts";

type Light = "red" | "green" | "amber" | "broken";
type Sign = "go" | "slow" | "stop" | "fail";

const lights: MachineDefinition<Light, Sign> = {
  states: ["red", "green", "amber", "broken"],
  initial: "red",
  final: ["broken"],
  // Deliberately out of order: the row that reaches `amber` comes after the one that leaves it.
  rows: [
    ["amber", "stop", "red"],
    ["amber", "fail", "broken"],
    ["green", "slow", "amber"],
    ["red", "go", "green"],
  ],
};

describe("a machine that is loaded from a table", () => {
  test("goes where the row of a state and a fact leads, and nowhere without one", () => {
    const machine = defineMachine(lights);
    assert.equal(machine.next("red", "go"), "green");
    assert.equal(machine.next("green", "slow"), "amber");
    assert.equal(machine.next("amber", "stop"), "red");
    assert.equal(machine.next("amber", "fail"), "broken");
    assert.equal(machine.next("red", "stop"), undefined);
    assert.equal(machine.next("broken", "go"), undefined);
  });

  test("carries its definition", () => {
    const { states, initial, final, rows } = defineMachine(lights);
    assert.deepEqual({ states, initial, final, rows }, lights);
  });

  test("has one row for a state and a fact", () => {
    assert.throws(
      () => defineMachine({ ...lights, rows: [...lights.rows, ["red", "go", "amber"]] }),
      BrokenInvariant,
    );
    assert.throws(
      () => defineMachine({ ...lights, rows: [...lights.rows, ["red", "go", "green"]] }),
      BrokenInvariant,
    );
    assert.doesNotThrow(() =>
      defineMachine({ ...lights, rows: [...lights.rows, ["green", "go", "green"]] }),
    );
  });

  test("is never left again in a final state", () => {
    assert.throws(
      () => defineMachine({ ...lights, rows: [...lights.rows, ["broken", "go", "green"]] }),
      BrokenInvariant,
    );
  });

  test("reaches each of its states from the initial one", () => {
    const withoutWayIn = lights.rows.filter(([, , to]) => to !== "amber");
    assert.throws(() => defineMachine({ ...lights, rows: withoutWayIn }), BrokenInvariant);
    // Two states that cannot be reached, although rows end in them.
    assert.throws(
      () =>
        defineMachine({
          ...lights,
          rows: [...withoutWayIn, ["broken", "fail", "amber"]],
          final: [],
        }),
      BrokenInvariant,
    );
  });
});
