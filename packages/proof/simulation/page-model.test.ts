import assert from "node:assert/strict";
import { test } from "node:test";
import { playPage } from "./page-model.ts";

test("300 pages keep the rules, whatever tabs, cards, merchant, network and processes do", async () => {
  const marks = new Set<string>();
  for (let seed = 1; seed <= 300; seed += 1) {
    const report = await playPage(seed);
    assert.deepEqual(report.violations, [], `seed ${seed}`);
    for (const mark of report.marks) marks.add(mark);
  }
  for (const mark of ["ends captured", "ends declined", "ends expired", "status PE to OP"])
    assert.ok(marks.has(mark), `the pages meet: ${mark}`);
});

test("a seed plays the same page twice", async () => {
  for (let seed = 1_000; seed < 1_010; seed += 1)
    assert.deepEqual(await playPage(seed), await playPage(seed));
});
