/**
 * The acquirer takes the money, and its answer is lost. The shop receives PE: neither paid nor
 * declined, but unknown. A shop that treats it as a decline sells to a customer who then pays
 * twice; a shop that treats it as paid may ship goods that are never paid for. Query again later,
 * or wait for the notification.
 */
import assert from "node:assert/strict";
import { Receiver, say, Shop } from "./shop.ts";

await using receiver = await Receiver.open();
await using shop = await Shop.open({ settings: { notificationEndpoints: receiver.endpoints } });

await shop.world.simulator.next({ next: "lose_answer", message: "authorize" });
const payment = await shop.pay("order-1");
assert.equal(payment.status, "PE");
say(`right after the charge: ${payment.status}`);

await shop.world.clock.advance("1min");
assert.equal((await shop.query("order-1")).status, "CO");
assert.equal(receiver.received.at(-1)?.hash, payment.hash);
say("a minute later: CO, and the shop was notified");
