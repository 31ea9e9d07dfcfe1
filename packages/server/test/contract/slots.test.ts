import assert from "node:assert/strict";
import { after, test } from "node:test";
import { everySlot, slotCount } from "../../src/kernel/slot.ts";
import { instant } from "../../src/kernel/instant.ts";
import { openEmbeddedStore } from "../../src/stores/embedded/embedded-store.ts";
import { createMemoryStore } from "../../src/stores/memory/memory-store.ts";
import { openStoreOn, query, TestDatabases, testUrl } from "../postgres/databases.ts";
import { Chance } from "../support/chance.ts";
import { describeSlotReads, describeSlots } from "./slots.contract.ts";

const databases = testUrl === undefined ? undefined : new TestDatabases(testUrl);
after(() => databases?.drop());

describeSlots("the memory store", async () => createMemoryStore());
describeSlotReads("the memory store", async () => createMemoryStore());
describeSlotReads("the embedded store", () => openEmbeddedStore({ file: ":memory:" }));
if (databases !== undefined) {
  describeSlots("the PostgreSQL store", () => databases.openStore());
  describeSlotReads("the PostgreSQL store", () => databases.openStore());
}

test("the embedded store, which refuses a second process, gives all to its own", async (context) => {
  const store = await openEmbeddedStore({ file: ":memory:" });
  context.after(() => store.close());
  const all = { slots: Array.from(everySlot), share: slotCount, nodes: 1 };
  assert.deepEqual(await store.renewSlots("0000000000000001", 10_000, [3]), all);
  assert.deepEqual(await store.renewSlots("0000000000000002", 10_000, []), all);
  await store.releaseSlots("0000000000000001");
  assert.deepEqual(await store.renewSlots("0000000000000002", 10_000, []), all);
});

test("a clock that is set back keeps no node alive for longer than a minute", async () => {
  let now = instant(1_000_000);
  const store = createMemoryStore({ clock: { now: () => now } });
  await store.renewSlots("0000000000000001", 10_000, []);
  now = instant(now - 3_600_000);
  assert.equal((await store.renewSlots("0000000000000002", 10_000, [])).slots.length, slotCount);
});

test("a reading of a clock counts for fifteen seconds, and as the latest until there is another; one from the future does not count", async () => {
  for (const stepMs of [15_000, -15_000, -2, 3_600_000, -3_600_000]) {
    let now = instant(10_000_000);
    const store = createMemoryStore({ clock: { now: () => now } });
    await store.noteClock?.("0000000000000001", 5);
    now = instant(now + stepMs - Math.sign(stepMs));
    const isYoung = stepMs === 15_000;
    assert.deepEqual(await store.clockReadings?.("0000000000000002"), {
      others: isYoung ? [5] : [],
      last: 5,
    });
    now = instant(now + Math.sign(stepMs));
    assert.deepEqual(await store.clockReadings?.("0000000000000002"), { others: [], last: 5 });
    await store.noteClock?.("0000000000000002", 7);
    assert.equal((await store.clockReadings?.("0000000000000001"))?.last, 7);
  }
});

test(
  "a reading of a clock in PostgreSQL counts for fifteen seconds",
  { skip: databases === undefined ? "COFRE_TEST_POSTGRES_URL names no server" : false },
  async (context) => {
    assert.ok(databases !== undefined);
    const url = await databases.copy();
    const store = await openStoreOn(url);
    context.after(() => store.close());
    for (const node of ["0000000000000001", "0000000000000002"]) await store.noteClock?.(node, 5);
    for (const [shiftMs, isFresh] of [
      [-10_000, true],
      [10_000, false],
      [-15_000, false],
      [60_000, false],
    ] as const) {
      const at = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint + ${shiftMs}`;
      await query(url, `UPDATE node_clock SET at = ${at} WHERE id = '0000000000000001'`);
      assert.deepEqual(
        await store.clockReadings?.("0000000000000002"),
        { others: isFresh ? [5] : [], last: 5 },
        String(shiftMs),
      );
    }
    await query(url, "UPDATE node_clock SET at = at - 172800000 WHERE id = '0000000000000001'");
    await store.noteClock?.("0000000000000002", 5);
    assert.equal(
      (await query(url, "SELECT 1 FROM node_clock")).length,
      1,
      "nodes that are gone are forgotten",
    );
  },
);

test(
  "the memory store and the PostgreSQL store deal slots alike to nodes that come, give back, die and leave",
  { skip: databases === undefined ? "COFRE_TEST_POSTGRES_URL names no server" : false },
  async (context) => {
    assert.ok(databases !== undefined);
    const stores = [createMemoryStore(), await databases.openStore()];
    context.after(() => Promise.all(stores.map((store) => store.close())));
    const chance = new Chance(7);
    const seen = new Set<number>();
    for (let step = 0; step < 500; step += 1) {
      const node = chance.below(6).toString(16).padStart(16, "0");
      const release = Array.from(everySlot).filter(() => chance.happens(100));
      // A lease of zero milliseconds simulates a node that dies as soon as it has its answer.
      const leaseMs = chance.happens(200) ? 0 : 60_000;
      const leaves = chance.happens(100);
      const answers = await Promise.all(
        stores.map(async (store) =>
          leaves ? store.releaseSlots(node) : store.renewSlots(node, leaseMs, release),
        ),
      );
      assert.deepEqual(answers[1], answers[0], `step ${step}`);
      if (answers[0] !== undefined) seen.add(answers[0].nodes);
    }
    assert.ok(seen.size >= 5, "control: there were one and many");
  },
);

test(
  "leases do not wait for the disk",
  { skip: databases === undefined ? "COFRE_TEST_POSTGRES_URL names no server" : false },
  async () => {
    assert.ok(databases !== undefined);
    const url = await databases.copy();
    for (const call of [
      "hold_slots_1('00000000000000aa', 1000, '')",
      "leave_slots_1('00000000000000aa')",
      "note_clock_1('00000000000000aa', 0)",
    ]) {
      // Within one transaction, because the setting at its commit is what counts.
      const shown = `SELECT current_setting('synchronous_commit') AS before, ${call}, current_setting('synchronous_commit') AS after`;
      const [row] = await query<{ readonly before: string; readonly after: string }>(url, shown);
      assert.deepEqual([row?.before, row?.after], ["on", "off"], call);
    }
  },
);
