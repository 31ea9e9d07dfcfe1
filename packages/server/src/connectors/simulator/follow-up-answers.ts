import type { Money } from "../../kernel/money.ts";
import type { DeclineReason } from "../../payment/payment.ts";
import type {
  AcquirerPersonality,
  BookedAuthorization,
  FollowUpAnswer,
} from "./messages-and-books.ts";
import { issuerDecline } from "./magic-cards.ts";

/**
 * The acquirer's answers to follow-ups of an authorization, decided by its books. `refusal` is the
 * issuer's decline.
 */

/** DE 39 of refusals by the acquirer itself. */
export const responseCodes = {
  invalidTransaction: "12",
  invalidAmount: "13",
  cannotBackOut: "21",
  unknownOriginal: "25",
  exceedsLimit: "61",
  /** A reference that was used for another request. */
  duplicateReference: "94",
} as const;

/**
 * Most refunds of one authorization: an inquiry's answer with all of them stays within its size
 * limit (link-http.ts).
 */
const maxRefunds = 400;

export function captureAnswer(
  booked: BookedAuthorization,
  amount: Money,
  refusal: DeclineReason | undefined,
  { partialCapture }: Pick<AcquirerPersonality, "partialCapture">,
): FollowUpAnswer {
  if (refusal !== undefined) return refused(issuerDecline(refusal).responseCode);
  // A declined, voided, reversed or captured authorization holds nothing (a capture is final,
  // whatever its amount), nor does a sale.
  if (booked.held === 0n || booked.captures > 0) return refused(responseCodes.invalidTransaction);
  if (amount.currency !== booked.amount.currency || amount.minor <= 0n)
    return refused(responseCodes.invalidAmount);
  if (amount.minor > booked.amount.minor - booked.captured)
    return refused(responseCodes.invalidAmount);
  if (!partialCapture && amount.minor !== booked.amount.minor)
    return refused(responseCodes.invalidAmount);
  return { kind: "approved" };
}

export function voidAnswer(
  booked: BookedAuthorization,
  refusal: DeclineReason | undefined,
): FollowUpAnswer {
  if (refusal !== undefined) return refused(issuerDecline(refusal).responseCode);
  if (booked.captured > 0n) return refused(responseCodes.cannotBackOut);
  if (booked.held === 0n) return refused(responseCodes.invalidTransaction);
  return { kind: "approved" };
}

export function refundAnswer(
  booked: BookedAuthorization,
  amount: Money,
  refusal: DeclineReason | undefined,
): FollowUpAnswer {
  if (refusal !== undefined) return refused(issuerDecline(refusal).responseCode);
  // A declined, held or undone authorization has captured nothing.
  if (booked.captured === 0n) return refused(responseCodes.invalidTransaction);
  if (amount.currency !== booked.amount.currency || amount.minor <= 0n)
    return refused(responseCodes.invalidAmount);
  const refunded = booked.refunds.reduce((sum, refund) => sum + refund.amount, 0n);
  if (amount.minor > booked.captured - refunded) return refused(responseCodes.invalidAmount);
  if (booked.refunds.length >= maxRefunds) return refused(responseCodes.exceedsLimit);
  return { kind: "approved" };
}

export function refused(responseCode: string): FollowUpAnswer {
  return { kind: "declined", responseCode };
}
