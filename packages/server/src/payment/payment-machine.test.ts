import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  paymentFacts,
  type PaymentFact,
  paymentMachine,
  type PaymentState,
  paymentStates,
} from "./payment-machine.ts";
import {
  refundFacts,
  type RefundFact,
  refundMachine,
  type RefundState,
  refundStates,
} from "./refund.ts";

type Steps<State, Fact> = readonly (readonly [fact: Fact, state: State])[];

/**
 * Histories of payments from the first state to the last: the `->` of
 * docs/concepts/payment-states.md.
 */
const payments: Readonly<Record<string, Steps<PaymentState, PaymentFact>>> = {
  "is sold at once": [
    ["authorization_sent", "authorizing"],
    ["sale_approved", "captured"],
  ],
  "is declined": [
    ["authorization_sent", "authorizing"],
    ["authorization_declined", "declined"],
  ],
  "is held, and captured at the second try": [
    ["authorization_sent", "authorizing"],
    ["authorization_approved", "authorized"],
    ["capture_sent", "capturing"],
    ["capture_declined", "authorized"],
    ["capture_sent", "capturing"],
    ["capture_approved", "captured"],
  ],
  "is held, and voided at the second try": [
    ["authorization_sent", "authorizing"],
    ["authorization_approved", "authorized"],
    ["void_sent", "voiding"],
    ["void_declined", "authorized"],
    ["void_sent", "voiding"],
    ["void_approved", "voided"],
  ],
  "is held until the window is over": [
    ["authorization_sent", "authorizing"],
    ["authorization_approved", "authorized"],
    ["authorization_lapsed", "voiding"],
    ["lapse_approved", "expired"],
  ],
  "waits for a reviewer who accepts it": [
    ["authorization_sent", "authorizing"],
    ["authorization_held", "in_review"],
    ["review_accepted", "authorized"],
  ],
  "waits for a reviewer who rejects it, at the second try": [
    ["authorization_sent", "authorizing"],
    ["authorization_held", "in_review"],
    ["review_rejected", "voiding"],
    ["void_declined_in_review", "in_review"],
    ["review_rejected", "voiding"],
    ["void_approved", "voided"],
  ],
  "is given up by the merchant while the reviewer thinks": [
    ["authorization_sent", "authorizing"],
    ["authorization_held", "in_review"],
    ["void_sent", "voiding"],
  ],
  "lapses while the reviewer thinks": [
    ["authorization_sent", "authorizing"],
    ["authorization_held", "in_review"],
    ["authorization_lapsed", "voiding"],
  ],
  "is paid on a page with the second card": [
    ["page_opened", "opened"],
    ["authorization_sent", "authorizing"],
    ["try_declined", "opened"],
    ["authorization_sent", "authorizing"],
    ["sale_approved", "captured"],
  ],
  "passes 3-D Secure with the second card": [
    ["page_opened", "opened"],
    ["authentication_started", "authenticating"],
    ["try_not_authenticated", "opened"],
    ["authentication_started", "authenticating"],
    ["authorization_sent", "authorizing"],
    ["sale_approved", "captured"],
  ],
  "does not pass 3-D Secure with the last card": [
    ["page_opened", "opened"],
    ["authentication_started", "authenticating"],
    ["authentication_failed", "declined"],
  ],
  "is cancelled during a challenge": [
    ["page_opened", "opened"],
    ["authentication_started", "authenticating"],
    ["page_cancelled", "voided"],
  ],
  "lapses during a challenge": [
    ["page_opened", "opened"],
    ["authentication_started", "authenticating"],
    ["page_lapsed", "expired"],
  ],
  "is opened on a page, and cancelled": [
    ["page_opened", "opened"],
    ["page_cancelled", "voided"],
  ],
  "is opened on a page that nobody pays on in time": [
    ["page_opened", "opened"],
    ["page_lapsed", "expired"],
  ],
  "has no answer, and is undone": [
    ["authorization_sent", "authorizing"],
    ["reversal_sent", "reversing"],
    ["reversal_approved", "voided"],
  ],
};

const refunds: Readonly<Record<string, Steps<RefundState, RefundFact>>> = {
  "is taken back at once": [["refund_cancelled", "cancelled"]],
  "is taken back while it is pending": [
    ["refund_queued", "pending"],
    ["refund_cancelled", "cancelled"],
  ],
  "is paid, though the acquirer lost it once": [
    ["refund_queued", "pending"],
    ["refund_sent", "sending"],
    ["refund_not_done", "pending"],
    ["refund_sent", "sending"],
    ["refund_approved", "confirmed"],
  ],
  "is declined": [
    ["refund_queued", "pending"],
    ["refund_sent", "sending"],
    ["refund_declined", "cancelled"],
  ],
};

function testMachine<State extends string, Fact extends string>(
  lives: Readonly<Record<string, Steps<State, Fact>>>,
  machine: {
    readonly initial: State;
    readonly final: readonly State[];
    next(state: State, fact: Fact): State | undefined;
  },
  every: { readonly states: readonly State[]; readonly facts: readonly Fact[] },
): void {
  const reported = new Set<string>();
  for (const [name, steps] of Object.entries(lives)) {
    let from = machine.initial;
    for (const [fact, to] of steps) {
      reported.add(`${from} ${fact}`);
      from = to;
    }
    test(name, () => {
      let state = machine.initial;
      for (const [fact, to] of steps) {
        assert.equal(machine.next(state, fact), to, `${state}, ${fact}`);
        state = to;
      }
    });
  }

  test("can do nothing else", () => {
    for (const state of every.states) {
      for (const fact of every.facts) {
        assert.equal(
          machine.next(state, fact) !== undefined,
          reported.has(`${state} ${fact}`),
          `${state}, ${fact}`,
        );
      }
    }
  });

  test("is over where no fact leads on, and only there", () => {
    const dead = every.states.filter(
      (state) => !every.facts.some((fact) => machine.next(state, fact) !== undefined),
    );
    assert.deepEqual([...machine.final].sort(), dead.sort());
  });
}

describe("a payment", () =>
  testMachine(payments, paymentMachine, { states: paymentStates, facts: paymentFacts }));
describe("a refund", () =>
  testMachine(refunds, refundMachine, { states: refundStates, facts: refundFacts }));
