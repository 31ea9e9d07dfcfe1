import type { Connector, FollowUpRequest, OriginalAuthorization } from "../connectors/connector.ts";
import { assert } from "../kernel/assert.ts";
import type { Instant } from "../kernel/instant.ts";
import type { Account } from "../merchant/account.ts";
import { attemptReference, carrierOf, type Payment } from "../payment/payment.ts";
import type { OperationContext } from "./operation.ts";

/**
 * The connector that carries a payment: everything that follows from its authorization goes there.
 */
export function connectorFor(
  { connectors }: Pick<OperationContext, "connectors">,
  payment: Payment,
): Connector {
  return connectors.of(carrierOf(payment).connector);
}

/**
 * What the acquirer needs to find the authorization that a capture, void, reversal or inquiry is
 * about.
 */
export function originalOf(payment: Payment): OriginalAuthorization {
  return {
    reference: attemptReference(payment.id, carrierOf(payment).authorization),
    amount: payment.order.amount,
    authorizationCode: payment.verdict?.authorizationCode,
    acquirerReference: payment.verdict?.acquirerReference,
    maskedPan: payment.order.card.maskedPan,
  };
}

/**
 * The request for the attempt that the payment announces: not sent after the moment that was
 * committed with it.
 */
export function followUpRequest(
  account: Account,
  payment: Payment,
): FollowUpRequest & { readonly attemptNumber: number } {
  const { attempt, order } = payment;
  assert(attempt !== undefined, "a payment in flight holds its attempt");
  return {
    merchantId: payment.merchantId,
    reference: attemptReference(payment.id, attempt.number),
    deadline: attempt.answerBy,
    simulator: account.settings.simulator,
    original: originalOf(payment),
    amount: { minor: attempt.amount, currency: order.amount.currency },
    attemptNumber: attempt.number,
  };
}

/**
 * The same with a deadline of its own: for what may be asked at any time, an inquiry or a reversal.
 */
export function askingRequest(
  context: { readonly account: Account; answerBy(): Instant },
  payment: Payment,
): FollowUpRequest {
  return { ...followUpRequest(context.account, payment), deadline: context.answerBy() };
}
