import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { MerchantId, TokenDigest } from "../kernel/ids.ts";
import { instant, minute } from "../kernel/instant.ts";
import { SeededRandom } from "../kernel/seeded-random.ts";
import { CvvCache } from "./cvv-cache.ts";
import { Cvv } from "./pan.ts";

const [one, other] = ["0a0b0c0d", "0a0b0c0e"] as [MerchantId, MerchantId];
const digest = (number: number): TokenDigest =>
  number.toString(16).padStart(64, "0") as TokenDigest;
const at = (ms: number) => instant(1_000_000_000 + ms);

function leave(
  cvvCache: CvvCache,
  digits: string,
  ms: number,
  merchantId = one,
  token = digest(1),
): void {
  const cvv = Cvv.from(Buffer.from(digits));
  assert.ok(cvv !== undefined);
  cvvCache.put(merchantId, token, cvv, at(ms));
  cvv.wipe();
}

function taken(
  cvvCache: CvvCache,
  ms: number,
  merchantId = one,
  token = digest(1),
): string | undefined {
  const cvv = cvvCache.take(merchantId, token, at(ms));
  return cvv === undefined ? undefined : Buffer.from(cvv.reveal()).toString("latin1");
}

describe("security codes that wait for a payment", () => {
  test("are given once, to their merchant and for their token alone", () => {
    const cvvCache = new CvvCache(new SeededRandom("cvv cache"));
    leave(cvvCache, "123", 0);
    leave(cvvCache, "456", 0, one, digest(2));
    leave(cvvCache, "7890", 0, other);
    assert.equal(taken(cvvCache, 1, other, digest(2)), undefined);
    assert.deepEqual([taken(cvvCache, 1), taken(cvvCache, 1)], ["123", undefined]);
    assert.deepEqual(
      [taken(cvvCache, 1, one, digest(2)), taken(cvvCache, 1, other)],
      ["456", "7890"],
    );
    assert.equal(cvvCache.size, 0);
  });

  test("give way to a newer one", () => {
    const cvvCache = new CvvCache(new SeededRandom("cvv cache"));
    leave(cvvCache, "123", 0);
    leave(cvvCache, "456", 10);
    assert.equal(cvvCache.size, 1);
    assert.equal(taken(cvvCache, 15 * minute + 9), "456", "its 15 minutes count from when it came");
  });

  test("are there for 15 minutes, to the millisecond, and not of a time far ahead of the clock", () => {
    for (const [ms, found] of [
      [15 * minute - 1, "123"],
      [15 * minute, undefined],
      [-minute, "123"],
      [-minute - 1, undefined],
    ] as const) {
      const cvvCache = new CvvCache(new SeededRandom("cvv cache"));
      leave(cvvCache, "123", 0);
      assert.equal(taken(cvvCache, ms), found, `${ms}`);
      assert.equal(cvvCache.size, 0, "what is over is not kept either");
      leave(cvvCache, "123", 0);
      cvvCache.deleteExpired(at(ms));
      assert.equal(cvvCache.size, found === undefined ? 0 : 1, `${ms}`);
    }
  });

  test("are 10,000 at most: the oldest makes room", () => {
    const cvvCache = new CvvCache(new SeededRandom("cvv cache"));
    for (let number = 0; number <= 10_000; number += 1)
      leave(cvvCache, "123", 0, one, digest(number));
    assert.equal(cvvCache.size, 10_000);
    assert.deepEqual(
      [taken(cvvCache, 1, one, digest(0)), taken(cvvCache, 1, one, digest(1))],
      [undefined, "123"],
    );
  });
});
