import assert from "node:assert/strict";
import { test } from "node:test";
import * as given from "../../test/contract/store-fixtures.ts";
import { listedPayment, pageOf } from "./payment-list.ts";

test("a payment of a list is built once, however many words of a search need it", () => {
  const payment = given.newPayment(1, { state: "captured", captured: 1_000n, refunded: 1_000n });
  let built = 0;
  const row = {
    ...listedPayment(payment),
    payment: () => {
      built += 1;
      return payment;
    },
  };
  const text = Array.from({ length: 10 }, () => "status:refunded").join(" ");
  const { payments } = pageOf([row], { text }, { limit: 1, maxExamined: 1 });
  assert.deepEqual(payments, [payment]);
  assert.equal(built, 1);
});
