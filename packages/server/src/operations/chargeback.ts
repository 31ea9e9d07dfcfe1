import { decideChargeback, decideChargebackCredit } from "../decisions/chargeback-decisions.ts";
import type { ChargebackClaim } from "../payment/chargeback.ts";
import type { Payment } from "../payment/payment.ts";
import type { PaymentSelector } from "./direct-input.ts";
import { defineOperation } from "./operation.ts";
import { changePayment, selectPayment } from "./payment-change.ts";

/**
 * The issuer takes back the rest of a payment. Reported by the acquirer; in the sandbox, by an
 * admin call.
 */
export const openChargeback = defineOperation<
  { readonly selector: PaymentSelector; readonly claim: ChargebackClaim },
  Payment
>({
  name: "open_chargeback",
  errors: ["payment_not_found", "payment_not_disputable", "chargeback_refused"],

  async run(context, { selector, claim }) {
    const seen = await selectPayment(context, selector);
    return (
      await changePayment(context, seen, (current) =>
        decideChargeback(current, claim, context.clock.now()),
      )
    ).payment;
  },
});

/** The merchant has won the dispute: the money is returned to the merchant. */
export const creditChargeback = defineOperation<PaymentSelector, Payment>({
  name: "credit_chargeback",
  errors: ["payment_not_found", "payment_not_disputable"],

  async run(context, selector) {
    const seen = await selectPayment(context, selector);
    return (
      await changePayment(context, seen, (current) =>
        decideChargebackCredit(current, context.clock.now()),
      )
    ).payment;
  },
});
