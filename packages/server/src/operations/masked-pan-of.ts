import { isPaymentId } from "../payment/payment-id.ts";
import type { Payment } from "../payment/payment.ts";
import { cardByToken } from "./with-card.ts";
import { read } from "./commit.ts";
import type { PaymentSelector, RefundSelector } from "./direct-input.ts";
import { defineOperation, type OperationContext } from "./operation.ts";

/** References to a card in a request without a card number. */
export type CardNamed =
  | { readonly token: string }
  | { readonly payment: PaymentSelector }
  | { readonly refund: RefundSelector };

/**
 * The mask of the card that a request refers to; undefined if the merchant has none. Reads only: no
 * card is decrypted.
 */
export const maskedPanOf = defineOperation<CardNamed, string | undefined>({
  name: "masked_pan_of",
  errors: [],

  async run(context, named) {
    if (!("token" in named)) return (await paymentOf(context, named))?.order.card?.maskedPan;
    return (await cardByToken(context, named.token))?.maskedPan;
  },
});

async function paymentOf(
  { store, account }: OperationContext,
  named: Exclude<CardNamed, { readonly token: string }>,
): Promise<Payment | undefined> {
  if ("refund" in named) return read(store.paymentByRefund(account.id, named.refund));
  const { payment } = named;
  if ("code" in payment) return read(store.paymentByCode(account.id, payment.code));
  return isPaymentId(payment.hash) ? read(store.paymentById(account.id, payment.hash)) : undefined;
}
