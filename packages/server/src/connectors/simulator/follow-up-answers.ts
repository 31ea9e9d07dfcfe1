import type { Money } from "../../kernel/money.ts";
import type { DeclineReason } from "../../payment/payment.ts";
import type {
  AcquirerPersonality,
  BookedAuthorization,
  FollowUpAnswer,
} from "./messages-and-books.ts";
import { issuerDecline } from "./magic-cards.ts";

/**
 * What the acquirer says to that which follows an authorization, by what its books hold of it.
 * `refusal` is the issuer's own no.
 */

/** DE 39 of the refusals that are the acquirer's own. */
export const responseCodes = {
  invalidTransaction: "12",
  invalidAmount: "13",
  cannotBackOut: "21",
  unknownOriginal: "25",
  exceedsLimit: "61",
  /** A reference that named another request before. */
  duplicateReference: "94",
} as const;

/**
 * So many refunds of one authorization: what an inquiry tells of them fits its answer's bound
 * (link-http.ts).
 */
const mostRefunds = 400;

export function captureAnswer(
  booked: BookedAuthorization,
  amount: Money,
  refusal: DeclineReason | undefined,
  { partialCapture }: Pick<AcquirerPersonality, "partialCapture">,
): FollowUpAnswer {
  if (refusal !== undefined) return refused(issuerDecline(refusal).responseCode);
  // Nothing is held by what was declined, voided, reversed, captured (a capture is final, whatever
  // it took), or was a sale.
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
  // Nothing was taken by what was declined, is only held, or was undone.
  if (booked.captured === 0n) return refused(responseCodes.invalidTransaction);
  if (amount.currency !== booked.amount.currency || amount.minor <= 0n)
    return refused(responseCodes.invalidAmount);
  const givenBack = booked.refunds.reduce((sum, refund) => sum + refund.amount, 0n);
  if (amount.minor > booked.captured - givenBack) return refused(responseCodes.invalidAmount);
  if (booked.refunds.length >= mostRefunds) return refused(responseCodes.exceedsLimit);
  return { kind: "approved" };
}

export function refused(responseCode: string): FollowUpAnswer {
  return { kind: "declined", responseCode };
}
