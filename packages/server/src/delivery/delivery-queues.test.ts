import assert from "node:assert/strict";
import { test } from "node:test";
import type { MerchantId } from "../kernel/ids.ts";
import { instant } from "../kernel/instant.ts";
import type { QueueId, QueueKey } from "../notification/events.ts";
import { maxQueues, DeliveryQueues } from "./delivery-queues.ts";

const keyOf = (number: number): QueueKey => ({
  merchantId: "0000000a" as MerchantId,
  queue: `queue-${number}` as QueueId,
});

test("what is known about queues is bounded, however many fail, and what is in use stays", () => {
  const queues = new DeliveryQueues();
  const busy = queues.of(keyOf(0));
  busy.inFlight.add(1);
  for (let number = 1; number <= 3 * maxQueues; number += 1)
    queues.of(keyOf(number)).circuit.failed(instant(0), undefined);
  queues.tidy();
  assert.equal(queues.size, maxQueues);
  assert.equal(queues.of(keyOf(0)), busy);
  assert.equal(queues.of(keyOf(3 * maxQueues)).circuit.calm, false, "the newest are known");
  assert.equal(queues.of(keyOf(1)).circuit.calm, true, "the oldest are not");
});

test("queues of which there is nothing to know are forgotten", () => {
  const queues = new DeliveryQueues();
  for (let number = 0; number < 10; number += 1) queues.of(keyOf(number));
  queues.tidy();
  assert.equal(queues.size, 0);
});
