/**
 * A one-year subscription: the customer is present for the first payment and absent for the other
 * eleven. In the sixth month the card has insufficient funds; the shop retries four days later,
 * with another code.
 */
import assert from "node:assert/strict";
import { say, Shop } from "./shop.ts";

await using shop = await Shop.open();
const token = await shop.store();
const renewal = { card_number: undefined, card_cvv: undefined, token, auto_capture: true };
const first = await shop.pay(
  "month-1",
  { card_number: undefined, token },
  { cof_info: { cof_type: "initial", initiator: "CIT", trans_type: "recurring" } },
);
assert.equal(first.status, "CO");
let paid = 1;
for (let month = 2; month <= 12; month += 1) {
  await shop.world.clock.advance("1months");
  const stored = { cof_info: { cof_type: "stored", initiator: "MIT", trans_type: "recurring" } };
  if (month === 6)
    await shop.world.simulator.next({
      next: "decline",
      reason: "insufficient_funds",
      message: "authorize",
    });
  let { status } = await shop.pay(`month-${month}`, renewal, stored);
  if (status === "CA") {
    say(`month ${month}: declined, and tried again four days later`);
    await shop.world.clock.advance("4d");
    ({ status } = await shop.pay(`month-${month}-again`, renewal, stored));
  }
  assert.equal(status, "CO");
  paid += 1;
}
assert.equal(paid, 12);
say("twelve months paid");
