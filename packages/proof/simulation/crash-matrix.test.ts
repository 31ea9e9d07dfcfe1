import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { day } from "../../server/src/kernel/instant.ts";
import { tokenize } from "../../server/src/operations/tokenize.ts";
import { verifyCard } from "../../server/src/operations/verify-card.ts";
import { cardOf } from "../../server/test/vectors/cards.ts";
import {
  explore,
  runScenario,
  scenarios,
  upstreamScenarios,
  verificationOf,
} from "./crash-matrix.ts";

/**
 * Single crashes; pairs are in the lane `npm run lane simulation`, and `npm run sim -- --crashes
 * --pairs`.
 */
describe("a server that dies at one wait keeps every promise", () => {
  for (const scenario of [...scenarios, ...upstreamScenarios]) {
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
    // The control: it did crash.
    assert.equal(one.filter((line) => line === "the server dies").length, 2);
  });
});

// A card whose token was about to expire could be deleted while the acquirer was verifying it.
test("a verification is a use of the stored card before the acquirer has answered", async () => {
  let movedMs = 0;
  const run: (typeof scenarios)[number]["run"] = async ({ installation, shop, ask }) => {
    const { time, store, simulator } = installation;
    const stored = await ask(tokenize, () => ({
      card: cardOf("4111111111111111"),
      token: undefined,
    }));
    assert.ok(stored !== undefined);
    time.jump(day);
    simulator.instruct(shop.account.id, { next: "lose_answer", times: 1, message: "verify" });
    void ask(verifyCard, () => verificationOf(stored.token));
    await time.sleep(1_000);
    const card = await store.cardByToken(shop.account.id, stored.card.tokenDigest);
    movedMs = (card?.lastUsedAt ?? 0) - stored.card.lastUsedAt;
  };
  assert.deepEqual((await runScenario({ name: "a slow verification", run }, [])).violations, []);
  assert.ok(movedMs >= day);
});
