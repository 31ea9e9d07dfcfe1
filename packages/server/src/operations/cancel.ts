import { decideVoid, decideVoidOutcome } from "../decisions/payment-decisions.ts";
import { ServiceError } from "../payment/service-error.ts";
import type { Payment } from "../payment/payment.ts";
import { beginOnce, carriedOutOn, traces, unlessCarriedOut } from "./carried-out.ts";
import type { NamedByKey, PaymentSelector } from "./direct-input.ts";
import { connectorFor, followUpRequest } from "./follow-up.ts";
import { defineOperation, type OperationContext } from "./operation.ts";
import { meetIfLate } from "./late-approval.ts";
import { recordPayment, selectPayment } from "./payment-change.ts";

/** Voids a payment before its capture. */
export const cancel = defineOperation<PaymentSelector & NamedByKey, Payment>({
  name: "cancel",
  errors: [
    "payment_not_found",
    "payment_not_voidable",
    "payment_in_flight",
    "void_declined",
    "outcome_unknown",
  ],

  async run(context, input) {
    const found = await selectPayment(context, input);
    return context.inTurn(found, (seen) =>
      unlessCarriedOut(
        () => cancelOnce(context, seen, input.request),
        () => carriedOutOn(context, found, input.request, traces.void),
      ),
    );
  },
});

async function cancelOnce(
  context: OperationContext,
  seen: Payment,
  named: string | undefined,
): Promise<Payment> {
  const refused = ["void_declined", "void_declined_in_review"] as const;
  const keyed = {
    request: named,
    sent: traces.void.sent,
    refused,
    refusal: "void_declined",
  } as const;
  const sent = await beginOnce(context, seen, keyed, (payment) =>
    decideVoid(payment, context.clock.now(), context.answerBy(), named),
  );

  const request = followUpRequest(context.account, sent);
  const outcome = await connectorFor(context, sent).void(request);

  const recorded = await recordPayment(context, sent, (current) =>
    decideVoidOutcome(current, request.attemptNumber, outcome, context.clock.now(), "merchant"),
  );
  const payment = await meetIfLate(context, sent, recorded, outcome, "merchant");
  // Another request may have voided it: nothing is held any more, which is what the client
  // requested.
  if (payment.state === "voided") return payment;
  if (outcome.kind === "declined") throw new ServiceError("void_declined");
  throw new ServiceError("outcome_unknown");
}
