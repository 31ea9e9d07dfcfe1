import type {
  AuthorizeOutcome,
  Decline,
  FollowUpOutcome,
  NotSent,
  Unknown,
} from "../connectors/connector.ts";
import { assert } from "../kernel/assert.ts";
import { scaleOf } from "../kernel/currency.ts";
import type { MerchantId } from "../kernel/ids.ts";
import type { PaymentId } from "../payment/payment-id.ts";
import { type Instant, day, hour, laterBy } from "../kernel/instant.ts";
import { parseAmount } from "../kernel/money.ts";
import { ServiceError } from "../payment/service-error.ts";
import { captureEntries, holdEntries, releaseEntries, saleEntries } from "../ledger/postings.ts";
import type { PaymentFact, PaymentState } from "../payment/payment-machine.ts";
import type { Attempt, DeclineReason, Payment, PaymentOrder, Verdict } from "../payment/payment.ts";
import type { FactSource } from "../stores/change.ts";
import { decideTryDeclined, mayTryAgain, neverAgain } from "./page-decisions.ts";
import {
  advance,
  startAttempt,
  cardUseOf,
  change,
  changed,
  checksBefore,
  isFinal,
  requestDetail,
  notBefore,
  pageUpdate,
  type PaymentChange,
  receivedPayment,
  recheckAfter,
  record,
  settle,
  startAuthorization,
  unanswered,
} from "./steps.ts";

/**
 * Pure decisions about a payment: state, command and time in, a Change or a refusal out. The caller
 * commits the Change; if a concurrent change was committed first, it reads and decides again.
 */

/**
 * The intention, committed before anything is sent: the payment's first version. `answerBy` is the
 * connector's deadline; recovery does not touch the attempt before it. `request`, here and below,
 * is the digest of a request with an Idempotency-Key: stored with the fact, it shows later what the
 * request started.
 */
export function decideIntention(
  merchantId: MerchantId,
  id: PaymentId,
  order: PaymentOrder,
  now: Instant,
  answerBy: Instant,
  request?: string,
): PaymentChange {
  const next = startAuthorization(receivedPayment(merchantId, id, order, now), now, answerBy);
  return {
    ...change(now, next, undefined, [
      record("authorization_sent", 1, "merchant", requestDetail(request)),
    ]),
    ...cardUseOf(order, now),
  };
}

export interface AuthorizeOutcomeOptions {
  /**
   * The attempt that is answered: an answer to an earlier one, which went to another acquirer,
   * changes nothing.
   */
  readonly attempt: number;
  /** Whether the merchant is notified of a final status now. */
  readonly notify: boolean;
  readonly captureWindowDays: number;
}

/**
 * Records the outcome of an authorization or sale. Undefined for a late answer, whose attempt has
 * already ended.
 */
export function decideAuthorizeOutcome(
  payment: Payment,
  outcome: AuthorizeOutcome,
  now: Instant,
  by: FactSource,
  options: AuthorizeOutcomeOptions,
): PaymentChange | undefined {
  const attempt = payment.attempt;
  if (payment.state !== "authorizing" || attempt?.number !== options.attempt) return undefined;
  if (outcome.kind === "unknown") return unanswered(payment, attempt, now, by);

  const fact = authorizeFact(payment, attempt, outcome, now);
  if (fact === "try_declined") return decideTryDeclined(payment, verdictOf(outcome), now, by);
  const amount = fact === "authorization_declined" ? 0n : attempt.amount;
  const next = settle(advance(payment, fact, now), {
    verdict: verdictOf(outcome),
    authorized: amount,
    captured: fact === "sale_approved" ? amount : 0n,
    captureBy:
      outcome.kind === "approved" ? laterBy(now, options.captureWindowDays * day) : undefined,
    review: fact === "authorization_held" ? "waiting" : "none",
  });
  const entries =
    fact === "sale_approved"
      ? saleEntries(next)
      : fact === "authorization_declined"
        ? []
        : holdEntries(next);
  // Merchants are notified of statuses that they can see. A payment that stays PE is not announced
  // (interface 4.2), unless the merchant's request ended without an outcome.
  const kind = isFinal(next.state) ? (options.notify ? "update" : undefined) : recoveryUpdate(by);
  const facts = [record(fact, attempt.number, by)];
  return change(now, next, payment.version, facts, entries, kind ?? pageUpdate(payment, next));
}

/**
 * Recovery announces what it resolves even if the status stays PE: the merchant's request ended
 * without an outcome, and nothing else would report it.
 */
function recoveryUpdate(by: FactSource): "update" | undefined {
  return by === "recovery" ? "update" : undefined;
}

function authorizeFact(
  payment: Payment,
  attempt: Attempt,
  outcome: Exclude<AuthorizeOutcome, Unknown>,
  now: Instant,
): PaymentFact {
  if (outcome.kind !== "approved")
    return mayTryAgain(payment, now) ? "try_declined" : "authorization_declined";
  if (payment.order.manualReview) return "authorization_held";
  return attempt.kind === "sale" ? "sale_approved" : "authorization_approved";
}

/** Declines that do not concern the card: the acquirer, or its connection to the issuer, failed. */
const connectionDeclines: readonly DeclineReason[] = [
  "timeout",
  "no_acquirer_response",
  "acquirer_error",
];

/**
 * Whether the authorization may go to another acquirer: only after a definite refusal, never after
 * an unknown outcome.
 */
export function mayReroute(outcome: AuthorizeOutcome): outcome is NotSent | Decline {
  if (outcome.kind === "not_sent") return true;
  return (
    outcome.kind === "declined" &&
    connectionDeclines.includes(outcome.reason) &&
    outcome.adviceCode !== neverAgain
  );
}

/**
 * Sends the authorization to another acquirer after a definite refusal: a new attempt with a new
 * reference, committed before it is sent. Undefined if the refused attempt is no longer the current
 * one.
 */
export function decideReroute(
  payment: Payment,
  attemptNumber: number,
  outcome: NotSent | Decline,
  connector: string,
  now: Instant,
  answerBy: Instant,
): PaymentChange | undefined {
  const { attempt } = payment;
  if (payment.state !== "authorizing" || attempt?.number !== attemptNumber) return undefined;
  const number = payment.attempts + 1;
  const again: Attempt = {
    ...attempt,
    number,
    sentAt: now,
    answerBy,
    checks: checksBefore(payment),
    recheckAt: recheckAfter(answerBy, 0),
  };
  const next = changed(payment, {
    attempt: again,
    attempts: number,
    authorization: number,
    reroutedTo: connector,
  });
  const cause = outcome.kind === "declined" ? outcome.responseCode : outcome.kind;
  return change(now, next, payment.version, [
    record("authorization_rerouted", number, "merchant", { cause, connector }),
  ]);
}

/**
 * The merchant captures the authorization; `amount` is decimal text, undefined or zero for the full
 * amount.
 */
export function decideCapture(
  payment: Payment | undefined,
  amount: string | undefined,
  settings: { readonly partialCapture: boolean },
  now: Instant,
  answerBy: Instant,
  request?: string,
): PaymentChange {
  if (payment === undefined) throw new ServiceError("payment_not_found");
  refuseCaptureOf(payment.state);
  // The job that voids lapsed authorizations may be late; the window is exact.
  if (payment.captureBy !== undefined && payment.captureBy <= now)
    throw new ServiceError("payment_cancelled");
  const minor = amountToCapture(payment, amount);
  if (minor < payment.authorized && !settings.partialCapture)
    throw new ServiceError("partial_capture_disabled");
  const next = startAttempt(payment, "capture_sent", "capture", minor, now, answerBy);
  return change(now, next, payment.version, [
    record("capture_sent", next.attempts, "merchant", requestDetail(request)),
  ]);
}

function refuseCaptureOf(state: PaymentState): void {
  if (state === "authorized") return;
  if (state === "captured") throw new ServiceError("payment_already_captured");
  if (state === "capturing" || state === "voiding") throw new ServiceError("payment_in_flight");
  if (state === "declined" || state === "voided" || state === "expired")
    throw new ServiceError("payment_cancelled");
  throw new ServiceError("payment_not_capturable");
}

function amountToCapture(payment: Payment, amount: string | undefined): bigint {
  if (amount === undefined) return payment.authorized;
  const minor = parseAmount(amount, scaleOf(payment.order.amount.currency));
  if (minor === undefined || minor > payment.authorized)
    throw new ServiceError("capture_amount_invalid");
  return minor === 0n ? payment.authorized : minor;
}

/** Records the outcome of a capture. Undefined if the attempt is no longer the current one. */
export function decideCaptureOutcome(
  payment: Payment,
  attemptNumber: number,
  outcome: FollowUpOutcome,
  now: Instant,
  by: FactSource,
): PaymentChange | undefined {
  const attempt = payment.attempt;
  if (payment.state !== "capturing" || attempt?.number !== attemptNumber) return undefined;
  if (outcome.kind === "unknown") return unanswered(payment, attempt, now, by);
  if (outcome.kind === "declined") {
    const next = settle(advance(payment, "capture_declined", now), {});
    const note = record("capture_declined", attempt.number, by, {
      responseCode: outcome.responseCode,
    });
    return change(now, next, payment.version, [note], [], recoveryUpdate(by));
  }
  const next = settle(advance(payment, "capture_approved", now), { captured: attempt.amount });
  const entries = captureEntries(next, attempt.amount);
  return change(
    now,
    next,
    payment.version,
    [record("capture_approved", attempt.number, by)],
    entries,
    "update",
  );
}

/** The merchant voids an authorization. */
export function decideVoid(
  payment: Payment | undefined,
  now: Instant,
  answerBy: Instant,
  request?: string,
): PaymentChange {
  if (payment === undefined) throw new ServiceError("payment_not_found");
  const { state } = payment;
  if (
    state === "capturing" ||
    state === "voiding" ||
    state === "authorizing" ||
    state === "reversing"
  ) {
    throw new ServiceError("payment_in_flight");
  }
  if (state !== "authorized" && state !== "in_review")
    throw new ServiceError("payment_not_voidable", { state });
  const next = startAttempt(payment, "void_sent", "void", payment.authorized, now, answerBy);
  return change(now, next, payment.version, [
    record("void_sent", next.attempts, "merchant", requestDetail(request)),
  ]);
}

/**
 * The capture window is over: the authorization is voided. Undefined if nothing lapses (any more).
 */
export function decideLapse(
  payment: Payment,
  now: Instant,
  answerBy: Instant,
): PaymentChange | undefined {
  if (payment.state !== "authorized" && payment.state !== "in_review") return undefined;
  if (payment.captureBy === undefined || payment.captureBy > now) return undefined;
  const next = startAttempt(
    payment,
    "authorization_lapsed",
    "lapse",
    payment.authorized,
    now,
    answerBy,
  );
  return change(now, next, payment.version, [
    record("authorization_lapsed", next.attempts, "clock"),
  ]);
}

/** A lapse that the acquirer declines is retried after this time. */
const lapseRetryMs = hour;

/**
 * Records the outcome of a void, whatever caused it. Undefined if the attempt is no longer the
 * current one.
 */
export function decideVoidOutcome(
  payment: Payment,
  attemptNumber: number,
  outcome: FollowUpOutcome,
  now: Instant,
  by: FactSource,
): PaymentChange | undefined {
  const attempt = payment.attempt;
  if (payment.state !== "voiding" || attempt?.number !== attemptNumber) return undefined;
  if (outcome.kind === "unknown") return unanswered(payment, attempt, now, by);
  if (outcome.kind === "declined") {
    // Back to the state before the void.
    const waits = payment.review === "waiting" || payment.review === "rejected";
    const fact = waits ? "void_declined_in_review" : "void_declined";
    const next = settle(advance(payment, fact, now), {
      review: waits ? "waiting" : payment.review,
      captureBy: attempt.kind === "lapse" ? laterBy(now, lapseRetryMs) : payment.captureBy,
    });
    // The merchant requested neither a lapse nor a reviewer's rejection.
    const isRequested = attempt.kind === "void";
    const note = record(fact, attempt.number, by, { responseCode: outcome.responseCode });
    return change(
      now,
      next,
      payment.version,
      [note],
      [],
      isRequested ? recoveryUpdate(by) : undefined,
    );
  }
  const fact = attempt.kind === "lapse" ? "lapse_approved" : "void_approved";
  const next = settle(advance(payment, fact, now), {});
  return change(
    now,
    next,
    payment.version,
    [record(fact, attempt.number, by)],
    releaseEntries(next),
    "update",
  );
}

/**
 * Recovery claims the right to reverse an authorization whose outcome is unknown. From here on a
 * late approval has no effect (reliability 3.2, W7): it finds another state and is dropped.
 */
export function decideReversal(payment: Payment, now: Instant, answerBy: Instant): PaymentChange {
  const { attempt } = payment;
  assert(
    payment.state === "authorizing" && attempt !== undefined,
    "only an authorization in flight is reversed",
  );
  const started = startAttempt(
    payment,
    "reversal_sent",
    "reverse",
    payment.order.amount.minor,
    now,
    answerBy,
  );
  // A reversal may be sent again at any time, so its attempt keeps the deadline of the
  // authorization.
  const next: Payment = {
    ...started,
    attempt: { ...attempt, ...started.attempt, answerBy: attempt.answerBy },
  };
  const facts = [record("reversal_sent", next.attempts, "recovery")];
  return change(now, next, payment.version, facts, [], pageUpdate(payment, next));
}

/**
 * The acquirer holds nothing any more: the payment is void. Nothing was posted for it, so nothing
 * is released.
 */
export function decideReversed(payment: Payment, now: Instant): PaymentChange | undefined {
  if (payment.state !== "reversing" || payment.attempt === undefined) return undefined;
  const next = settle(advance(payment, "reversal_approved", now), {});
  return change(
    now,
    next,
    payment.version,
    [record("reversal_approved", payment.attempt.number, "recovery")],
    [],
    "update",
  );
}

/** Recovery could not resolve the outcome, or it is too early to trust the answer. */
export function decideUnanswered(
  payment: Payment,
  attemptNumber: number,
  now: Instant,
  by: FactSource,
): PaymentChange | undefined {
  const attempt = payment.attempt;
  return attempt?.number === attemptNumber ? unanswered(payment, attempt, now, by) : undefined;
}

/**
 * Recovery is about to repeat a capture or void under the same reference, which the connector
 * declares safe.
 */
export function decideRepeat(
  payment: Payment,
  attemptNumber: number,
  now: Instant,
  answerBy: Instant,
): PaymentChange | undefined {
  const attempt = payment.attempt;
  if (attempt?.number !== attemptNumber) return undefined;
  const next = changed(payment, {
    attempt: { ...attempt, answerBy, recheckAt: recheckAfter(answerBy, 0) },
  });
  return change(now, next, payment.version, [
    record("attempt_repeated", attempt.number, "recovery"),
  ]);
}

/**
 * The acquirer refused the repeat, but an earlier sending may still arrive until `mayArriveUntil`
 * and be carried out, so the refusal is not final. The attempt gets the deadline of that sending
 * back, because the repeat was answered.
 */
export function decideRepeatRefused(
  payment: Payment,
  attemptNumber: number,
  earlier: { readonly answerBy: Instant; readonly mayArriveUntil: Instant },
  now: Instant,
): PaymentChange | undefined {
  const attempt = payment.attempt;
  if (attempt?.number !== attemptNumber) return undefined;
  const checks = attempt.checks + 1;
  const recheckAt = notBefore(earlier.mayArriveUntil, recheckAfter(now, checks));
  const next = changed(payment, {
    attempt: { ...attempt, answerBy: earlier.answerBy, checks, recheckAt },
  });
  return change(now, next, payment.version, [
    record("attempt_unanswered", attempt.number, "recovery"),
  ]);
}

/** Excludes a payment from all jobs until an operator has reviewed it. */
export function decideMarkForReview(payment: Payment, now: Instant): PaymentChange {
  const next = changed(payment, { needsReview: true });
  return change(now, next, payment.version, [
    record("marked_for_review", payment.attempt?.number, "recovery"),
  ]);
}

function verdictOf(outcome: Exclude<AuthorizeOutcome, Unknown>): Verdict {
  if (outcome.kind === "not_sent") return neverSent;
  if (outcome.kind === "approved") {
    return {
      approved: true,
      authorizationCode: outcome.authorizationCode,
      responseCode: outcome.responseCode,
      reason: "approved",
      adviceCode: undefined,
      acquirerReference: outcome.acquirerReference,
      networkTransactionId: outcome.networkTransactionId,
      refusedBeforeIssuer: false,
    };
  }
  return {
    approved: false,
    authorizationCode: undefined,
    responseCode: outcome.responseCode,
    reason: outcome.reason,
    adviceCode: outcome.adviceCode,
    acquirerReference: undefined,
    networkTransactionId: undefined,
    refusedBeforeIssuer: outcome.refusedBeforeIssuer,
  };
}

/**
 * No acquirer could be reached: a definite refusal, with the code that acquirers use for it (DE 39:
 * switch inoperative).
 */
const neverSent: Verdict = {
  approved: false,
  authorizationCode: undefined,
  responseCode: "91",
  reason: "no_acquirer_response",
  adviceCode: undefined,
  acquirerReference: undefined,
  networkTransactionId: undefined,
  refusedBeforeIssuer: true,
};
