import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { MerchantId } from "../kernel/ids.ts";
import { Shares } from "./shares.ts";

const merchants = ["0000000a", "0000000b", "0000000c", "0000000d", "0000000e"] as MerchantId[] as [
  MerchantId,
  MerchantId,
  MerchantId,
];

/** Lets these merchants take places in turn until none may; returns the number of each. */
function greedy(shares: Shares, ...takers: readonly MerchantId[]): number[] {
  for (let taken = true; taken;) {
    taken = false;
    for (const merchantId of takers) {
      if (!shares.isFree(merchantId)) continue;
      shares.take(merchantId);
      taken = true;
    }
  }
  return takers.map((merchantId) => shares.takenBy(merchantId));
}

describe("places that merchants share", () => {
  test("a merchant that is alone has half of what is for all, several have equal parts, and something is always left", () => {
    const [a, b, c] = merchants;
    assert.deepEqual(greedy(new Shares(256), a), [96]);
    assert.deepEqual(greedy(new Shares(256), a, b), [64, 64]);
    assert.deepEqual(greedy(new Shares(256), a, b, c), [48, 48, 48]);
  });

  test("three quarters of any number of places are for all, rounded up", () => {
    const [a] = merchants;
    assert.deepEqual(
      [1, 2, 3, 4, 5, 6, 7, 9].map((places) => greedy(new Shares(places), a)[0]),
      [1, 1, 2, 2, 2, 3, 3, 4],
    );
  });

  test("a merchant that comes late finds a place whatever others have, and more when they give some back", () => {
    const shares = new Shares(16);
    const [a, ...late] = merchants;
    assert.deepEqual(greedy(shares, a), [6]);
    const [first] = late;
    assert.deepEqual(greedy(shares, first), [3]);
    for (const merchantId of late.slice(1)) assert.ok(greedy(shares, merchantId)[0] !== 0);
    for (let count = 0; count < 6; count += 1) shares.giveBack(a);
    assert.ok((greedy(shares, first)[0] ?? 0) > 3);
  });

  test("the last quarter is for merchants that have none, until that is taken too", () => {
    const shares = new Shares(8);
    const many = Array.from({ length: 9 }, (_, index) => `0000000${index}` as MerchantId);
    assert.deepEqual(greedy(shares, ...many), [1, 1, 1, 1, 1, 1, 1, 1, 0]);
    for (const merchantId of many.slice(0, 3)) shares.giveBack(merchantId);
    assert.equal(shares.taken, 5);
    assert.equal(
      shares.isFree(many[4] ?? merchants[0]),
      false,
      "one that has a place waits, and the room is for those that have none",
    );
    assert.equal(shares.isFree(many[8] ?? merchants[0]), true);
  });
});
