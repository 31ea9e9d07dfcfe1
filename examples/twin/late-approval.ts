/**
 * The acquirer approves after the gateway's timeout. Whether that approval counts is decided once:
 * the payment is resolved as approved or the approval is reversed, never both. The shop should rely
 * only on the payment's status, however late it is final.
 */
import assert from "node:assert/strict";
import { say, Shop } from "./shop.ts";

await using shop = await Shop.open();
await shop.world.simulator.next({ next: "late_answer", message: "authorize" });
assert.equal((await shop.pay("order-1")).status, "PE");
say("right after the charge: PE");

await shop.world.clock.advance("1h");
const { status } = await shop.query("order-1");
const { state, facts, problems } = await shop.world.payments.explain("order-1");
assert.notEqual(status, "PE");
assert.deepEqual(problems, []);
for (const { at, fact } of facts) say(`  ${at}  ${fact}`);
say(`an hour later: ${status} (${state})`);
