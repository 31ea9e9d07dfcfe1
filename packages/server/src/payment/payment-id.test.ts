import assert from "node:assert/strict";
import { test } from "node:test";
import type { MerchantId } from "../kernel/ids.ts";
import { isPaymentId, newPaymentId, type PaymentId, paymentIds } from "./payment-id.ts";
import { instant } from "../kernel/instant.ts";
import { SeededRandom } from "../kernel/seeded-random.ts";

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

test("payment ids of one merchant and moment grow, whatever else is made meanwhile", () => {
  const nextId = paymentIds(random);
  const merchants = ["0000000a", "0000000b"] as MerchantId[];
  const made = new Map<string, PaymentId[]>();
  for (let each = 0; each < 3_000; each += 1) {
    for (const merchantId of merchants) {
      // Some payments of an earlier moment arrive late.
      const at = instant(5_000 + (each % 7 === 0 ? 0 : 1));
      const ids = made.get(`${merchantId} ${at}`) ?? [];
      made.set(`${merchantId} ${at}`, ids);
      ids.push(nextId(merchantId, at));
    }
  }
  assert.equal(made.size, 4);
  for (const ids of made.values()) {
    assert.ok(ids.every(isPaymentId));
    assert.deepEqual(ids.toSorted(), ids);
    assert.equal(new Set(ids).size, ids.length);
  }
  // Each moment begins at a random id.
  assert.equal(new Set(Array.from(made.values(), ([first]) => first?.slice(12, 20))).size, 4);
});

test("payment ids of one merchant and moment grow when a thousand other moments lie between them, again and again", () => {
  const nextId = paymentIds(random);
  const [mine, others] = ["0000000a", "0000000b"] as MerchantId[];
  assert.ok(mine !== undefined && others !== undefined);
  const at = instant(5_000);
  let before = nextId(mine, at);
  for (let round = 0; round < 5; round += 1) {
    for (let each = 0; each < 999; each += 1) nextId(others, instant(10_000 + round * 999 + each));
    const id = nextId(mine, at);
    assert.ok(id > before);
    before = id;
  }
});

test("payment ids beyond another are unlike each other in their last 112 bits, and start again where there is none beyond", () => {
  const at = instant(1_000);
  const first = newPaymentId(at, random);
  const ids = Array.from({ length: 1_000 }, () => newPaymentId(at, random, first));
  assert.ok(ids.every((id) => id > first && isPaymentId(id)));
  assert.equal(new Set(ids.map((id) => id.slice(-28))).size, 1_000);
  assert.ok(
    isPaymentId(newPaymentId(at, random, `${first.slice(0, 12)}${"f".repeat(36)}` as PaymentId)),
  );
});

test("payment ids keep their length beyond 2106", () => {
  assert.ok(isPaymentId(newPaymentId(instant(2 ** 32 * 1_000), random)));
});
