import type { OperationContext } from "../operations/operation.ts";
import { settleAuthentication } from "../operations/page-authentication.ts";
import { authenticationDueAt, lapsesAt } from "../payment/due.ts";
import type { Payment } from "../payment/payment.ts";
import { advanceRefund } from "./advance-refund.ts";
import { expireAuthorization } from "./expire-authorization.ts";
import { expirePage } from "./expire-page.ts";
import { recoverPayment } from "./recover-payment.ts";

/**
 * Performs the due work of a payment, one step each: recovery of a missing answer, expiry of a
 * hosted page or an authorization, refunds.
 */
export async function doDueWork(context: OperationContext, seen: Payment): Promise<Payment> {
  const now = context.clock.now();
  let payment = seen;
  if (payment.needsReview) return payment;
  if (payment.attempt !== undefined && payment.attempt.recheckAt <= now)
    payment = await recoverPayment(context, payment);
  else if ((lapsesAt(payment) ?? Number.POSITIVE_INFINITY) <= now)
    payment =
      payment.state === "opened" || payment.state === "authenticating"
        ? await expirePage(context, payment)
        : await expireAuthorization(context, payment);
  else if ((authenticationDueAt(payment) ?? Number.POSITIVE_INFINITY) <= now)
    payment = await settleAuthentication(context, payment, "recovery");
  for (const { id, dueAt } of seen.refunds) {
    if (dueAt !== undefined && dueAt <= now) payment = await advanceRefund(context, payment, id);
  }
  return payment;
}
