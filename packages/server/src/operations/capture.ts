import { decideCapture, decideCaptureOutcome } from "../decisions/payment-decisions.ts";
import { ServiceError } from "../kernel/service-error.ts";
import type { Payment } from "../payment/payment.ts";
import type { CaptureInput } from "./direct-input.ts";
import { connectorFor, followUpRequest } from "./follow-up.ts";
import { defineOperation } from "./operation.ts";
import { changePayment, recordPayment, selectPayment } from "./payment-change.ts";

/** Takes the money that an authorization holds, once; what is not taken is released. */
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

  async run(context, { selector, amount }) {
    const found = await selectPayment(context, selector);
    return context.inTurn(found, async () => {
      const seen = await selectPayment(context, { hash: found.id });
      const { payment: sent } = await changePayment(context, seen, (payment) =>
        decideCapture(payment, amount, context.account.settings, context.clock.now(), context.answerBy()),
      );

      // Nothing is open during the call. Should the process die here, the payment stays `capturing` and recovery asks the
      // acquirer what became of it.
      const request = followUpRequest(context.account, sent);
      const outcome = await connectorFor(context, sent).capture(request);

      const { payment } = await recordPayment(context, sent, (current) =>
        decideCaptureOutcome(current, request.attemptNumber, outcome, context.clock.now(), "merchant"),
      );
      if (payment.state === "captured") return payment;
      if (outcome.kind === "declined") throw new ServiceError("capture_declined");
      throw new ServiceError("outcome_unknown");
    });
  },
});
