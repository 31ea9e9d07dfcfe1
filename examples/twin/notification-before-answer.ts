/**
 * The notification arrives before the answer to the charge that caused it, with a hash that the
 * shop has never seen. Look payments up by your own code, or keep the notification until the answer
 * has arrived; do not answer 404.
 */
import assert from "node:assert/strict";
import { Receiver, say, Shop } from "./shop.ts";

await using receiver = await Receiver.open();
await using shop = await Shop.open({
  settings: {
    notificationEndpoints: receiver.endpoints,
    notifySynchronous: true,
    notificationChaos: { beforeAnswer: 1_000 },
  },
});
let answered = false;
const order: string[] = [];
receiver.onHeard = () =>
  order.push(answered ? "heard after the answer" : "heard before the answer");
const payment = await shop.pay("order-1");
answered = true;
await receiver.hears(1);
assert.deepEqual(order, ["heard before the answer"]);
assert.equal(receiver.heard[0]?.hash, payment.hash);
say("the shop was told of the payment before its charge was answered");
