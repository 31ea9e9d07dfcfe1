import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  cardIn,
  approval,
  barePayment,
  newAttempt,
  newPayment,
  start,
  tokenDigest,
} from "../../test/contract/store-fixtures.ts";
import type {
  Approval,
  AuthorizeOutcome,
  Decline,
  FollowUpOutcome,
} from "../connectors/connector.ts";
import { BrokenInvariant } from "../kernel/assert.ts";
import { day, hour, laterBy, minute, second } from "../kernel/instant.ts";
import type { ServiceErrorCode } from "../payment/service-error.ts";
import { captureEntries, holdEntries, releaseEntries, saleEntries } from "../ledger/postings.ts";
import { type PaymentState, paymentStates } from "../payment/payment-machine.ts";
import {
  type Attempt,
  type AttemptKind,
  declineReasons,
  type Payment,
  type PaymentOrder,
} from "../payment/payment.ts";
import {
  decideAuthorizeOutcome,
  decideCapture,
  decideCaptureOutcome,
  decideIntention,
  decideLapse,
  decideMarkForReview,
  decideRepeat,
  decideReroute,
  decideReversal,
  decideReversed,
  decideUnanswered,
  decideVoid,
  decideVoidOutcome,
  mayReroute,
} from "./payment-decisions.ts";
import type { PaymentChange } from "./steps.ts";

const now = laterBy(start, hour);
const answerBy = laterBy(now, 20 * second);
const firstLook = laterBy(answerBy, 5 * second);
const amount = 10_050n;

const approved: Approval = {
  kind: "approved",
  authorizationCode: "123456",
  responseCode: "00",
  acquirerReference: "SIM-000000000001",
  networkTransactionId: "123456789012345",
};
const declined: Decline = {
  kind: "declined",
  reason: "insufficient_funds",
  responseCode: "51",
  adviceCode: "02",
  refusedBeforeIssuer: false,
};
const unknown = { kind: "unknown", cause: "timeout" } as const;
const refusal: FollowUpOutcome = { kind: "declined", responseCode: "05" };

/**
 * The payment after a change. Asserts that it is the next version of `before` with these members.
 */
function assertChange(
  made: PaymentChange | undefined,
  before: Payment,
  fields: Partial<Payment>,
  rest: Partial<Omit<PaymentChange, "payment">>,
): void {
  assert.deepEqual(made, {
    merchantId: before.merchantId,
    at: now,
    payment: {
      next: { ...before, version: before.version + 1, ...fields },
      replaces: before.version,
    },
    entries: [],
    notifications: [],
    ...rest,
  });
}

const fact = (name: string, attempt: number | undefined, by: string, detail = {}) =>
  [{ fact: name, attempt, by, detail }] as never;
const update = (payment: Payment) => [{ kind: "update", paymentId: payment.id }] as const;

function attemptOf(kind: Attempt["kind"], number: number, minor = amount): Attempt {
  return { kind, number, amount: minor, sentAt: now, answerBy, checks: 0, recheckAt: firstLook };
}

/** An authorized payment that waits for a capture or a void. */
function held(over: Partial<Payment> = {}): Payment {
  return newPayment(1, {
    state: "authorized",
    version: 4,
    authorized: amount,
    attempt: undefined,
    captureBy: laterBy(now, day),
    verdict: approval,
    ...over,
  });
}

function underWay(
  state: PaymentState,
  kind: Attempt["kind"],
  over: Partial<Payment> = {},
): Payment {
  return held({ state, attempts: 2, attempt: newAttempt({ kind, number: 2, checks: 1 }), ...over });
}

function refusesEachState(
  decide: (payment: Payment) => unknown,
  codes: Readonly<Partial<Record<PaymentState, ServiceErrorCode>>>,
): void {
  for (const state of paymentStates) {
    const code = codes[state];
    if (code === undefined) assert.doesNotThrow(() => decide(held({ state })), state);
    else assert.throws(() => decide(held({ state })), { name: "ServiceError", code }, state);
  }
}

describe("the intention of a payment", () => {
  const { merchantId, id, order } = barePayment(1);
  const intend = (over: Partial<PaymentOrder>) =>
    decideIntention(merchantId, id, { ...order, ...over }, now, answerBy);

  test("is its first version, with an attempt that has not been sent yet", () => {
    assert.deepEqual(intend({}), {
      merchantId,
      at: now,
      payment: {
        next: {
          merchantId,
          id,
          version: 1,
          state: "authorizing",
          createdAt: now,
          statusAt: undefined,
          capturedAt: undefined,
          order,
          captureBy: undefined,
          authorized: 0n,
          captured: 0n,
          refunded: 0n,
          refunds: [],
          chargeback: undefined,
          review: "none",
          attempt: attemptOf("sale", 1),
          attempts: 1,
          verdict: undefined,
          authorization: 1,
          needsReview: false,
        },
        replaces: undefined,
      },
      facts: fact("authorization_sent", 1, "merchant"),
      entries: [],
      notifications: [],
    });
  });

  // A card whose token was about to expire was deleted while it was charged, because its use was
  // recorded only with the acquirer's answer.
  test("of a stored card is its use", () => {
    const card = { ...cardIn(order), tokenDigest: tokenDigest(1) };
    assert.deepEqual(intend({ card }).cardUse, { tokenDigest: tokenDigest(1), at: now });
    assert.equal(intend({}).cardUse, undefined);
  });

  test("is a sale only when the money is taken at once and no reviewer comes between", () => {
    const kindOf = (over: Partial<PaymentOrder>) => intend(over).payment.next.attempt?.kind;
    assert.equal(kindOf({ autoCapture: true, manualReview: false }), "sale");
    assert.equal(kindOf({ autoCapture: false, manualReview: false }), "authorize");
    assert.equal(kindOf({ autoCapture: true, manualReview: true }), "authorize");
    assert.equal(kindOf({ autoCapture: false, manualReview: true }), "authorize");
  });
});

describe("the answer to an authorization", () => {
  const options = { attempt: 1, notify: true, captureWindowDays: 5 };
  const decide = (
    payment: Payment,
    outcome: AuthorizeOutcome,
    over: Partial<typeof options> = {},
  ) => decideAuthorizeOutcome(payment, outcome, now, "merchant", { ...options, ...over });
  const sold = newPayment(1);
  const held1 = newPayment(1, { attempt: newAttempt({ kind: "authorize" }) });
  const captureBy = laterBy(now, 5 * day);

  test("that comes too late, or is of an attempt before, changes nothing", () => {
    for (const state of paymentStates) {
      assert.equal(
        decide({ ...sold, state }, approved) === undefined,
        state !== "authorizing",
        state,
      );
    }
    assert.equal(decide(sold, approved, { attempt: 2 }), undefined);
    assert.equal(decide({ ...sold, attempt: undefined }, approved), undefined);
  });

  test("that is none leaves the question open", () => {
    assertChange(
      decide(sold, unknown),
      sold,
      { attempt: newAttempt({ recheckAt: laterBy(now, 5 * second) }) },
      { facts: fact("attempt_unanswered", 1, "merchant") },
    );
  });

  test("yes to a sale captures, and the merchant is notified", () => {
    const made = decide(sold, approved);
    const fields = { state: "captured", authorized: amount, captured: amount } as const;
    assertChange(
      made,
      sold,
      {
        ...fields,
        captureBy,
        statusAt: now,
        capturedAt: now,
        verdict: approval,
        attempt: undefined,
      },
      {
        facts: fact("sale_approved", 1, "merchant"),
        entries: saleEntries({ ...sold, ...fields }),
        notifications: update(sold),
      },
    );
    assert.deepEqual(decide(sold, approved, { notify: false })?.notifications, []);
  });

  test("yes to an authorization holds, until the capture window is over, without a notification", () => {
    const fields = { state: "authorized", authorized: amount } as const;
    assertChange(
      decide(held1, approved),
      held1,
      { ...fields, captureBy, verdict: approval, attempt: undefined },
      {
        facts: fact("authorization_approved", 1, "merchant"),
        entries: holdEntries({ ...held1, ...fields }),
      },
    );
  });

  test("yes to what a reviewer is to see holds and waits", () => {
    const payment = { ...held1, order: { ...held1.order, manualReview: true } };
    const fields = { state: "in_review", authorized: amount } as const;
    assertChange(
      decide(payment, approved),
      payment,
      { ...fields, captureBy, review: "waiting", verdict: approval, attempt: undefined },
      {
        facts: fact("authorization_held", 1, "merchant"),
        entries: holdEntries({ ...payment, ...fields }),
      },
    );
  });

  test("yes that recovery resolves is announced although the payment stays PE: the merchant was left without an answer", () => {
    for (const manualReview of [false, true]) {
      const payment = { ...held1, order: { ...held1.order, manualReview } };
      assert.deepEqual(
        decideAuthorizeOutcome(payment, approved, now, "recovery", options)?.notifications,
        update(payment),
      );
    }
    assert.deepEqual(
      decideAuthorizeOutcome(held1, unknown, now, "recovery", options)?.notifications,
      [],
    );
  });

  test("no ends it: nothing is held, and the issuer's words are kept", () => {
    for (const payment of [
      sold,
      held1,
      { ...sold, order: { ...sold.order, manualReview: true } },
    ]) {
      assertChange(
        decide(payment, { ...declined, refusedBeforeIssuer: true }),
        payment,
        {
          state: "declined",
          statusAt: now,
          attempt: undefined,
          verdict: {
            approved: false,
            authorizationCode: undefined,
            responseCode: "51",
            reason: "insufficient_funds",
            adviceCode: "02",
            acquirerReference: undefined,
            networkTransactionId: undefined,
            refusedBeforeIssuer: true,
          },
        },
        { facts: fact("authorization_declined", 1, "merchant"), notifications: update(payment) },
      );
    }
  });

  test("never asked for is a no that is certain", () => {
    assert.deepEqual(decide(sold, { kind: "not_sent" })?.payment.next.verdict, {
      approved: false,
      authorizationCode: undefined,
      responseCode: "91",
      reason: "no_acquirer_response",
      adviceCode: undefined,
      acquirerReference: undefined,
      networkTransactionId: undefined,
      refusedBeforeIssuer: true,
    });
  });
});

describe("another acquirer", () => {
  test("is asked after a certain no that says nothing of the card, and never after an unknown", () => {
    assert.equal(mayReroute({ kind: "not_sent" }), true);
    assert.equal(mayReroute(unknown), false);
    assert.equal(mayReroute(approved), false);
    const ofTheWay = declineReasons.filter((reason) => mayReroute({ ...declined, reason }));
    assert.deepEqual(ofTheWay, ["timeout", "no_acquirer_response", "acquirer_error"]);
    assert.equal(mayReroute({ ...declined, reason: "timeout", adviceCode: "03" }), false);
    assert.equal(mayReroute({ ...declined, reason: "timeout", adviceCode: undefined }), true);
  });

  test("gets an attempt of its own", () => {
    const payment = newPayment(1, { attempt: newAttempt({ checks: 3 }) });
    const changed = {
      attempt: { ...attemptOf("sale", 2), checks: 0 },
      attempts: 2,
      authorization: 2,
      reroutedTo: "second",
    };
    assertChange(
      decideReroute(payment, 1, { ...declined, responseCode: "96" }, "second", now, answerBy),
      payment,
      changed,
      {
        facts: fact("authorization_rerouted", 2, "merchant", { cause: "96", connector: "second" }),
      },
    );
    assertChange(
      decideReroute(payment, 1, { kind: "not_sent" }, "second", now, answerBy),
      payment,
      changed,
      {
        facts: fact("authorization_rerouted", 2, "merchant", {
          cause: "not_sent",
          connector: "second",
        }),
      },
    );
  });

  test("is not asked once the attempt is over", () => {
    const payment = newPayment(1);
    assert.equal(decideReroute(payment, 2, declined, "second", now, answerBy), undefined);
    assert.equal(
      decideReroute({ ...payment, attempt: undefined }, 1, declined, "second", now, answerBy),
      undefined,
    );
    assert.equal(
      decideReroute({ ...payment, state: "reversing" }, 1, declined, "second", now, answerBy),
      undefined,
    );
  });
});

describe("a capture", () => {
  const whole = { partialCapture: false };
  const capture = (
    payment: Payment | undefined,
    text?: string,
    settings = { partialCapture: true },
  ) => decideCapture(payment, text, settings, now, answerBy);

  test("is of a payment that is authorized", () => {
    assert.throws(() => capture(undefined), { code: "payment_not_found" });
    refusesEachState((payment) => capture(payment), {
      received: "payment_not_capturable",
      opened: "payment_not_capturable",
      authenticating: "payment_not_capturable",
      authorizing: "payment_not_capturable",
      in_review: "payment_not_capturable",
      reversing: "payment_not_capturable",
      capturing: "payment_in_flight",
      voiding: "payment_in_flight",
      captured: "payment_already_captured",
      declined: "payment_cancelled",
      voided: "payment_cancelled",
      expired: "payment_cancelled",
    });
  });

  test("is refused from the moment that the window is over", () => {
    assert.throws(() => capture(held({ captureBy: now })), { code: "payment_cancelled" });
    assert.doesNotThrow(() => capture(held({ captureBy: laterBy(now, 1) })));
    assert.doesNotThrow(() => capture(held({ captureBy: undefined })));
  });

  test("takes all when no amount is named, or zero", () => {
    for (const text of [undefined, "0", "0.00", "100.50"]) {
      assertChange(
        capture(held(), text, whole),
        held(),
        { state: "capturing", attempts: 2, attempt: attemptOf("capture", 2) },
        { facts: fact("capture_sent", 2, "merchant") },
      );
    }
  });

  test("takes a part where the account may", () => {
    assert.equal(capture(held(), "100.49").payment.next.attempt?.amount, 10_049n);
    assert.throws(() => capture(held(), "100.49", whole), { code: "partial_capture_disabled" });
  });

  test("takes no more than is held, and reads amounts only", () => {
    for (const text of ["100.51", "-1", "1.005", "", "abc"])
      assert.throws(() => capture(held(), text), { code: "capture_amount_invalid" });
  });
});

describe("the answer to a capture", () => {
  const capturing = underWay("capturing", "capture");

  test("that comes too late, or is of an attempt before, changes nothing", () => {
    for (const state of paymentStates) {
      const made = decideCaptureOutcome(
        { ...capturing, state },
        2,
        { kind: "approved" },
        now,
        "merchant",
      );
      assert.equal(made === undefined, state !== "capturing", state);
    }
    assert.equal(
      decideCaptureOutcome(capturing, 1, { kind: "approved" }, now, "merchant"),
      undefined,
    );
    assert.equal(
      decideCaptureOutcome(
        { ...capturing, attempt: undefined },
        2,
        { kind: "approved" },
        now,
        "merchant",
      ),
      undefined,
    );
  });

  test("that is none leaves the question open", () => {
    const made = decideCaptureOutcome(capturing, 2, unknown, now, "recovery");
    assert.equal(made?.payment.next.state, "capturing");
    assert.equal(made.payment.next.attempt?.checks, 2);
    assert.deepEqual(made.facts, fact("attempt_unanswered", 2, "recovery"));
  });

  test("no leaves the money held", () => {
    assertChange(
      decideCaptureOutcome(capturing, 2, refusal, now, "merchant"),
      capturing,
      { state: "authorized", attempt: undefined },
      { facts: fact("capture_declined", 2, "merchant", { responseCode: "05" }) },
    );
  });

  test("no that recovery resolves is announced: the merchant was left without an answer, and may capture again", () => {
    assert.deepEqual(
      decideCaptureOutcome(capturing, 2, refusal, now, "recovery")?.notifications,
      update(capturing),
    );
  });

  test("yes captures the amount of the attempt, and the merchant is notified", () => {
    const part = underWay("capturing", "capture", {
      attempt: newAttempt({ kind: "capture", number: 2, amount: 4_000n }),
    });
    assertChange(
      decideCaptureOutcome(part, 2, { kind: "approved" }, now, "recovery"),
      part,
      { state: "captured", captured: 4_000n, capturedAt: now, statusAt: now, attempt: undefined },
      {
        facts: fact("capture_approved", 2, "recovery"),
        entries: captureEntries({ ...part, captured: 4_000n }, 4_000n),
        notifications: update(part),
      },
    );
  });
});

describe("a void", () => {
  test("is of a payment that is authorized or waits for a reviewer", () => {
    assert.throws(() => decideVoid(undefined, now, answerBy), { code: "payment_not_found" });
    refusesEachState((payment) => decideVoid(payment, now, answerBy), {
      received: "payment_not_voidable",
      // decidePageCancelled decides on it.
      opened: "payment_not_voidable",
      authenticating: "payment_not_voidable",
      authorizing: "payment_in_flight",
      capturing: "payment_in_flight",
      voiding: "payment_in_flight",
      reversing: "payment_in_flight",
      captured: "payment_not_voidable",
      declined: "payment_not_voidable",
      voided: "payment_not_voidable",
      expired: "payment_not_voidable",
    });
    assert.throws(() => decideVoid(held({ state: "captured" }), now, answerBy), {
      detail: { state: "captured" },
    });
  });

  test("gives up all that is held", () => {
    assertChange(
      decideVoid(held(), now, answerBy),
      held(),
      { state: "voiding", attempts: 2, attempt: attemptOf("void", 2) },
      { facts: fact("void_sent", 2, "merchant") },
    );
  });
});

describe("a lapse", () => {
  test("comes when the window is over, not before, and only for what is held", () => {
    for (const state of paymentStates) {
      const made = decideLapse(held({ state, captureBy: now }), now, answerBy);
      assert.equal(made !== undefined, state === "authorized" || state === "in_review", state);
    }
    assert.equal(decideLapse(held({ captureBy: laterBy(now, 1) }), now, answerBy), undefined);
    assert.equal(decideLapse(held({ captureBy: undefined }), now, answerBy), undefined);
  });

  test("gives up all that is held", () => {
    const payment = held({ captureBy: now });
    assertChange(
      decideLapse(payment, now, answerBy),
      payment,
      { state: "voiding", attempts: 2, attempt: attemptOf("lapse", 2) },
      { facts: fact("authorization_lapsed", 2, "clock") },
    );
  });
});

describe("the answer to a void", () => {
  const voiding = underWay("voiding", "void");
  const decide = (payment: Payment, outcome: FollowUpOutcome, number = 2) =>
    decideVoidOutcome(payment, number, outcome, now, "recovery");

  test("that comes too late, or is of an attempt before, changes nothing", () => {
    for (const state of paymentStates) {
      assert.equal(
        decide({ ...voiding, state }, { kind: "approved" }) === undefined,
        state !== "voiding",
        state,
      );
    }
    assert.equal(decide(voiding, { kind: "approved" }, 1), undefined);
    assert.equal(decide({ ...voiding, attempt: undefined }, { kind: "approved" }), undefined);
  });

  test("that is none leaves the question open", () => {
    const made = decide(voiding, unknown);
    assert.equal(made?.payment.next.state, "voiding");
    assert.equal(made.payment.next.attempt?.checks, 2);
  });

  test("no puts the payment back to where it was", () => {
    const facts = (name: string) => fact(name, 2, "recovery", { responseCode: "05" });
    for (const review of ["none", "accepted"] as const) {
      const payment = { ...voiding, review };
      const rest = { facts: facts("void_declined"), notifications: update(payment) };
      assertChange(
        decide(payment, refusal),
        payment,
        { state: "authorized", attempt: undefined },
        rest,
      );
    }
    for (const review of ["waiting", "rejected"] as const) {
      const payment = { ...voiding, review };
      assertChange(
        decide(payment, refusal),
        payment,
        { state: "in_review", review: "waiting", attempt: undefined },
        { facts: facts("void_declined_in_review"), notifications: update(payment) },
      );
    }
  });

  test("no that recovery resolves is announced if the merchant requested it, and no other", () => {
    const reported = (kind: AttemptKind): unknown =>
      decide(underWay("voiding", kind), refusal)?.notifications.length;
    assert.deepEqual([reported("void"), reported("lapse"), reported("reject")], [1, 0, 0]);
    assert.deepEqual(decideVoidOutcome(voiding, 2, refusal, now, "merchant")?.notifications, []);
  });

  test("no to a lapse lets it lapse again an hour later", () => {
    const lapsing = underWay("voiding", "lapse", { captureBy: start });
    assert.equal(decide(lapsing, refusal)?.payment.next.captureBy, laterBy(now, hour));
    const given = { ...voiding, captureBy: start };
    assert.equal(decide(given, refusal)?.payment.next.captureBy, start);
  });

  test("yes releases what was held, and says whose idea it was", () => {
    const cases = [
      ["void", "void_approved", "voided"],
      ["reject", "void_approved", "voided"],
      ["lapse", "lapse_approved", "expired"],
    ] as const;
    for (const [kind, name, state] of cases) {
      const payment = underWay("voiding", kind);
      assertChange(
        decide(payment, { kind: "approved" }),
        payment,
        { state, statusAt: now, attempt: undefined },
        {
          facts: fact(name, 2, "recovery"),
          entries: releaseEntries(payment),
          notifications: update(payment),
        },
      );
    }
  });
});

describe("a reversal", () => {
  const authorizing = newPayment(1, { attempt: newAttempt({ checks: 7 }) });

  test("undoes an authorization in flight, and remembers how long that may still be sent", () => {
    assertChange(
      decideReversal(authorizing, now, answerBy),
      authorizing,
      {
        state: "reversing",
        attempts: 2,
        attempt: { ...attemptOf("reverse", 2), answerBy: newAttempt().answerBy },
      },
      { facts: fact("reversal_sent", 2, "recovery") },
    );
  });

  test("of anything else stops the work", () => {
    assert.throws(
      () => decideReversal(underWay("capturing", "capture"), now, answerBy),
      BrokenInvariant,
    );
    assert.throws(
      () => decideReversal({ ...authorizing, attempt: undefined }, now, answerBy),
      BrokenInvariant,
    );
  });

  test("that is done voids the payment; nothing was held, so nothing is released", () => {
    const reversing = newPayment(1, {
      state: "reversing",
      attempts: 2,
      attempt: newAttempt({ kind: "reverse", number: 2 }),
    });
    assertChange(
      decideReversed(reversing, now),
      reversing,
      { state: "voided", statusAt: now, attempt: undefined },
      { facts: fact("reversal_approved", 2, "recovery"), notifications: update(reversing) },
    );
    for (const state of paymentStates)
      assert.equal(
        decideReversed({ ...reversing, state }, now) === undefined,
        state !== "reversing",
        state,
      );
    assert.equal(decideReversed({ ...reversing, attempt: undefined }, now), undefined);
  });
});

describe("what recovery notes", () => {
  const capturing = underWay("capturing", "capture");

  test("is that it does not know yet", () => {
    assertChange(
      decideUnanswered(capturing, 2, now, "recovery"),
      capturing,
      {
        attempt: newAttempt({
          kind: "capture",
          number: 2,
          checks: 2,
          recheckAt: laterBy(now, 2 * minute),
        }),
      },
      { facts: fact("attempt_unanswered", 2, "recovery") },
    );
    assert.equal(decideUnanswered(capturing, 1, now, "recovery"), undefined);
    assert.equal(decideUnanswered(held(), 2, now, "recovery"), undefined);
  });

  test("is that it sends again and waits again", () => {
    assertChange(
      decideRepeat(capturing, 2, now, answerBy),
      capturing,
      {
        attempt: newAttempt({
          kind: "capture",
          number: 2,
          checks: 1,
          answerBy,
          recheckAt: firstLook,
        }),
      },
      { facts: fact("attempt_repeated", 2, "recovery") },
    );
    assert.equal(decideRepeat(capturing, 1, now, answerBy), undefined);
    assert.equal(decideRepeat(held(), 2, now, answerBy), undefined);
  });

  test("is that people must look", () => {
    assertChange(
      decideMarkForReview(capturing, now),
      capturing,
      { needsReview: true },
      { facts: fact("marked_for_review", 2, "recovery") },
    );
    assert.deepEqual(
      decideMarkForReview(held(), now).facts,
      fact("marked_for_review", undefined, "recovery"),
    );
  });
});
