import assert from "node:assert/strict";
import { test } from "node:test";
import * as given from "../../test/contract/store-fixtures.ts";
import { orderToJson, searchTextsInOrder } from "./order-row.ts";
import { TextBlock } from "./text-block.ts";
import { TextCache } from "./text-cache.ts";

const { merchantA, merchantB, paymentId } = given;
const top = "f".repeat(50);
const texts = searchTextsInOrder(orderToJson(given.newPayment(1).order));

/** Of the payments with these numbers, newest first. */
function blockOf(...numbers: readonly number[]): TextBlock {
  return new TextBlock(numbers.map((number) => ({ id: paymentId(number), code: "code", texts })));
}

test("a block is found for the ids below its newest payment, and none for those in a gap", () => {
  const cache = new TextCache();
  const [upper, lower] = [blockOf(9, 8), blockOf(5, 3)];
  cache.add(merchantA, top, upper, false);
  cache.add(merchantA, paymentId(7), lower, false);
  const find = (before: string) => cache.find(merchantA, before);
  assert.equal(find(top), undefined, "newer payments may come");
  assert.equal(find(paymentId(9)), upper);
  assert.equal(find(paymentId(8)), undefined);
  assert.equal(find(cache.gapBelow(merchantA, paymentId(8))), lower);
  assert.equal(find(paymentId(4)), lower);
  assert.equal(find(paymentId(3)), undefined);
  assert.equal(cache.gapBelow(merchantA, paymentId(3)), "");
  assert.equal(cache.find(merchantB, paymentId(9)), undefined);
});

test("a block that may grow is kept only between others, and then covers all ids up to the one above", () => {
  const cache = new TextCache();
  cache.add(merchantA, top, blockOf(9), true);
  assert.equal(cache.find(merchantA, paymentId(9)), undefined);
  cache.add(merchantA, top, blockOf(9, 8), false);
  const next = blockOf(5);
  cache.add(merchantA, paymentId(8), next, true);
  assert.equal(cache.find(merchantA, paymentId(8)), next);
});

test("a new payment drops the block in whose range it is, and no other one", () => {
  const cache = new TextCache();
  const [upper, lower] = [blockOf(9, 8), blockOf(5, 3)];
  cache.add(merchantA, top, upper, false);
  cache.add(merchantA, paymentId(8), lower, false);
  cache.written(merchantA, paymentId(10));
  cache.written(merchantA, paymentId(2));
  cache.written(merchantB, paymentId(4));
  assert.equal(cache.find(merchantA, paymentId(9)), upper);
  assert.equal(cache.find(merchantA, paymentId(8)), lower);
  cache.written(merchantA, paymentId(7));
  assert.equal(cache.find(merchantA, paymentId(9)), upper);
  assert.equal(cache.find(merchantA, paymentId(8)), undefined);
  cache.written(merchantA, paymentId(9));
  assert.equal(cache.find(merchantA, paymentId(9)), undefined);
});

test("when there is no room, the account that was searched least recently is dropped, or nothing is kept", () => {
  const size = blockOf(9, 8).characters;
  const cache = new TextCache(3 * size);
  const merchants = [merchantA, merchantB, given.merchantId(77)] as const;
  for (const merchant of merchants) cache.add(merchant, top, blockOf(9, 8), false);
  const kept = () => merchants.map((merchant) => cache.find(merchant, paymentId(9)) !== undefined);
  assert.deepEqual(kept(), [true, true, true]);
  cache.find(merchantA, paymentId(9));
  cache.add(merchantA, paymentId(8), blockOf(5, 3), false);
  assert.deepEqual(kept(), [true, false, true]);
  cache.find(merchantA, paymentId(9));
  cache.add(merchantA, paymentId(3), blockOf(2, 1), false);
  assert.deepEqual(kept(), [true, false, false]);
  const one = blockOf(0);
  cache.add(merchantA, paymentId(1), one, false);
  assert.equal(cache.find(merchantA, paymentId(1)), undefined);
  cache.written(merchantA, paymentId(9));
  cache.add(merchantA, paymentId(1), one, false);
  assert.equal(cache.find(merchantA, paymentId(1)), one, "there is room again");
});
