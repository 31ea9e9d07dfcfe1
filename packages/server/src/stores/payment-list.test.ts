import assert from "node:assert/strict";
import { test } from "node:test";
import * as given from "../../test/contract/store-fixtures.ts";
import type { CurrencyCode } from "../kernel/currency.ts";
import { declineReasonOf, type Payment } from "../payment/payment.ts";
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

/** The codes of the payments that a search finds. */
function found(payments: readonly Payment[], text: string): readonly string[] {
  return pageOf(payments.map(listedPayment), { text }, { limit: 9, maxExamined: 9 }).payments.map(
    ({ order }) => order.code,
  );
}

test("an amount is found as people write it, with a comma or with separated thousands", () => {
  const payments = [
    [1, 125_050n, "MXN"],
    [2, 39_778_100n, "CLP"],
    [3, 100n, "MXN"],
  ].map(([number, minor, currency]) => {
    const payment = given.newPayment(Number(number), {});
    const amount = { minor: BigInt(minor ?? 0), currency: currency as CurrencyCode };
    const { order } = payment;
    const priced = { ...order.pricing, total: amount };
    return { ...payment, order: { ...order, amount, pricing: priced, code: String(number) } };
  });
  for (const [text, codes] of [
    ["amount:1250.50", ["1"]],
    ["amount:1250,50", ["1"]],
    ["amount:1.250,50", ["1"]],
    ["amount:1,250.50", ["1"]],
    ["1.250,50", ["1"]],
    ["1,250.50", ["1"]],
    ["397,781", ["2"]],
    ["397.781", ["2"]],
    ["amount:>1.000", ["1", "2"]],
    ["amount:<1.000", ["3"]],
    ["amount:1,000..2,000", ["1"]],
    ["amount:1.25.50", []],
    ["amount:1,250,50", []],
    ["amount:12.50,5", []],
    ["amount:.50", []],
  ] as const)
    assert.deepEqual(found(payments, text), codes, text);
});

test("quotes keep words together, and states and reasons are found as the console shows them", () => {
  const [one, other] = [
    given.newPayment(1, {
      state: "declined",
      verdict: { ...given.approval, approved: false, reason: "insufficient_funds" },
    }),
    given.newPayment(2, { state: "captured", captured: 1_000n, refunded: 500n }),
  ].map((payment, index) => ({
    ...payment,
    order: {
      ...payment.order,
      code: String(index + 1),
      customer: { ...payment.order.customer, name: index === 0 ? "Ana Lima" : "Lima Ana" },
    },
  }));
  assert.ok(one !== undefined && other !== undefined);
  for (const [text, codes] of [
    ['reason:"insufficient funds"', ["1"]],
    ['reason:"Insufficient Funds" status:declined', ["1"]],
    ['status:"partly refunded"', ["2"]],
    ["status:partly-refunded", ["2"]],
    ['"ana lima"', ["1"]],
    ["ana lima", ["1", "2"]],
    ['"ana lima" status:captured', []],
    ['"', []],
    ['""', []],
    ['status:"', []],
    ['status:""', []],
  ] as const)
    assert.deepEqual(found([one, other], text), codes, text);
});
