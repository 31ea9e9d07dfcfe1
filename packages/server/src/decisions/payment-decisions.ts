import { assert } from "../kernel/assert.ts";
import type { MerchantId, PaymentId, TokenDigest } from "../kernel/ids.ts";
import { type Instant, hour, laterBy, minute, second } from "../kernel/instant.ts";
import { ServiceError } from "../kernel/service-error.ts";
import { scaleOf } from "../kernel/currency.ts";
import { parseAmount } from "../kernel/money.ts";
import { captureEntries, holdEntries, releaseEntries, saleEntries } from "../ledger/postings.ts";
import type { JournalEntry } from "../ledger/journal.ts";
import type { Notification } from "../outbox/events.ts";
import type { Change, FactRecord } from "../stores/change.ts";
import type { AuthorizeOutcome, FollowUpOutcome } from "../connectors/connector.ts";
import { type PaymentFact, type PaymentNote, type PaymentState, paymentMachine } from "../payment/payment-machine.ts";
import type { Attempt, AttemptKind, Payment, PaymentOrder, Verdict } from "../payment/payment.ts";

/**
 * Pure decisions about a payment: state, command and time in, a Change or a refusal out. Whoever runs them commits the Change
 * and, when someone else was faster, reads again and decides again.
 */

/** A change that carries a payment, as every change of this file does. */
export type PaymentChange = Change & { readonly payment: NonNullable<Change["payment"]> };

/** Who found out: a request of the merchant, or the recovery job. */
export type Finder = FactRecord["by"];

const recheckDelaysMs = [5 * second, 30 * second, 2 * minute, 10 * minute, hour];

/** When recovery looks again after `checks` looks: 5 s, 30 s, 2 min, 10 min, 1 h, then hourly. */
export function recheckAfter(at: Instant, checks: number): Instant {
  return laterBy(at, recheckDelaysMs[Math.min(checks, recheckDelaysMs.length - 1)] ?? hour);
}

/**
 * The intention, committed before anything is sent: the payment's first version. `answerBy` is when the connector gives up;
 * recovery leaves the attempt alone until then.
 */
export function decideIntention(
  merchantId: MerchantId,
  id: PaymentId,
  order: PaymentOrder,
  now: Instant,
  answerBy: Instant,
): PaymentChange {
  const kind: AttemptKind = order.autoCapture && !order.manualReview ? "sale" : "authorize";
  const received: Payment = {
    merchantId,
    id,
    version: 0,
    state: paymentMachine.initial,
    createdAt: now,
    statusAt: undefined,
    capturedAt: undefined,
    order,
    authorized: 0n,
    captured: 0n,
    attempt: undefined,
    attempts: 0,
    verdict: undefined,
    needsReview: false,
  };
  const next = begin(received, "authorization_sent", kind, order.amount.minor, now, answerBy);
  return change(now, next, undefined, [record("authorization_sent", 1, "merchant")]);
}

/** What the acquirer said to the authorization or sale. A late answer finds the attempt gone and changes nothing: undefined. */
export function decideAuthorizeOutcome(
  payment: Payment,
  outcome: AuthorizeOutcome,
  now: Instant,
  by: Finder,
  options: { readonly notify: boolean; readonly cardUsed: TokenDigest | undefined },
): PaymentChange | undefined {
  const attempt = payment.attempt;
  if (payment.state !== "authorizing" || attempt === undefined) return undefined;
  if (outcome.kind === "unknown") return unanswered(payment, attempt, now, by);

  const fact = authorizeFact(payment, attempt, outcome);
  const amount = fact === "authorization_declined" ? 0n : attempt.amount;
  const next = settle(advance(payment, fact, now), {
    verdict: verdictOf(outcome),
    authorized: amount,
    captured: fact === "sale_approved" ? amount : 0n,
  });
  const entries = fact === "sale_approved" ? saleEntries(next) : fact === "authorization_declined" ? [] : holdEntries(next);
  return {
    ...change(now, next, payment.version, [record(fact, attempt.number, by)], entries, options.notify),
    ...(options.cardUsed === undefined ? {} : { cardUse: { tokenDigest: options.cardUsed, at: now } }),
  };
}

function authorizeFact(payment: Payment, attempt: Attempt, outcome: { readonly kind: "approved" | "declined" }): PaymentFact {
  if (outcome.kind === "declined") return "authorization_declined";
  if (payment.order.manualReview) return "authorization_held";
  return attempt.kind === "sale" ? "sale_approved" : "authorization_approved";
}

/** The merchant asks to take what is held; `amount` is decimal text, undefined or zero for everything. */
export function decideCapture(
  payment: Payment | undefined,
  amount: string | undefined,
  settings: { readonly partialCapture: boolean },
  now: Instant,
  answerBy: Instant,
): PaymentChange {
  if (payment === undefined) throw new ServiceError("payment_not_found");
  refuseCaptureOf(payment.state);
  const minor = amountToCapture(payment, amount);
  if (minor < payment.authorized && !settings.partialCapture) throw new ServiceError("partial_capture_disabled");
  const next = begin(payment, "capture_sent", "capture", minor, now, answerBy);
  return change(now, next, payment.version, [record("capture_sent", next.attempts, "merchant")]);
}

function refuseCaptureOf(state: PaymentState): void {
  if (state === "authorized") return;
  if (state === "captured") throw new ServiceError("payment_already_captured");
  if (state === "capturing" || state === "voiding") throw new ServiceError("payment_in_flight");
  if (state === "declined" || state === "voided" || state === "expired") throw new ServiceError("payment_cancelled");
  throw new ServiceError("payment_not_capturable");
}

function amountToCapture(payment: Payment, amount: string | undefined): bigint {
  if (amount === undefined) return payment.authorized;
  const minor = parseAmount(amount, scaleOf(payment.order.amount.currency));
  if (minor === undefined || minor > payment.authorized) throw new ServiceError("capture_amount_invalid");
  return minor === 0n ? payment.authorized : minor;
}

/** What the acquirer said to the capture. Undefined when the attempt is no longer the one that is answered. */
export function decideCaptureOutcome(
  payment: Payment,
  attemptNumber: number,
  outcome: FollowUpOutcome,
  now: Instant,
  by: Finder,
): PaymentChange | undefined {
  const attempt = payment.attempt;
  if (payment.state !== "capturing" || attempt?.number !== attemptNumber) return undefined;
  if (outcome.kind === "unknown") return unanswered(payment, attempt, now, by);
  if (outcome.kind === "declined") {
    const next = settle(advance(payment, "capture_declined", now), {});
    return change(now, next, payment.version, [record("capture_declined", attempt.number, by, { responseCode: outcome.responseCode })]);
  }
  const next = settle(advance(payment, "capture_approved", now), { captured: attempt.amount });
  const entries = captureEntries(next, attempt.amount);
  return change(now, next, payment.version, [record("capture_approved", attempt.number, by)], entries, true);
}

/** The merchant gives an authorization up. */
export function decideVoid(payment: Payment | undefined, now: Instant, answerBy: Instant): PaymentChange {
  if (payment === undefined) throw new ServiceError("payment_not_found");
  const { state } = payment;
  if (state === "capturing" || state === "voiding" || state === "authorizing" || state === "reversing") {
    throw new ServiceError("payment_in_flight");
  }
  if (state !== "authorized" && state !== "in_review") throw new ServiceError("payment_not_voidable", { state });
  const next = begin(payment, "void_sent", "void", payment.authorized, now, answerBy);
  return change(now, next, payment.version, [record("void_sent", next.attempts, "merchant")]);
}

/** What the acquirer said to the void. Undefined when the attempt is no longer the one that is answered. */
export function decideVoidOutcome(
  payment: Payment,
  attemptNumber: number,
  outcome: FollowUpOutcome,
  now: Instant,
  by: Finder,
): PaymentChange | undefined {
  const attempt = payment.attempt;
  if (payment.state !== "voiding" || attempt?.number !== attemptNumber) return undefined;
  if (outcome.kind === "unknown") return unanswered(payment, attempt, now, by);
  if (outcome.kind === "declined") {
    // Back to where it was: only a reviewed payment is voided out of review.
    const fact = payment.order.manualReview ? "void_declined_in_review" : "void_declined";
    const next = settle(advance(payment, fact, now), {});
    return change(now, next, payment.version, [record(fact, attempt.number, by, { responseCode: outcome.responseCode })]);
  }
  const next = settle(advance(payment, "void_approved", now), {});
  return change(now, next, payment.version, [record("void_approved", attempt.number, by)], releaseEntries(next), true);
}

/**
 * Recovery claims the right to undo an authorization whose outcome nobody knows. From here on no late approval counts
 * (reliability 3.2, W7): the answer finds another state and is dropped.
 */
export function decideReversal(payment: Payment, now: Instant, answerBy: Instant): PaymentChange {
  assert(payment.state === "authorizing", "only an authorization in flight is reversed");
  const next = begin(payment, "reversal_sent", "reverse", payment.order.amount.minor, now, answerBy);
  return change(now, next, payment.version, [record("reversal_sent", next.attempts, "recovery")]);
}

/** The acquirer holds nothing any more: the payment is void. Nothing was posted for it, so nothing is released. */
export function decideReversed(payment: Payment, now: Instant): PaymentChange | undefined {
  if (payment.state !== "reversing" || payment.attempt === undefined) return undefined;
  const next = settle(advance(payment, "reversal_approved", now), {});
  return change(now, next, payment.version, [record("reversal_approved", payment.attempt.number, "recovery")], [], true);
}

/** Recovery could not find out, or it is too early to believe what it heard. */
export function decideUnanswered(payment: Payment, attemptNumber: number, now: Instant, by: Finder): PaymentChange | undefined {
  const attempt = payment.attempt;
  return attempt?.number === attemptNumber ? unanswered(payment, attempt, now, by) : undefined;
}

/** Recovery is about to send a capture or void again under the same reference, which the connector declares safe. */
export function decideRepeat(payment: Payment, attemptNumber: number, now: Instant, answerBy: Instant): PaymentChange | undefined {
  const attempt = payment.attempt;
  if (attempt?.number !== attemptNumber) return undefined;
  const next = changed(payment, { attempt: { ...attempt, recheckAt: recheckAfter(answerBy, 0) } });
  return change(now, next, payment.version, [record("attempt_repeated", attempt.number, "recovery")]);
}

/** Takes a payment out of every job's hands until people have looked. */
export function decideMarkForReview(payment: Payment, now: Instant): PaymentChange {
  const next = changed(payment, { needsReview: true });
  return change(now, next, payment.version, [record("marked_for_review", payment.attempt?.number, "recovery")]);
}

/** Alone gives a payment a new state. */
function advance(payment: Payment, fact: PaymentFact, at: Instant): Payment {
  const state = paymentMachine.next(payment.state, fact);
  assert(state !== undefined, "a payment only moves along a row of the machine");
  return changed(payment, {
    state,
    statusAt: isFinal(state) ? at : payment.statusAt,
    capturedAt: state === "captured" ? at : payment.capturedAt,
  });
}

/** The states after which merchants see another status than PE. */
function isFinal(state: PaymentState): boolean {
  return paymentMachine.final.includes(state);
}

function begin(payment: Payment, fact: PaymentFact, kind: AttemptKind, amount: bigint, now: Instant, answerBy: Instant): Payment {
  assert(amount > 0n, "an attempt moves more than nothing");
  const number = payment.attempts + 1;
  const attempt: Attempt = { kind, number, amount, sentAt: now, checks: 0, recheckAt: recheckAfter(answerBy, 0) };
  return { ...advance(payment, fact, now), attempt, attempts: number };
}

function settle(payment: Payment, outcome: Partial<Pick<Payment, "verdict" | "authorized" | "captured">>): Payment {
  const next: Payment = { ...payment, ...outcome, attempt: undefined };
  assert(next.captured >= 0n && next.captured <= next.authorized, "captured never exceeds authorized");
  return next;
}

function unanswered(payment: Payment, attempt: Attempt, now: Instant, by: Finder): PaymentChange {
  const checks = by === "recovery" ? attempt.checks + 1 : attempt.checks;
  const next = changed(payment, { attempt: { ...attempt, checks, recheckAt: recheckAfter(now, checks) } });
  return change(now, next, payment.version, [record("attempt_unanswered", attempt.number, by)]);
}

function changed(payment: Payment, fields: Partial<Payment>): Payment {
  return { ...payment, ...fields, version: payment.version + 1 };
}

function verdictOf(outcome: Exclude<AuthorizeOutcome, { readonly kind: "unknown" }>): Verdict {
  if (outcome.kind === "approved") {
    return {
      approved: true,
      authorizationCode: outcome.authorizationCode,
      responseCode: outcome.responseCode,
      reason: "approved",
      adviceCode: undefined,
      acquirerReference: outcome.acquirerReference,
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
    refusedBeforeIssuer: outcome.refusedBeforeIssuer,
  };
}

function record(fact: PaymentFact | PaymentNote, attempt: number | undefined, by: Finder, detail: FactRecord["detail"] = {}): FactRecord {
  return { fact, attempt, by, detail };
}

function change(
  at: Instant,
  next: Payment,
  replaces: number | undefined,
  facts: readonly FactRecord[],
  entries: readonly JournalEntry[] = [],
  notify = false,
): PaymentChange {
  // Merchants are told of a status that they see: a payment that stays PE is no news (interface 4.2).
  const notifications: readonly Notification[] = notify && isFinal(next.state) ? [{ kind: "update", paymentId: next.id }] : [];
  return { merchantId: next.merchantId, at, payment: { next, replaces }, facts, entries, notifications };
}
