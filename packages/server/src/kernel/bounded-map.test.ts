import assert from "node:assert/strict";
import { test } from "node:test";
import { BoundedMap } from "./bounded-map.ts";

test("a bounded map drops its oldest keys, one for one", () => {
  const map = new BoundedMap<string, number>(3);
  assert.deepEqual(
    [1, 2, 3, 4, 5, 6, 7].map((number) => map.set(`key ${number}`, number)),
    [false, false, false, true, true, true, true],
  );
  assert.deepEqual([...map.values()], [5, 6, 7]);
  assert.equal(map.get("key 4"), undefined);
  assert.equal(map.get("key 5"), 5);
  assert.equal(map.size, 3);
});

test("a key that is set again is the newest, and no other is dropped for it", () => {
  const map = new BoundedMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);
  assert.equal(map.set("a", 3), false);
  assert.equal(map.set("c", 4), true);
  assert.deepEqual(
    [...map],
    [
      ["a", 3],
      ["c", 4],
    ],
  );
});

test("reading a key does not make it newer", () => {
  const map = new BoundedMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);
  assert.equal(map.get("a"), 1);
  map.set("c", 3);
  assert.deepEqual([map.has("a"), map.has("b")], [false, true]);
});

test("the key that is dropped is the oldest after any sequence of sets and deletions", () => {
  const map = new BoundedMap<number, number>(50);
  // The keys in their order, in a list that is searched: slow and plain.
  let expected: number[] = [];
  let state = 1;
  for (let step = 0; step < 20_000; step += 1) {
    state = (state * 48_271) % 2_147_483_647;
    const key = state % 80;
    const isKnown = expected.includes(key);
    expected = expected.filter((other) => other !== key);
    if (state % 7 === 0) {
      assert.equal(map.delete(key), isKnown);
      continue;
    }
    const isFull = expected.length === 50;
    if (isFull) expected.shift();
    expected.push(key);
    assert.equal(map.set(key, step), isFull);
  }
  assert.deepEqual(
    Array.from(map, ([key]) => key),
    expected,
  );
});

test("a copy has the keys in their order, and drops its own", () => {
  const map = new BoundedMap<string, { count: number }>(2);
  map.set("a", { count: 1 });
  map.set("b", { count: 2 });
  const copy = map.copy((value) => ({ ...value }));
  copy.set("c", { count: 3 });
  assert.deepEqual(
    Array.from(copy, ([key]) => key),
    ["b", "c"],
  );
  const copied = copy.get("b");
  assert.ok(copied !== undefined);
  copied.count = 9;
  assert.deepEqual([map.has("a"), map.get("b")], [true, { count: 2 }]);
});

test("only idle values are dropped, the oldest first; without any, the map exceeds its limit", () => {
  const map = new BoundedMap<string, { readonly idle: boolean }>(2, ({ idle }) => idle);
  map.set("busy", { idle: false });
  map.set("idle", { idle: true });
  assert.equal(map.set("another", { idle: false }), true);
  assert.deepEqual(
    Array.from(map, ([key]) => key),
    ["busy", "another"],
  );
  assert.equal(map.set("third", { idle: true }), false);
  assert.equal(map.size, 3);
});

test("a bounded map without room is refused", () => {
  for (const limit of [0, -1, 1.5, Number.NaN])
    assert.throws(() => new BoundedMap(limit), { name: "BrokenInvariant" });
});
