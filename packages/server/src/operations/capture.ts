import { decideCapture, decideCaptureOutcome } from "../decisions/payment-decisions.ts";
import { ServiceError } from "../payment/service-error.ts";
import type { Payment } from "../payment/payment.ts";
import type { CaptureInput } from "./direct-input.ts";
import {
  startAttemptOnce,
  paymentIfDone,
  attemptEndedWith,
  requestFacts,
  resultOrEarlier,
} from "./repeated-requests.ts";
import { connectorFor, followUpRequest } from "./follow-up.ts";
import { defineOperation, type OperationContext } from "./operation.ts";
import { handleIfLate } from "./late-approval.ts";
import { recordPayment, selectPayment } from "./payment-change.ts";

/** Captures the authorized amount or a part of it, once; the rest is released. */
export const capture = defineOperation<CaptureInput, Payment>({
  name: "capture",
  errors: [
    "payment_not_found",
    "payment_already_captured",
    "payment_cancelled",
    "payment_not_capturable",
    "payment_in_flight",
    "partial_capture_disabled",
    "capture_amount_invalid",
    "capture_declined",
    "outcome_unknown",
  ],

  async run(context, input) {
    const found = await selectPayment(context, input.selector);
    return context.withLock(found, (seen) =>
      resultOrEarlier(
        () => captureOnce(context, seen, input),
        () => paymentIfDone(context, found, input.request, requestFacts.capture),
      ),
    );
  },
});

async function captureOnce(
  context: OperationContext,
  seen: Payment,
  { amount, request: named }: CaptureInput,
): Promise<Payment> {
  const keyed = {
    request: named,
    sent: requestFacts.capture.sent,
    refused: ["capture_declined"],
    refusal: "capture_declined",
  } as const;
  const sent = await startAttemptOnce(context, seen, keyed, (payment) =>
    decideCapture(
      payment,
      amount,
      context.account.settings,
      context.clock.now(),
      context.answerBy(),
      named,
    ),
  );

  // No transaction is open during the call. If the process dies here, the payment stays `capturing`
  // and recovery asks the acquirer for the outcome.
  const request = followUpRequest(context.account, sent);
  const outcome = await connectorFor(context, sent).capture(request);

  const recorded = await recordPayment(context, sent, (current) =>
    decideCaptureOutcome(current, request.attemptNumber, outcome, context.clock.now(), "merchant"),
  );
  const { change } = recorded;
  const payment = await handleIfLate(context, sent, recorded, outcome, "merchant");
  // Recovery may have ended this attempt first; a later attempt may then have captured another
  // amount.
  const isOwn =
    change !== undefined ||
    (await attemptEndedWith(context, payment, request.attemptNumber, requestFacts.capture.done));
  if (payment.state === "captured" && isOwn) return payment;
  if (outcome.kind === "declined") throw new ServiceError("capture_declined");
  throw new ServiceError("outcome_unknown");
}
