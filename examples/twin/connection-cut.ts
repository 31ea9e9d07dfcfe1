/**
 * The gateway took the money, but the answer never arrived: the connection was cut, a proxy
 * answered with its own page, or only half of the answer arrived. Each time the shop queries the
 * payment before it does anything else, and the customer is charged once.
 */
import assert from "node:assert/strict";
import { order, say, Shop } from "./shop.ts";

await using shop = await Shop.open();
const kinds = [
  "drop_after_commit",
  "garbage_after_commit",
  "error_after_commit",
  "stall_in_body",
] as const;
for (const kind of kinds) {
  await shop.world.faults.add({
    kind,
    path: "/ws/direct",
    ...(kind === "stall_in_body" ? { delayMs: 100 } : {}),
  });
  const answer = await shop.ask("/ws/direct", order(kind)).catch(() => undefined);
  say(
    `${kind}: ${answer === undefined ? "no answer that can be read" : `${answer.status} ${answer.status_code}`}`,
  );
  assert.equal(answer?.["payment"], undefined);
  assert.equal((await shop.query(kind)).status, "CO");
  // A shop that sends the charge again without a query:
  assert.equal((await shop.ask("/ws/direct", order(kind))).status_code, "BP-DR-0");
  const { money } = await shop.world.payments.explain(kind);
  assert.equal(money.find(({ currency }) => currency === "PEN")?.["captured"], "100.00");
}
say("four charges, 100.00 PEN each");

// The control: the connection was cut too, but no charge was made.
await shop.world.faults.add({ kind: "drop_before_commit" });
await assert.rejects(shop.ask("/ws/direct", order("not-done")));
assert.equal(
  (await shop.ask("/ws/query", { merchant_payment_code: "not-done" })).status_code,
  "BP-QRY-2",
);
assert.equal((await shop.pay("not-done")).status, "CO");
say("not found, so it was sent again");
