import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { minute, second } from "../../src/kernel/instant.ts";
import type { MerchantId } from "../../src/kernel/ids.ts";
import { noChaos } from "../../src/notification/endpoint.ts";
import { replay, type ReplaySelection } from "../../src/delivery/replay.ts";
import { merchantA, merchantB } from "../contract/store-fixtures.ts";
import { deliveriesOf, endpoint, ok, DeliveryHarness, status } from "./delivery-harness.ts";

async function again(
  harness: DeliveryHarness,
  selection: ReplaySelection,
  merchantId: MerchantId = merchantA,
): ReturnType<typeof replay> {
  const settings = { endpoints: harness.endpointsOf(merchantId), chaos: noChaos };
  const replayed = await replay(
    { store: harness.store, clock: harness.time },
    merchantId,
    settings,
    selection,
  );
  harness.nudge();
  await harness.run(minute);
  return replayed;
}

async function withEvents(count: number): Promise<DeliveryHarness> {
  const harness = new DeliveryHarness();
  harness.account(merchantA, [endpoint("shop")]);
  harness.account(merchantB, [endpoint("other")]);
  harness.start();
  for (let made = 0; made < count; made += 1) await harness.event(merchantA);
  await harness.event(merchantB);
  await harness.run(minute);
  assert.equal(harness.received.length, count + 1);
  return harness;
}

function numbers(harness: DeliveryHarness, from: number): number[] {
  return harness.received
    .slice(from)
    .map(({ number }) => number)
    .toSorted((left, right) => left - right);
}

describe("a replay", () => {
  test("of a payment sends its notifications again, in order, under their ids and numbers", async () => {
    const harness = await withEvents(3);
    const [first] = harness.received;
    assert.ok(first !== undefined);
    const payment = await harness.store.paymentById(
      merchantA,
      (await harness.store.notificationsOf(merchantA, 0, 1))[0]?.paymentId ?? never(),
    );
    assert.ok(payment !== undefined);
    await harness.notify(payment, "refund");
    await harness.run(second);

    assert.deepEqual(await again(harness, { paymentId: payment.id }), {
      deliveries: 2,
      next: undefined,
    });
    const repeated = harness.received.slice(5);
    assert.deepEqual(
      repeated.map(({ number }) => number),
      [1, 4],
    );
    for (const { number, id } of repeated)
      assert.equal(
        id,
        harness.received.find((each) => each.number === number && each.url.includes("shop"))?.id,
      );
    await harness.stop();
  });

  test("of a range sends what lies in it, and says where to continue", async () => {
    const harness = await withEvents(520);
    assert.deepEqual(await again(harness, { from: 3, to: 5 }), { deliveries: 3, next: undefined });
    assert.deepEqual(numbers(harness, 521), [3, 4, 5]);
    assert.deepEqual(await again(harness, { from: 10, to: 515 }), { deliveries: 500, next: 510 });
    assert.deepEqual(await again(harness, { from: 510, to: 515 }), {
      deliveries: 6,
      next: undefined,
    });
    assert.deepEqual(await again(harness, { from: 10_000, to: 10_005 }), {
      deliveries: 0,
      next: undefined,
    });
    await harness.stop();
  });

  test("of what has failed sends that alone", async () => {
    const harness = await withEvents(2);
    harness.answer = () => ({ outcome: status(410), afterMs: 5 });
    await harness.event(merchantA, "https://order.example/1");
    await harness.run(minute);
    harness.answer = () => ({ outcome: ok, afterMs: 5 });

    assert.deepEqual(await again(harness, { failedFrom: 1 }), { deliveries: 1, next: undefined });
    assert.deepEqual(numbers(harness, 4), [3]);
    assert.equal(
      (await deliveriesOf(harness.store, merchantA)).filter(({ state }) => state === "failed")
        .length,
      0,
    );
    assert.deepEqual(await again(harness, { failedFrom: 1 }), { deliveries: 0, next: undefined });
    await harness.stop();
  });

  test("notifies a new endpoint of what happened before it existed", async () => {
    const harness = await withEvents(3);
    harness.account(merchantA, [endpoint("shop"), endpoint("books")]);
    assert.deepEqual(await again(harness, { from: 1, to: 3 }), { deliveries: 6, next: undefined });
    assert.equal(harness.received.filter(({ url }) => url.includes("books")).length, 3);
    await harness.stop();
  });

  test("leaves alone what waits already, and another account's notifications", async () => {
    const harness = await withEvents(1);
    harness.account(merchantA, [endpoint("shop", { enabled: false })]);
    await harness.event(merchantA);
    assert.deepEqual(await again(harness, { from: 2, to: 2 }), { deliveries: 0, next: undefined });
    const [payment] = await harness.store.notificationsOf(merchantA, 0, 1);
    assert.ok(payment !== undefined);
    assert.deepEqual(await again(harness, { paymentId: payment.paymentId }, merchantB), {
      deliveries: 0,
      next: undefined,
    });
    await harness.stop();
  });
});

function never(): never {
  throw new Error("the payment is there");
}
