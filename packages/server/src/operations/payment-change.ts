import type { PaymentChange } from "../decisions/steps.ts";
import { assert } from "../kernel/assert.ts";
import { ServiceError } from "../payment/service-error.ts";
import { isPaymentId } from "../payment/payment-id.ts";
import type { Payment } from "../payment/payment.ts";
import { read } from "./commit.ts";
import type { PaymentSelector } from "./direct-input.ts";
import type { OperationContext } from "./operation.ts";

/** The parts of the context that change a payment; recovery has no account here. */
type ChangeContext = Pick<OperationContext, "store" | "change"> &
  Partial<Pick<OperationContext, "epoch">>;

/**
 * Decides on the payment `seen`, and on the stored payment after each concurrent change. Resolves
 * with the payment after the change, or with the current one if there was nothing left to decide.
 */
export async function changePayment<C extends PaymentChange | undefined>(
  context: ChangeContext,
  seen: Payment,
  decide: (payment: Payment) => C,
): Promise<{ readonly payment: Payment; readonly change: C }> {
  let current = seen;
  let first = true;
  const decideOn = (payment: Payment): C => countedAs(payment, decide, context.epoch ?? 0);
  const change = await context.change<C>(() => {
    if (first) {
      first = false;
      return decideOn(current);
    }
    return reread(context, seen).then((stored) => {
      current = stored;
      return decideOn(stored);
    });
  });
  return { payment: change?.payment.next ?? current, change };
}

/**
 * The decision, with attempts numbered above `epoch`: more attempts may have been made before the
 * database was restored than it contains, and the acquirer knows their references. The attempt
 * count of a payment changes only with its next attempt, because until then the count is the number
 * of its last attempt.
 */
function countedAs<C extends PaymentChange | undefined>(
  payment: Payment,
  decide: (payment: Payment) => C,
  epoch: number,
): C {
  const { attempts } = payment;
  if (attempts >= epoch) return decide(payment);
  const decided = decide({ ...payment, attempts: epoch });
  if (decided === undefined || decided.payment.next.attempts > epoch) return decided;
  return {
    ...decided,
    payment: { ...decided.payment, next: { ...decided.payment.next, attempts } },
  };
}

/**
 * Records an acquirer's outcome. If it cannot be committed, or if that is unknown, the payment
 * stays in flight and recovery inquires again. Resolves with the last known payment. `superseded`:
 * the attempt is no longer under way, so an approval is late (late-approval.ts).
 */
export async function recordPayment(
  context: ChangeContext,
  seen: Payment,
  decide: (payment: Payment) => PaymentChange | undefined,
): Promise<{
  readonly payment: Payment;
  readonly change: PaymentChange | undefined;
  readonly superseded: boolean;
}> {
  try {
    const changed = await changePayment(context, seen, decide);
    return { ...changed, superseded: changed.change === undefined };
  } catch (error) {
    if (
      error instanceof ServiceError &&
      (error.code === "store_unavailable" || error.code === "outcome_unknown")
    ) {
      return { payment: seen, change: undefined, superseded: false };
    }
    throw error;
  }
}

/** The merchant's payment with this hash or code. A malformed hash matches none. */
export async function selectPayment(
  context: OperationContext,
  selector: PaymentSelector,
): Promise<Payment> {
  const merchantId = context.account.id;
  const payment =
    "hash" in selector
      ? isPaymentId(selector.hash)
        ? await read(context.store.paymentById(merchantId, selector.hash))
        : undefined
      : await read(context.store.paymentByCode(merchantId, selector.code));
  if (payment === undefined) throw new ServiceError("payment_not_found");
  return payment;
}

/** The payment as it is stored now. */
export async function reread(
  context: Pick<OperationContext, "store">,
  payment: Pick<Payment, "merchantId" | "id">,
): Promise<Payment> {
  const current = await read(context.store.paymentById(payment.merchantId, payment.id));
  assert(current !== undefined, "a committed payment can be read");
  return current;
}
