/**
 * The gateway is slow, and the shop's request timed out. A payment that is not found may still be
 * charged a moment later: "not found" is not final. Sending the same code again cannot charge the
 * customer twice.
 */
import assert from "node:assert/strict";
import { order, say, Shop } from "./shop.ts";

await using shop = await Shop.open();
await shop.world.faults.add({ kind: "slow", delayMs: 2_000, path: "/ws/direct" });
const body = JSON.stringify({ integration_key: shop.world.integrationKey, ...order("order-1") });
await assert.rejects(
  fetch(`${shop.cofre.url}/ws/direct`, { method: "POST", body, signal: AbortSignal.timeout(200) }),
  {
    name: "TimeoutError",
  },
);
const early = await shop.ask("/ws/query", { merchant_payment_code: "order-1" });
say(`given up, and ${early.status_code === "BP-QRY-2" ? "not found" : "found"}`);
assert.equal(early.status_code, "BP-QRY-2");

let later = early;
while (later.status_code === "BP-QRY-2") {
  await new Promise((resolve) => void setTimeout(resolve, 20));
  later = await shop.ask("/ws/query", { merchant_payment_code: "order-1" });
}
assert.equal((await shop.query("order-1")).status, "CO");
say("done a moment later");
assert.equal((await shop.ask("/ws/direct", order("order-1"))).status_code, "BP-DR-0");
say("sent again: there is one already");
