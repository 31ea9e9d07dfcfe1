/**
 * The acquirer approves after everybody has stopped waiting. Whether that approval counts is
 * decided once: it is found out or undone, never both. The shop's only safe reading is the status
 * of the payment, however late it comes.
 */
import assert from "node:assert/strict";
import { say, Shop } from "./shop.ts";

await using shop = await Shop.open();
await shop.world.simulator.next({ next: "late_answer", of: "authorize" });
assert.equal((await shop.pay("order-1")).status, "PE");
say("right after the charge: PE");

await shop.world.clock.advance("1h");
const { status } = await shop.query("order-1");
const { state, facts, problems } = await shop.world.payments.explain("order-1");
assert.notEqual(status, "PE");
assert.deepEqual(problems, []);
for (const { at, fact } of facts) say(`  ${at}  ${fact}`);
say(`an hour later: ${status} (${state})`);
