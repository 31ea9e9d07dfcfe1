/**
 * The customer clicks twice, or the shop's server retries: two charges with the same
 * merchant_payment_code at the same moment. One payment is made. The second request receives that
 * payment, or an error that the code was used already; in both cases a query returns the payment.
 */
import assert from "node:assert/strict";
import { order, say, Shop } from "./shop.ts";

await using shop = await Shop.open();
const answers = await Promise.all([
  shop.ask("/ws/direct", order("order-1")),
  shop.ask("/ws/direct", order("order-1")),
]);
for (const answer of answers) say(`answered: ${answer.status} ${answer.status_code ?? ""}`);

const { status } = await shop.query("order-1");
const { facts, money } = await shop.world.payments.explain("order-1");
assert.equal(status, "CO");
assert.equal(facts.filter(({ fact }) => fact === "authorization_sent").length, 1);
assert.equal(money.find(({ currency }) => currency === "PEN")?.["captured"], "100.00");
say("one charge, 100.00 PEN");
