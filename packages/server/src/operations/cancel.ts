import { decideVoid, decideVoidOutcome } from "../decisions/payment-decisions.ts";
import { ServiceError } from "../kernel/service-error.ts";
import type { Payment } from "../payment/payment.ts";
import type { PaymentSelector } from "./direct-input.ts";
import { connectorFor, followUpRequest } from "./follow-up.ts";
import { defineOperation } from "./operation.ts";
import { changePayment, recordPayment, selectPayment } from "./payment-change.ts";

/** Voids a payment before its capture. */
export const cancel = defineOperation<PaymentSelector, Payment>({
  name: "cancel",
  errors: ["payment_not_found", "payment_not_voidable", "payment_in_flight", "void_declined", "outcome_unknown"],

  async run(context, selector) {
    const found = await selectPayment(context, selector);
    return context.inTurn(found, async () => {
      const seen = await selectPayment(context, { hash: found.id });
      const { payment: sent } = await changePayment(context, seen, (payment) =>
        decideVoid(payment, context.clock.now(), context.answerBy()),
      );

      const request = followUpRequest(context.account, sent);
      const outcome = await connectorFor(context, sent).void(request);

      const { payment } = await recordPayment(context, sent, (current) =>
        decideVoidOutcome(current, request.attemptNumber, outcome, context.clock.now(), "merchant"),
      );
      if (payment.state === "voided") return payment;
      if (outcome.kind === "declined") throw new ServiceError("void_declined");
      throw new ServiceError("outcome_unknown");
    });
  },
});
