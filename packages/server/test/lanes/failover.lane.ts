import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { postgresBinaries } from "../postgres/cluster.ts";
import { amount } from "./support/amount.ts";
import { runFailover } from "./support/failover-run.ts";
import type { KillReport } from "./support/kill-run.ts";
import { serverRoot } from "./support/planted-copy.ts";

/** COFRE_FAILOVERS=50 for a night, COFRE_FAILOVER_SEED for another mix. */
const failovers = Number(process.env["COFRE_FAILOVERS"] ?? amount({ quick: 1, ci: 5, night: 50 }));
const seed = Number(process.env["COFRE_FAILOVER_SEED"] ?? "1");

const skip = postgresBinaries() === undefined ? "PostgreSQL is not installed" : false;

function tell(context: TestContext, { figures, violations }: KillReport): void {
  for (const [name, figure] of Object.entries(figures)) context.diagnostic(`${name}: ${figure}`);
  for (const violation of violations.slice(0, 20)) context.diagnostic(`violation: ${violation}`);
}

describe("two nodes on a primary and its synchronous standby", { skip }, () => {
  test(`${failovers} failovers under load: nothing is lost, charged twice or stuck`, async (context) => {
    const report = await runFailover({ roots: [serverRoot, serverRoot], seed }, async (run) => {
      for (let cycle = 0; cycle < failovers; cycle += 1) {
        await sleep(run.chance.between(100, 600));
        await run.failOver({ how: cycle % 2 === 0 ? "kill" : "stop", alone: cycle % 3 !== 1 });
      }
      await run.untilAcknowledged(50);
    });
    tell(context, report);
    assert.deepEqual(report.violations, []);
  });
});
