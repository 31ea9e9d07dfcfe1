/**
 * The customer clicks twice, or the shop's server tries again: two charges with one
 * merchant_payment_code at the same moment. One payment is made. Whoever comes second hears of it,
 * or that there is one already; in either case a query shows it.
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
