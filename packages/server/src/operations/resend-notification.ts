import { decideResend } from "../decisions/resend-decisions.ts";
import type { Payment } from "../payment/payment.ts";
import { read } from "./commit.ts";
import type { PaymentSelector } from "./direct-input.ts";
import { defineOperation } from "./operation.ts";
import { changePayment, selectPayment } from "./payment-change.ts";

/**
 * Announces the last announced state of a payment again: commits another notification, which is
 * delivered as usual.
 */
export const resendNotification = defineOperation<PaymentSelector, Payment>({
  name: "resend_notification",
  errors: ["payment_not_found", "nothing_to_resend"],

  async run(context, selector) {
    const seen = await selectPayment(context, selector);
    const announced = await read(
      context.store.notificationsOfPayment(seen.merchantId, seen.id, 1, "payment"),
    );
    return (
      await changePayment(context, seen, (current) =>
        decideResend(current, announced.length > 0, context.clock.now()),
      )
    ).payment;
  },
});
