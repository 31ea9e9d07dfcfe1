import { decideCaptureOutcome, decideVoidOutcome } from "../decisions/payment-decisions.ts";
import { decideReviewAccepted, decideReviewRejected } from "../decisions/review-decisions.ts";
import type { Payment } from "../payment/payment.ts";
import type { PaymentSelector } from "./direct-input.ts";
import { connectorFor, followUpRequest } from "./follow-up.ts";
import { handleIfLate } from "./late-approval.ts";
import { defineOperation } from "./operation.ts";
import { changePayment, recordPayment, selectPayment } from "./payment-change.ts";

/** The reviewer accepts. A payment that was requested as a sale is captured now. */
export const acceptReview = defineOperation<PaymentSelector, Payment>({
  name: "accept_review",
  errors: ["payment_not_found", "payment_not_in_review", "payment_in_flight"],

  async run(context, selector) {
    const found = await selectPayment(context, selector);
    return context.withLock(found, async (seen) => {
      const { payment: sent } = await changePayment(context, seen, (payment) =>
        decideReviewAccepted(payment, context.clock.now(), context.answerBy()),
      );
      if (sent.attempt === undefined) return sent;
      const request = followUpRequest(context.account, sent);
      const outcome = await connectorFor(context, sent).capture(request);
      const recorded = await recordPayment(context, sent, (current) =>
        decideCaptureOutcome(
          current,
          request.attemptNumber,
          outcome,
          context.clock.now(),
          "operator",
        ),
      );
      return handleIfLate(context, sent, recorded, outcome, "operator");
    });
  },
});

/** The reviewer rejects. The authorization is voided. */
export const rejectReview = defineOperation<PaymentSelector, Payment>({
  name: "reject_review",
  errors: ["payment_not_found", "payment_not_in_review", "payment_in_flight"],

  async run(context, selector) {
    const found = await selectPayment(context, selector);
    return context.withLock(found, async (seen) => {
      const { payment: sent } = await changePayment(context, seen, (payment) =>
        decideReviewRejected(payment, context.clock.now(), context.answerBy()),
      );
      const request = followUpRequest(context.account, sent);
      const outcome = await connectorFor(context, sent).void(request);
      const recorded = await recordPayment(context, sent, (current) =>
        decideVoidOutcome(current, request.attemptNumber, outcome, context.clock.now(), "operator"),
      );
      return handleIfLate(context, sent, recorded, outcome, "operator");
    });
  },
});
