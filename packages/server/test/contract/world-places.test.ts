import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { KeyDigest, MerchantId } from "../../src/kernel/ids.ts";
import type { RunningStore } from "../../src/stores/store.ts";
import type { WorldPlaces } from "../../src/stores/world-places.ts";
import { openStoreOn, query, TestDatabases, testUrl } from "../postgres/databases.ts";

const [one, other, third] = ["0000000000000001", "0000000000000002", "0000000000000003"] as const;
const leaseMs = 60_000;
const urlOf = (node: string): string => `http://127.0.0.1:${9_000 + Number(node)}`;
const digest = (number: number): KeyDigest => number.toString(16).padStart(64, "0") as KeyDigest;
const world = (number: number): MerchantId => number.toString(16).padStart(8, "0") as MerchantId;

/** What a store that several nodes share promises of where worlds live. There is one such store. */
function describePlaces(databases: TestDatabases): void {
  /** A store, and these nodes alive on it and reachable. */
  async function open(context: { after(task: () => unknown): void }, ...nodes: string[]): Promise<[RunningStore, WorldPlaces, string]> {
    const url = await databases.copy();
    const store = await openStoreOn(url);
    context.after(() => store.close());
    const { worldPlaces } = store;
    assert.ok(worldPlaces !== undefined);
    for (const node of nodes) {
      await store.holdSlots(node, leaseMs, []);
      await worldPlaces.keep(node, urlOf(node));
    }
    return [store, worldPlaces, url];
  }

  test("a world that is placed is found by each of its keys, and no longer when it is removed", async (context) => {
    const [, places] = await open(context, one, other);
    assert.equal(await places.placeOf(digest(1)), undefined);
    assert.equal(await places.place(one, world(1), [digest(1), digest(2)]), "placed");
    assert.equal(await places.place(other, world(2), [digest(3)]), "placed");
    for (const number of [1, 2]) {
      assert.deepEqual(await places.placeOf(digest(number)), { node: one, url: urlOf(one), world: world(1) });
    }
    assert.deepEqual(
      [await places.worldsOf(one), await places.worldsOf(other), await places.worldsOf(third)],
      [[world(1)], [world(2)], []],
    );
    assert.equal(await places.keep(one, urlOf(one)), 2);
    await places.remove(other, world(1));
    assert.notEqual(await places.placeOf(digest(1)), undefined, "nobody removes another's");
    await places.remove(one, world(1));
    assert.deepEqual([await places.placeOf(digest(1)), await places.placeOf(digest(2))], [undefined, undefined]);
    assert.equal((await places.placeOf(digest(3)))?.node, other);
  });

  test("a world is found by its id, while its node lives and can be reached; of two with one id always the same", async (context) => {
    const [store, places] = await open(context, one, other);
    await store.holdSlots(third, leaseMs, []);
    assert.equal(await places.placeOfWorld(world(1)), undefined);
    await places.place(other, world(1), [digest(1), digest(2)]);
    await places.place(third, world(3), [digest(5), digest(6)]);
    assert.deepEqual(await places.placeOfWorld(world(1)), { node: other, url: urlOf(other), world: world(1) });
    assert.equal(await places.placeOfWorld(world(3)), undefined, "nobody knows where that node is");
    await places.place(one, world(1), [digest(3), digest(4)]);
    assert.equal((await places.placeOfWorld(world(1)))?.node, one);
    await places.remove(one, world(1));
    assert.equal((await places.placeOfWorld(world(1)))?.node, other);
    await store.holdSlots(other, 0, []);
    assert.equal(await places.placeOfWorld(world(1)), undefined);
  });

  test("a key opens one world: what is taken is refused whole, and what is placed already may be placed again", async (context) => {
    const [, places] = await open(context, one, other);
    assert.equal(await places.place(one, world(1), [digest(1), digest(2)]), "placed");
    assert.equal(await places.place(other, world(2), [digest(3), digest(2)]), "taken");
    assert.equal(await places.placeOf(digest(3)), undefined, "nothing of it was placed");
    assert.equal(await places.place(one, world(3), [digest(1)]), "taken", "on the same node too");
    assert.equal(await places.place(one, world(1), [digest(1), digest(2)]), "placed");
    assert.equal(await places.keep(one, urlOf(one)), 2);
  });

  test("of nodes that place one key at the same moment one has it", async (context) => {
    const [, places, url] = await open(context, one, other, third);
    const nodes = [one, other, third];
    const stores = await Promise.all(nodes.map(() => openStoreOn(url)));
    context.after(() => Promise.all(stores.map((store) => store.close())));
    for (let round = 0; round < 30; round += 1) {
      // In either order of the two keys.
      const keys = [digest(2 * round), digest(2 * round + 1)];
      const placed = await Promise.all(
        stores.map(async ({ worldPlaces }, index) => {
          assert.ok(worldPlaces !== undefined);
          return worldPlaces.place(nodes[index] ?? one, world(3 * round + index), index % 2 === 0 ? keys : keys.toReversed());
        }),
      );
      assert.equal(placed.filter((placing) => placing === "placed").length, 1);
      assert.equal(placed.filter((placing) => placing === "taken").length, 2);
      const winner = nodes[placed.indexOf("placed")];
      for (const key of keys) assert.equal((await places.placeOf(key))?.node, winner);
    }
  });

  test("what a node said that lives no longer counts for nothing: its keys are free, and its rows go", async (context) => {
    const [store, places, url] = await open(context, one, other);
    await places.place(one, world(1), [digest(1), digest(2)]);
    await store.holdSlots(one, 0, []);
    assert.equal(await places.placeOf(digest(1)), undefined);
    assert.deepEqual(await places.nodes(), [{ node: other, url: urlOf(other) }]);
    assert.equal(await places.place(one, world(9), [digest(9)]), "not_living");
    assert.equal(await places.place(other, world(2), [digest(1)]), "placed");
    const left = async () => (await query<{ readonly count: number }>(url, "SELECT count(*)::integer AS count FROM world_key"))[0]?.count;
    assert.equal(await left(), 2, "control: the other key's row is still there");
    assert.equal(await places.keep(other, urlOf(other)), 1);
    assert.equal(await left(), 1);
    // Should it live after all, it learns that nothing of it is left, and that a key is another's.
    await store.holdSlots(one, leaseMs, []);
    assert.equal(await places.keep(one, urlOf(one)), 0);
    assert.equal(await places.place(one, world(1), [digest(1), digest(2)]), "taken");
  });

  test("a lease that runs out makes its worlds unreachable by itself", async (context) => {
    const [store, places] = await open(context, one);
    await store.holdSlots(other, 300, []);
    await places.keep(other, urlOf(other));
    assert.equal(await places.place(other, world(1), [digest(1)]), "placed");
    assert.equal((await places.placeOf(digest(1)))?.node, other, "control");
    await sleep(500);
    assert.equal(await places.placeOf(digest(1)), undefined);
  });

  test("a clock of the database that is set back keeps no world reachable", async (context) => {
    const [, places, url] = await open(context, one, other);
    await places.place(one, world(1), [digest(1)]);
    await query(url, `UPDATE node SET until = until + 3600000 WHERE id = '${one}'`);
    assert.equal(await places.placeOf(digest(1)), undefined);
    assert.deepEqual(await places.nodes(), [{ node: other, url: urlOf(other) }]);
  });

  test("a node that leaves has no worlds and is not reached; one that never said where it is has none to lead to", async (context) => {
    const [store, places] = await open(context, one, other);
    await store.holdSlots(third, leaseMs, []);
    assert.equal(await places.place(third, world(3), [digest(3)]), "placed");
    assert.equal(await places.placeOf(digest(3)), undefined);
    await places.place(one, world(1), [digest(1)]);
    await places.leave(one);
    assert.equal(await places.placeOf(digest(1)), undefined);
    assert.deepEqual(await places.nodes(), [{ node: other, url: urlOf(other) }]);
    assert.equal(await places.keep(one, urlOf(one)), 0);
  });

  test("where worlds live does not wait for the disk", async (context) => {
    const [, , url] = await open(context, one);
    const key = digest(1);
    for (const call of [
      `keep_worlds_1('${one}', 'u')`,
      `place_world_1('${one}', '00000001', '${key}')`,
      `remove_world_1('${one}', '00000001')`,
    ]) {
      const shown = `SELECT current_setting('synchronous_commit') AS before, ${call}, current_setting('synchronous_commit') AS after`;
      const [row] = await query<{ readonly before: string; readonly after: string }>(url, shown);
      assert.deepEqual([row?.before, row?.after], ["on", "off"], call);
    }
  });

  test("no role writes the tables, and the gateway's does not see them", async (context) => {
    const [, , url] = await open(context, one);
    const as = (role: string, text: string) =>
      query(url, `SET ROLE ${role}; ${text}`).then(
        () => "done",
        (error: unknown) => (error instanceof Error && "code" in error ? error.code : error),
      );
    for (const role of ["cofre_gateway", "cofre_vault", "cofre_reader"]) {
      for (const text of ["SELECT 1 FROM world_key", "SELECT 1 FROM node", "SELECT leave_worlds_1('0000000000000001')"]) {
        assert.equal(await as(role, text), "42501", `${role} ${text}`);
      }
    }
    assert.equal(await as("cofre_jobs", "DELETE FROM world_key"), "42501");
    assert.equal(await as("cofre_jobs", "SELECT 1 FROM world_key, node"), "done", "control");
  });
}

if (testUrl === undefined) {
  test("where worlds live", { skip: "COFRE_TEST_POSTGRES_URL names no server" }, () => undefined);
} else {
  const databases = new TestDatabases(testUrl);
  after(() => databases.drop());
  describe("where worlds live", () => describePlaces(databases));
}
