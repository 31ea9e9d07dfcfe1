/**
 * A token that is not used for 14 months is deleted with its card. Each use restarts the 14 months,
 * so a subscription keeps its token alive; a customer who returns after two years must enter the
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
