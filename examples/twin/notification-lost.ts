/**
 * The shop's receiver is down for two days. No notification is lost: a failed delivery is retried
 * with the same id for about three days. After that it counts as failed, and can be sent again on
 * demand.
 */
import assert from "node:assert/strict";
import { Receiver, say, Shop } from "./shop.ts";

await using receiver = await Receiver.open();
await using shop = await Shop.open({ settings: { notificationEndpoints: receiver.endpoints } });
receiver.status = 503;
const { hash } = await shop.pay("order-1", { auto_capture: false });
await shop.payment("/ws/capture", { hash });
await shop.world.clock.advance("2d");
const tries = receiver.received.length;
assert.ok(tries > 3);
say(`down: tried ${tries} times in two days`);

receiver.status = 204;
await shop.world.clock.advance("1d");
const [notification] = await shop.world.notifications.list();
assert.equal(notification?.deliveries[0]?.state, "delivered");
assert.equal(new Set(receiver.received.map(({ id }) => id)).size, 1);
say("back: delivered, under the same id as all the tries before");

await shop.world.notifications.resend({ hash });
await shop.world.clock.advance("1min");
assert.equal(receiver.received.length, tries + 2);
say("and once more on demand");
