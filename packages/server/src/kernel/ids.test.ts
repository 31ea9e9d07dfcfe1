import assert from "node:assert/strict";
import { test } from "node:test";
import { isPaymentId, newPaymentId } from "./ids.ts";
import { instant } from "./instant.ts";
import { SeededRandom } from "./seeded-random.ts";

const random = new SeededRandom("ids");

test("payment ids begin with the second of their creation and grow with every millisecond", () => {
  const at = Date.UTC(2026, 10, 28, 12, 0, 0, 999);
  const id = newPaymentId(instant(at), random);
  assert.ok(isPaymentId(id));
  assert.equal(Number.parseInt(id.slice(0, 8), 16), Math.floor(at / 1_000));
  const ids = [0, 1, 2, 10, 1_000].map((later) => newPaymentId(instant(at + later), random));
  assert.deepEqual(ids.toSorted(), ids);
});

test("payment ids of one moment differ in 144 random bits", () => {
  const at = instant(1_000);
  const ids = new Set(Array.from({ length: 1_000 }, () => newPaymentId(at, random).slice(12)));
  assert.equal(ids.size, 1_000);
});

test("payment ids keep their length beyond 2106", () => {
  assert.ok(isPaymentId(newPaymentId(instant(2 ** 32 * 1_000), random)));
});
