import type { Connector, FollowUpRequest, OriginalAuthorization } from "../connectors/connector.ts";
import { assert } from "../kernel/assert.ts";
import type { Instant } from "../kernel/instant.ts";
import type { Account } from "../merchant/account.ts";
import { attemptReference, connectorNameOf, type Payment } from "../payment/payment.ts";
import type { OperationContext } from "./operation.ts";

/** The connector that authorized the payment: all follow-ups of the authorization use it. */
export function connectorFor(
  { connectors }: Pick<OperationContext, "connectors">,
  payment: Payment,
): Connector {
  return connectors.of(connectorNameOf(payment));
}

/**
 * The data by which the acquirer finds the authorization for a capture, void, reversal or inquiry.
 */
export function originalOf(payment: Payment): OriginalAuthorization {
  return {
    reference: attemptReference(payment.id, payment.authorization),
    amount: payment.order.amount,
    authorizationCode: payment.verdict?.authorizationCode,
    acquirerReference: payment.verdict?.acquirerReference,
    ...(payment.order.card === undefined ? {} : { maskedPan: payment.order.card.maskedPan }),
  };
}

/**
 * The request for the payment's current attempt. It is not sent after the deadline that was
 * committed with the attempt.
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
    settings: account.settings,
    original: originalOf(payment),
    amount: { minor: attempt.amount, currency: order.amount.currency },
    attemptNumber: attempt.number,
  };
}

/**
 * The same request with a new deadline, for inquiries and reversals, which may be sent at any time.
 */
export function followUpWithNewDeadline(
  context: { readonly account: Account; answerBy(): Instant },
  payment: Payment,
): FollowUpRequest {
  return { ...followUpRequest(context.account, payment), deadline: context.answerBy() };
}
