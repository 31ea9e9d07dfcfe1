import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  barePayment,
  dispute,
  newAttempt,
  newPayment,
  newRefund,
  start,
} from "../../test/contract/store-fixtures.ts";
import { BrokenInvariant } from "../kernel/assert.ts";
import { type Instant, hour, laterBy, minute, second } from "../kernel/instant.ts";
import { type PaymentState, paymentStates } from "../payment/payment-machine.ts";
import type { Payment } from "../payment/payment.ts";
import {
  advance,
  startAttempt,
  change,
  isFinal,
  notBefore,
  recheckAfter,
  record,
  settle,
  unanswered,
} from "./steps.ts";

const now = laterBy(start, hour);
const at = (ms: number): Instant => laterBy(start, ms);

describe("when recovery looks again", () => {
  test("is soon, then every four minutes for the rest of the first hour, then hourly", () => {
    const waits = Array.from({ length: 20 }, (_, checks) => recheckAfter(now, checks) - now);
    assert.deepEqual(waits, [
      5 * second,
      30 * second,
      2 * minute,
      ...Array<number>(14).fill(4 * minute),
      hour,
      hour,
      hour,
    ]);
  });

  test("leaves no hour without as many looks as it counts", () => {
    let [time, checks] = [start, 0];
    for (; time - start < hour; checks += 1) time = recheckAfter(time, checks);
    assert.equal(checks, 18);
  });
});

describe("a time that merchants see", () => {
  test("is not before what came before it, whatever became of the clock", () => {
    assert.equal(notBefore(now), now);
    assert.equal(notBefore(now, undefined, at(0)), now);
    assert.equal(notBefore(at(5), at(7), undefined, at(9), at(8)), at(9));
  });

  const later = laterBy(now, minute);
  const pasts: readonly (readonly [name: string, past: Partial<Payment>])[] = [
    ["its creation", { createdAt: later }],
    ["its status", { statusAt: later }],
    ["its capture", { capturedAt: later }],
    ["its dispute", { chargeback: { ...dispute, openedAt: later } }],
    [
      "the end of its dispute",
      { chargeback: { ...dispute, state: "credited", creditedAt: later } },
    ],
    [
      "a refund that was asked for",
      { refunds: [newRefund(1), newRefund(2, { requestedAt: later })] },
    ],
    ["a refund that is pending", { refunds: [newRefund(1, { pendingAt: later })] }],
    ["a refund that was paid", { refunds: [newRefund(1, { confirmedAt: later })] }],
    ["a refund that was taken back", { refunds: [newRefund(1, { cancelledAt: later })] }],
  ];
  for (const [name, past] of pasts) {
    test(`is not before ${name}`, () => {
      const payment = newPayment(1, past);
      assert.equal(advance(payment, "authorization_declined", now).statusAt, later);
      assert.equal(change(now, payment, 1, []).at, later);
    });
  }

  test("is now otherwise", () => {
    const payment = newPayment(1, { refunds: [newRefund(1)], chargeback: dispute });
    assert.equal(advance(payment, "authorization_declined", now).statusAt, now);
    assert.equal(change(now, payment, 1, []).at, now);
  });
});

describe("a step of a payment", () => {
  test("to a final state sets the time of the status, and of the capture where there is one", () => {
    const payment = newPayment(1);
    assert.deepEqual(advance(payment, "sale_approved", now), {
      ...payment,
      state: "captured",
      version: 2,
      statusAt: now,
      capturedAt: now,
    });
    assert.deepEqual(advance(payment, "authorization_declined", now), {
      ...payment,
      state: "declined",
      version: 2,
      statusAt: now,
    });
    assert.deepEqual(advance(payment, "authorization_approved", now), {
      ...payment,
      state: "authorized",
      version: 2,
    });
  });

  test("to another state leaves both times as they were", () => {
    const payment = newPayment(1, { statusAt: at(1), capturedAt: at(2) });
    assert.deepEqual(advance(payment, "authorization_approved", now), {
      ...payment,
      state: "authorized",
      version: 2,
    });
  });

  test("that the machine has no row for stops the work", () => {
    assert.throws(() => advance(newPayment(1), "capture_sent", now), BrokenInvariant);
  });

  test("is final where merchants see the end of it", () => {
    const final: readonly PaymentState[] = ["captured", "declined", "voided", "expired"];
    for (const state of paymentStates) assert.equal(isFinal(state), final.includes(state), state);
  });
});

describe("an attempt", () => {
  test("has the number after the last one, and is due for recovery 5 s after its answer was due", () => {
    const payment = newPayment(1, { state: "authorized", attempts: 4, attempt: undefined });
    assert.deepEqual(
      startAttempt(payment, "capture_sent", "capture", 7n, now, laterBy(now, 20_000)),
      {
        ...payment,
        state: "capturing",
        version: 2,
        attempts: 5,
        attempt: {
          kind: "capture",
          number: 5,
          amount: 7n,
          sentAt: now,
          answerBy: laterBy(now, 20_000),
          checks: 0,
          recheckAt: laterBy(now, 25_000),
        },
      },
    );
  });

  test("moves more than nothing", () => {
    const payment = barePayment(1);
    assert.throws(
      () => startAttempt(payment, "authorization_sent", "sale", 0n, now, now),
      BrokenInvariant,
    );
    assert.doesNotThrow(() => startAttempt(payment, "authorization_sent", "sale", 1n, now, now));
  });

  test("is gone once it is settled, and no more is captured than was authorized", () => {
    const payment = newPayment(1, { authorized: 10n });
    assert.deepEqual(settle(payment, { captured: 10n }), {
      ...payment,
      captured: 10n,
      attempt: undefined,
    });
    assert.deepEqual(settle(payment, { captured: 0n }), {
      ...payment,
      captured: 0n,
      attempt: undefined,
    });
    assert.throws(() => settle(payment, { captured: 11n }), BrokenInvariant);
    assert.throws(() => settle(payment, { captured: -1n }), BrokenInvariant);
  });

  test("without an answer is inquired about later each time that recovery asks; the merchant's own wait does not count", () => {
    const attempt = newAttempt({ checks: 1, number: 3 });
    const payment = newPayment(1, { attempt });
    const requested = unanswered(payment, attempt, now, "recovery");
    const attemptAfter = { ...attempt, checks: 2, recheckAt: laterBy(now, 2 * minute) };
    assert.deepEqual(requested.payment, {
      next: { ...payment, version: 2, attempt: attemptAfter },
      replaces: 1,
    });
    assert.deepEqual(requested.facts, [record("attempt_unanswered", 3, "recovery")]);
    const waited = unanswered(payment, attempt, now, "merchant");
    assert.deepEqual(waited.payment.next.attempt, {
      ...attempt,
      recheckAt: laterBy(now, 30 * second),
    });
  });
});

describe("a change", () => {
  test("is the payment, its facts, and nothing else", () => {
    const payment = newPayment(1, { version: 5 });
    const facts = [record("capture_sent", 2, "merchant")];
    assert.deepEqual(facts, [{ fact: "capture_sent", attempt: 2, by: "merchant", detail: {} }]);
    assert.deepEqual(change(now, payment, 4, facts), {
      merchantId: payment.merchantId,
      at: now,
      payment: { next: payment, replaces: 4 },
      facts,
      entries: [],
      notifications: [],
    });
  });

  test("notifies the merchant as given", () => {
    const payment = newPayment(1);
    assert.deepEqual(change(now, payment, 0, [], [], "refund").notifications, [
      { kind: "refund", paymentId: payment.id },
    ]);
  });
});
