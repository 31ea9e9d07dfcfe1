import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { test, type TestContext } from "node:test";
import { amount } from "./support/amount.ts";
import { runKills, type KillReport } from "./support/kill-run.ts";
import { whyNoLoopDisk } from "./support/loop-disk.ts";
import { plantedCopy, serverRoot } from "../../server/test/support/planted-copy.ts";

/** Set COFRE_POWER_CYCLES=200 for a night, COFRE_POWER_SEED for another sequence. */
const cycles = Number(
  process.env["COFRE_POWER_CYCLES"] ?? amount({ quick: 3, ci: 20, night: 200 }),
);
const seed = Number(process.env["COFRE_POWER_SEED"] ?? "1");
const controlRuns = 3;
const skip = whyNoLoopDisk() ?? false;

function showReport(context: TestContext, { figures, violations }: KillReport): void {
  for (const [name, figure] of Object.entries(figures)) context.diagnostic(`${name}: ${figure}`);
  for (const violation of violations.slice(0, 5)) context.diagnostic(`violation: ${violation}`);
}

test(
  `the power failing ${cycles} times under load loses nothing that was acknowledged`,
  { skip },
  async (context) => {
    const report = await runKills({
      root: serverRoot,
      cycles,
      seed,
      power: true,
      settleMs: 30_000,
    });
    showReport(context, report);
    assert.deepEqual(report.violations, []);
    assert.ok((report.figures["kills with attempts in flight"] ?? 0) > cycles / 4);
    assert.ok((report.figures["acknowledged writes"] ?? 0) > cycles * 10);
  },
);

/**
 * Without fsync, commits are lost; if the method lost none here, the test above would prove
 * nothing.
 */
test(
  `control: without fsync each of ${controlRuns} runs loses acknowledged writes`,
  { skip },
  async (context) => {
    const root = plantedCopy({
      name: "commits are not written through",
      file: "stores/embedded/embedded-store.ts",
      find: "durable: temporary === undefined,",
      replace: "durable: false,",
    });
    context.after(() => rmSync(root, { recursive: true, force: true }));
    for (let run = 0; run < controlRuns; run += 1) {
      const report = await runKills({
        root,
        cycles: 1,
        seed: seed + run,
        power: true,
        stop: true,
        settleMs: 3_000,
      });
      showReport(context, report);
      assert.ok(
        report.violations.some((violation) =>
          /^an acknowledged (?:payment|token) is there/.test(violation),
        ),
        `run ${run} is found out`,
      );
    }
  },
);
