import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  decideChargeback,
  decideChargebackCredit,
} from "../../server/src/decisions/chargeback-decisions.ts";
import {
  decideAuthenticated,
  decideAuthenticationStarted,
  decideAuthenticationUnanswered,
  decideNotAuthenticated,
  decidePageCancelled,
  decidePageLapsed,
  decidePageOpened,
  decidePageSubmitted,
} from "../../server/src/decisions/page-decisions.ts";
import * as decisions from "../../server/src/decisions/payment-decisions.ts";
import * as refunds from "../../server/src/decisions/refund-decisions.ts";
import {
  decideReviewAccepted,
  decideReviewRejected,
} from "../../server/src/decisions/review-decisions.ts";
import type { PaymentChange } from "../../server/src/decisions/steps.ts";
import type { MerchantId } from "../../server/src/kernel/ids.ts";
import type { PaymentId } from "../../server/src/payment/payment-id.ts";
import { day, instant, laterBy } from "../../server/src/kernel/instant.ts";
import { ServiceError } from "../../server/src/payment/service-error.ts";
import { type Balance, balancesOf, isBalanced } from "../../server/src/ledger/balances.ts";
import { chargebackMachine } from "../../server/src/payment/chargeback.ts";
import {
  type PaymentFact,
  type PaymentState,
  paymentFacts,
  paymentMachine,
} from "../../server/src/payment/payment-machine.ts";
import type { Payment, PaymentOrder } from "../../server/src/payment/payment.ts";
import { priceOrder } from "../../server/src/payment/pricing.ts";
import { refundMachine } from "../../server/src/payment/refund.ts";
import { bareCustomer, bareExtras } from "../../server/test/contract/store-fixtures.ts";

/**
 * Every payment that the production decisions can make of a small order, found breadth-first: every
 * request and every answer is tried in every state, before and after the capture window.
 */

const early = instant(Date.parse("2026-11-28T12:00:00Z"));
const late = laterBy(early, 10 * day);
const answerBy = laterBy(early, 30_000);
const refundSettings = {
  refundWindowDays: 0,
  refundRequestedMinutes: 0,
  refundPendingMinutes: 0,
  strictRefundCancel: false,
};
const maxRefunds = 2;

const unknown = { kind: "unknown", cause: "timeout" } as const;
const followUps = [
  { kind: "approved" },
  { kind: "declined", responseCode: "05" },
  unknown,
] as const;
const approval = {
  kind: "approved",
  authorizationCode: "123456",
  responseCode: "00",
  acquirerReference: "acquirer-1",
  networkTransactionId: "000000000000001",
} as const;
const decline = {
  kind: "declined",
  responseCode: "05",
  reason: "not_accepted",
  adviceCode: undefined,
  refusedBeforeIssuer: false,
} as const;

type Move = readonly [name: string, move: (payment: Payment) => PaymentChange | undefined];

const moves: readonly Move[] = [early, late].flatMap((now): Move[] => [
  ...[approval, decline, unknown].map((outcome): Move => [
    `authorize ${outcome.kind}`,
    (payment) =>
      decisions.decideAuthorizeOutcome(payment, outcome, now, "recovery", {
        attempt: payment.attempt?.number ?? 0,
        notify: true,
        captureWindowDays: 4,
      }),
  ]),
  // Only once: a second acquirer's answers are treated like the first one's.
  [
    "reroute",
    (payment) =>
      payment.reroutedTo === undefined
        ? decisions.decideReroute(
            payment,
            payment.attempt?.number ?? 0,
            { kind: "not_sent" },
            "other",
            now,
            answerBy,
          )
        : undefined,
  ],
  ...["0.01", "0.02", undefined].map((amount): Move => [
    "capture",
    (payment) => decisions.decideCapture(payment, amount, { partialCapture: true }, now, answerBy),
  ]),
  ...["411111xxxxxx1111", "555555xxxxxx4444"].map((maskedPan): Move => [
    "submit",
    (payment) =>
      decidePageSubmitted(
        payment,
        {
          card: { brand: "visa", maskedPan, tokenDigest: undefined },
          customer: payment.order.customer,
          instalments: 1,
          paymentType: "credit",
          manualReview: payment.order.manualReview,
          threeDSecure: undefined,
          expectedLiability: "merchant",
          connector: "first",
        },
        now,
        answerBy,
      ),
  ]),
  [
    "submit, and be challenged",
    (payment) =>
      decideAuthenticationStarted(
        payment,
        {
          card: { brand: "visa", maskedPan: "411111xxxxxx1111", tokenDigest: undefined },
          customer: payment.order.customer,
          instalments: 1,
          paymentType: "credit",
          manualReview: payment.order.manualReview,
          threeDSecure: undefined,
          expectedLiability: "merchant",
          connector: "first",
        },
        { id: "authentication", endsAt: answerBy, sealedCard: "c2VhbGVk" },
        now,
      ),
  ],
  [
    "pass the challenge",
    (payment) =>
      decideAuthenticated(
        payment,
        "authentication",
        { threeDSecure: undefined, expectedLiability: "issuer" },
        now,
        answerBy,
      ),
  ],
  ...[true, false].map((isFinal): Move => [
    "fail the challenge",
    (payment) =>
      decideNotAuthenticated(payment, "authentication", { status: "N", isFinal }, now, "recovery"),
  ]),
  [
    "challenge unanswered",
    (payment) => decideAuthenticationUnanswered(payment, "authentication", now),
  ],
  [
    "authorize declined for good",
    (payment) =>
      decisions.decideAuthorizeOutcome(payment, { ...decline, adviceCode: "03" }, now, "merchant", {
        attempt: payment.attempt?.number ?? 0,
        notify: true,
        captureWindowDays: 4,
      }),
  ],
  ["page cancel", (payment) => decidePageCancelled(payment, now)],
  ["page lapse", (payment) => decidePageLapsed(payment, now)],
  ["void", (payment) => decisions.decideVoid(payment, now, answerBy)],
  ["lapse", (payment) => decisions.decideLapse(payment, now, answerBy)],
  ["accept", (payment) => decideReviewAccepted(payment, now, answerBy)],
  ["reject", (payment) => decideReviewRejected(payment, now, answerBy)],
  [
    "reverse",
    (payment) =>
      payment.state === "authorizing"
        ? decisions.decideReversal(payment, now, answerBy)
        : undefined,
  ],
  ["reversed", (payment) => decisions.decideReversed(payment, now)],
  [
    "unanswered",
    (payment) => decisions.decideUnanswered(payment, payment.attempt?.number ?? 0, now, "recovery"),
  ],
  [
    "repeat",
    (payment) => decisions.decideRepeat(payment, payment.attempt?.number ?? 0, now, answerBy),
  ],
  ...followUps.flatMap((outcome): Move[] => [
    [
      `capture ${outcome.kind}`,
      (payment) =>
        decisions.decideCaptureOutcome(payment, payment.attempts, outcome, now, "recovery"),
    ],
    [
      `void ${outcome.kind}`,
      (payment) => decisions.decideVoidOutcome(payment, payment.attempts, outcome, now, "recovery"),
    ],
    ...[1, 2].map((id): Move => [
      `refund ${outcome.kind}`,
      (payment) =>
        refunds.decideRefundOutcome(payment, id, attemptsOf(payment, id), outcome, now, "recovery"),
    ]),
  ]),
  ...["0.01", undefined].map((amount): Move => [
    "refund",
    (payment) => {
      const id = payment.refunds.length + 1;
      if (id > maxRefunds) return undefined;
      return refunds.decideRefund(
        payment,
        { id, code: undefined, amount, description: "", request: undefined },
        refundSettings,
        now,
      );
    },
  ]),
  ...[1, 2].flatMap((id): Move[] => [
    ["refund cancel", (payment) => refunds.decideRefundCancel(payment, id, refundSettings, now)],
    [
      "refund step",
      (payment) =>
        refunds.decideRefundStep(payment, id, refundSettings, dueOf(payment, id), answerBy),
    ],
    [
      "refund repeat",
      (payment) => refunds.decideRefundRepeat(payment, id, attemptsOf(payment, id), now, answerBy),
    ],
    [
      "refund not done",
      (payment) => refunds.decideRefundNotDone(payment, id, attemptsOf(payment, id), now),
    ],
  ]),
  ["chargeback", (payment) => decideChargeback(payment, { description: "" }, now)],
  ["chargeback credit", (payment) => decideChargebackCredit(payment, now)],
]);

function refundOf(payment: Payment, id: number): Payment["refunds"][number] | undefined {
  return payment.refunds.find((refund) => refund.id === id);
}

function attemptsOf(payment: Payment, id: number): number {
  return refundOf(payment, id)?.attempts ?? 0;
}

function dueOf(payment: Payment, id: number): typeof late {
  return refundOf(payment, id)?.dueAt ?? late;
}

function orderOf(autoCapture: boolean, manualReview: boolean): PaymentOrder {
  const amount = { minor: 3n, currency: "USD" };
  return {
    code: "ord-1",
    orderNumber: undefined,
    amount,
    pricing: priceOrder(amount, "br", early, {
      rateTable: "sandbox-2024",
      taxPolicy: "brazil-cross-border",
      taxPaidBy: "customer",
    }),
    instalments: 1,
    autoCapture,
    manualReview,
    country: "br",
    paymentType: "credit",
    card: { brand: "visa", maskedPan: "411111xxxxxx1111", tokenDigest: undefined },
    customer: bareCustomer,
    ...bareExtras,
  };
}

interface Found {
  readonly states: number;
  readonly edges: ReadonlySet<string>;
  readonly problems: ReadonlySet<string>;
}

function explore(tried: readonly Move[]): Found {
  const edges = new Set<string>();
  const problems = new Set<string>();
  const seen = new Map<string, readonly Balance[]>();
  const settled = new Set<string>();
  const cameFrom = new Map<string, Set<string>>();
  const queue: Payment[] = [];

  const arrive = (
    from: string | undefined,
    change: PaymentChange,
    before: readonly Balance[],
    name: string,
  ): void => {
    const { next } = change.payment;
    const key = keyOf(next);
    const balances = balancesOf(change.entries, before).filter(({ minor }) => minor !== 0n);
    for (const { postings } of change.entries)
      if (!isBalanced(postings)) problems.add(`${name}: an entry does not balance`);
    const known = seen.get(key);
    if (known === undefined) {
      seen.set(key, balances);
      queue.push(next);
      if (isSettled(next)) settled.add(key);
      if (next.captured > next.authorized) problems.add(`${name}: captured exceeds authorized`);
      if (next.refunded > next.captured) problems.add(`${name}: refunded exceeds captured`);
      if ((next.attempt !== undefined) !== isTransient(next.state))
        problems.add(`${name}: an attempt stands in transient states only`);
    } else if (textOf(known) !== textOf(balances))
      problems.add(`${name}: the books of ${key} depend on the way there`);
    if (from === undefined) return;
    const sources = cameFrom.get(key) ?? new Set();
    cameFrom.set(key, sources.add(from));
  };

  /** A refusal is an answer; a failed assertion is a problem. */
  const decided = (payment: Payment, name: string, move: Move[1]): PaymentChange | undefined => {
    try {
      return move(payment);
    } catch (error) {
      if (!(error instanceof ServiceError)) problems.add(`${name}: ${String(error)}`);
      return undefined;
    }
  };

  for (const autoCapture of [true, false]) {
    for (const manualReview of [true, false]) {
      const id = "6925f1c8b7d04e3aa91c5f20d8e6437b10c2f9a4be7d5831" as PaymentId;
      const first = decisions.decideIntention(
        "0a0b0c0d" as MerchantId,
        id,
        orderOf(autoCapture, manualReview),
        early,
        answerBy,
      );
      edges.add("payment received authorization_sent authorizing");
      arrive(undefined, first, [], "intention");
      const page = {
        lapsesAt: laterBy(early, day),
        paymentTypes: "_all",
        instalments: [1, 1],
        redirectUrl: undefined,
        tries: 0,
        declined: undefined,
        refusedCards: [],
      } as const;
      const order = { ...orderOf(autoCapture, manualReview), card: undefined, page };
      const opened = decidePageOpened("0a0b0c0d" as MerchantId, id, order, early);
      edges.add("payment received page_opened opened");
      arrive(undefined, opened, [], "page opened");
    }
  }
  for (let payment = queue.shift(); payment !== undefined; payment = queue.shift()) {
    const from = keyOf(payment);
    for (const [name, move] of tried) {
      const change = decided(payment, name, move);
      if (change === undefined) continue;
      const { next, replaces } = change.payment;
      if (replaces !== payment.version || next.version !== payment.version + 1)
        problems.add(`${name}: a change is one version`);
      if (change.facts.length === 0)
        problems.add(`${name}: a change leaves a history row that tells something`);
      if (paymentMachine.final.includes(payment.state) && next.state !== payment.state)
        problems.add(`${name}: leaves a final state`);
      for (const edge of edgesOf(payment, change)) edges.add(edge);
      arrive(from, change, seen.get(from) ?? [], name);
    }
  }

  // Backwards from the states in which payments may stay: a state that is not reached can never
  // settle.
  const canSettle = new Set(settled);
  const open = [...settled];
  for (let key = open.pop(); key !== undefined; key = open.pop()) {
    for (const source of cameFrom.get(key) ?? []) {
      if (canSettle.has(source)) continue;
      canSettle.add(source);
      open.push(source);
    }
  }
  for (const key of seen.keys()) if (!canSettle.has(key)) problems.add(`dead end: ${key}`);
  return { states: seen.size, edges, problems };
}

function isTransient(state: PaymentState): boolean {
  return (
    state === "authorizing" || state === "capturing" || state === "voiding" || state === "reversing"
  );
}

function isSettled(payment: Payment): boolean {
  return (
    !isTransient(payment.state) &&
    payment.state !== "opened" &&
    payment.state !== "authenticating" &&
    payment.refunds.every(({ state }) => state === "confirmed" || state === "cancelled")
  );
}

/** The parts of a payment that later decisions depend on, without times and numbers of attempts. */
function keyOf(payment: Payment): string {
  const { state, review, attempt, captureBy, authorized, captured, chargeback, order } = payment;
  return textOf([
    state,
    review,
    attempt?.kind,
    attempt?.amount,
    captureBy,
    authorized,
    captured,
    payment.refunds.map((refund) => [refund.state, refund.amount]),
    chargeback?.state,
    chargeback?.amount,
    order.autoCapture,
    order.manualReview,
    order.page?.tries,
    order.page?.refusedCards,
    // Whether the merchant sees it as open.
    order.page === undefined ? undefined : (attempt?.checks ?? 0) > 0,
  ]);
}

function textOf(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    typeof member === "bigint" ? String(member) : member,
  );
}

function edgesOf(before: Payment, { payment: { next }, facts }: PaymentChange): string[] {
  const edges: string[] = [];
  let { state } = before;
  for (const { fact } of facts) {
    if ((paymentFacts as readonly string[]).includes(fact)) {
      const to = paymentMachine.next(state, fact as PaymentFact) ?? "nowhere";
      edges.push(`payment ${state} ${fact} ${to}`);
      if (to !== "nowhere") state = to;
    }
    if (fact.startsWith("chargeback")) {
      edges.push(
        `chargeback ${before.chargeback?.state ?? "none"} ${fact} ${next.chargeback?.state ?? "none"}`,
      );
    }
  }
  for (const refund of next.refunds) {
    const was = refundOf(before, refund.id);
    if (was !== undefined && was.state !== refund.state)
      edges.push(`refund ${was.state} ${facts[0]?.fact ?? ""} ${refund.state}`);
  }
  if (state !== next.state) edges.push(`payment ${before.state} without a fact ${next.state}`);
  return edges;
}

describe("everything that the decisions can make of a payment", () => {
  test("keeps the rules, can come to rest, and uses each row of the machines and no other", (context) => {
    const { states, edges, problems } = explore(moves);
    context.diagnostic(`${states} states, ${edges.size} kinds of edges`);
    assert.deepEqual([...problems], []);
    const rows = [
      ...paymentMachine.rows.map((row) => `payment ${row.join(" ")}`),
      ...refundMachine.rows.map((row) => `refund ${row.join(" ")}`),
      ...chargebackMachine.rows.map((row) => `chargeback ${row.join(" ")}`),
    ];
    assert.deepEqual([...edges].toSorted(), rows.toSorted());
  });

  test("control: a state that nothing leads out of is reported", () => {
    const { problems } = explore(moves.filter(([name]) => name !== "reversed"));
    assert.ok([...problems].some((problem) => problem.startsWith('dead end: ["reversing"')));
  });

  test("control: a decision that captures more than was authorized is reported", () => {
    const tooMuch: Move = [
      "too much",
      (payment) => {
        const change = decisions.decideCaptureOutcome(
          payment,
          payment.attempts,
          { kind: "approved" },
          early,
          "recovery",
        );
        if (change === undefined) return undefined;
        return {
          ...change,
          payment: { ...change.payment, next: { ...change.payment.next, captured: 4n } },
        };
      },
    ];
    assert.ok(explore([...moves, tooMuch]).problems.has("too much: captured exceeds authorized"));
  });
});
