import { assert } from "../kernel/assert.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { type Instant, hour, laterBy, minute, second } from "../kernel/instant.ts";
import type { JournalEntry } from "../ledger/journal.ts";
import type { NotificationKind } from "../notification/events.ts";
import { type PaymentFact, type PaymentState, paymentMachine } from "../payment/payment-machine.ts";
import { isOpenPage } from "../payment/page.ts";
import type { PaymentId } from "../payment/payment-id.ts";
import type { Attempt, AttemptKind, Payment, PaymentOrder } from "../payment/payment.ts";
import type { Change, FactRecord, FactSource, HistoryFact } from "../stores/change.ts";

/** Building blocks of the decisions about payments. */

/** A change with a payment; every decision returns one. */
export type PaymentChange = Change & { readonly payment: NonNullable<Change["payment"]> };

const firstRechecksMs = [5 * second, 30 * second, 2 * minute];
/**
 * Short, so that all payments are settled within minutes after an acquirer is available again; each
 * check costs a row of history.
 */
const recheckMs = 4 * minute;
/** Number of checks within the first hour. */
export const checksPerHour = firstRechecksMs.length + 14;

/**
 * Time of the next check after `checks` checks: 5 s, 30 s, 2 min, every 4 min for the rest of the
 * first hour, then hourly.
 */
export function recheckAfter(at: Instant, checks: number): Instant {
  return laterBy(at, firstRechecksMs[checks] ?? (checks < checksPerHour ? recheckMs : hour));
}

/**
 * `at`, or the latest of the earlier times if the clock was set back meanwhile: nothing is recorded
 * as ended before it began.
 */
export function notBefore(at: Instant, ...earlier: readonly (Instant | undefined)[]): Instant {
  return earlier.reduce<Instant>(
    (latest, each) => (each !== undefined && each > latest ? each : latest),
    at,
  );
}

/** The only function that changes a payment's state. */
export function advance(payment: Payment, fact: PaymentFact, now: Instant): Payment {
  const state = paymentMachine.next(payment.state, fact);
  assert(state !== undefined, "a payment only moves along a row of the machine");
  const at = notBefore(now, ...timesOf(payment));
  return changed(payment, {
    state,
    statusAt: isFinal(state) ? at : payment.statusAt,
    capturedAt: state === "captured" ? at : payment.capturedAt,
  });
}

/** States in which the merchant sees another status than PE. */
export function isFinal(state: PaymentState): boolean {
  return paymentMachine.final.includes(state);
}

/**
 * The checks that an authorization begins with. A page whose status is pending already begins with
 * one, so that it does not become open (isOpenPage) while its card is authorized.
 */
export function checksBefore(payment: Payment): number {
  const isPending = payment.state === "authenticating" || payment.state === "authorizing";
  return payment.order.page !== undefined && isPending && !isOpenPage(payment) ? 1 : 0;
}

const authorizing: readonly AttemptKind[] = ["authorize", "sale"];

export function startAttempt(
  payment: Payment,
  fact: PaymentFact,
  kind: AttemptKind,
  amount: bigint,
  now: Instant,
  answerBy: Instant,
): Payment {
  assert(amount > 0n, "an attempt moves more than nothing");
  const number = payment.attempts + 1;
  const attempt: Attempt = {
    kind,
    number,
    amount,
    sentAt: now,
    answerBy,
    checks: authorizing.includes(kind) ? checksBefore(payment) : 0,
    recheckAt: recheckAfter(answerBy, 0),
  };
  const authorization = authorizing.includes(kind) ? number : payment.authorization;
  return { ...advance(payment, fact, now), attempt, attempts: number, authorization };
}

/** The payment before its first commit. */
export function receivedPayment(
  merchantId: MerchantId,
  id: PaymentId,
  order: PaymentOrder,
  now: Instant,
): Payment {
  return {
    merchantId,
    id,
    version: 0,
    state: paymentMachine.initial,
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
    attempt: undefined,
    attempts: 0,
    authorization: 1,
    verdict: undefined,
    needsReview: false,
  };
}

/** The payment with the attempt that authorizes its order. */
export function startAuthorization(payment: Payment, now: Instant, answerBy: Instant): Payment {
  const { autoCapture, manualReview, amount } = payment.order;
  const kind: AttemptKind = autoCapture && !manualReview ? "sale" : "authorize";
  return startAttempt(payment, "authorization_sent", kind, amount.minor, now, answerBy);
}

/**
 * A charge counts as use of the stored card from its start, so the card does not expire during the
 * acquirer call, however long that takes.
 */
export function cardUseOf({ card }: PaymentOrder, at: Instant): Pick<PaymentChange, "cardUse"> {
  const tokenDigest = card?.tokenDigest;
  return tokenDigest === undefined ? {} : { cardUse: { tokenDigest, at } };
}

export function settle(
  payment: Payment,
  outcome: Partial<
    Pick<Payment, "verdict" | "authorized" | "captured" | "captureBy" | "review" | "order">
  >,
): Payment {
  const next: Payment = { ...payment, ...outcome, attempt: undefined };
  assert(
    next.captured >= 0n && next.captured <= next.authorized,
    "captured never exceeds authorized",
  );
  return next;
}

export function unanswered(
  payment: Payment,
  attempt: Attempt,
  now: Instant,
  by: FactSource,
): PaymentChange {
  const isCheck = by !== "merchant";
  const checks = isCheck ? attempt.checks + 1 : attempt.checks;
  const next = changed(payment, {
    attempt: {
      ...attempt,
      // A page is open until its first missing answer: that one counts too.
      checks: payment.order.page === undefined ? checks : Math.max(checks, 1),
      recheckAt: recheckAfter(now, checks),
    },
  });
  const facts = [record("attempt_unanswered", attempt.number, by)];
  return change(now, next, payment.version, facts, [], pageUpdate(payment, next));
}

/**
 * The merchant of a page is notified when its status changes from open to pending or back. While
 * its cards are tried and declined, the status stays open.
 */
export function pageUpdate(before: Payment, next: Payment): "update" | undefined {
  return isOpenPage(before) === isOpenPage(next) ? undefined : "update";
}

export function changed(payment: Payment, fields: Partial<Payment>): Payment {
  return { ...payment, ...fields, version: payment.version + 1 };
}

export function record(
  fact: HistoryFact,
  attempt: number | undefined,
  by: FactSource,
  detail: FactRecord["detail"] = {},
): FactRecord {
  return { fact, attempt, by, detail };
}

/**
 * Detail of a fact that a request with an idempotency key caused, by which its effect can be found
 * later.
 */
export function requestDetail(request: string | undefined): FactRecord["detail"] {
  return request === undefined ? {} : { request };
}

/** The times of all announced events of a payment. */
function timesOf({
  createdAt,
  statusAt,
  capturedAt,
  chargeback,
  refunds,
}: Payment): (Instant | undefined)[] {
  const ofRefunds = refunds.flatMap(({ requestedAt, pendingAt, confirmedAt, cancelledAt }) => [
    requestedAt,
    pendingAt,
    confirmedAt,
    cancelledAt,
  ]);
  return [
    createdAt,
    statusAt,
    capturedAt,
    chargeback?.openedAt,
    chargeback?.creditedAt,
    ...ofRefunds,
  ];
}

/** A change of one payment, with its journal entries and notification. */
export function change(
  now: Instant,
  next: Payment,
  replaces: number | undefined,
  facts: readonly FactRecord[],
  entries: readonly JournalEntry[] = [],
  notification?: NotificationKind,
): PaymentChange {
  const notifications =
    notification === undefined ? [] : [{ kind: notification, paymentId: next.id }];
  const at = notBefore(now, ...timesOf(next));
  return {
    merchantId: next.merchantId,
    at,
    payment: { next, replaces },
    facts,
    entries,
    notifications,
  };
}
