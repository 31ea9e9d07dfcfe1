/**
 * The card behind a token expires. The token is still valid, the card is not: once its month has
 * ended everywhere on Earth, charges are declined. Ask the customer for a new card before that, not
 * after the third failed renewal.
 */
import assert from "node:assert/strict";
import { order, say, Shop } from "./shop.ts";

await using shop = await Shop.open({ clock: new Date("2026-03-15T12:00:00Z") });
const token = await shop.store({ card_due_date: "06/2026" });
const byToken = { card_number: undefined, card_due_date: undefined, token };
assert.equal((await shop.pay("in-march", byToken)).status, "CO");
await shop.world.clock.set(new Date("2026-06-30T23:00:00Z"));
assert.equal((await shop.pay("on-30-june", byToken)).status, "CO");
say("good to the last hour of its month");

await shop.world.clock.set(new Date("2026-07-01T12:00:01Z"));
const answer = await shop.ask("/ws/direct", order("in-july", byToken));
const payment = answer["payment"] as { readonly status?: string } | undefined;
assert.ok(answer.status === "ERROR" || payment?.status === "CA", JSON.stringify(answer));
say(`in July: ${answer.status_code ?? payment?.status}`);
