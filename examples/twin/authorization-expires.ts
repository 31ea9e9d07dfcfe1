/**
 * An authorization that is never captured. It expires after four days and the hold on the
 * customer's card is released: a capture on the fifth day is refused. Shops that ship later
 * authorize again.
 */
import assert from "node:assert/strict";
import { say, Shop } from "./shop.ts";

await using shop = await Shop.open();
const { hash } = await shop.pay("order-1", { auto_capture: false });
await shop.world.clock.advance("95h");
assert.equal((await shop.query("order-1")).status, "PE");
say("after 95 hours: PE, it can be captured");
await shop.world.clock.advance("2h");
assert.equal((await shop.query("order-1")).status, "CA");
const { status, status_code: code } = await shop.ask("/ws/capture", { hash });
assert.equal(status, "ERROR");
say(`after 97 hours: CA, and a capture is refused with ${code}`);
