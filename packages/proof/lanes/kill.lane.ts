import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { describe, test, type TestContext } from "node:test";
import { plantedBugs } from "../simulation/planted-bugs.ts";
import type { PlantedBug } from "../../server/test/support/planted-bug.ts";
import { amount } from "./support/amount.ts";
import { runKills, type KillReport } from "./support/kill-run.ts";
import { plantedCopy, serverRoot } from "../../server/test/support/planted-copy.ts";

/** Set COFRE_KILL_CYCLES=1000 for a night, COFRE_KILL_SEED for another sequence. */
const cycles = Number(
  process.env["COFRE_KILL_CYCLES"] ?? amount({ quick: 10, ci: 200, night: 1_000 }),
);
const seed = Number(process.env["COFRE_KILL_SEED"] ?? "1");
/**
 * After each crash the judge reads everything that the installation stores; in a large installation
 * that takes longer than the rest.
 */
const cyclesOfInstallation = 50;

function showReport(context: TestContext, { figures, violations }: KillReport): void {
  for (const [name, figure] of Object.entries(figures)) context.diagnostic(`${name}: ${figure}`);
  for (const violation of violations.slice(0, 20)) context.diagnostic(`violation: ${violation}`);
}

function bugNamed(name: string): PlantedBug {
  const bug = plantedBugs.find((planted) => planted.name === name);
  assert.ok(bug !== undefined, `there is a planted bug: ${name}`);
  return bug;
}

/**
 * Two installations in parallel, because a start and a judgement leave the other cores idle; each
 * with its own acquirer, folder and seed.
 */
describe(
  `Cofre killed ${cycles} times under load loses nothing, charges nothing twice and leaves nothing stuck`,
  { concurrency: 2 },
  () => {
    for (let before = 0; before < cycles; before += cyclesOfInstallation) {
      const kills = Math.min(cyclesOfInstallation, cycles - before);
      const own = seed + before;
      test(`${kills} kills of one installation, seed ${own}`, async (context) => {
        const report = await runKills({
          root: serverRoot,
          cycles: kills,
          seed: own,
          settleMs: 120_000,
        });
        showReport(context, report);
        assert.deepEqual(report.violations, []);
        // A run without these events would prove nothing.
        assert.ok((report.figures["kills with attempts in flight"] ?? 0) > kills / 4);
        assert.ok((report.figures["attempts that recovery was seen to settle"] ?? 0) > kills / 2);
        assert.ok((report.figures["acknowledged writes"] ?? 0) > kills * 10);
      });
    }
  },
);

describe("controls: the judge objects", () => {
  const slow = 60_000;
  /**
   * What the judge must report for each planted bug, within a few kills. Only without recovery are
   * attempts without an outcome judged early, because otherwise a busy machine settles them late.
   */
  const controls: readonly (readonly [
    bug: PlantedBug,
    cycles: number,
    settleMs: number,
    says: RegExp,
  ])[] = [
    [
      bugNamed("the acquirer is asked before the intention is written down"),
      12,
      slow,
      /^nothing is sent before it is written down/,
    ],
    [bugNamed("recovery never runs"), 3, 3_000, /^nothing is stuck/],
    [
      {
        name: "a change is acknowledged before it is committed",
        file: "stores/embedded/embedded-store.ts",
        find: "outcome = await this.#writer.submit(message);\n    } finally {",
        replace: `void this.#writer.submit(message);
      outcome = "committed";
    } finally {`,
      },
      12,
      slow,
      /^an acknowledged (?:payment|token) is there/,
    ],
  ];
  for (const [bug, most, settleMs, says] of controls) {
    test(bug.name, async (context) => {
      const root = plantedCopy(bug);
      context.after(() => rmSync(root, { recursive: true, force: true }));
      const report = await runKills({ root, cycles: most, seed, stop: true, settleMs });
      showReport(context, report);
      assert.ok(
        report.violations.some((violation) => says.test(violation)),
        `the judge says ${says.source}`,
      );
    });
  }
});
