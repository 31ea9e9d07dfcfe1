import type { Payment } from "../payment/payment.ts";
import type { PaymentSelector } from "./direct-input.ts";
import { defineOperation } from "./operation.ts";
import { selectPayment } from "./payment-change.ts";

/**
 * Reads a payment as stored: a read after an acknowledged change returns that change or a later
 * one.
 */
export const query = defineOperation<PaymentSelector, Payment>({
  name: "query",
  errors: ["payment_not_found"],

  run: (context, selector) => selectPayment(context, selector),
});
