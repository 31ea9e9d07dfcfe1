/**
 * The request never reaches the acquirer. The shop receives PE, the same as when the answer is
 * lost, because the two cannot be distinguished. Here no money moved, and the payment is voided.
 * The customer may pay again, with another code.
 */
import assert from "node:assert/strict";
import { say, Shop } from "./shop.ts";

await using shop = await Shop.open();
await shop.world.simulator.next({ next: "lose_request", message: "authorize" });
assert.equal((await shop.pay("order-1")).status, "PE");
say("right after the charge: PE");

await shop.world.clock.advance("10min");
assert.equal((await shop.query("order-1")).status, "CA");
say("ten minutes later: CA, the acquirer has never received it");

assert.equal((await shop.pay("order-1-again")).status, "CO");
say("the second order is paid");
