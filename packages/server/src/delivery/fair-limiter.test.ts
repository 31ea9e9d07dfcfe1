import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { MerchantId } from "../kernel/ids.ts";
import { FairLimiter } from "./fair-limiter.ts";

const merchants = ["0000000a", "0000000b", "0000000c", "0000000d", "0000000e"] as MerchantId[] as [
  MerchantId,
  MerchantId,
  MerchantId,
];

/** Lets these merchants take places in turn until none may; returns the number of each. */
function greedy(limiter: FairLimiter, ...takers: readonly MerchantId[]): number[] {
  for (let acquired = true; acquired;) {
    acquired = false;
    for (const merchantId of takers) {
      if (!limiter.hasRoom(merchantId)) continue;
      limiter.acquire(merchantId);
      acquired = true;
    }
  }
  return takers.map((merchantId) => limiter.usedBy(merchantId));
}

describe("places that merchants share", () => {
  test("a merchant that is alone has half of what is for all, several have equal parts, and something is always left", () => {
    const [a, b, c] = merchants;
    assert.deepEqual(greedy(new FairLimiter(256), a), [96]);
    assert.deepEqual(greedy(new FairLimiter(256), a, b), [64, 64]);
    assert.deepEqual(greedy(new FairLimiter(256), a, b, c), [48, 48, 48]);
  });

  test("three quarters of any number of places are for all, rounded up", () => {
    const [a] = merchants;
    assert.deepEqual(
      [1, 2, 3, 4, 5, 6, 7, 9].map((places) => greedy(new FairLimiter(places), a)[0]),
      [1, 1, 2, 2, 2, 3, 3, 4],
    );
  });

  test("a merchant that comes late finds a place whatever others have, and more when they give some back", () => {
    const limiter = new FairLimiter(16);
    const [a, ...late] = merchants;
    assert.deepEqual(greedy(limiter, a), [6]);
    const [first] = late;
    assert.deepEqual(greedy(limiter, first), [3]);
    for (const merchantId of late.slice(1)) assert.ok(greedy(limiter, merchantId)[0] !== 0);
    for (let count = 0; count < 6; count += 1) limiter.release(a);
    assert.ok((greedy(limiter, first)[0] ?? 0) > 3);
  });

  test("the last quarter is for merchants that have none, until that is acquired too", () => {
    const limiter = new FairLimiter(8);
    const many = Array.from({ length: 9 }, (_, index) => `0000000${index}` as MerchantId);
    assert.deepEqual(greedy(limiter, ...many), [1, 1, 1, 1, 1, 1, 1, 1, 0]);
    for (const merchantId of many.slice(0, 3)) limiter.release(merchantId);
    assert.equal(limiter.used, 5);
    assert.equal(
      limiter.hasRoom(many[4] ?? merchants[0]),
      false,
      "one that has a place waits, and the room is for those that have none",
    );
    assert.equal(limiter.hasRoom(many[8] ?? merchants[0]), true);
  });
});
