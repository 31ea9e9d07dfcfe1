import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { describe, test, type TestContext } from "node:test";
import type { PlantedBug } from "../../server/test/support/planted-bug.ts";
import { type FaultReport, runFaults } from "../../server/test/upstream/fault-run.ts";
import { plantedCopy } from "../../server/test/support/planted-copy.ts";

/** Set COFRE_UPSTREAM_FAULTED=10000 for a night, COFRE_UPSTREAM_SEED for another sequence. */
const faulted = Number(process.env["COFRE_UPSTREAM_FAULTED"] ?? "1000");
const seed = Number(process.env["COFRE_UPSTREAM_SEED"] ?? "1");

function showReport(context: TestContext, { figures, violations }: FaultReport): void {
  for (const [name, figure] of Object.entries(figures)) context.diagnostic(`${name}: ${figure}`);
  for (const violation of violations.slice(0, 20)) context.diagnostic(`violation: ${violation}`);
}

test(`two Cofre processes agree to the cent after ${faulted} payments over a bad network`, async (context) => {
  const report = await runFaults({ faulted, seed, settleMs: 120_000 });
  showReport(context, report);
  assert.deepEqual(report.violations, []);
});

/** All at once, because they wait for the network most of the time. */
describe("controls: the comparison objects", { concurrency: true }, () => {
  const controls: readonly (readonly [bug: PlantedBug, faulted: number, says: RegExp])[] = [
    [
      {
        name: "an authorization without an answer is taken for a decline",
        file: "connectors/upstream/upstream-connector.ts",
        find: `if (answer.kind === "unknown" || answer.kind === "not_sent") return answer;
    if (answer.kind === "payment") return authorizeOutcomeOf(answer.payment, request);
    if (answer.code !== codeTaken)`,
        replace: `if (answer.kind === "unknown" || answer.kind === "not_sent") return declineOfRefusal("BP-DR-75") ?? answer;
    if (answer.kind === "payment") return authorizeOutcomeOf(answer.payment, request);
    if (answer.code !== codeTaken)`,
      },
      150,
      /^(?:held here and there|what was taken and not given back) is the same/,
    ],
    [
      {
        name: "a refund that is sent again has another name",
        file: "connectors/upstream/upstream-connector.ts",
        find: "return this.#refundCaptured(request, refundCodeOf(merchantId, original.reference, reference), amount.minor);",
        replace:
          "return this.#refundCaptured(request, `${refundCodeOf(merchantId, original.reference, reference).slice(0, 30)}${request.deadline % 99999}`, amount.minor);",
      },
      150,
      /^(?:refunded here and there|what was taken and not given back) is the same|^nothing is stuck/,
    ],
    [
      {
        name: "what the upstream does not know is taken for never sent, at once",
        file: "connectors/upstream/upstream-connector.ts",
        find: "const lateArrivalMs = 120_000;",
        replace: "const lateArrivalMs = -60_000;",
      },
      400,
      /^held here and there is the same|^what was taken and not given back is the same/,
    ],
  ];
  for (const [bug, least, says] of controls) {
    test(bug.name, async (context) => {
      const root = plantedCopy(bug);
      context.after(() => rmSync(root, { recursive: true, force: true }));
      const report = await runFaults({ root, faulted: least, seed, settleMs: 10_000 });
      showReport(context, report);
      assert.ok(
        report.violations.some((violation) => says.test(violation)),
        `the comparison says ${says.source}`,
      );
    });
  }
});
