import assert from "node:assert/strict";
import { test } from "node:test";
import * as given from "../../test/contract/store-fixtures.ts";
import { declineReasonOf } from "../payment/payment.ts";
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

test("a whole decline reason matches no longer reason, and a part of one matches both", () => {
  const payments = (["invalid_card", "invalid_card_number"] as const).map((reason, index) =>
    given.newPayment(index + 1, {
      state: "declined",
      verdict: { ...given.approval, approved: false, reason },
    }),
  );
  const reasonsOf = (value: string) =>
    pageOf(
      payments.map(listedPayment),
      { text: `reason:${value}` },
      { limit: 9, maxExamined: 9 },
    ).payments.map((payment) => declineReasonOf(payment));
  assert.deepEqual(reasonsOf("invalid_card"), ["invalid_card"]);
  assert.deepEqual(reasonsOf("invalid_card_number"), ["invalid_card_number"]);
  assert.deepEqual(reasonsOf("invalid"), ["invalid_card", "invalid_card_number"]);
});
