import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { planAlone, worldsAlone } from "../../../test/worlds-alone.ts";
import { type KeyDigest, type MerchantId } from "../../kernel/ids.ts";
import { hour, instant } from "../../kernel/instant.ts";
import { SeededRandom } from "../../kernel/seeded-random.ts";
import { systemScheduler } from "../../kernel/system-scheduler.ts";
import { digestOfKey } from "../../operations/account-directory.ts";
import { StoreError } from "../../stores/store.ts";
import type { Placing, WorldPlaces } from "../../stores/world-places.ts";
import type { World } from "../../sandbox/world.ts";
import { WorldRefused, type Worlds } from "../../sandbox/worlds.ts";
import { PlaceKeeper } from "./place-keeper.ts";

const random = new SeededRandom("places");
const [here, there] = ["00000000000000aa", "00000000000000bb"] as const;

/** The store's side of it, which fails as it is told: before it has done what it was asked, or after. */
class Places implements WorldPlaces {
  readonly rows = new Map<KeyDigest, { readonly node: string; readonly world: MerchantId }>();
  fails: "before" | "after" | undefined;
  lives = true;

  async #failing<T>(task: () => T): Promise<T> {
    if (this.fails === "before") throw new StoreError("unavailable");
    const done = task();
    if (this.fails === "after") throw new StoreError("unavailable");
    return done;
  }

  keep(node: string): Promise<number> {
    return this.#failing(() => this.#of(node).length);
  }

  place(node: string, world: MerchantId, keys: readonly KeyDigest[]): Promise<Placing> {
    return this.#failing(() => {
      if (!this.lives) return "not_living";
      if (keys.some((key) => this.rows.has(key) && this.rows.get(key)?.world !== world)) return "taken";
      for (const key of keys) this.rows.set(key, { node, world });
      return "placed";
    });
  }

  remove(node: string, world: MerchantId): Promise<void> {
    return this.#failing(() => {
      for (const [key, row] of this.rows) if (row.node === node && row.world === world) this.rows.delete(key);
    });
  }

  leave(node: string): Promise<void> {
    return this.#failing(() => {
      for (const [key, row] of this.rows) if (row.node === node) this.rows.delete(key);
    });
  }

  worldsOf(node: string): Promise<readonly MerchantId[]> {
    return this.#failing(() => [...new Set(this.#of(node).map(({ world }) => world))]);
  }

  placeOf(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  placeOfWorld(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  nodes(): Promise<[]> {
    return Promise.resolve([]);
  }

  #of(node: string): { readonly world: MerchantId }[] {
    return [...this.rows.values()].filter((row) => row.node === node);
  }
}

interface Rig {
  readonly places: Places;
  readonly worlds: Worlds;
  readonly keeper: PlaceKeeper;
  readonly create: (key?: string) => Promise<World>;
  /** Lets the keeper's next round happen; answers after how many milliseconds it would have. */
  readonly round: () => Promise<number>;
  readonly advance: (ms: number) => void;
}

async function rig(mostWorlds = 100): Promise<Rig> {
  const places = new Places();
  let now = Date.UTC(2026, 10, 28);
  let next: { readonly ms: number; readonly task: () => void } | undefined;
  let scheduled = Promise.withResolvers<void>();
  const scheduler = {
    sleep: (ms: number) => systemScheduler.sleep(ms),
    after: (ms: number, task: () => void) => {
      next = { ms, task };
      scheduled.resolve();
      return () => (next = undefined);
    },
  };
  const keeper = new PlaceKeeper({ places, node: here, url: "http://127.0.0.1:1", scheduler });
  const worlds = worldsAlone({ now: () => instant(now) }, random, { limits: { mostWorlds }, placement: keeper });
  await keeper.start(worlds);
  return {
    places,
    worlds,
    keeper,
    advance: (ms) => void (now += ms),
    create: (key) => worlds.create(planAlone(random, { now: instant(now), running: false }, key)),
    round: async () => {
      const due = next;
      assert.ok(due !== undefined, "a round is always to come");
      scheduled = Promise.withResolvers();
      due.task();
      await scheduled.promise;
      return due.ms;
    },
  };
}

describe("the worlds of a node", () => {
  test("are placed before they are had, and gone when they are gone: deleted, or given up for another", async () => {
    const { places, worlds, create, advance } = await rig(2);
    const [first, second] = [await create("first"), await create()];
    assert.equal(places.rows.size, 4);
    assert.deepEqual(places.rows.get(digestOfKey("first")), { node: here, world: first.id });
    await worlds.delete(second);
    assert.equal(places.rows.size, 2);
    await create();
    advance(2 * hour);
    const fourth = await create();
    await systemScheduler.sleep(5);
    assert.equal(places.rows.size, 4);
    assert.deepEqual(new Set(Array.from(places.rows.values(), ({ world }) => world)), new Set(worlds.list().map(({ id }) => id)));
    assert.ok(worlds.of(fourth.id) !== undefined);
    await worlds.reset(fourth);
    assert.equal(places.rows.size, 4, "reset keeps its keys");
  });

  test("are refused when a key is taken elsewhere, or the others cannot be told, and then nothing of them is here", async () => {
    const { places, worlds, create } = await rig();
    places.rows.set(digestOfKey("theirs"), { node: there, world: "01020304" as MerchantId });
    await assert.rejects(create("theirs"), new WorldRefused("key_taken"));
    places.fails = "before";
    await assert.rejects(create("mine"), new WorldRefused("unplaced"));
    places.fails = undefined;
    places.lives = false;
    await assert.rejects(create("mine"), new WorldRefused("unplaced"));
    assert.deepEqual([worlds.size, worlds.byKey("mine"), worlds.byKey("theirs")], [0, undefined, undefined]);
    places.lives = true;
    assert.ok((await create("mine")).id !== undefined, "the key is free");
  });

  test("that were placed though the store did not say so, or could not be removed, are put right", async () => {
    const { places, worlds, create, round } = await rig();
    const kept = await create();
    const gone = await create();
    places.fails = "after";
    await assert.rejects(create("perhaps"), new WorldRefused("unplaced"));
    assert.ok(places.rows.has(digestOfKey("perhaps")), "control: it is written");
    places.fails = "before";
    await worlds.delete(gone);
    assert.equal(places.rows.size, 6, "control: nothing could be removed");
    assert.equal(await round(), 3_000);
    assert.equal(await round(), 1_000, "it is in a hurry");
    places.fails = undefined;
    assert.equal(await round(), 1_000);
    assert.deepEqual(new Set(Array.from(places.rows.values(), ({ world }) => world)), new Set([kept.id]));
    assert.equal(await round(), 3_000, "all is right");
  });

  test("are placed again when others have deleted them; one whose key is another's by then goes", async () => {
    const { places, worlds, create, round } = await rig();
    const [first, second] = [await create(), await create("contested")];
    places.rows.clear();
    places.rows.set(digestOfKey("contested"), { node: there, world: "01020304" as MerchantId });
    places.lives = false;
    await round();
    assert.equal(places.rows.size, 1, "who is not alive places nothing");
    places.lives = true;
    await round();
    await systemScheduler.sleep(5);
    assert.deepEqual(worlds.list(), [first]);
    assert.equal(worlds.byKey("contested"), undefined);
    assert.equal(worlds.of(second.id), undefined);
    assert.equal(places.rows.size, 3);
    assert.equal(places.rows.get(digestOfKey("contested"))?.node, there);
  });

  test("are nobody's when the node stops, and a store that is down does not keep it from stopping", async () => {
    const { places, worlds, keeper, create } = await rig();
    await create();
    await keeper.stop();
    assert.equal(places.rows.size, 0);
    places.fails = "before";
    await worlds.close();
    await keeper.stop();
    assert.equal(worlds.size, 0);
  });
});
