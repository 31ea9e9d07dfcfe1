/**
 * Amounts in a currency without cents. In this interface every amount has two decimals, Chilean
 * pesos too, and a rate has four: 10.37 dollars are 9851.50 pesos. A shop that shows whole pesos
 * rounds for display, and compares the returned amounts as text, never as floating point. An amount
 * in pesos with cents is most likely a mistake, so the answer carries a warning.
 */
import assert from "node:assert/strict";
import { order, say, Shop } from "./shop.ts";

await using shop = await Shop.open();
const chile = { country: "cl", phone_number: "56987654321" };
const dollars = await shop.pay(
  "in-dollars",
  {},
  { ...chile, currency_code: "USD", amount_total: "10.37" },
);
assert.equal(dollars.amount_br, "9851.50");
say(`10.37 USD are ${dollars.amount_br} CLP at ${dollars.currency_rate}`);

const body = JSON.stringify({
  integration_key: shop.world.integrationKey,
  ...order("cents", {}, { ...chile, currency_code: "CLP", amount_total: "98.50" }),
});
const answer = await fetch(`${shop.cofre.url}/ws/direct`, { method: "POST", body });
await answer.body?.cancel();
assert.notEqual(answer.headers.get("x-cofre-warning"), null);
say(`98.50 CLP: ${String(answer.headers.get("x-cofre-warning"))}`);

const { problems } = await shop.world.payments.explain("in-dollars");
assert.deepEqual(problems, []);
say("the books balance in both currencies");
