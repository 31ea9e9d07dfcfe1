/**
 * Notifications are delivered at least once: here each arrives twice, and some arrive out of order.
 * A repeated message has the same id, so a receiver that stores ids handles each only once. Get the
 * payment's current status from /ws/query; never infer it from the order of messages.
 */
import assert from "node:assert/strict";
import { Receiver, say, Shop } from "./shop.ts";

await using receiver = await Receiver.open();
await using shop = await Shop.open({
  settings: { notificationEndpoints: receiver.endpoints, notificationChaos: { double: 1_000 } },
});
const seen = new Set<string>();
let handled = 0;
receiver.onReceived = ({ id }) => {
  if (seen.has(id)) return;
  seen.add(id);
  handled += 1;
};
const { hash } = await shop.pay("order-1", { auto_capture: false });
await shop.payment("/ws/capture", { hash });
await shop.world.clock.advance("1min");
await receiver.waitFor(2);
assert.equal(receiver.received.length, 2);
assert.equal(handled, 1);
say(`received ${receiver.received.length} times, handled once`);
