/**
 * One of three cups is out of stock: two are captured, and the rest of the authorization is
 * released at once. A second capture is refused: a payment has one capture.
 */
import assert from "node:assert/strict";
import { say, Shop } from "./shop.ts";

await using shop = await Shop.open({ settings: { partialCapture: true } });
const { hash } = await shop.pay("order-1", { auto_capture: false });
const captured = await shop.payment("/ws/capture", { hash, amount: "66.67" });
assert.equal(captured.status, "CO");
const second = await shop.ask("/ws/capture", { hash, amount: "33.33" });
assert.equal(second.status, "ERROR");
const { money } = await shop.world.payments.explain("order-1");
say(JSON.stringify(money.find(({ currency }) => currency === "PEN")));
say("66.67 captured; the rest is free, and cannot be captured any more");
