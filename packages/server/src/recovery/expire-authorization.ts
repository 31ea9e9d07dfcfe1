import { decideLapse, decideVoidOutcome } from "../decisions/payment-decisions.ts";
import { connectorFor, followUpRequest } from "../operations/follow-up.ts";
import { handleIfLate } from "../operations/late-approval.ts";
import type { OperationContext } from "../operations/operation.ts";
import { changePayment } from "../operations/payment-change.ts";
import type { Payment } from "../payment/payment.ts";

/**
 * Voids an authorization whose capture window is over, at the acquirer too. If the outcome is
 * unknown, recovery resolves it.
 */
export async function expireAuthorization(
  context: OperationContext,
  payment: Payment,
): Promise<Payment> {
  const { payment: sent, change } = await changePayment(context, payment, (current) =>
    decideLapse(current, context.clock.now(), context.answerBy()),
  );
  if (change === undefined) return sent;
  const request = followUpRequest(context.account, sent);
  const outcome = await connectorFor(context, sent).void(request);
  const settled = await changePayment(context, sent, (current) =>
    decideVoidOutcome(current, request.attemptNumber, outcome, context.clock.now(), "clock"),
  );
  return handleIfLate(
    context,
    sent,
    { ...settled, superseded: settled.change === undefined },
    outcome,
    "clock",
  );
}
