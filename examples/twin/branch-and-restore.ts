/**
 * One setup for many tests: a snapshot with an authorized payment is taken once, and each test
 * starts from exactly that moment. One captures the payment, one voids it, one lets it expire.
 */
import assert from "node:assert/strict";
import { say, Shop } from "./shop.ts";

await using shop = await Shop.open();
const { hash } = await shop.pay("order-1", { auto_capture: false });
await shop.world.snapshot("authorized");
const ways = {
  captured: () => shop.payment("/ws/capture", { hash }),
  cancelled: () => shop.ask("/ws/cancel", { hash }),
  forgotten: () => shop.world.clock.advance("10d"),
};
for (const [name, way] of Object.entries(ways)) {
  await shop.world.restore("authorized");
  await way();
  const { status } = await shop.query("order-1");
  assert.equal(status, name === "captured" ? "CO" : "CA");
  say(`${name}: ${status}`);
}
