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
receiver.onReceived = () =>
  order.push(answered ? "received after the answer" : "received before the answer");
const payment = await shop.pay("order-1");
answered = true;
await receiver.waitFor(1);
assert.deepEqual(order, ["received before the answer"]);
assert.equal(receiver.received[0]?.hash, payment.hash);
say("the shop was notified of the payment before its charge was answered");
