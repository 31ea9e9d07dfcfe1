import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  dispute,
  newPayment,
  newRefund,
  paidNext,
  refundedNext,
  start,
} from "../../test/contract/store-fixtures.ts";
import { BrokenInvariant } from "../kernel/assert.ts";
import { type Instant, day, hour, laterBy, minute, second } from "../kernel/instant.ts";
import { refundEntries } from "../ledger/postings.ts";
import { paymentStates } from "../payment/payment-machine.ts";
import type { Payment } from "../payment/payment.ts";
import { type Refund, type RefundState, refundStates } from "../payment/refund.ts";
import {
  decideRefund,
  decideRefundCancel,
  decideRefundNotDone,
  decideRefundOutcome,
  decideRefundRepeat,
  decideRefundStep,
  type RefundCommand,
  type RefundSettings,
  refundOfRequest,
  returned,
} from "./refund-decisions.ts";
import type { PaymentChange } from "./steps.ts";

const now = laterBy(start, hour);
const answerBy = laterBy(now, 20 * second);
const firstLook = laterBy(answerBy, 5 * second);
const settings: RefundSettings = {
  refundWindowDays: 180,
  refundRequestedMinutes: 5,
  refundPendingMinutes: 10,
  strictRefundCancel: false,
};
const command: RefundCommand = {
  id: 9,
  code: "back-9",
  amount: undefined,
  description: "broken",
  request: undefined,
};

/** A captured payment of 100.50 USD with these refunds, 1.00 each. */
function captured(refunds: readonly Refund[] = [], over: Partial<Payment> = {}): Payment {
  return { ...refundedNext(paidNext(newPayment(1)), refunds), ...over };
}

const sending = (over: Partial<Refund> = {}): Refund =>
  newRefund(2, {
    state: "sending",
    pendingAt: laterBy(start, minute),
    attempts: 1,
    sentAt: start,
    answerBy: start,
    checks: 1,
    ...over,
  });

/** Asserts that a change is the next version of `before` with exactly these refunds. */
function assertRefunds(
  made: PaymentChange | undefined,
  before: Payment,
  refunds: readonly Refund[],
  rest: Partial<Omit<PaymentChange, "payment">>,
): void {
  assert.deepEqual(made, {
    merchantId: before.merchantId,
    at: now,
    payment: { next: refundedNext(before, refunds), replaces: before.version },
    entries: [],
    notifications: [],
    ...rest,
  });
}

const fact = (name: string, id: number, by: string, detail = {}) =>
  [{ fact: name, attempt: id, by, detail }] as never;
const notify = (payment: Payment) => [{ kind: "refund", paymentId: payment.id }] as const;

describe("asking for a refund", () => {
  const ask = (
    payment: Payment,
    over: Partial<RefundCommand> = {},
    at: Instant = now,
    under: Partial<RefundSettings> = {},
  ) => decideRefund(payment, { ...command, ...over }, { ...settings, ...under }, at);
  const amountOf = (payment: Payment, amount?: string) =>
    ask(payment, { amount }).payment.next.refunds.at(-1)?.amount;

  test("is for a captured payment", () => {
    for (const state of paymentStates) {
      if (state !== "captured")
        assert.throws(() => ask(captured([], { state })), {
          code: "payment_not_refundable",
          detail: { state },
        });
    }
    assert.throws(() => ask(captured([], { capturedAt: undefined })), {
      code: "payment_not_refundable",
    });
  });

  test("is refused while the issuer has taken the money back, not when it gave it back", () => {
    assert.throws(() => ask(captured([], { chargeback: dispute })), {
      code: "payment_charged_back",
    });
    const won = { ...dispute, state: "credited", creditedAt: start } as const;
    assert.doesNotThrow(() => ask(captured([], { chargeback: won })));
  });

  test("is possible up to the last moment of the window, and without a limit when there is none", () => {
    const payment = captured();
    const end = laterBy(payment.capturedAt ?? start, 180 * day);
    assert.doesNotThrow(() => ask(payment, {}, end));
    assert.throws(() => ask(payment, {}, laterBy(end, 1)), { code: "refund_window_over" });
    assert.doesNotThrow(() => ask(payment, {}, laterBy(end, 1), { refundWindowDays: 0 }));
    assert.throws(
      () =>
        ask(payment, {}, laterBy(payment.capturedAt ?? start, day + 1), { refundWindowDays: 1 }),
      {
        code: "refund_window_over",
      },
    );
  });

  test("ends at a hundred refunds", () => {
    const many = (count: number) =>
      Array.from({ length: count }, (_, index) => newRefund(index + 10, { amount: 1n }));
    assert.equal(ask(captured(many(99)), { amount: "1" }).payment.next.refunds.length, 100);
    assert.throws(() => ask(captured(many(100)), { amount: "1" }), {
      code: "refund_limit_reached",
    });
  });

  test("is for all that is left, or for a part of it", () => {
    assert.equal(amountOf(captured()), 10_050n);
    assert.equal(amountOf(captured([newRefund(1)])), 9_950n);
    assert.equal(amountOf(captured([newRefund(1, { state: "cancelled" })])), 10_050n);
    assert.equal(amountOf(captured([newRefund(1)]), "0.01"), 1n);
    assert.equal(amountOf(captured([newRefund(1)]), "99.50"), 9_950n);
    assert.throws(() => amountOf(captured([newRefund(1)]), "99.51"), {
      code: "refund_amount_too_high",
    });
    for (const text of ["0", "0.00", "-1", "1.005", ""]) {
      assert.throws(() => amountOf(captured(), text), { code: "refund_amount_invalid" }, text);
    }
    assert.throws(() => amountOf(captured([newRefund(1, { amount: 10_050n })])), {
      code: "payment_already_refunded",
    });
    assert.throws(() => amountOf(captured([newRefund(1, { amount: 10_050n })]), "1"), {
      code: "payment_already_refunded",
    });
  });

  test("adds a refund that may be thought over", () => {
    const payment = captured([newRefund(1)]);
    const refund: Refund = {
      id: 9,
      code: "back-9",
      state: "requested",
      amount: 500n,
      description: "broken",
      request: "a".repeat(64),
      requestedAt: now,
      pendingAt: undefined,
      confirmedAt: undefined,
      cancelledAt: undefined,
      attempts: 0,
      sentAt: undefined,
      answerBy: undefined,
      checks: 0,
      dueAt: laterBy(now, 5 * minute),
    };
    assertRefunds(
      ask(payment, { amount: "5", request: "a".repeat(64) }),
      payment,
      [newRefund(1), refund],
      {
        facts: fact("refund_requested", 9, "merchant"),
      },
    );
  });

  test("is never reported to have been before the capture", () => {
    const payment = captured();
    assert.equal(ask(payment, {}, start).payment.next.refunds[0]?.requestedAt, payment.capturedAt);
  });

  test("twice by the same named request finds the first one", () => {
    const [one, other] = [newRefund(1, { request: "one" }), newRefund(2, { request: "other" })];
    const payment = captured([newRefund(3), one, other]);
    assert.equal(refundOfRequest(payment, "other"), other);
    assert.equal(refundOfRequest(payment, "third"), undefined);
    assert.equal(refundOfRequest(payment, undefined), undefined);
  });
});

describe("taking a refund back", () => {
  const cancel = (payment: Payment, id = 2, strict = false) =>
    decideRefundCancel(payment, id, { ...settings, strictRefundCancel: strict }, now);

  test("is possible until it is sent, in a strict account until it is pending", () => {
    assert.throws(() => cancel(captured([newRefund(1)])), { code: "refund_not_found" });
    const allowed = (strict: boolean) =>
      refundStates.filter((state) => {
        const payment = captured([newRefund(1), newRefund(2, { state })]);
        try {
          return cancel(payment, 2, strict).payment.next.refunds[1]?.state === "cancelled";
        } catch (error) {
          assert.deepEqual(
            { ...(error as object) },
            { name: "ServiceError", code: "refund_not_cancellable", detail: { state } },
          );
          return false;
        }
      });
    assert.deepEqual(allowed(false), ["requested", "pending"]);
    assert.deepEqual(allowed(true), ["requested"]);
  });

  test("ends that refund alone, and its amount is free again", () => {
    const payment = captured([newRefund(1), newRefund(2)]);
    const cancelled = newRefund(2, { state: "cancelled", cancelledAt: now, dueAt: undefined });
    assertRefunds(cancel(payment), payment, [newRefund(1), cancelled], {
      facts: fact("refund_cancelled", 2, "merchant"),
    });
    assert.equal(cancel(payment).payment.next.refunded, 100n);
  });
});

describe("a refund that is due", () => {
  const step = (payment: Payment, id = 2) => decideRefundStep(payment, id, settings, now, answerBy);

  test("is left alone before it is due, and when there is none", () => {
    for (const state of ["requested", "pending"] as const) {
      assert.equal(step(captured([newRefund(2, { state, dueAt: laterBy(now, 1) })])), undefined);
      assert.notEqual(step(captured([newRefund(2, { state, dueAt: now })])), undefined);
      assert.equal(step(captured([newRefund(2, { state, dueAt: undefined })])), undefined);
    }
    assert.equal(step(captured([newRefund(1)])), undefined);
  });

  test("becomes pending, and the merchant is notified", () => {
    const payment = captured([newRefund(1), newRefund(2)]);
    const pending = newRefund(2, {
      state: "pending",
      pendingAt: now,
      dueAt: laterBy(now, 10 * minute),
    });
    assertRefunds(step(payment), payment, [newRefund(1), pending], {
      facts: fact("refund_queued", 2, "clock"),
      notifications: notify(payment),
    });
  });

  test("then goes out, with a number of its own", () => {
    const pending = newRefund(2, {
      state: "pending",
      pendingAt: laterBy(start, minute),
      attempts: 3,
      checks: 4,
    });
    const payment = captured([pending]);
    const sent: Refund = {
      ...pending,
      state: "sending",
      attempts: 4,
      sentAt: now,
      answerBy,
      checks: 0,
      dueAt: firstLook,
    };
    assertRefunds(step(payment), payment, [sent], { facts: fact("refund_sent", 2, "clock") });
  });

  test("is for recovery to look after once it is sent", () => {
    for (const state of ["sending", "confirmed", "cancelled"] as const) {
      assert.equal(step(captured([newRefund(2, { state, dueAt: now })])), undefined, state);
    }
  });
});

describe("the answer to a refund", () => {
  const payment = captured([newRefund(1), sending()]);
  const decide = (
    of: Payment,
    outcome: Parameters<typeof decideRefundOutcome>[3],
    id = 2,
    attempt = 1,
  ) => decideRefundOutcome(of, id, attempt, outcome, now, "recovery");

  test("that comes too late, or is of another attempt, changes nothing", () => {
    assert.equal(decide(payment, { kind: "approved" }, 2, 2), undefined);
    assert.equal(decide(payment, { kind: "approved" }, 3), undefined);
    for (const state of refundStates) {
      const made = decide(captured([sending({ state })]), { kind: "approved" });
      assert.equal(made === undefined, state !== "sending", state);
    }
  });

  test("that is none leaves the question open, and is asked for later each time", () => {
    const requested = sending({ checks: 2, dueAt: laterBy(now, 30 * second) });
    assertRefunds(
      decide(payment, { kind: "unknown", cause: "timeout" }),
      payment,
      [newRefund(1), requested],
      {
        facts: fact("attempt_unanswered", 2, "recovery"),
      },
    );
  });

  test("no cancels it, and its amount is free again", () => {
    const cancelled = sending({ state: "cancelled", cancelledAt: now, dueAt: undefined });
    assertRefunds(
      decide(payment, { kind: "declined", responseCode: "05" }),
      payment,
      [newRefund(1), cancelled],
      {
        facts: fact("refund_declined", 2, "recovery", { responseCode: "05" }),
        notifications: notify(payment),
      },
    );
  });

  test("yes returns the money, after what was returned before", () => {
    const before = captured([
      newRefund(1, { state: "confirmed", amount: 333n }),
      newRefund(3),
      sending(),
    ]);
    const confirmed = sending({ state: "confirmed", confirmedAt: now, dueAt: undefined });
    assertRefunds(
      decide(before, { kind: "approved" }),
      before,
      [newRefund(1, { state: "confirmed", amount: 333n }), newRefund(3), confirmed],
      {
        facts: fact("refund_approved", 2, "recovery"),
        entries: refundEntries(before, 333n, 100n),
        notifications: notify(before),
      },
    );
  });
});

describe("recovery of a refund", () => {
  const payment = captured([newRefund(1), sending()]);

  test("sends again under the same reference, and waits again", () => {
    const again = sending({ answerBy, dueAt: firstLook });
    assertRefunds(
      decideRefundRepeat(payment, 2, 1, now, answerBy),
      payment,
      [newRefund(1), again],
      {
        facts: fact("attempt_repeated", 2, "recovery"),
      },
    );
    assert.equal(decideRefundRepeat(payment, 2, 2, now, answerBy), undefined);
    assert.equal(decideRefundRepeat(payment, 1, 0, now, answerBy), undefined);
  });

  test("starts over at once when it is certain that nothing was done", () => {
    const pending = sending({ state: "pending", dueAt: now });
    assertRefunds(decideRefundNotDone(payment, 2, 1, now), payment, [newRefund(1), pending], {
      facts: fact("refund_not_done", 2, "recovery"),
    });
    assert.equal(decideRefundNotDone(payment, 2, 2, now), undefined);
    assert.equal(decideRefundNotDone(payment, 1, 0, now), undefined);
  });
});

describe("a clock that is set back while a refund is on its way", () => {
  const late = laterBy(now, hour);
  const timesAfter = (made: PaymentChange | undefined) => {
    const { pendingAt, confirmedAt, cancelledAt } = made?.payment.next.refunds[0] ?? newRefund(0);
    return { pendingAt, confirmedAt, cancelledAt };
  };
  const none = { pendingAt: undefined, confirmedAt: undefined, cancelledAt: undefined };

  test("lets no time of it lie before it was asked for", () => {
    const requested = (state: RefundState) =>
      captured([newRefund(2, { state, requestedAt: late, attempts: 1 })]);
    assert.deepEqual(
      timesAfter(decideRefundStep(requested("requested"), 2, settings, now, answerBy)),
      {
        ...none,
        pendingAt: late,
      },
    );
    assert.deepEqual(timesAfter(decideRefundCancel(requested("requested"), 2, settings, now)), {
      ...none,
      cancelledAt: late,
    });
    assert.deepEqual(
      timesAfter(
        decideRefundOutcome(requested("sending"), 2, 1, { kind: "approved" }, now, "recovery"),
      ),
      {
        ...none,
        confirmedAt: late,
      },
    );
  });

  test("nor its end before it was pending", () => {
    const pending = (state: RefundState) =>
      captured([newRefund(2, { state, pendingAt: late, attempts: 1 })]);
    assert.deepEqual(timesAfter(decideRefundCancel(pending("pending"), 2, settings, now)), {
      pendingAt: late,
      confirmedAt: undefined,
      cancelledAt: late,
    });
    assert.deepEqual(
      timesAfter(
        decideRefundOutcome(pending("sending"), 2, 1, { kind: "approved" }, now, "recovery"),
      ),
      {
        pendingAt: late,
        confirmedAt: late,
        cancelledAt: undefined,
      },
    );
  });
});

describe("what has left the merchant's account", () => {
  const refunds = [
    newRefund(1, { state: "confirmed", amount: 7n }),
    newRefund(2, { amount: 11n }),
    newRefund(3, { state: "confirmed", amount: 13n }),
    newRefund(4, { state: "cancelled", amount: 17n }),
  ];

  test("is what was confirmed, and a dispute that was not won", () => {
    assert.equal(returned(captured()), 0n);
    assert.equal(returned(captured(refunds)), 20n);
    assert.equal(returned(captured(refunds, { chargeback: dispute })), 520n);
    assert.equal(
      returned(
        captured(refunds, { chargeback: { ...dispute, state: "credited", creditedAt: start } }),
      ),
      20n,
    );
  });

  test("never exceeds what was captured", () => {
    const disputed = (amount: bigint) =>
      captured([newRefund(2, { amount: 50n })], { chargeback: { ...dispute, amount } });
    assert.doesNotThrow(() => decideRefundStep(disputed(10_000n), 2, settings, now, answerBy));
    assert.throws(
      () => decideRefundStep(disputed(10_001n), 2, settings, now, answerBy),
      BrokenInvariant,
    );
    const won = captured([newRefund(2, { amount: 50n })], {
      chargeback: { ...dispute, amount: 10_050n, state: "credited", creditedAt: start },
    });
    assert.doesNotThrow(() => decideRefundStep(won, 2, settings, now, answerBy));
  });
});
