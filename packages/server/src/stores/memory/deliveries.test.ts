import assert from "node:assert/strict";
import { test } from "node:test";
import * as given from "../../../test/contract/store-fixtures.ts";
import { type Delivery, type EndpointId, newDelivery } from "../../notification/events.ts";
import { Deliveries } from "./deliveries.ts";

const { merchantA } = given;
const many = 10_000;
const states = ["waiting", "failed", "delivered"] as const;

test("a page of deliveries reads the page and a few places that lead to it, however many there are", () => {
  const deliveries = new Deliveries();
  let looks = 0;
  /** Counts each read of its number. */
  const counted = (delivery: Delivery): Delivery =>
    Object.defineProperty({ ...delivery }, "number", {
      get: () => {
        looks += 1;
        return delivery.number;
      },
    });
  for (let number = 1; number <= many; number += 1) {
    const fresh = newDelivery(
      {
        merchantId: merchantA,
        endpoint: "shop" as EndpointId,
        number,
        paymentId: given.paymentId(number),
        kind: "update",
      },
      given.start,
    );
    deliveries.write(
      counted({
        ...fresh,
        state: states[number % 3] ?? "waiting",
        message: Math.ceil(number / 10) * 10,
      }),
    );
  }
  for (const state of [undefined, "waiting", "failed"] as const) {
    looks = 0;
    const page = deliveries.of(merchantA, many / 2, state);
    const found = Array.from({ length: 20 }, () => page.next().value as Delivery | undefined);
    assert.ok(
      found.every(
        (delivery) => delivery !== undefined && (state === undefined || delivery.state === state),
      ),
    );
    assert.ok(looks < 200, `${looks} looks for 20 deliveries of ${many}`);
  }
  looks = 0;
  assert.equal(
    deliveries.ofMessage({ merchantId: merchantA, endpoint: "shop" as EndpointId }, many / 2)
      .length,
    10,
  );
  assert.ok(looks < 100, `${looks} looks for a message of 10 deliveries among ${many}`);
});
