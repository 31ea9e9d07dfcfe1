import type { Payment } from "./payment.ts";

/** Cards that may be submitted on one page: a decline of the last one ends the payment. */
export const maxTries = 3;

/**
 * Whether the merchant sees the payment as open (wire status OP): its page waits for a card, or a
 * card is being authorized and no answer is missing yet.
 */
export function isOpenPage({ state, attempt, order }: Payment): boolean {
  if (order.page === undefined) return false;
  return state === "opened" || (state === "authorizing" && attempt?.checks === 0);
}
