import { explain, type Explanation } from "../ledger/explain.ts";
import type { Payment } from "../payment/payment.ts";
import type { HistoryRow } from "../stores/change.ts";
import { read } from "./commit.ts";
import type { PaymentSelector } from "./direct-input.ts";
import { defineOperation } from "./operation.ts";
import { selectPayment } from "./payment-change.ts";

export interface ExplainedPayment {
  readonly payment: Payment;
  readonly history: readonly HistoryRow[];
  readonly explanation: Explanation;
}

/** Explains every fact and every cent of a payment. */
export const explainPayment = defineOperation<PaymentSelector, ExplainedPayment>({
  name: "explain_payment",
  errors: ["payment_not_found", "read_timed_out"],

  async run(context, selector) {
    const payment = await selectPayment(context, selector);
    const history = await read(
      context.store.history(context.account.id, payment.id, "interactive"),
    );
    // Rows that were added between the two reads belong to a later version.
    const rows = history.filter(({ version }) => version <= payment.version).map(withoutDigests);
    return { payment, history: rows, explanation: explain(rows, payment) };
  },
});

/**
 * Removes the digest of the request: it is for internal use (repeated-requests.ts), and readers cannot
 * look anything up by it.
 */
function withoutDigests(row: HistoryRow): HistoryRow {
  return {
    ...row,
    facts: row.facts.map(({ detail: { request: _request, ...detail }, ...record }) => ({
      ...record,
      detail,
    })),
  };
}
