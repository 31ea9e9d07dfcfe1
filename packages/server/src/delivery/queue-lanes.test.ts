import assert from "node:assert/strict";
import { test } from "node:test";
import type { MerchantId } from "../kernel/ids.ts";
import { instant } from "../kernel/instant.ts";
import type { QueueId, QueueKey } from "../notification/events.ts";
import { mostLanes, QueueLanes } from "./queue-lanes.ts";

const keyOf = (number: number): QueueKey => ({
  merchantId: "0000000a" as MerchantId,
  queue: `queue-${number}` as QueueId,
});

test("what is known about queues is bounded, however many fail, and what is in use stays", () => {
  const lanes = new QueueLanes();
  const busy = lanes.of(keyOf(0));
  busy.underWay.add(1);
  for (let number = 1; number <= 3 * mostLanes; number += 1)
    lanes.of(keyOf(number)).circuit.failed(instant(0), undefined);
  lanes.tidy();
  assert.equal(lanes.size, mostLanes);
  assert.equal(lanes.of(keyOf(0)), busy);
  assert.equal(lanes.of(keyOf(3 * mostLanes)).circuit.calm, false, "the newest are known");
  assert.equal(lanes.of(keyOf(1)).circuit.calm, true, "the oldest are not");
});

test("queues of which there is nothing to know are forgotten", () => {
  const lanes = new QueueLanes();
  for (let number = 0; number < 10; number += 1) lanes.of(keyOf(number));
  lanes.tidy();
  assert.equal(lanes.size, 0);
});
