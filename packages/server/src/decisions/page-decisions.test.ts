import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { approval, newAttempt, pagePayment, start } from "../../test/contract/store-fixtures.ts";
import { hour, laterBy, minute, second } from "../kernel/instant.ts";
import { isOpenPage, maxTries } from "../payment/page.ts";
import type { PaymentPage } from "../payment/payment.ts";
import { type PaymentState, paymentStates } from "../payment/payment-machine.ts";
import type { Payment } from "../payment/payment.ts";
import type { ServiceErrorCode } from "../payment/service-error.ts";
import type { FactSource } from "../stores/change.ts";
import {
  decideAuthenticated,
  decideAuthenticationStarted,
  decideAuthenticationUnanswered,
  decideNotAuthenticated,
  decidePageCancelled,
  decidePageLapsed,
  decidePageSubmitted,
  decideRefusedAtOnce,
  mayTryAgain,
  type NotAuthenticated,
  type Submitted,
} from "./page-decisions.ts";
import { decideAuthorizeOutcome, decideReversal, decideUnanswered } from "./payment-decisions.ts";
import type { PaymentChange } from "./steps.ts";

const now = laterBy(start, 10 * second);
const answerBy = laterBy(now, 20 * second);
const approved = {
  kind: "approved",
  authorizationCode: "123456",
  responseCode: "00",
  acquirerReference: "SIM-000000000001",
  networkTransactionId: "123456789012345",
} as const;
const declined = {
  kind: "declined",
  reason: "insufficient_funds",
  responseCode: "51",
  adviceCode: "02",
  refusedBeforeIssuer: false,
} as const;

const submitted: Submitted = {
  card: { brand: "elo", maskedPan: "636297xxxxxx7013", tokenDigest: undefined },
  customer: { ...pagePayment(1).order.customer, name: "BRUNA LIMA" },
  instalments: 3,
  paymentType: "debit",
  manualReview: false,
  threeDSecure: undefined,
  expectedLiability: "merchant",
  connector: "first",
};

/** A payment whose page waits for a card, with these members of the page. */
function open(page: Partial<PaymentPage> = {}, over: Partial<Payment> = {}): Payment {
  const payment = pagePayment(1);
  const { order } = payment;
  assert.ok(order.page !== undefined);
  return {
    ...payment,
    order: { ...order, autoCapture: true, page: { ...order.page, ...page } },
    ...over,
  };
}

function tried(page: Partial<PaymentPage> = {}, over: Partial<Submitted> = {}): Payment {
  return decidePageSubmitted(open(page), { ...submitted, ...over }, now, answerBy).payment.next;
}

function answered(
  payment: Payment,
  outcome: Parameters<typeof decideAuthorizeOutcome>[1],
  by: FactSource = "merchant",
): PaymentChange {
  const options = { attempt: payment.attempt?.number ?? 0, notify: true, captureWindowDays: 4 };
  const change = decideAuthorizeOutcome(payment, outcome, now, by, options);
  assert.ok(change !== undefined);
  return change;
}

const notified = ({ notifications }: PaymentChange): string[] =>
  notifications.map(({ kind }) => kind);
const factsOf = ({ facts }: PaymentChange): string[] => facts.map(({ fact }) => fact);

describe("a card on a page", () => {
  test("is taken only while the page waits for one", () => {
    const codes: Partial<Record<PaymentState, ServiceErrorCode>> = {
      authenticating: "payment_in_flight",
      authorizing: "payment_in_flight",
      capturing: "payment_in_flight",
      voiding: "payment_in_flight",
      reversing: "payment_in_flight",
      received: "payment_in_flight",
      captured: "payment_already_captured",
      authorized: "payment_already_captured",
      in_review: "payment_already_captured",
      declined: "payment_cancelled",
      voided: "payment_cancelled",
      expired: "payment_cancelled",
    };
    for (const state of paymentStates) {
      const submit = () => decidePageSubmitted(open({}, { state }), submitted, now, answerBy);
      if (state === "opened") assert.doesNotThrow(submit);
      else assert.throws(submit, { code: codes[state] }, state);
    }
    const { page: _page, ...order } = open().order;
    assert.throws(() => decidePageSubmitted({ ...open(), order }, submitted, now, answerBy), {
      code: "payment_not_found",
    });
  });

  test("is refused from the moment that the page lapses", () => {
    const submit = (lapsesAt: typeof now) =>
      decidePageSubmitted(open({ lapsesAt }), submitted, now, answerBy);
    assert.throws(() => submit(now), { code: "payment_cancelled" });
    assert.doesNotThrow(() => submit(laterBy(now, 1)));
  });

  test("is refused when its issuer does not want to be asked again", () => {
    const page = { refusedCards: [submitted.card.maskedPan] };
    assert.throws(() => tried(page), { code: "card_exhausted" });
    const other = { ...submitted.card, maskedPan: "411111xxxxxx1111" };
    assert.doesNotThrow(() => tried(page, { card: other }));
  });

  test("is committed with the attempt, replaces what the page supplies and nothing else", () => {
    const before = open({ tries: 1, declined: "high_risk" }, { attempts: 1 });
    const change = decidePageSubmitted(before, submitted, now, answerBy);
    const { page } = before.order;
    assert.deepEqual(change.payment.next, {
      ...before,
      version: before.version + 1,
      state: "authorizing",
      attempt: newAttempt({
        kind: "sale",
        number: 2,
        amount: before.order.amount.minor,
        sentAt: now,
        answerBy,
        recheckAt: laterBy(answerBy, 5 * second),
        checks: 0,
      }),
      attempts: 2,
      authorization: 2,
      verdict: undefined,
      order: { ...before.order, ...submitted, page: { ...page, tries: 2, declined: undefined } },
    });
    assert.deepEqual(factsOf(change), ["page_submitted", "authorization_sent"]);
    assert.deepEqual(notified(change), []);
  });

  test("takes the account's route from its beginning, whatever the card before took", () => {
    const rerouted = { ...tried(), reroutedTo: "second" };
    const again = answered(rerouted, declined).payment.next;
    assert.equal("reroutedTo" in again, false);
    const next = decidePageSubmitted(again, submitted, now, answerBy).payment.next;
    assert.equal("reroutedTo" in next, false);
  });
});

describe("a decline on a page", () => {
  test("opens it again without a verdict, and says why to the page alone", () => {
    const change = answered(tried(), declined);
    const { next } = change.payment;
    assert.deepEqual(
      [next.state, next.verdict, next.attempt, next.authorized],
      ["opened", undefined, undefined, 0n],
    );
    assert.deepEqual(next.order.page?.declined, "insufficient_funds");
    assert.deepEqual(next.order.card, submitted.card);
    assert.deepEqual([factsOf(change), notified(change)], [["try_declined"], []]);
  });

  test("of the last card, or after the page's time, is the end", () => {
    assert.equal(answered(tried({ tries: maxTries - 2 }), declined).payment.next.state, "opened");
    const last = answered(tried({ tries: maxTries - 1 }), declined);
    assert.deepEqual(
      [last.payment.next.state, last.payment.next.verdict?.reason, notified(last)],
      ["declined", "insufficient_funds", ["update"]],
    );
    assert.equal(mayTryAgain(open({ lapsesAt: now }), now), false);
    assert.equal(mayTryAgain(open({ lapsesAt: laterBy(now, 1) }), now), true);
  });

  test("with the advice or code never to try again is remembered on the page", () => {
    const refused = (over: Partial<typeof declined>) =>
      answered(tried({ refusedCards: ["x"] }), { ...declined, ...over }).payment.next.order.page
        ?.refusedCards;
    const remembered = ["x", submitted.card.maskedPan];
    for (const responseCode of ["41", "43", "R0", "R1", "R3"])
      assert.deepEqual(refused({ responseCode: responseCode as "51" }), remembered, responseCode);
    assert.deepEqual(refused({ adviceCode: "03" as "02" }), remembered);
    assert.deepEqual(refused({}), ["x"]);
  });

  test("that recovery finds opens the page again, and the merchant is notified", () => {
    const pending = answered(tried(), { kind: "unknown", cause: "timeout" });
    assert.deepEqual([isOpenPage(pending.payment.next), notified(pending)], [false, ["update"]]);
    const found = answered(pending.payment.next, declined, "recovery");
    assert.deepEqual([found.payment.next.state, notified(found)], ["opened", ["update"]]);
  });
});

describe("a page whose card is being tried", () => {
  test("is open until the first answer is missing, and notifies once that it is not", () => {
    const sent = tried();
    assert.equal(isOpenPage(sent), true);
    const first = decideUnanswered(sent, 1, now, "recovery");
    assert.ok(first !== undefined);
    assert.deepEqual([isOpenPage(first.payment.next), notified(first)], [false, ["update"]]);
    const second = decideUnanswered(first.payment.next, 1, now, "recovery");
    assert.ok(second !== undefined);
    assert.deepEqual([isOpenPage(second.payment.next), notified(second)], [false, []]);
    const reversal = decideReversal(sent, now, answerBy);
    assert.deepEqual([isOpenPage(reversal.payment.next), notified(reversal)], [false, ["update"]]);
    assert.deepEqual(notified(decideReversal(first.payment.next, now, answerBy)), []);
  });

  test("is checked as soon as any other payment: its missing answer delays no check", () => {
    const pending = answered(tried(), { kind: "unknown", cause: "timeout" }).payment.next;
    assert.equal(pending.attempt?.recheckAt, laterBy(now, 5 * second));
  });

  test("notifies of an amount that is held, although the payment continues", () => {
    const sent = tried();
    const held = { ...sent, order: { ...sent.order, autoCapture: false } };
    const change = answered(
      { ...held, attempt: newAttempt({ ...held.attempt, kind: "authorize" }) },
      approved,
    );
    assert.deepEqual([change.payment.next.state, notified(change)], ["authorized", ["update"]]);
    assert.deepEqual(change.payment.next.verdict?.reason, approval.reason);
  });
});

const started = { id: "an id", endsAt: laterBy(now, 12 * minute), sealedCard: "c2VhbGVk" };
const proof = {
  threeDSecure: { eci: "05", version: "2.2.0", transactionId: "ds", xid: undefined },
  expectedLiability: "issuer",
} as const;

function challenged(page: Partial<PaymentPage> = {}): Payment {
  return decideAuthenticationStarted(open(page), submitted, started, now).payment.next;
}

function notAuthenticated(payment: Payment, over: Partial<NotAuthenticated> = {}): PaymentChange {
  const outcome = { status: "N", isFinal: false, ...over };
  const change = decideNotAuthenticated(payment, started.id, outcome, now, "recovery");
  assert.ok(change !== undefined);
  return change;
}

describe("a card that waits for 3-D Secure", () => {
  test("is pending, sealed under the payment, and asked about after ten seconds", () => {
    const change = decideAuthenticationStarted(open(), submitted, started, now);
    const { next } = change.payment;
    assert.deepEqual([next.state, next.attempt, next.attempts], ["authenticating", undefined, 0]);
    assert.deepEqual(next.order.page?.authentication, {
      ...started,
      startedAt: now,
      checks: 0,
      recheckAt: laterBy(now, 10 * second),
    });
    assert.deepEqual(factsOf(change), ["page_submitted", "authentication_started"]);
    assert.deepEqual([isOpenPage(next), notified(change)], [false, ["update"]]);
  });

  test("is sent with its proof in the commit of the outcome, and its sealed copy is gone", () => {
    const change = decideAuthenticated(challenged(), started.id, proof, now, answerBy);
    assert.ok(change !== undefined);
    const { next } = change.payment;
    assert.deepEqual(
      [next.state, next.attempt?.number, next.authorization, next.order.threeDSecure],
      ["authorizing", 1, 1, proof.threeDSecure],
    );
    assert.equal(next.order.expectedLiability, "issuer");
    assert.equal("authentication" in (next.order.page ?? {}), false);
    assert.deepEqual(factsOf(change), ["authentication_passed", "authorization_sent"]);
    assert.deepEqual([isOpenPage(next), notified(change)], [false, []], "pending as before");
  });

  test("is not sent for an outcome of another authentication, or after the payment stopped waiting", () => {
    const decide = (payment: Payment, id = started.id) =>
      decideAuthenticated(payment, id, proof, now, answerBy);
    assert.equal(decide(challenged(), "another id"), undefined);
    assert.equal(decide(challenged({ lapsesAt: laterBy(now, 1) }))?.facts.length, 2, "control");
    assert.equal(
      decideAuthenticated(
        challenged({ lapsesAt: laterBy(now, 1) }),
        started.id,
        proof,
        laterBy(now, 1),
        answerBy,
      ),
      undefined,
      "the page has lapsed",
    );
    for (const state of paymentStates) {
      const change = decide({ ...challenged(), state });
      assert.equal(change !== undefined, state === "authenticating", state);
      const failed = decideNotAuthenticated(
        { ...challenged(), state },
        started.id,
        { status: "N", isFinal: false },
        now,
        "recovery",
      );
      assert.equal(failed !== undefined, state === "authenticating", state);
    }
  });

  test("that did not pass opens the page again, and the last one ends the payment", () => {
    const again = notAuthenticated(challenged());
    assert.deepEqual(
      [again.payment.next.state, again.payment.next.order.page?.declined, notified(again)],
      ["opened", "three_d_secure_required", ["update"]],
    );
    assert.equal("authentication" in (again.payment.next.order.page ?? {}), false);
    const last = notAuthenticated(challenged({ tries: maxTries - 1 }));
    assert.deepEqual(
      [last.payment.next.state, last.payment.next.verdict?.reason, notified(last)],
      ["declined", "three_d_secure_required", ["update"]],
    );
  });

  test("is refused on the page from then on only when its issuer rejected it", () => {
    const refused = (isFinal: boolean) =>
      notAuthenticated(challenged(), { isFinal }).payment.next.order.page?.refusedCards;
    assert.deepEqual([refused(true), refused(false)], [[submitted.card.maskedPan], []]);
  });

  test("that is refused without a challenge is a try in one commit, and the page stays open", () => {
    const outcome = { status: "N", isFinal: false };
    const change = decideRefusedAtOnce(open(), submitted, started, outcome, now);
    const { next, replaces } = change.payment;
    assert.deepEqual([next.state, next.version, replaces], ["opened", 2, 1]);
    assert.equal(next.order.page?.tries, 1);
    assert.deepEqual(notified(change), []);
    const last = decideRefusedAtOnce(open({ tries: 2 }), submitted, started, outcome, now);
    assert.deepEqual([last.payment.next.state, notified(last)], ["declined", ["update"]]);
  });

  test("is asked about less and less often", () => {
    let payment = challenged();
    const waits: number[] = [];
    for (let check = 0; check < 4; check += 1) {
      const change = decideAuthenticationUnanswered(payment, started.id, now);
      assert.ok(change !== undefined);
      payment = change.payment.next;
      waits.push((payment.order.page?.authentication?.recheckAt ?? 0) - now);
    }
    assert.deepEqual(waits, [30 * second, minute, 2 * minute, 2 * minute]);
  });
});

const waiting: readonly PaymentState[] = ["opened", "authenticating"];

describe("a page", () => {
  test("is cancelled while it waits for a card, and in no other state", () => {
    for (const state of paymentStates) {
      const change = decidePageCancelled(open({}, { state }), now);
      assert.equal(change !== undefined, waiting.includes(state), state);
    }
    const change = decidePageCancelled(open(), now, "digest");
    assert.ok(change !== undefined);
    assert.deepEqual([change.payment.next.state, notified(change)], ["voided", ["update"]]);
    assert.deepEqual(change.facts[0]?.detail, { request: "digest" });
  });

  test("lapses at its time while it waits for a card, and in no other state", () => {
    const at = laterBy(start, minute);
    for (const state of paymentStates) {
      const change = decidePageLapsed(open({}, { state }), laterBy(start, hour));
      assert.equal(change !== undefined, waiting.includes(state), state);
    }
    assert.equal(decidePageLapsed(open({ lapsesAt: laterBy(at, 1) }), at), undefined);
    const change = decidePageLapsed(open({ lapsesAt: at }), at);
    assert.ok(change !== undefined);
    assert.deepEqual([change.payment.next.state, notified(change)], ["expired", ["update"]]);
  });
});
