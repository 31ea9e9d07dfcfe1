import { assert } from "../kernel/assert.ts";
import type { Instant } from "../kernel/instant.ts";
import { captureEntries, releaseEntries } from "../ledger/postings.ts";
import type { Attempt, Payment } from "../payment/payment.ts";
import type { RefundId } from "../payment/refund.ts";
import type { FactSource } from "../stores/change.ts";
import { decideMarkForReview, decideUnanswered } from "./payment-decisions.ts";
import { decideRefundFoundDone } from "./refund-decisions.ts";
import {
  advance,
  change,
  changed,
  checksPerHour,
  isFinal,
  type PaymentChange,
  recheckAfter,
  record,
  settle,
} from "./steps.ts";

/**
 * An acquirer's approval of an attempt that has already ended otherwise: another process recorded
 * it as not done, because one of the two clocks was wrong or a process was paused. From then on the
 * acquirer's books and ours differ, so the approval is never dropped.
 */
export type LateApproval =
  | { readonly kind: "authorization"; readonly attempt: number }
  | { readonly kind: "capture"; readonly attempt: number; readonly amount: bigint }
  | { readonly kind: "void"; readonly attempt: number; readonly lapsed: boolean }
  | { readonly kind: "refund"; readonly id: RefundId; readonly attempt: number };

export interface LateApprovalDecision {
  /**
   * Undefined while recovery already reverses the authorization: then the approval is expected and
   * not recorded.
   */
  readonly change: PaymentChange | undefined;
  /**
   * What the acquirer did and the books do not have. `authorization`: to be reversed. `capture`: to
   * be refunded, which this change begins. `nothing`: the books have it now. `unclear`: an operator
   * must review it.
   */
  readonly remaining: "authorization" | "capture" | "nothing" | "unclear";
}

/**
 * Undefined if the approval is not new: its attempt is still under way, or ended with this
 * approval.
 */
export function decideLateApproval(
  payment: Payment,
  late: LateApproval,
  now: Instant,
  by: FactSource,
): LateApprovalDecision | undefined {
  if (late.kind === "refund") return decideLateRefund(payment, late, now, by);
  if (payment.attempt?.number === late.attempt) return undefined;
  const { kind, attempt } = late;
  if (kind === "authorization") return decideLateAuthorization(payment, attempt, now, by);
  return kind === "capture"
    ? decideLateCapture(payment, attempt, late.amount, now, by)
    : decideLateVoid(payment, attempt, late.lapsed, now, by);
}

function decideLateAuthorization(
  payment: Payment,
  attempt: number,
  now: Instant,
  by: FactSource,
): LateApprovalDecision | undefined {
  if (payment.verdict?.approved === true && payment.authorization === attempt) return undefined;
  // Recovery may be about to accept a "not found" from an acquirer that had not processed it yet:
  // the authorization is reversed in any case.
  const isExpected = payment.state === "reversing";
  return {
    change: isExpected ? undefined : noted(payment, attempt, "authorization", now, by),
    remaining: "authorization",
  };
}

function decideLateCapture(
  payment: Payment,
  attempt: number,
  amount: bigint,
  now: Instant,
  by: FactSource,
): LateApprovalDecision | undefined {
  // An approved capture is the last attempt of its payment.
  if (payment.state === "captured" && payment.attempts === attempt) return undefined;
  // The merchant requested it, and the hold is used up: the payment takes the acquirer's state.
  if (payment.state === "authorized") {
    const sent = advance(payment, "capture_sent", now);
    // A restored copy of the database may lack the attempt. It is the last one from now on.
    const attempts = Math.max(payment.attempts, attempt);
    const next = {
      ...settle(asNext(payment, advance(sent, "capture_approved", now)), { captured: amount }),
      attempts,
    };
    const facts = [
      lateFact(attempt, "capture", by),
      record("capture_sent", attempt, by),
      record("capture_approved", attempt, by),
    ];
    return {
      change: change(now, next, payment.version, facts, captureEntries(next, amount), "update"),
      remaining: "nothing",
    };
  }
  if (payment.attempt === undefined && isFinal(payment.state)) {
    const undo: Attempt = {
      kind: "undo",
      number: attempt,
      amount,
      sentAt: now,
      answerBy: now,
      checks: 0,
      recheckAt: recheckAfter(now, 0),
    };
    const next = changed(payment, { attempt: undo });
    return {
      change: change(now, next, payment.version, [lateFact(attempt, "capture", by)]),
      remaining: "capture",
    };
  }
  // A capture or void is under way: its outcome will settle this. Only one attempt is undone at a
  // time.
  const isInFlight = payment.attempt !== undefined && payment.attempt.kind !== "undo";
  return {
    change: noted(payment, attempt, "capture", now, by),
    remaining: isInFlight ? "nothing" : "unclear",
  };
}

function decideLateVoid(
  payment: Payment,
  attempt: number,
  lapsed: boolean,
  now: Instant,
  by: FactSource,
): LateApprovalDecision | undefined {
  const { state } = payment;
  if (state === "voided" || state === "expired" || state === "voiding") return undefined;
  if (state === "authorized" || state === "in_review") {
    const [sentFact, doneFact] = lapsed
      ? (["authorization_lapsed", "lapse_approved"] as const)
      : (["void_sent", "void_approved"] as const);
    const next = settle(
      asNext(payment, advance(advance(payment, sentFact, now), doneFact, now)),
      {},
    );
    const facts = [
      lateFact(attempt, "void", by),
      record(sentFact, attempt, by),
      record(doneFact, attempt, by),
    ];
    return {
      change: change(now, next, payment.version, facts, releaseEntries(next), "update"),
      remaining: "nothing",
    };
  }
  return { change: noted(payment, attempt, "void", now, by), remaining: "unclear" };
}

function decideLateRefund(
  payment: Payment,
  { id, attempt }: Extract<LateApproval, { kind: "refund" }>,
  now: Instant,
  by: FactSource,
): LateApprovalDecision | undefined {
  const refund = payment.refunds.find((each) => each.id === id);
  assert(refund !== undefined, "refunds are never removed from their payment");
  if (refund.attempts === attempt && (refund.state === "sending" || refund.state === "confirmed"))
    return undefined;
  // The refund waits to be sent again, which is not necessary any more.
  const found =
    refund.attempts === attempt ? decideRefundFoundDone(payment, id, now, by) : undefined;
  if (found !== undefined)
    return {
      change: { ...found, facts: [lateFact(id, "refund", by), ...found.facts] },
      remaining: "nothing",
    };
  return { change: noted(payment, id, "refund", now, by), remaining: "unclear" };
}

/** The remainder of a late approval was undone at the acquirer. */
export function decideLateUndone(
  payment: Payment,
  attempt: number,
  now: Instant,
  by: FactSource,
): PaymentChange {
  const open = isBeingUndone(payment, attempt) ? { attempt: undefined } : {};
  return change(now, changed(payment, open), payment.version, [
    record("late_approval_undone", attempt, by),
  ]);
}

/**
 * The acquirer's answer to the undoing of a late capture. `open`: nothing certain. Undefined if it
 * is no longer being undone.
 */
export function decideUndoOutcome(
  payment: Payment,
  attempt: number,
  outcome: "done" | "refused" | "open",
  now: Instant,
  by: FactSource,
): PaymentChange | undefined {
  if (!isBeingUndone(payment, attempt)) return undefined;
  if (outcome === "done") return decideLateUndone(payment, attempt, now, by);
  const isOverdue = (payment.attempt?.checks ?? 0) >= checksPerHour;
  if (outcome === "refused" || isOverdue) return decideMarkForReview(payment, now);
  return decideUnanswered(payment, attempt, now, by);
}

function isBeingUndone({ attempt }: Payment, number: number): boolean {
  return attempt?.kind === "undo" && attempt.number === number;
}

function noted(
  payment: Payment,
  attempt: number,
  of: LateApproval["kind"],
  now: Instant,
  by: FactSource,
): PaymentChange {
  return change(now, changed(payment, {}), payment.version, [lateFact(attempt, of, by)]);
}

function lateFact(
  attempt: number,
  of: LateApproval["kind"],
  by: FactSource,
): ReturnType<typeof record> {
  return record("approval_came_late", attempt, by, { of });
}

/** Two steps of the machine in one change count as one version. */
function asNext(payment: Payment, next: Payment): Payment {
  return { ...next, version: payment.version + 1 };
}
