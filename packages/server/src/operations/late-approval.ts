import type { Approval, FollowUpOutcome } from "../connectors/connector.ts";
import {
  decideLateApproval,
  decideLateUndone,
  decideUndoOutcome,
  type LateApproval,
  type LateApprovalDecision,
} from "../decisions/late-approvals.ts";
import { decideMarkForReview, decideRepeat } from "../decisions/payment-decisions.ts";
import { assert } from "../kernel/assert.ts";
import { ServiceError } from "../payment/service-error.ts";
import { type Attempt, attemptReference, type Payment } from "../payment/payment.ts";
import type { FactSource } from "../stores/change.ts";
import { connectorFor, originalOf } from "./follow-up.ts";
import type { OperationContext } from "./operation.ts";
import { changePayment, selectPayment } from "./payment-change.ts";

/**
 * How often a reversal without an answer is sent: repeating it is safe, and nothing repeats it
 * later.
 */
const maxUndoAttempts = 3;

/**
 * Handles an approval whose attempt was no longer under way. If the payment has ended another way,
 * an alarm is raised, and the acquirer's action is undone at once or recorded in the books.
 * Resolves with the payment after that. `sent` is the payment as it was sent. `isKnownLate`: the
 * attempt is known to be over, so the alarm is raised even if the store is unavailable.
 */
export async function handleLateApproval(
  context: OperationContext,
  sent: Payment,
  late: LateApproval,
  by: FactSource,
  approval?: Approval,
  isKnownLate = true,
): Promise<Payment> {
  try {
    const seen = await selectPayment(context, { hash: sent.id });
    let decision: LateApprovalDecision | undefined;
    // Without the epoch: the number of attempts shows whether this attempt was the last.
    const { payment } = await changePayment(
      { store: context.store, change: (decide) => context.change(decide) },
      seen,
      (current) => {
        decision = decideLateApproval(current, late, context.clock.now(), by);
        return decision?.change;
      },
    );
    if (decision === undefined) return payment;
    if (decision.change !== undefined) context.reportLateApproval(payment, late.kind);
    if (decision.remaining === "nothing") return payment;
    if (decision.remaining === "capture") return await undoLateCapture(context, payment, by);
    const isUndone =
      decision.remaining === "authorization" &&
      (await undoAuthorization(context, sent, late.attempt, approval));
    if (decision.change === undefined) {
      if (isUndone) return payment;
      // Recovery inquires again, unless it has ended the attempt meanwhile.
      const after = await selectPayment(context, { hash: sent.id });
      if (after.attempt !== undefined) return after;
      context.reportLateApproval(after, late.kind);
    }
    const number = "id" in late ? late.id : late.attempt;
    const { payment: after } = await changePayment(context, payment, (current) =>
      isUndone
        ? decideLateUndone(current, number, context.clock.now(), by)
        : decideMarkForReview(current, context.clock.now()),
    );
    return after;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    // The store is unavailable: it is unknown whether the books have what the acquirer holds.
    // Nothing is undone until that is known.
    if (isKnownLate) context.reportLateApproval(sent, late.kind);
    deferLateApproval(context, sent, late, by, approval);
    return sent;
  }
}

/**
 * The payment after the outcome of a capture or void was recorded; handles an approval that came
 * late. `sent` holds the attempt.
 */
export async function handleIfLate(
  context: OperationContext,
  sent: Payment,
  recorded: { readonly payment: Payment; readonly superseded: boolean; readonly change: unknown },
  outcome: FollowUpOutcome,
  by: FactSource,
): Promise<Payment> {
  const { attempt } = sent;
  if (recorded.change !== undefined || outcome.kind !== "approved" || attempt === undefined)
    return recorded.payment;
  const { kind, number, amount } = attempt;
  const late: LateApproval =
    kind === "capture"
      ? { kind, attempt: number, amount }
      : { kind: "void", attempt: number, lapsed: kind === "lapse" };
  if (recorded.superseded) return handleLateApproval(context, sent, late, by);
  deferLateApproval(context, sent, late, by);
  return recorded.payment;
}

/**
 * For an approval that could not be committed: recovery inquires again, unless the attempt was no
 * longer under way. If the approval cannot be checked later either, the alarm is raised.
 */
export function deferLateApproval(
  context: OperationContext,
  sent: Payment,
  late: LateApproval,
  by: FactSource,
  approval?: Approval,
): void {
  context.defer(
    () => handleLateApproval(context, sent, late, by, approval, false),
    () => context.reportLateApproval(sent, late.kind),
  );
}

/** Reverses an authorization; true if the acquirer confirms that it holds nothing any more. */
async function undoAuthorization(
  context: OperationContext,
  sent: Payment,
  attempt: number,
  approval: Approval | undefined,
): Promise<boolean> {
  const { merchantId, id, order } = sent;
  const { authorizationCode, acquirerReference } = approval ?? {};
  const original = {
    reference: attemptReference(id, attempt),
    amount: order.amount,
    authorizationCode,
    acquirerReference,
  };
  for (let tries = 0; tries < maxUndoAttempts; tries += 1) {
    const reference = undoReference(sent, attempt);
    const outcome = await connectorFor(context, sent).reverse({
      merchantId,
      reference,
      deadline: context.answerBy(),
      settings: context.account.settings,
      original,
    });
    if (outcome.kind !== "unknown") return outcome.kind === "reversed";
  }
  return false;
}

/**
 * One step of refunding a late capture. Recovery takes the next steps until the acquirer confirms
 * the refund.
 */
export async function undoLateCapture(
  context: OperationContext,
  payment: Payment,
  by: FactSource,
): Promise<Payment> {
  const { attempt } = payment;
  assert(attempt?.kind === "undo", "an undo is recorded before it is sent");
  const { payment: claimed, outcome } = await refundLateCapture(context, payment, attempt);
  const { payment: after } = await changePayment(context, claimed, (current) =>
    decideUndoOutcome(current, attempt.number, outcome, context.clock.now(), by),
  );
  return after;
}

/**
 * Only a positive answer counts: the refund is approved, or the acquirer lists it. If the acquirer
 * reports no more captured than the books have, its report may be late.
 */
async function refundLateCapture(
  context: OperationContext,
  payment: Payment,
  attempt: Attempt,
): Promise<{ readonly payment: Payment; readonly outcome: "done" | "refused" | "open" }> {
  const connector = connectorFor(context, payment);
  const { answersInquiries, repeatsFollowUps } = connector.capabilities;
  const request = {
    merchantId: payment.merchantId,
    reference: undoReference(payment, attempt.number),
    settings: context.account.settings,
    original: originalOf(payment),
    amount: { minor: attempt.amount, currency: payment.order.amount.currency },
  };
  const found = answersInquiries
    ? await connector.inquire({ ...request, deadline: context.answerBy() })
    : undefined;
  if (found?.kind !== "found") return { payment, outcome: "open" };
  if (found.refunds.includes(request.reference)) return { payment, outcome: "done" };
  const wasSent = attempt.answerBy > attempt.sentAt;
  const isReported = found.captured - payment.captured >= attempt.amount;
  if (!isReported || (wasSent && !repeatsFollowUps)) return { payment, outcome: "open" };
  // Committed before it is sent, and by one process only.
  const { payment: claimed, change } = await changePayment(context, payment, (current) =>
    current.version === payment.version
      ? decideRepeat(current, attempt.number, context.clock.now(), context.answerBy())
      : undefined,
  );
  if (change === undefined) return { payment: claimed, outcome: "open" };
  const outcome = await connector.refund({ ...request, deadline: context.answerBy() });
  if (outcome.kind === "unknown") return { payment: claimed, outcome: "open" };
  return { payment: claimed, outcome: outcome.kind === "approved" ? "done" : "refused" };
}

/** A separate reference, the same for each try. */
function undoReference({ id }: Payment, attempt: number): string {
  return `${attemptReference(id, attempt)}-u`;
}
