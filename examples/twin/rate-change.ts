/**
 * The exchange rate changes between the price that the customer saw and the charge. The rate at the
 * time of the charge applies, and the answer contains it. Here the rate table follows real rates of
 * past years, and the clock is set to those years.
 */
import assert from "node:assert/strict";
import { say, Shop } from "./shop.ts";

await using shop = await Shop.open({
  clock: new Date("2014-06-01T12:00:00Z"),
  settings: { rateTable: "sandbox-history" },
});
const brazil = {
  country: "br",
  document: "853.513.468-93",
  currency_code: "USD",
  amount_total: "100.00",
  zipcode: "80230-010",
  address: "Rua E",
  street_number: "1",
  city: "Curitiba",
  state: "PR",
  birth_date: "12/04/1979",
  phone_number: "5541999999999",
};
const then = await shop.pay("in-2014", {}, brazil);
await shop.world.clock.set(new Date("2026-01-01T12:00:00Z"));
const now = await shop.pay("in-2026", {}, brazil);
assert.notEqual(then.currency_rate, now.currency_rate);
say(`100 USD in 2014: ${then.amount_br} BRL at ${then.currency_rate}, tax ${then.amount_iof}`);
say(`100 USD in 2026: ${now.amount_br} BRL at ${now.currency_rate}, tax ${now.amount_iof}`);
