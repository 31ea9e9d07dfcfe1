import type { Instant } from "../kernel/instant.ts";
import type { Payment } from "./payment.ts";

/**
 * When a job must next process a payment: an attempt without an answer, an authentication under
 * way, a refund under way, a hosted page or an authorization that lapses. Undefined if never, or if the payment waits for an operator's review.
 * Stores have an index on it.
 */
export function dueAt(payment: Payment): Instant | undefined {
  if (payment.needsReview) return undefined;
  let due = payment.attempt?.recheckAt ?? earliest(lapsesAt(payment), authenticationDueAt(payment));
  for (const refund of payment.refunds) {
    if (refund.dueAt !== undefined && (due === undefined || refund.dueAt < due)) due = refund.dueAt;
  }
  return due;
}

/** When a job asks for the outcome of the authentication; undefined when none is under way. */
export function authenticationDueAt({ state, order }: Payment): Instant | undefined {
  return state === "authenticating" ? order.page?.authentication?.recheckAt : undefined;
}

function earliest(one: Instant | undefined, other: Instant | undefined): Instant | undefined {
  return one === undefined || (other !== undefined && other < one) ? other : one;
}

/** When the hosted page or the authorization lapses; undefined in other states. */
export function lapsesAt(payment: Payment): Instant | undefined {
  if (payment.state === "opened" || payment.state === "authenticating")
    return payment.order.page?.lapsesAt;
  return payment.state === "authorized" || payment.state === "in_review"
    ? payment.captureBy
    : undefined;
}
