import type { FollowUpOutcome, FollowUpRequest } from "../connectors/connector.ts";
import type { PaymentChange } from "../decisions/steps.ts";
import {
  decideRefundNotDone,
  decideRefundOutcome,
  decideRefundRepeat,
  decideRefundRepeatRefused,
  decideRefundStep,
} from "../decisions/refund-decisions.ts";
import { assert } from "../kernel/assert.ts";
import { type Instant, laterBy } from "../kernel/instant.ts";
import { connectorFor, originalOf } from "../operations/follow-up.ts";
import { handleLateApproval } from "../operations/late-approval.ts";
import type { OperationContext } from "../operations/operation.ts";
import { changePayment } from "../operations/payment-change.ts";
import type { Payment } from "../payment/payment.ts";
import { type Refund, type RefundId, refundReference } from "../payment/refund.ts";

/**
 * Advances a due refund by one step: to pending, to the acquirer, or by resolving its outcome
 * there.
 */
export async function advanceRefund(
  context: OperationContext,
  payment: Payment,
  id: RefundId,
): Promise<Payment> {
  const refund = refundOf(payment, id);
  if (refund.state === "sending") return recover(context, payment, refund);
  const { payment: moved, change } = await changePayment(context, payment, (current) =>
    decideRefundStep(
      current,
      id,
      context.account.settings,
      context.clock.now(),
      context.answerBy(),
    ),
  );
  if (change === undefined || refundOf(moved, id).state !== "sending") return moved;
  return send(context, moved, id);
}

async function send(context: OperationContext, payment: Payment, id: RefundId): Promise<Payment> {
  const refund = refundOf(payment, id);
  const outcome = await connectorFor(context, payment).refund(requestFor(context, payment, refund));
  return applyOutcome(context, payment, refund, outcome);
}

async function recover(
  context: OperationContext,
  payment: Payment,
  refund: Refund,
): Promise<Payment> {
  const connector = connectorFor(context, payment);
  const { capabilities } = connector;
  assert(
    capabilities.answersInquiries || capabilities.repeatsFollowUps,
    "an acquirer answers inquiries or takes a request again",
  );
  assert(refund.answerBy !== undefined, "a refund under way was sent");
  // Before the inquiry, because its answer describes this moment.
  const earlier = {
    answerBy: refund.answerBy,
    mayArriveUntil: laterBy(refund.answerBy, capabilities.lateArrivalMs),
  };
  const conclusive = context.clock.now() >= earlier.mayArriveUntil;
  const mayArrive = conclusive ? undefined : earlier;
  if (!capabilities.answersInquiries) return repeat(context, payment, refund, mayArrive);
  const request = requestFor(context, payment, refund);
  const inquiry = await connector.inquire({ ...request, deadline: context.answerBy() });
  if (inquiry.kind === "found" && inquiry.refunds.includes(request.reference)) {
    return applyOutcome(context, payment, refund, { kind: "approved" });
  }
  if (inquiry.kind !== "unknown" && capabilities.repeatsFollowUps)
    return repeat(context, payment, refund, mayArrive);
  if (inquiry.kind === "found" && conclusive) {
    return applyDecision(context, payment, (current) =>
      decideRefundNotDone(current, refund.id, refund.attempts, context.clock.now()),
    );
  }
  return applyOutcome(context, payment, refund, { kind: "unknown", cause: "refused_to_say" });
}

/** `earlier`: a sending that may still arrive, so a refusal of the repeat is not final. */
async function repeat(
  context: OperationContext,
  payment: Payment,
  refund: Refund,
  earlier: { readonly answerBy: Instant; readonly mayArriveUntil: Instant } | undefined,
): Promise<Payment> {
  const { payment: claimed, change } = await changePayment(context, payment, (current) =>
    decideRefundRepeat(
      current,
      refund.id,
      refund.attempts,
      context.clock.now(),
      context.answerBy(),
    ),
  );
  if (change === undefined) return claimed;
  const repeated = refundOf(claimed, refund.id);
  const outcome = await connectorFor(context, claimed).refund(
    requestFor(context, claimed, repeated),
  );
  if (outcome.kind === "declined" && earlier !== undefined) {
    return applyDecision(context, claimed, (current) =>
      decideRefundRepeatRefused(current, refund.id, refund.attempts, earlier, context.clock.now()),
    );
  }
  return applyOutcome(context, claimed, repeated, outcome);
}

async function applyOutcome(
  context: OperationContext,
  payment: Payment,
  refund: Refund,
  outcome: FollowUpOutcome,
): Promise<Payment> {
  const by = outcome.kind === "unknown" || refund.checks > 0 ? "recovery" : "clock";
  const { id, attempts: attempt } = refund;
  const { payment: settled, change } = await changePayment(context, payment, (current) =>
    decideRefundOutcome(current, id, attempt, outcome, context.clock.now(), by),
  );
  if (change !== undefined || outcome.kind !== "approved") return settled;
  return handleLateApproval(context, payment, { kind: "refund", id, attempt }, by);
}

async function applyDecision(
  context: OperationContext,
  payment: Payment,
  decision: (payment: Payment) => PaymentChange | undefined,
): Promise<Payment> {
  return (await changePayment(context, payment, decision)).payment;
}

function requestFor(context: OperationContext, payment: Payment, refund: Refund): FollowUpRequest {
  assert(refund.answerBy !== undefined, "a refund under way was sent");
  return {
    merchantId: payment.merchantId,
    reference: refundReference(payment.id, refund),
    deadline: refund.answerBy,
    settings: context.account.settings,
    original: originalOf(payment),
    amount: { minor: refund.amount, currency: payment.order.amount.currency },
  };
}

function refundOf(payment: Payment, id: RefundId): Refund {
  const refund = payment.refunds.find((each) => each.id === id);
  assert(refund !== undefined, "refunds are never removed from their payment");
  return refund;
}
