/**
 * The answer to a refund was lost: was the refund made? With an Idempotency-Key the same request
 * can safely be sent again, and receives the first answer.
 */
import assert from "node:assert/strict";
import { say, Shop } from "./shop.ts";

await using shop = await Shop.open();
const { hash } = await shop.pay("order-1");
const refund = { operation: "request", hash, amount: "30.00", description: "one of three cups" };
const headers = { "Idempotency-Key": "refund-of-order-1-cup-2" };
const first = await shop.ask("/ws/refund", refund, headers);
const again = await shop.ask("/ws/refund", refund, headers);
assert.deepEqual(again, first);
const { refunds } = await shop.query("order-1");
assert.ok(Array.isArray(refunds) && refunds.length === 1);
say("sent twice, refunded once");

const other = await shop.ask("/ws/refund", { ...refund, amount: "40.00" }, headers);
assert.equal(other.status_code, "COFRE-44");
say("another request under the same key is refused");
