/**
 * Declines differ: after "insufficient funds" a retry may succeed, after an invalid card it never
 * does. Each retry needs a new merchant_payment_code, because a code is charged at most once.
 */
import assert from "node:assert/strict";
import { order, say, Shop } from "./shop.ts";

await using shop = await Shop.open();
for (const reason of ["insufficient_funds", "invalid_card", "expired_card"]) {
  await shop.world.simulator.next({ next: "decline", reason, message: "authorize" });
  const { status, transaction_status: result } = await shop.pay(`declined-${reason}`);
  assert.equal(status, "CA");
  say(`${reason}: ${JSON.stringify(result)}`);
}
const again = await shop.ask("/ws/direct", order("declined-insufficient_funds"));
say(`under the same code: ${again.status} ${again.status_code ?? ""}`);
assert.equal((await shop.query("declined-insufficient_funds")).status, "CA");
assert.equal((await shop.pay("tried-again")).status, "CO");
say("under another code it is paid");
