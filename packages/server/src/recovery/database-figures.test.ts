import assert from "node:assert/strict";
import { test } from "node:test";
import { StillTime } from "../../test/contract/connector-harness.ts";
import { hour } from "../kernel/instant.ts";
import type { DatabaseFigures } from "../stores/store.ts";
import { watchFigures } from "./database-figures.ts";

const bytes = {
  paymentBytes: 1,
  historyBytes: 2,
  outboxBytes: 3,
  deliveryBytes: 4,
  requestBytes: 5,
  cardBytes: 6,
};

test("figures are read at once and each hour, with a warning while an age is above its bound, and a failed read is repeated", async (context) => {
  const time = new StillTime();
  let [figures, fails, reads]: [DatabaseFigures, boolean, number] = [
    { ...bytes, frozenAge: 1_500_000_000, snapshotAge: 10_000_000 },
    false,
    0,
  ];
  const [reported, warned]: [DatabaseFigures[], unknown[]] = [[], []];
  const stop = watchFigures({
    figures: async () => {
      reads += 1;
      if (fails) throw new Error("the database does not answer");
      return figures;
    },
    scheduler: time,
    report: (found) => void reported.push(found),
    warn: (ages) => void warned.push(ages),
  });
  context.after(stop);
  await time.pass(1);
  assert.deepEqual([reported, warned], [[figures], []]);
  figures = { ...figures, frozenAge: 1_500_000_001 };
  await time.pass(hour);
  assert.deepEqual(warned, [{ frozenAge: 1_500_000_001, snapshotAge: 10_000_000 }]);
  figures = { ...figures, frozenAge: 1, snapshotAge: 10_000_001 };
  await time.pass(hour);
  assert.deepEqual(warned.at(-1), { frozenAge: 1, snapshotAge: 10_000_001 });
  fails = true;
  await time.pass(hour);
  fails = false;
  await time.pass(hour);
  assert.deepEqual([reads, reported.length, warned.length], [5, 4, 3]);
  stop();
  await time.pass(3 * hour);
  assert.equal(reads, 5);
});
