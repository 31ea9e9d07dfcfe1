import { decidePageCancelled } from "../decisions/page-decisions.ts";
import { decideVoid, decideVoidOutcome } from "../decisions/payment-decisions.ts";
import { ServiceError } from "../payment/service-error.ts";
import type { Payment } from "../payment/payment.ts";
import {
  startAttemptOnce,
  paymentIfDone,
  requestFacts,
  resultOrEarlier,
} from "./repeated-requests.ts";
import type { IdempotentInput, PaymentSelector } from "./direct-input.ts";
import { connectorFor, followUpRequest } from "./follow-up.ts";
import { defineOperation, type OperationContext } from "./operation.ts";
import { handleIfLate } from "./late-approval.ts";
import { recordPayment, selectPayment } from "./payment-change.ts";

/** Voids a payment before its capture. */
export const cancel = defineOperation<PaymentSelector & IdempotentInput, Payment>({
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
    return context.withLock(found, (seen) =>
      resultOrEarlier(
        () => cancelOnce(context, seen, input.request),
        async () =>
          (await paymentIfDone(context, found, input.request, requestFacts.void)) ??
          paymentIfDone(context, found, input.request, requestFacts.pageCancel),
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
    sent: requestFacts.void.sent,
    refused,
    refusal: "void_declined",
  } as const;
  const sent = await startAttemptOnce(
    context,
    seen,
    keyed,
    (payment) =>
      decidePageCancelled(payment, context.clock.now(), named) ??
      decideVoid(payment, context.clock.now(), context.answerBy(), named),
  );
  // A page on which nothing is held: no acquirer is asked.
  if (sent.state === "voided") return sent;

  const request = followUpRequest(context.account, sent);
  const outcome = await connectorFor(context, sent).void(request);

  const recorded = await recordPayment(context, sent, (current) =>
    decideVoidOutcome(current, request.attemptNumber, outcome, context.clock.now(), "merchant"),
  );
  const payment = await handleIfLate(context, sent, recorded, outcome, "merchant");
  // Another request may have voided it: nothing is held any more, which is what the client
  // requested.
  if (payment.state === "voided") return payment;
  if (outcome.kind === "declined") throw new ServiceError("void_declined");
  throw new ServiceError("outcome_unknown");
}
