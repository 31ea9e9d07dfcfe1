/**
 * A payment above the amount that requires manual review. It is PE until a reviewer decides, which
 * may take days; then the shop is notified. This script plays both the shop and the reviewer.
 */
import assert from "node:assert/strict";
import { Receiver, say, Shop } from "./shop.ts";

await using receiver = await Receiver.open();
await using shop = await Shop.open({
  settings: { reviewAboveUsd: 20, notificationEndpoints: receiver.endpoints },
});
for (const [code, action, expected] of [
  ["good", "accept_review", "CO"],
  ["bad", "reject_review", "CA"],
] as const) {
  assert.equal((await shop.pay(code)).status, "PE");
  await shop.world.clock.advance("1d");
  assert.equal((await shop.query(code)).status, "PE");
  await shop.ask("/__cofre/payment", { merchant_payment_code: code, action });
  assert.equal((await shop.query(code)).status, expected);
  say(`${code}: PE for a day, then ${expected}`);
}
await receiver.waitFor(2);
say("the shop was notified of both");
