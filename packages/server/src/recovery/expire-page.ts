import { decidePageLapsed } from "../decisions/page-decisions.ts";
import type { OperationContext } from "../operations/operation.ts";
import { changePayment } from "../operations/payment-change.ts";
import type { Payment } from "../payment/payment.ts";

/** Ends a payment whose hosted page got no approved card in time. Nothing is held for it. */
export async function expirePage(context: OperationContext, payment: Payment): Promise<Payment> {
  const { payment: ended } = await changePayment(context, payment, (current) =>
    decidePageLapsed(current, context.clock.now()),
  );
  return ended;
}
