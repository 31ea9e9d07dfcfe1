import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Instant, instant } from "../kernel/instant.ts";
import type { Payment } from "../payment/payment.ts";
import type { Refund } from "../payment/refund.ts";
import { decideResend } from "./resend-decisions.ts";

const at = (minute: number): Instant => instant(Date.UTC(2026, 10, 28, 12, minute));

/** A payment with the fields that the decision uses. */
function paymentWith(fields: Partial<Payment>): Payment {
  return {
    state: "captured",
    createdAt: at(0),
    statusAt: at(1),
    refunds: [],
    chargeback: undefined,
    version: 3,
    ...fields,
  } as Payment;
}

function refundWith(fields: Partial<Refund>): Refund {
  return {
    requestedAt: at(2),
    pendingAt: undefined,
    confirmedAt: undefined,
    cancelledAt: undefined,
    sentAt: undefined,
    ...fields,
  } as Refund;
}

const kindOf = (payment: Payment): unknown =>
  decideResend(payment, false, at(59)).notifications[0]?.kind;

describe("what is announced once more", () => {
  test("is the status that a payment ended in, while nothing came after it", () => {
    assert.equal(kindOf(paymentWith({})), "update");
    assert.equal(kindOf(paymentWith({ state: "declined" })), "update");
    assert.equal(kindOf(paymentWith({ refunds: [refundWith({})] })), "update");
  });

  test("is a refund from when it is pending on, but not one that the merchant took back before", () => {
    assert.equal(kindOf(paymentWith({ refunds: [refundWith({ pendingAt: at(3) })] })), "refund");
    assert.equal(kindOf(paymentWith({ refunds: [refundWith({ cancelledAt: at(3) })] })), "update");
    assert.equal(
      kindOf(
        paymentWith({
          refunds: [refundWith({ pendingAt: at(3), sentAt: at(4), cancelledAt: at(5) })],
        }),
      ),
      "refund",
    );
  });

  test("is a dispute and its end, each until something else comes", () => {
    const chargeback = {
      state: "opened",
      amount: 1n,
      description: "",
      openedAt: at(4),
      creditedAt: undefined,
    } as const;
    const earlier = refundWith({ pendingAt: at(2), confirmedAt: at(3) });
    const later = refundWith({ pendingAt: at(6) });
    assert.equal(kindOf(paymentWith({ chargeback, refunds: [earlier] })), "chargeback");
    assert.equal(
      kindOf(paymentWith({ chargeback: { ...chargeback, state: "credited", creditedAt: at(5) } })),
      "chargeback_credit",
    );
    assert.equal(
      kindOf(
        paymentWith({
          chargeback: { ...chargeback, state: "credited", creditedAt: at(5) },
          refunds: [later],
        }),
      ),
      "refund",
    );
  });

  test("leaves the payment as it is, but for a note in its history", () => {
    const payment = paymentWith({});
    const { payment: changed, facts, entries } = decideResend(payment, true, at(59));
    assert.deepEqual(changed, { next: { ...payment, version: 4 }, replaces: 3 });
    assert.deepEqual(facts, [
      {
        fact: "notification_resent",
        attempt: undefined,
        by: "merchant",
        detail: { kind: "update" },
      },
    ]);
    assert.deepEqual(entries, []);
  });

  test("is the update of a payment that stays PE, where there was one", () => {
    const { notifications } = decideResend(
      paymentWith({ state: "authorized", statusAt: undefined }),
      true,
      at(59),
    );
    assert.equal(notifications[0]?.kind, "update");
  });

  test("is nothing while nothing was announced", () => {
    for (const state of ["authorizing", "authorized", "in_review", "capturing"] as const) {
      assert.throws(
        () => decideResend(paymentWith({ state, statusAt: undefined }), false, at(59)),
        { code: "nothing_to_resend" },
        state,
      );
    }
  });
});
