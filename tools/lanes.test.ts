import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { basename } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Lane, lanes, nextOf, runLanes } from "./lanes.ts";

const folder = fileURLToPath(new URL("../packages/proof/lanes/", import.meta.url));

function given(name: string, load: Lane["load"]): Lane {
  return { name, load, proves: true, quick: false };
}

const [busy, other, waiting, timed] = [
  given("a", "busy"),
  given("b", "busy"),
  given("c", "waiting"),
  given("d", "timed"),
];

describe("the order of the lanes", () => {
  test("each lane of the repository is in it once", () => {
    const there = globSync("*.lane.ts", { cwd: folder }).map((file) => basename(file, ".lane.ts"));
    assert.deepEqual(lanes.map(({ name }) => name).toSorted(), there.toSorted());
  });

  test("two run at once, no third", () => {
    assert.equal(nextOf([busy, other], []), busy);
    assert.equal(nextOf([other, waiting], [busy]), other);
    assert.equal(nextOf([waiting], [busy, other]), undefined);
    assert.equal(nextOf([], []), undefined);
  });

  test("a lane that sleeps runs beside two others, but beside none that judges times", () => {
    const [sleeping, another] = [given("f", "sleeping"), given("g", "sleeping")];
    assert.equal(nextOf([sleeping], [busy, other]), sleeping);
    assert.equal(nextOf([other], [busy, sleeping]), other);
    assert.equal(nextOf([waiting], [busy, other, sleeping]), undefined);
    assert.equal(nextOf([another], [sleeping]), undefined);
    assert.equal(nextOf([sleeping], [timed]), undefined);
    assert.equal(nextOf([timed], [sleeping]), undefined);
  });

  test("what judges times runs beside what waits, and else alone", () => {
    assert.equal(nextOf([timed, other], [busy]), other, "another takes its turn");
    assert.equal(nextOf([timed], [busy]), undefined);
    assert.equal(nextOf([busy, waiting], [timed]), waiting);
    assert.equal(nextOf([busy, given("e", "timed")], [timed]), undefined);
    assert.equal(nextOf([timed], [waiting]), timed);
  });

  test("each is run once, never two that may not be together, and the second place is never empty without need", async () => {
    const running = new Set<Lane>();
    const ran: string[] = [];
    const together = new Set<string>();
    let most = 0;
    await runLanes(lanes, async (lane) => {
      running.add(lane);
      most = Math.max(most, running.size);
      ran.push(lane.name);
      for (const beside of running)
        if (beside !== lane) together.add([lane.load, beside.load].toSorted().join(" and "));
      for (let turn = 0; turn < lane.name.length; turn += 1) await Promise.resolve();
      running.delete(lane);
    });
    assert.deepEqual(ran.toSorted(), lanes.map(({ name }) => name).toSorted());
    assert.equal(most, 3);
    assert.ok(
      ["busy and timed", "timed and timed", "sleeping and timed"].every(
        (pair) => !together.has(pair),
      ),
      [...together].join(", "),
    );
  });

  test("a lane whose run cannot be started ends all with its error", async () => {
    await assert.rejects(
      runLanes([busy], () => Promise.reject(new Error("cannot be started"))),
      /cannot be started/,
    );
  });
});
