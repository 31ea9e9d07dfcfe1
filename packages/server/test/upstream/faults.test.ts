import assert from "node:assert/strict";
import { test } from "node:test";
import { runFaults } from "./fault-run.ts";

test("two Cofre processes agree to the cent after 150 payments over a bad network", async (context) => {
  const { violations, figures } = await runFaults({ faulted: 150, seed: 7, settleMs: 60_000 });
  for (const [name, figure] of Object.entries(figures)) context.diagnostic(`${name}: ${figure}`);
  assert.deepEqual(violations, []);
});
