import type { PaymentChange } from "../decisions/steps.ts";
import { assert } from "../kernel/assert.ts";
import { ServiceError } from "../payment/service-error.ts";
import { isPaymentId } from "../kernel/ids.ts";
import type { Payment } from "../payment/payment.ts";
import { read } from "./commit.ts";
import type { PaymentSelector } from "./direct-input.ts";
import type { OperationContext } from "./operation.ts";

/** What changing a payment needs of the context: recovery has no account at hand. */
type ChangeContext = Pick<OperationContext, "store" | "change"> &
  Partial<Pick<OperationContext, "epoch">>;

/**
 * Decides on the payment as it was last seen, and on what is stored whenever someone else was
 * faster. Resolves with the payment as it is after the change, or as it is when there was nothing
 * left to decide.
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
 * The decision, with attempts numbered above `epoch`: before the restore that began it, more
 * attempts may have been made than this database has, and the acquirer knows their references. The
 * count of a payment changes with its next attempt only, because until then its last attempt is the
 * one that the count names.
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
 * For what an acquirer said: when it could not be written, or nobody knows whether it was, the
 * payment simply stays in flight and recovery asks again. Resolves with the payment as it was last
 * known. `superseded`: the attempt is no longer under way, so that an approval is one that came
 * late (late-approval.ts).
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

/** The payment that the merchant names by hash or by code. A malformed hash is no payment's. */
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
