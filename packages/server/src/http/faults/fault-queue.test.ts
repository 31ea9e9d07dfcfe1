import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { MerchantId } from "../../kernel/ids.ts";
import { keyedEndpoint } from "../../../test/keyed-endpoints.ts";
import { type Fault, FaultQueue, maxFaults } from "./fault-queue.ts";

const one = "0000000a" as MerchantId;
const other = "0000000b" as MerchantId;
const charge = keyedEndpoint("/ws/direct");
const capture = keyedEndpoint("/ws/capture");
const query = keyedEndpoint("/ws/query");
const plain: Omit<Fault, "id"> = {
  kind: "throttle",
  times: 1,
  path: undefined,
  code: undefined,
  delayMs: 1,
  reason: undefined,
};

describe("a queue of faults", () => {
  test("gives each to as many requests as it is for, in the order in which they came", () => {
    const queue = new FaultQueue();
    queue.add(one, { ...plain, times: 2 });
    queue.add(one, { ...plain, kind: "slow" });
    const injected = Array.from({ length: 4 }, () => queue.take(one, charge, undefined)?.id);
    assert.deepEqual(injected, ["f1", "f1", "f2", undefined]);
    assert.equal(queue.waitsFor(one), false);
  });

  test("keeps a fault for all requests until it is cleared, and counts", () => {
    const queue = new FaultQueue();
    queue.add(one, { ...plain, times: 0 });
    for (let request = 0; request < 2_000; request += 1)
      assert.equal(queue.take(one, query, undefined)?.id, "f1");
    assert.equal(queue.list(one)[0]?.injected, 2_000);
  });

  test("passes over what is for another operation or another payment", () => {
    const queue = new FaultQueue();
    queue.add(one, { ...plain, path: "/ws/capture" });
    queue.add(one, { ...plain, code: "order-1" });
    assert.equal(queue.take(one, charge, "order-2"), undefined);
    assert.equal(queue.take(one, charge, undefined), undefined);
    assert.equal(queue.needsCode(one, charge), true);
    assert.equal(queue.take(one, charge, "order-1")?.id, "f2");
    assert.equal(queue.needsCode(one, capture), false);
    assert.equal(queue.take(one, capture, undefined)?.id, "f1");
  });

  test("keeps what is for the acquirer for those operations that speak with it", () => {
    const queue = new FaultQueue();
    queue.add(one, { ...plain, kind: "acquirer_unknown_then_no" });
    for (const endpoint of [query, capture, keyedEndpoint("/ws/token")])
      assert.equal(queue.take(one, endpoint, undefined), undefined);
    assert.equal(queue.take(one, charge, undefined)?.id, "f1");
  });

  test("has nothing for another account", () => {
    const queue = new FaultQueue();
    queue.add(one, plain);
    assert.deepEqual(
      [queue.waitsFor(other), queue.take(other, charge, undefined), queue.clear(other)],
      [false, undefined, 0],
    );
    assert.deepEqual(queue.list(other), []);
    assert.equal(queue.list(one).length, 1);
  });

  test("takes one away by its id, or all; an id is not given a second time", () => {
    const queue = new FaultQueue();
    for (let count = 0; count < 3; count += 1) queue.add(one, plain);
    assert.deepEqual(
      [queue.clear(one, "f2"), queue.clear(one, "f2"), queue.list(one).map(({ id }) => id)],
      [1, 0, ["f1", "f3"]],
    );
    assert.equal(queue.clear(one), 2);
    assert.equal(queue.add(one, plain)?.id, "f4");
    queue.forget(one);
    assert.equal(queue.add(one, plain)?.id, "f1");
  });

  test("holds a hundred of an account, and those of ten thousand accounts", () => {
    const queue = new FaultQueue();
    for (let count = 0; count < maxFaults; count += 1)
      assert.ok(queue.add(one, plain) !== undefined);
    assert.equal(queue.add(one, plain), undefined);
    for (let count = 1; count < 10_000; count += 1)
      queue.add((0x10000000 + count).toString(16) as MerchantId, plain);
    assert.equal(queue.add(other, plain), undefined);
    // An account without active faults makes room for another one.
    queue.clear(one);
    assert.ok(queue.add(other, plain) !== undefined);
    assert.equal(queue.add(one, plain), undefined);
  });
});
