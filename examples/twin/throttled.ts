/**
 * Too many requests: the gateway answers 429 with the seconds to wait in Retry-After. The shop
 * waits and sends the same request again.
 */
import assert from "node:assert/strict";
import { order, say, Shop } from "./shop.ts";

await using shop = await Shop.open();
await shop.world.faults.add({ kind: "throttle", times: 2 });

async function patiently(): Promise<number> {
  for (let sent = 1; ; sent += 1) {
    const body = JSON.stringify({
      integration_key: shop.world.integrationKey,
      ...order("order-1"),
    });
    const answer = await fetch(`${shop.cofre.url}/ws/direct`, { method: "POST", body });
    if (answer.status !== 429) return sent;
    const seconds = Number(answer.headers.get("Retry-After"));
    assert.ok(seconds > 0);
    say(`429, again in ${seconds} s`);
    // A test need not wait as long as a shop.
    await new Promise((resolve) => void setTimeout(resolve, seconds * 10));
  }
}

assert.equal(await patiently(), 3);
assert.equal((await shop.query("order-1")).status, "CO");
assert.deepEqual(await shop.world.faults.list(), []);
say("paid with the third");
