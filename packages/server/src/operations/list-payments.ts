import { isPaymentId, type PaymentId } from "../payment/payment-id.ts";
import type { Payment } from "../payment/payment.ts";
import { isAmong } from "../payment/money-outcome.ts";
import type { PaymentFilter, PaymentList } from "../stores/store.ts";
import { read } from "./commit.ts";
import { defineOperation, type OperationContext } from "./operation.ts";

/**
 * Maximum number of payments that one call examines: some tens of milliseconds of work. The stores
 * read and search them in pieces, between which requests are served.
 */
const most = { maxExamined: 2_000, maxTested: 10_000 };

export interface ListInput {
  readonly filter: PaymentFilter;
  /**
   * A whole hash or code, unmasked: card numbers are removed from the filter's text, and a code can
   * resemble one.
   */
  readonly name: string | undefined;
  readonly before: PaymentId | undefined;
  readonly limit: number;
}

/**
 * Lists the account's payments, newest first. A search for a whole hash or payment code finds that
 * payment alone, regardless of its age and without reading others.
 */
export const listPayments = defineOperation<ListInput, PaymentList>({
  name: "list_payments",
  errors: ["read_timed_out"],

  async run(context, { filter, name, before, limit }) {
    const named =
      before === undefined && name !== undefined ? await paymentNamed(context, name) : undefined;
    const matches = named !== undefined && matchesFilter(named, filter);
    if (named !== undefined) return { payments: matches ? [named] : [], next: undefined };
    const page = { limit, ...most, ...(before === undefined ? {} : { before }) };
    return read(context.store.paymentsListed(context.account.id, filter, page));
  },
});

async function paymentNamed(
  { store, account }: OperationContext,
  text: string,
): Promise<Payment | undefined> {
  const byId = isPaymentId(text) ? await read(store.paymentById(account.id, text)) : undefined;
  return byId ?? (await read(store.paymentByCode(account.id, text)));
}

function matchesFilter(payment: Payment, filter: PaymentFilter): boolean {
  const { brand } = filter;
  return (
    isAmong(filter, payment.state, () => payment) &&
    (brand === undefined || payment.order.card?.brand === brand)
  );
}
