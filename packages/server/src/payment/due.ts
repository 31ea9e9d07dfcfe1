import type { Instant } from "../kernel/instant.ts";
import type { Payment } from "./payment.ts";

/**
 * When the clock next has business with a payment: an attempt without an answer, a refund on its
 * way, an authorization that lapses. Undefined when it never has, or when people must look first.
 * Stores index by it.
 */
export function dueAt(payment: Payment): Instant | undefined {
  if (payment.needsReview) return undefined;
  let due = payment.attempt?.recheckAt ?? lapsesAt(payment);
  for (const refund of payment.refunds) {
    if (refund.dueAt !== undefined && (due === undefined || refund.dueAt < due)) due = refund.dueAt;
  }
  return due;
}

/** When what is held is given up by itself; undefined while something else is going on. */
export function lapsesAt(payment: Payment): Instant | undefined {
  return payment.state === "authorized" || payment.state === "in_review"
    ? payment.captureBy
    : undefined;
}
