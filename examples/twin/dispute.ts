/**
 * Weeks after the payment the cardholder disputes it, and the issuer takes the money back. The shop
 * is notified, submits its evidence and wins the dispute. A disputed payment cannot be refunded:
 * the customer would get the money twice.
 */
import assert from "node:assert/strict";
import { Receiver, say, Shop } from "./shop.ts";

await using receiver = await Receiver.open();
await using shop = await Shop.open({ settings: { notificationEndpoints: receiver.endpoints } });
const { hash } = await shop.pay("order-1");
await shop.world.clock.advance("40d");
await shop.ask("/__cofre/payment", {
  hash,
  action: "chargeback",
  description: "goods not received",
});
await receiver.waitFor(1);
assert.equal(receiver.received.at(-1)?.hash, hash);
say("disputed, and the shop was notified");

const refund = await shop.ask("/ws/refund", {
  operation: "request",
  hash,
  amount: "100.00",
  description: "sorry",
});
assert.equal(refund.status, "ERROR");
say(`a refund meanwhile is refused with ${refund.status_code}`);

await shop.ask("/__cofre/payment", { hash, action: "chargeback_credit" });
const { problems, money } = await shop.world.payments.explain("order-1");
assert.deepEqual(problems, []);
say(`won back: ${JSON.stringify(money.find(({ currency }) => currency === "PEN"))}`);
