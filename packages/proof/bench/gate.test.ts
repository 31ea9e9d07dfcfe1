import assert from "node:assert/strict";
import { test } from "node:test";
import { cases } from "./cases.ts";
import { gate } from "./gate.ts";
import type { ArmResult, PairResult } from "./pairs.ts";

const arm: ArmResult = {
  perSecond: 1,
  cpuMicros: undefined,
  p50Ms: 1,
  p95Ms: 1,
  p99Ms: 1,
  answers: 1,
};

async function gateWith(
  ratios: readonly number[],
): Promise<{ readonly passed: boolean; readonly repeats: number }> {
  const goal = { target: 0.3, alarm: 0.2 };
  const [first] = cases;
  assert.ok(first !== undefined);
  let at = 0;
  const result = await gate({ ...first, goal }, async (): Promise<PairResult> => {
    const ratio = ratios[at++] ?? Number.NaN;
    return {
      outstanding: 64,
      ratio,
      ratioQ1: ratio,
      ratioQ3: ratio,
      cpuRatio: undefined,
      floor: arm,
      product: arm,
    };
  });
  assert.ok(result !== undefined);
  return { passed: result.passed, repeats: result.ratios.length };
}

test("the gate fails when two of three repeats are under the alarm, and not for one", async () => {
  assert.deepEqual(await gateWith([0.19, 0.19, 0.3]), { passed: false, repeats: 2 });
  assert.deepEqual(await gateWith([0.19, 0.3, 0.19]), { passed: false, repeats: 3 });
  assert.deepEqual(await gateWith([0.19, 0.3, 0.3]), { passed: true, repeats: 3 });
});

test("a ratio at the alarm is not under it, and two good repeats need no third", async () => {
  assert.deepEqual(await gateWith([0.2, 0.2, 0.1]), { passed: true, repeats: 2 });
});

test("a case without a goal has no gate", async () => {
  const free = cases.find((candidate) => candidate.goal === undefined);
  assert.ok(free !== undefined);
  assert.equal(
    await gate(free, () => Promise.reject(new Error("must not be measured"))),
    undefined,
  );
});
