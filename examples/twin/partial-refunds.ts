/**
 * Partial refunds until nothing is left; one that is cancelled in time; one that is too large. A
 * refund is requested first (RE), then pending (PE), then sent and confirmed (CO); it can be
 * cancelled only while it is requested or pending.
 */
import assert from "node:assert/strict";
import { say, Shop } from "./shop.ts";

await using shop = await Shop.open();
const { hash } = await shop.pay("order-1");
const refund = (amount: string) =>
  shop.ask("/ws/refund", { operation: "request", hash, amount, description: "sent back" });
const refunds = async (): Promise<readonly { readonly id: string; readonly status: string }[]> =>
  (await shop.query("order-1"))["refunds"] as readonly {
    readonly id: string;
    readonly status: string;
  }[];

await refund("30.00");
await refund("30.00");
assert.equal((await refund("40.01"))["status"], "ERROR");
say("30 and 30 of 100 are asked for; 40.01 more is refused");

const mistaken = (await refunds())[1];
assert.ok(mistaken !== undefined);
const cancelled = await shop.ask("/ws/refund", { operation: "cancel", refund_id: mistaken.id });
assert.equal(cancelled.status, "SUCCESS", JSON.stringify(cancelled));
await shop.world.clock.advance("1h");
assert.deepEqual(
  (await refunds()).map(({ status }) => status),
  ["CO", "CA"],
);
say("an hour later: the first is confirmed, the second was taken back");

assert.equal((await refund("70.00"))["status"], "SUCCESS");
await shop.world.clock.advance("1h");
assert.equal((await refund("0.01"))["status"], "ERROR");
say("the other 70 too; then nothing is left");
