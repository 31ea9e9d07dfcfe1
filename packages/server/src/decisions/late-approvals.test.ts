import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as given from "../../test/contract/store-fixtures.ts";
import { laterBy } from "../kernel/instant.ts";
import type { Payment } from "../payment/payment.ts";
import type { PaymentState } from "../payment/payment-machine.ts";
import type { RefundState } from "../payment/refund.ts";
import { assertChangeIsSound } from "../stores/change-rules.ts";
import { decideLateApproval, decideLateUndone, type LateApproval } from "./late-approvals.ts";

const now = laterBy(given.start, 60_000);
const first = given.newPayment(1);
const held = given.paidNext(first, { state: "authorized", capturedAt: undefined, captured: 0n });
const paid = given.paidNext(first, { attempts: 2 });

function met(payment: Payment, late: LateApproval) {
  const decided = decideLateApproval(payment, late, now, "merchant");
  if (decided?.change !== undefined) assertChangeIsSound(decided.change);
  return decided;
}

/** What is left to do, the state after the change, and the number of notifications. */
function outcome(payment: Payment, late: LateApproval): readonly unknown[] {
  const decided = met(payment, late);
  const { next } = decided?.change?.payment ?? {};
  return [decided?.remaining, next?.state, decided?.change?.notifications.length];
}

const withState = (state: PaymentState, over: Partial<Payment> = {}): Payment => ({
  ...held,
  state,
  attempts: 3,
  ...over,
});
const capture = { kind: "capture", attempt: 2, amount: 4_000n } as const;
const voiding = { kind: "void", attempt: 2, lapsed: false } as const;

describe("an approval that finds its attempt ended otherwise", () => {
  test("of an authorization is to be reversed, unless it is the one that the payment has", () => {
    const late = { kind: "authorization", attempt: 1 } as const;
    const undone = {
      authorized: 0n,
      captured: 0n,
      capturedAt: undefined,
      verdict: undefined,
    } as const;
    assert.deepEqual(outcome(withState("voided", undone), late), ["authorization", "voided", 0]);
    assert.deepEqual(outcome(withState("reversing", undone), late), [
      "authorization",
      undefined,
      undefined,
    ]);
    assert.equal(met(held, late), undefined);
    assert.equal(
      met(withState("voided"), late),
      undefined,
      "approved, and given up by the merchant",
    );
    // The first acquirer declined, and the other one approved.
    const rerouted = { ...held, authorization: 2, reroutedTo: "other" };
    assert.deepEqual(outcome(rerouted, late), ["authorization", "authorized", 0]);
    assert.equal(met(rerouted, { ...late, attempt: 2 }), undefined);
  });

  test("of a capture is taken into the books while the payment is held, and else given back", () => {
    const decided = met({ ...held, attempts: 2 }, capture);
    assert.deepEqual(outcome({ ...held, attempts: 2 }, capture), ["nothing", "captured", 1]);
    assert.equal(decided?.change?.payment.next.captured, 4_000n);
    assert.deepEqual(
      decided.change.facts.map(({ fact, attempt }) => [fact, attempt]),
      [
        ["approval_came_late", 2],
        ["capture_sent", 2],
        ["capture_approved", 2],
      ],
    );
    assert.equal(met(paid, capture), undefined, "recovery found out first");
    // The attempt was made after the restored backup.
    const restored = met({ ...held, attempts: 1 }, capture)?.change?.payment.next;
    assert.ok(restored !== undefined);
    assert.equal(met(restored, capture), undefined, "a second time");
    assert.deepEqual(outcome({ ...paid, attempts: 3 }, capture), ["capture", "captured", 0]);
    for (const state of ["voided", "expired"] as const)
      assert.deepEqual(outcome(withState(state), capture), ["capture", state, 0]);
    const attempt = { ...given.newAttempt(), number: 3 };
    for (const state of ["capturing", "voiding"] as const) {
      assert.deepEqual(
        outcome(withState(state, { attempt }), capture),
        ["nothing", state, 0],
        "the acquirer will tell",
      );
    }
    assert.equal(
      met(withState("capturing", { attempt: { ...attempt, number: 2 } }), capture),
      undefined,
      "it is under way",
    );
  });

  test("of a void is taken into the books while the payment is held, and announces nothing new when it is voided", () => {
    for (const state of ["authorized", "in_review"] as const) {
      assert.deepEqual(outcome(withState(state), voiding), ["nothing", "voided", 1]);
      assert.deepEqual(outcome(withState(state), { ...voiding, lapsed: true }), [
        "nothing",
        "expired",
        1,
      ]);
    }
    for (const state of ["voided", "expired", "voiding"] as const)
      assert.equal(met(withState(state), voiding), undefined);
    for (const state of ["captured", "capturing"] as const)
      assert.deepEqual(outcome(withState(state), voiding), ["unclear", state, 0]);
  });

  test("of a refund is taken into the books while it waits to be sent again, and else left to people", () => {
    const late = { kind: "refund", id: 7, attempt: 1 } as const;
    const refunded = (state: RefundState, attempts: number): Payment => {
      return given.refundedNext({ ...paid, version: 1 }, [
        given.newRefund(7, { state, attempts, amount: 100n }),
      ]);
    };
    const decided = met(refunded("pending", 1), late);
    assert.deepEqual(
      [decided?.remaining, decided?.change?.payment.next.refunds[0]?.state],
      ["nothing", "confirmed"],
    );
    assert.equal(decided?.change?.entries.length, 1);
    for (const state of ["sending", "confirmed"] as const)
      assert.equal(met(refunded(state, 1), late), undefined);
    for (const [state, attempts] of [
      ["sending", 2],
      ["confirmed", 2],
      ["pending", 2],
      ["cancelled", 1],
    ] as const) {
      assert.equal(met(refunded(state, attempts), late)?.remaining, "unclear");
    }
  });

  test("is noted once more when what it left was undone", () => {
    const { payment, facts } = decideLateUndone(held, 2, now, "merchant");
    assert.deepEqual(
      [payment.next.version, facts[0]?.fact, facts[0]?.attempt],
      [held.version + 1, "late_approval_undone", 2],
    );
  });
});
