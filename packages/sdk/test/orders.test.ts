import assert from "node:assert/strict";
import { test } from "node:test";
import { playOrders } from "./order-run.ts";

const orders = 200;

test(`${orders} orders of every country are charged, captured and refunded once each`, async () => {
  const ends = await playOrders(18, orders);
  for (const end of [
    "paid",
    "authorized",
    "declined",
    "paid existing",
    "/ws/direct maybe",
    "/ws/direct no",
    "refunded",
  ])
    assert.ok((ends.get(end) ?? 0) > 4, `control: ${end}, in ${JSON.stringify([...ends])}`);
});
