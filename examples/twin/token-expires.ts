/**
 * A stored card that nobody uses for 14 months is forgotten. Each use counts from anew, so a
 * subscription keeps its token alive, and a customer who comes back after two years has to type the
 * card again.
 */
import assert from "node:assert/strict";
import { order, say, Shop } from "./shop.ts";

await using shop = await Shop.open({ clock: new Date("2026-12-31T12:00:00Z") });
const token = await shop.store();
const byToken = { card_number: undefined, card_cvv: undefined, token };
await shop.world.clock.advance("13months");
assert.equal((await shop.pay("after-13-months", { ...byToken, card_cvv: "123" })).status, "CO");
await shop.world.clock.advance("13months");
assert.equal((await shop.pay("after-26-months", { ...byToken, card_cvv: "123" })).status, "CO");
say("used every 13 months, it works for years");

await shop.world.clock.advance("15months");
const { status, status_code: code } = await shop.ask(
  "/ws/direct",
  order("too-late", { ...byToken, card_cvv: "123" }),
);
assert.equal(status, "ERROR");
say(`unused for 15 months: refused with ${code}`);
