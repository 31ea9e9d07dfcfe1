import assert from "node:assert/strict";
import { test } from "node:test";
import { BoundedMap } from "./bounded-map.ts";

test("a bounded map forgets its oldest keys, one for one", () => {
  const map = new BoundedMap<number>(3);
  assert.deepEqual(
    [1, 2, 3, 4, 5, 6, 7].map((number) => map.add(`key ${number}`, number)),
    [false, false, false, true, true, true, true],
  );
  assert.deepEqual([...map.values()], [5, 6, 7]);
  assert.equal(map.get("key 4"), undefined);
  assert.equal(map.get("key 5"), 5);
});

test("a bounded map without room is refused", () => {
  for (const limit of [0, -1, 1.5, Number.NaN])
    assert.throws(() => new BoundedMap(limit), { name: "BrokenInvariant" });
});
