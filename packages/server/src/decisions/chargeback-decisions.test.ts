import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  newPayment,
  newRefund,
  paidNext,
  refundedNext,
  start,
} from "../../test/contract/store-fixtures.ts";
import { hour, laterBy } from "../kernel/instant.ts";
import { chargebackReasons } from "../payment/chargeback.ts";
import type { Liability } from "../payment/liability.ts";
import type { Payment } from "../payment/payment.ts";
import { assertChangeIsSound } from "../stores/change-rules.ts";
import { decideChargeback, decideChargebackCredit } from "./chargeback-decisions.ts";
import type { PaymentChange } from "./steps.ts";

const now = laterBy(start, hour);

/**
 * A captured payment of 100.50 USD (516.86 BRL) with a confirmed refund and a requested refund of
 * these amounts.
 */
function captured(confirmed: bigint, requested: bigint): Payment {
  const refunds = [
    newRefund(7, { state: "confirmed", amount: confirmed, dueAt: undefined }),
    newRefund(8, { state: "requested", amount: requested }),
  ];
  return refundedNext(
    paidNext(newPayment(1)),
    refunds.filter(({ amount }) => amount > 0n),
  );
}

function dispute(payment: Payment): PaymentChange {
  const opened = decideChargeback(payment, { description: "not mine", reason: "consumer" }, now);
  assertChangeIsSound(opened);
  return opened;
}

/** The postings of a change, by account and currency. */
function posted({ entries }: PaymentChange, sign: 1n | -1n): readonly string[] {
  return entries.flatMap(({ postings }) =>
    postings.map(({ account, currency, minor }) => `${account} ${currency} ${sign * minor}`),
  );
}

describe("a chargeback", () => {
  test("that is won gives back what it took, to the cent in both currencies, whatever was refunded or promised before", () => {
    for (let refunded = 1n; refunded < 9_000n; refunded += 37n) {
      const opened = dispute(captured(refunded, 1_001n));
      const credited = decideChargebackCredit(opened.payment.next, now);
      assertChangeIsSound(credited);
      assert.deepEqual(posted(credited, -1n), posted(opened, 1n), `after ${refunded}`);
    }
  });

  test("takes what is not promised back yet, down to the last cent", () => {
    for (const split of [
      (amount: bigint) => captured(amount, 0n),
      (amount: bigint) => captured(0n, amount),
      (amount: bigint) => captured(100n, amount - 100n),
    ]) {
      assert.equal(dispute(split(10_000n)).payment.next.chargeback?.amount, 50n);
      assert.equal(dispute(split(10_049n)).payment.next.chargeback?.amount, 1n);
      assert.throws(() => dispute(split(10_050n)), {
        code: "payment_not_disputable",
        detail: { state: "captured" },
      });
    }
  });

  test("for fraud is refused where the issuer bears it, and only there", () => {
    const payment = captured(100n, 0n);
    const by = (expectedLiability: Liability) => ({
      ...payment,
      order: { ...payment.order, expectedLiability },
    });
    const fraud = { description: "", reason: "fraud" } as const;
    assert.throws(() => decideChargeback(by("issuer"), fraud, now), { code: "chargeback_refused" });
    const { payment: opened, facts } = decideChargeback(by("merchant"), fraud, now);
    assert.equal(opened.next.chargeback?.reason, "fraud");
    assert.deepEqual(facts[0]?.detail, { reason: "fraud" });
    for (const reason of chargebackReasons.filter((each) => each !== "fraud"))
      decideChargeback(by("issuer"), { description: "", reason }, now);
    decideChargeback(by("issuer"), { description: "" }, now);
  });

  test("is opened once, of a captured payment alone, and won once", () => {
    const opened = dispute(captured(100n, 0n)).payment.next;
    const won = decideChargebackCredit(opened, now).payment.next;
    for (const payment of [opened, won, newPayment(1)]) {
      assert.throws(() => decideChargeback(payment, { description: "again" }, now), {
        code: "payment_not_disputable",
      });
    }
    for (const payment of [won, captured(100n, 0n)]) {
      assert.throws(() => decideChargebackCredit(payment, now), { code: "payment_not_disputable" });
    }
  });
});
