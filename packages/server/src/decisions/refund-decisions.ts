import type { FollowUpOutcome } from "../connectors/connector.ts";
import { assert } from "../kernel/assert.ts";
import { addDays } from "../kernel/calendar.ts";
import { scaleOf } from "../kernel/currency.ts";
import { type Instant, laterBy, minute } from "../kernel/instant.ts";
import { parseAmount } from "../kernel/money.ts";
import { ServiceError } from "../payment/service-error.ts";
import { refundEntries } from "../ledger/postings.ts";
import type { Payment } from "../payment/payment.ts";
import { type Refund, type RefundFact, type RefundId, refundMachine } from "../payment/refund.ts";
import type { FactSource } from "../stores/change.ts";
import {
  change,
  changed,
  requestDetail,
  notBefore,
  type PaymentChange,
  recheckAfter,
  record,
} from "./steps.ts";

/**
 * Each change of a payment writes all of its refunds: this limits the size of a payment with many
 * one-cent refunds.
 */
const maxRefunds = 100;

/** The account settings for refunds. */
export interface RefundSettings {
  /** Days after the capture within which a refund may be requested; 0: no limit. */
  readonly refundWindowDays: number;
  /** Minutes that a refund stays requested, and then pending, before it is sent. */
  readonly refundRequestedMinutes: number;
  readonly refundPendingMinutes: number;
  /** true: only a requested refund can be cancelled, not a pending one. */
  readonly strictRefundCancel: boolean;
}

export interface RefundCommand {
  readonly id: RefundId;
  readonly code: string | undefined;
  /** Decimal text in the payment's currency; undefined: the rest. */
  readonly amount: string | undefined;
  readonly description: string;
  /** The digest of the request, if it had an Idempotency-Key. */
  readonly request: string | undefined;
}

/** The refund that this request has already created. */
export function refundOfRequest(payment: Payment, request: string | undefined): Refund | undefined {
  return request === undefined
    ? undefined
    : payment.refunds.find((refund) => refund.request === request);
}

/**
 * The merchant requests a refund. The payment's version guards the sum: two concurrent refunds
 * cannot both use the same remaining amount.
 */
export function decideRefund(
  payment: Payment,
  command: RefundCommand,
  settings: RefundSettings,
  now: Instant,
): PaymentChange {
  // Checked before other refusals: a refund with this code exists, and a client that lost the
  // answer must learn that.
  if (command.code !== undefined && payment.refunds.some(({ code }) => code === command.code))
    throw new ServiceError("refund_code_taken");
  if (payment.state !== "captured" || payment.capturedAt === undefined) {
    throw new ServiceError("payment_not_refundable", { state: payment.state });
  }
  // The issuer has already taken the money back: a refund would pay it twice.
  if (payment.chargeback?.state === "opened") throw new ServiceError("payment_charged_back");
  const { refundWindowDays } = settings;
  if (refundWindowDays > 0 && now > addDays(payment.capturedAt, refundWindowDays))
    throw new ServiceError("refund_window_over");
  if (payment.refunds.length >= maxRefunds) throw new ServiceError("refund_limit_reached");
  const amount = amountToRefund(payment, command.amount);
  const refund: Refund = {
    id: command.id,
    code: command.code,
    state: refundMachine.initial,
    amount,
    description: command.description,
    request: command.request,
    requestedAt: notBefore(now, payment.capturedAt),
    pendingAt: undefined,
    confirmedAt: undefined,
    cancelledAt: undefined,
    attempts: 0,
    sentAt: undefined,
    answerBy: undefined,
    checks: 0,
    dueAt: laterBy(now, settings.refundRequestedMinutes * minute),
  };
  const next = withRefunds(payment, [...payment.refunds, refund]);
  return change(now, next, payment.version, [record("refund_requested", refund.id, "merchant")]);
}

function amountToRefund(payment: Payment, amount: string | undefined): bigint {
  const refundable = payment.captured - payment.refunded;
  if (refundable === 0n) throw new ServiceError("payment_already_refunded");
  if (amount === undefined) return refundable;
  const minor = parseAmount(amount, scaleOf(payment.order.amount.currency));
  if (minor === undefined || minor === 0n) throw new ServiceError("refund_amount_invalid");
  if (minor > refundable) throw new ServiceError("refund_amount_too_high");
  return minor;
}

/** The merchant cancels a refund before it is sent. */
export function decideRefundCancel(
  payment: Payment,
  id: RefundId,
  settings: RefundSettings,
  now: Instant,
  request?: string,
): PaymentChange {
  const refund = payment.refunds.find((each) => each.id === id);
  if (refund === undefined) throw new ServiceError("refund_not_found");
  const cancellable =
    refund.state === "requested" || (refund.state === "pending" && !settings.strictRefundCancel);
  if (!cancellable) throw new ServiceError("refund_not_cancellable", { state: refund.state });
  const next = withRefund(
    payment,
    moved(refund, "refund_cancelled", { cancelledAt: now, dueAt: undefined }),
  );
  return change(now, next, payment.version, [
    record("refund_cancelled", id, "merchant", requestDetail(request)),
  ]);
}

/** Advances a due refund: to pending, then to sending. Undefined if it is not due (any more). */
export function decideRefundStep(
  payment: Payment,
  id: RefundId,
  settings: RefundSettings,
  now: Instant,
  answerBy: Instant,
): PaymentChange | undefined {
  const refund = payment.refunds.find((each) => each.id === id);
  if (refund?.dueAt === undefined || refund.dueAt > now) return undefined;
  if (refund.state === "requested") {
    const dueAt = laterBy(now, settings.refundPendingMinutes * minute);
    const next = withRefund(payment, moved(refund, "refund_queued", { pendingAt: now, dueAt }));
    return change(now, next, payment.version, [record("refund_queued", id, "clock")], [], "refund");
  }
  if (refund.state !== "pending") return undefined;
  const sent = moved(refund, "refund_sent", {
    attempts: refund.attempts + 1,
    sentAt: now,
    answerBy,
    checks: 0,
    dueAt: recheckAfter(answerBy, 0),
  });
  return change(now, withRefund(payment, sent), payment.version, [
    record("refund_sent", id, "clock"),
  ]);
}

/**
 * Records the outcome of a refund's attempt. Undefined if that attempt is no longer the current
 * one.
 */
export function decideRefundOutcome(
  payment: Payment,
  id: RefundId,
  attempt: number,
  outcome: FollowUpOutcome,
  now: Instant,
  by: FactSource,
): PaymentChange | undefined {
  const refund = refundInFlight(payment, id, attempt);
  if (refund === undefined) return undefined;
  if (outcome.kind === "unknown") {
    const checks = refund.checks + 1;
    const next = withRefund(payment, {
      ...refund,
      checks,
      dueAt: recheckAfter(now, refund.checks),
    });
    return change(now, next, payment.version, [record("attempt_unanswered", id, by)]);
  }
  if (outcome.kind === "declined") {
    const next = withRefund(
      payment,
      moved(refund, "refund_declined", { cancelledAt: now, dueAt: undefined }),
    );
    const fact = record("refund_declined", id, by, { responseCode: outcome.responseCode });
    return change(now, next, payment.version, [fact], [], "refund");
  }
  const next = withRefund(
    payment,
    moved(refund, "refund_approved", { confirmedAt: now, dueAt: undefined }),
  );
  const entries = refundEntries(payment, returned(payment), refund.amount);
  return change(now, next, payment.version, [record("refund_approved", id, by)], entries, "refund");
}

/**
 * Recovery is about to repeat a refund under the same reference, which the connector declares safe.
 */
export function decideRefundRepeat(
  payment: Payment,
  id: RefundId,
  attempt: number,
  now: Instant,
  answerBy: Instant,
): PaymentChange | undefined {
  const refund = refundInFlight(payment, id, attempt);
  if (refund === undefined) return undefined;
  const next = withRefund(payment, { ...refund, answerBy, dueAt: recheckAfter(answerBy, 0) });
  return change(now, next, payment.version, [record("attempt_repeated", id, "recovery")]);
}

/**
 * Like decideRepeatRefused for payments: the acquirer refused the repeat of a refund, and an
 * earlier sending may still arrive.
 */
export function decideRefundRepeatRefused(
  payment: Payment,
  id: RefundId,
  attempt: number,
  earlier: { readonly answerBy: Instant; readonly mayArriveUntil: Instant },
  now: Instant,
): PaymentChange | undefined {
  const refund = refundInFlight(payment, id, attempt);
  if (refund === undefined) return undefined;
  const checks = refund.checks + 1;
  const dueAt = notBefore(earlier.mayArriveUntil, recheckAfter(now, checks));
  const next = withRefund(payment, { ...refund, answerBy: earlier.answerBy, checks, dueAt });
  return change(now, next, payment.version, [record("attempt_unanswered", id, "recovery")]);
}

/**
 * The attempt that recovery recorded as not done was done, and the refund waits to be sent again.
 * Undefined if it does not wait any more.
 */
export function decideRefundFoundDone(
  payment: Payment,
  id: RefundId,
  now: Instant,
  by: FactSource,
): PaymentChange | undefined {
  const refund = payment.refunds.find((each) => each.id === id);
  if (refund?.state !== "pending") return undefined;
  const sent = moved(refund, "refund_sent", {});
  const next = withRefund(
    payment,
    moved(sent, "refund_approved", { confirmedAt: now, dueAt: undefined }),
  );
  const facts = [record("refund_sent", id, by), record("refund_approved", id, by)];
  return change(
    now,
    next,
    payment.version,
    facts,
    refundEntries(payment, returned(payment), refund.amount),
    "refund",
  );
}

/**
 * Recovery is certain that the attempt was not carried out and cannot be any more: the refund is
 * sent again under a new reference.
 */
export function decideRefundNotDone(
  payment: Payment,
  id: RefundId,
  attempt: number,
  now: Instant,
): PaymentChange | undefined {
  const refund = refundInFlight(payment, id, attempt);
  if (refund === undefined) return undefined;
  const next = withRefund(payment, moved(refund, "refund_not_done", { dueAt: now }));
  return change(now, next, payment.version, [record("refund_not_done", id, "recovery")]);
}

/**
 * The amount that has already left the merchant's account, in minor units: confirmed refunds and a
 * chargeback that was not credited.
 */
export function returned({ refunds, chargeback }: Payment): bigint {
  const confirmed = refunds.reduce(
    (sum, { state, amount }) => (state === "confirmed" ? sum + amount : sum),
    0n,
  );
  return chargeback?.state === "opened" ? confirmed + chargeback.amount : confirmed;
}

function refundInFlight(payment: Payment, id: RefundId, attempt: number): Refund | undefined {
  const refund = payment.refunds.find((each) => each.id === id);
  return refund?.state === "sending" && refund.attempts === attempt ? refund : undefined;
}

function moved(refund: Refund, fact: RefundFact, fields: Partial<Refund>): Refund {
  const state = refundMachine.next(refund.state, fact);
  assert(state !== undefined, "a refund only moves along a row of its machine");
  const next = { ...refund, ...fields, state };
  const { requestedAt } = refund;
  const pendingAt =
    next.pendingAt === undefined ? undefined : notBefore(next.pendingAt, requestedAt);
  const since = (at: Instant | undefined): Instant | undefined =>
    at === undefined ? undefined : notBefore(at, requestedAt, pendingAt);
  return {
    ...next,
    pendingAt,
    confirmedAt: since(next.confirmedAt),
    cancelledAt: since(next.cancelledAt),
  };
}

function withRefund(payment: Payment, refund: Refund): Payment {
  return withRefunds(
    payment,
    payment.refunds.map((each) => (each.id === refund.id ? refund : each)),
  );
}

function withRefunds(payment: Payment, refunds: readonly Refund[]): Payment {
  const refunded = refunds.reduce(
    (sum, { state, amount }) => (state === "cancelled" ? sum : sum + amount),
    0n,
  );
  const disputed = payment.chargeback?.state === "opened" ? payment.chargeback.amount : 0n;
  assert(
    refunded + disputed <= payment.captured,
    "refunded and charged back never exceed captured",
  );
  return changed(payment, { refunds, refunded });
}
