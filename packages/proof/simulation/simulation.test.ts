import assert from "node:assert/strict";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { earlierCopy } from "../../server/test/support/earlier-version.ts";
import { serverRoot } from "../../server/test/support/planted-copy.ts";
import { keptSeeds } from "./kept-seeds.ts";
import { plantedBugs } from "./planted-bugs.ts";
import { plantedPageBugs } from "./planted-page-bugs.ts";
import { sourcesWith } from "../../server/test/support/planted-bug.ts";
import { runSeed } from "./run-seed.ts";

/** The quick part; 20,000 seeds and the planted bugs are in the lane `npm run lane simulation`. */
describe("a simulated installation", () => {
  test("keeps every promise in the seeds that are kept", async () => {
    for (const { seed, met } of keptSeeds) {
      const { violations } = await runSeed(seed);
      assert.deepEqual(violations, [], `seed ${seed}: ${met}`);
    }
  });

  test("keeps every promise under faults and crashes, and settles afterwards", async () => {
    for (let seed = 1; seed <= 100; seed += 1) {
      const { violations } = await runSeed(seed);
      assert.deepEqual(violations, [], `npm run sim -- --seed ${seed} --trace`);
    }
  });

  test("leaves the same trace for the same seed, and another for another", async () => {
    const traces = new Set<string>();
    for (let seed = 1_000; seed < 1_020; seed += 1) {
      const { trace } = await runSeed(seed);
      assert.equal((await runSeed(seed)).trace, trace, `seed ${seed}`);
      traces.add(trace);
    }
    assert.equal(traces.size, 20);
  });
});

test("the version before, which the failover lane runs beside this one, can be made from this one", () => {
  rmSync(earlierCopy(), { recursive: true });
});

test("what each planted mistake of the lane replaces is in the source exactly once", () => {
  const read = (file: string): string => readFileSync(join(serverRoot, "src", file), "utf8");
  for (const bug of [...plantedBugs, ...plantedPageBugs]) {
    for (const [file, source] of sourcesWith(bug, read))
      assert.notEqual(source, read(file), bug.name);
  }
});
