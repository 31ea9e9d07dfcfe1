import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { minute, second } from "../../src/kernel/instant.ts";
import type { MerchantId } from "../../src/kernel/ids.ts";
import { noChaos } from "../../src/notification/endpoint.ts";
import { replay, type ReplaySelection } from "../../src/delivery/replay.ts";
import { merchantA, merchantB } from "../contract/store-fixtures.ts";
import { deliveriesOf, endpoint, ok, PostOffice, status } from "./post-office.ts";

async function again(
  office: PostOffice,
  selection: ReplaySelection,
  merchantId: MerchantId = merchantA,
): ReturnType<typeof replay> {
  const settings = { endpoints: office.endpointsOf(merchantId), chaos: noChaos };
  const replayed = await replay(
    { store: office.store, clock: office.time },
    merchantId,
    settings,
    selection,
  );
  office.nudge();
  await office.run(minute);
  return replayed;
}

async function withEvents(count: number): Promise<PostOffice> {
  const office = new PostOffice();
  office.account(merchantA, [endpoint("shop")]);
  office.account(merchantB, [endpoint("other")]);
  office.start();
  for (let made = 0; made < count; made += 1) await office.event(merchantA);
  await office.event(merchantB);
  await office.run(minute);
  assert.equal(office.received.length, count + 1);
  return office;
}

function numbers(office: PostOffice, from: number): number[] {
  return office.received
    .slice(from)
    .map(({ number }) => number)
    .toSorted((left, right) => left - right);
}

describe("a replay", () => {
  test("of a payment sends its notifications again, in order, under their ids and numbers", async () => {
    const office = await withEvents(3);
    const [first] = office.received;
    assert.ok(first !== undefined);
    const payment = await office.store.paymentById(
      merchantA,
      (await office.store.notificationsOf(merchantA, 0, 1))[0]?.paymentId ?? never(),
    );
    assert.ok(payment !== undefined);
    await office.tell(payment, "refund");
    await office.run(second);

    assert.deepEqual(await again(office, { paymentId: payment.id }), {
      deliveries: 2,
      next: undefined,
    });
    const repeated = office.received.slice(5);
    assert.deepEqual(
      repeated.map(({ number }) => number),
      [1, 4],
    );
    for (const { number, id } of repeated)
      assert.equal(
        id,
        office.received.find((each) => each.number === number && each.url.includes("shop"))?.id,
      );
    await office.stop();
  });

  test("of a range sends what lies in it, and says where to go on", async () => {
    const office = await withEvents(520);
    assert.deepEqual(await again(office, { from: 3, to: 5 }), { deliveries: 3, next: undefined });
    assert.deepEqual(numbers(office, 521), [3, 4, 5]);
    assert.deepEqual(await again(office, { from: 10, to: 515 }), { deliveries: 500, next: 510 });
    assert.deepEqual(await again(office, { from: 510, to: 515 }), {
      deliveries: 6,
      next: undefined,
    });
    assert.deepEqual(await again(office, { from: 10_000, to: 10_005 }), {
      deliveries: 0,
      next: undefined,
    });
    await office.stop();
  });

  test("of what has failed sends that alone", async () => {
    const office = await withEvents(2);
    office.answer = () => ({ outcome: status(410), afterMs: 5 });
    await office.event(merchantA, "https://order.example/1");
    await office.run(minute);
    office.answer = () => ({ outcome: ok, afterMs: 5 });

    assert.deepEqual(await again(office, { failedFrom: 1 }), { deliveries: 1, next: undefined });
    assert.deepEqual(numbers(office, 4), [3]);
    assert.equal(
      (await deliveriesOf(office.store, merchantA)).filter(({ state }) => state === "failed")
        .length,
      0,
    );
    assert.deepEqual(await again(office, { failedFrom: 1 }), { deliveries: 0, next: undefined });
    await office.stop();
  });

  test("tells an endpoint that is new of what happened before it was there", async () => {
    const office = await withEvents(3);
    office.account(merchantA, [endpoint("shop"), endpoint("books")]);
    assert.deepEqual(await again(office, { from: 1, to: 3 }), { deliveries: 6, next: undefined });
    assert.equal(office.received.filter(({ url }) => url.includes("books")).length, 3);
    await office.stop();
  });

  test("leaves alone what waits already, and another account's notifications", async () => {
    const office = await withEvents(1);
    office.account(merchantA, [endpoint("shop", { enabled: false })]);
    await office.event(merchantA);
    assert.deepEqual(await again(office, { from: 2, to: 2 }), { deliveries: 0, next: undefined });
    const [payment] = await office.store.notificationsOf(merchantA, 0, 1);
    assert.ok(payment !== undefined);
    assert.deepEqual(await again(office, { paymentId: payment.paymentId }, merchantB), {
      deliveries: 0,
      next: undefined,
    });
    await office.stop();
  });
});

function never(): never {
  throw new Error("the payment is there");
}
