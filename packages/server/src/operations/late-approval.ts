import type { Approval, FollowUpOutcome } from "../connectors/connector.ts";
import { decideLateApproval, decideLateUndone, type LateApproval, type LateApprovalMet } from "../decisions/late-approvals.ts";
import { decideMarkForReview } from "../decisions/payment-decisions.ts";
import type { Money } from "../kernel/money.ts";
import { ServiceError } from "../kernel/service-error.ts";
import { attemptReference, type Payment } from "../payment/payment.ts";
import type { FactSource } from "../stores/change.ts";
import { connectorFor, originalOf } from "./follow-up.ts";
import type { OperationContext } from "./operation.ts";
import { changePayment, selectPayment } from "./payment-change.ts";

/** How often an undoing without an answer is asked for: it is safe to repeat, and nothing asks again later. */
const undoTries = 3;

/**
 * For an approval whose attempt was no longer under way. Where the payment ended by another way, an alarm is raised, and what the acquirer
 * did is undone at once or taken into the books. Resolves with the payment as it is then. `sent` is the payment as it was sent.
 */
export async function meetLateApproval(
  context: OperationContext,
  sent: Payment,
  late: LateApproval,
  by: FactSource,
  approval?: Approval,
): Promise<Payment> {
  try {
    const seen = await selectPayment(context, { hash: sent.id });
    let met: LateApprovalMet | undefined;
    // Without the epoch: the count of attempts says whether this one was the last.
    const { payment } = await changePayment({ store: context.store, change: (decide) => context.change(decide) }, seen, (current) => {
      met = decideLateApproval(current, late, context.clock.now(), by);
      return met?.change;
    });
    if (met === undefined) return payment;
    if (met.change !== undefined) context.approvalCameLate(payment, late.kind);
    const isUndone = await undo(context, sent, payment, late, met.left, approval);
    if (met.left === "nothing" || (met.change === undefined && isUndone)) return payment;
    if (met.change === undefined) {
      // Recovery asks again, unless it has come to its end meanwhile.
      const after = await selectPayment(context, { hash: sent.id });
      if (after.attempt !== undefined) return after;
      context.approvalCameLate(after, late.kind);
    }
    const number = "id" in late ? late.id : late.attempt;
    const { payment: after } = await changePayment(context, payment, (current) =>
      isUndone ? decideLateUndone(current, number, context.clock.now(), by) : decideMarkForReview(current, context.clock.now()),
    );
    return after;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    // The store is down: what the acquirer holds is not known to be in the books. Nothing is undone without knowing.
    context.approvalCameLate(sent, late.kind);
    return sent;
  }
}

/** The payment after what an acquirer said to a capture or void was recorded; an approval that came late is met. `sent` holds the attempt. */
export async function meetIfLate(
  context: OperationContext,
  sent: Payment,
  recorded: { readonly payment: Payment; readonly superseded: boolean },
  outcome: FollowUpOutcome,
  by: FactSource,
): Promise<Payment> {
  const { attempt } = sent;
  if (!recorded.superseded || outcome.kind !== "approved" || attempt === undefined) return recorded.payment;
  const { kind, number, amount } = attempt;
  const late: LateApproval =
    kind === "capture" ? { kind, attempt: number, amount } : { kind: "void", attempt: number, lapsed: kind === "lapse" };
  return meetLateApproval(context, sent, late, by);
}

/** Whether the acquirer now holds and has captured no more than the books say. */
async function undo(
  context: OperationContext,
  sent: Payment,
  payment: Payment,
  late: LateApproval,
  left: LateApprovalMet["left"],
  approval: Approval | undefined,
): Promise<boolean> {
  if (left === "authorization") {
    const { merchantId, id, order } = sent;
    const { authorizationCode, acquirerReference } = approval ?? {};
    const original = { reference: attemptReference(id, late.attempt), amount: order.amount, authorizationCode, acquirerReference };
    for (let tries = 0; tries < undoTries; tries += 1) {
      const reference = undoReference(sent, late.attempt);
      const { simulator } = context.account.settings;
      const outcome = await connectorFor(context, sent).reverse({
        merchantId,
        reference,
        deadline: context.answerBy(),
        simulator,
        original,
      });
      if (outcome.kind !== "unknown") return outcome.kind === "reversed";
    }
    return false;
  }
  return left === "capture" && giveBackSurplus(context, payment, late.attempt);
}

/** What the acquirer captured beyond what the books say is given back; that there is nothing of it is as good. */
async function giveBackSurplus(context: OperationContext, payment: Payment, attempt: number): Promise<boolean> {
  const connector = connectorFor(context, payment);
  const { merchantId } = payment;
  const request = {
    merchantId,
    reference: undoReference(payment, attempt),
    simulator: context.account.settings.simulator,
    original: originalOf(payment),
  };
  const found = await connector.inquire({ ...request, deadline: context.answerBy() });
  if (found.kind !== "found") return false;
  const amount: Money = { minor: found.captured - payment.captured, currency: payment.order.amount.currency };
  if (amount.minor <= 0n) return true;
  let outcome: FollowUpOutcome = { kind: "unknown", cause: "refused_to_say" };
  const tries = connector.capabilities.repeatsFollowUps ? undoTries : 1;
  for (let time = 0; time < tries && outcome.kind === "unknown"; time += 1) {
    outcome = await connector.refund({ ...request, deadline: context.answerBy(), amount });
  }
  return outcome.kind === "approved";
}

/** Its own, and the same at each try. */
function undoReference({ id }: Payment, attempt: number): string {
  return `${attemptReference(id, attempt)}-u`;
}
