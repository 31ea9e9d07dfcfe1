import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { explore, runScenario, scenarios } from "./crash-matrix.ts";

/** Single deaths; pairs of them are in the lane `npm run ci:simulation`, and `npm run sim -- --crashes --pairs`. */
describe("a server that dies at one wait keeps every promise", () => {
  for (const scenario of scenarios) {
    test(scenario.name, async (context) => {
      const { runs, waits, violations } = await explore(scenario, false);
      assert.deepEqual(violations, []);
      assert.equal(runs, waits + 1);
      context.diagnostic(`${waits} waits`);
    });
  }

  test("and the same deaths leave the same timeline", async () => {
    const [scenario] = scenarios;
    assert.ok(scenario !== undefined);
    const [one, other]: [string[], string[]] = [[], []];
    await runScenario(scenario, [3, 9], (line) => one.push(line));
    await runScenario(scenario, [3, 9], (line) => other.push(line));
    assert.deepEqual(one, other);
    // The control: it did die.
    assert.equal(one.filter((line) => line === "the server dies").length, 2);
  });
});
