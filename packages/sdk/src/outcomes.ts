import { declineReasons } from "./generated/tables.ts";
import type { Payment, Refund, VerifyAnswer } from "./generated/types.ts";

/** Captured: the money is the shop's. */
export interface Paid {
  readonly outcome: "paid";
  readonly payment: Payment;
}

/** The amount is held: capture or cancel it. */
export interface Authorized {
  readonly outcome: "authorized";
  readonly payment: Payment;
}

/** Why an issuer or an acquirer declined. `other`: the server's text is not in the table. */
export type DeclineReason = (typeof declineReasons)[keyof typeof declineReasons] | "other";

/**
 * Declined by the issuer or the acquirer: nothing is held. An authorization that expired is reported
 * by the interface in the same way.
 */
export interface Declined {
  readonly outcome: "declined";
  readonly reason: DeclineReason;
  /** A technical failure: the same card may be tried again under a new payment code. */
  readonly mayRetry: boolean;
  readonly payment: Payment;
}

/** The authorization was cancelled: nothing is held. */
export interface Cancelled {
  readonly outcome: "cancelled";
  readonly payment: Payment;
}

/** Not final. A notification reports the end; `settled` waits for it. */
export interface Pending {
  readonly outcome: "pending";
  /**
   * true: the issuer has approved, and a review, a capture or a cancellation is in progress. false:
   * the outcome of the authorization is not known yet.
   */
  readonly approved: boolean;
  readonly payment: Payment;
}

/** The acquirer refused the operation. The payment is unchanged. */
export interface Refused {
  readonly outcome: "refused";
  readonly payment: Payment;
}

/** A refund. `requested`: it will be sent to the acquirer, and can be cancelled until then. */
export interface Refunded {
  readonly outcome: "requested" | "confirmed" | "refund_cancelled";
  readonly refund: Refund;
  readonly payment: Payment;
}

/** What a payment is now. */
export type PaymentOutcome = Paid | Authorized | Declined | Cancelled | Pending;

/** `existing`: an earlier request, perhaps one whose answer was lost, had made this payment. */
export type ChargeOutcome = PaymentOutcome & { readonly existing: boolean };
export type CaptureOutcome = Paid | Refused | Cancelled | Pending;
export type CancelOutcome = Cancelled | Refused | Pending;
/** `existing`: an earlier request had made this refund. */
export type RefundOutcome = Refunded & { readonly existing: boolean };
export type UndoOutcome = CancelOutcome | Refunded;

/** Nothing was charged, and nothing is held. */
export interface Verification {
  /** `unknown`: the acquirer did not answer. */
  readonly outcome: "valid" | "declined" | "unknown";
  /** Only of a declined card. */
  readonly reason: DeclineReason | undefined;
  /** For later payments with this card as a stored credential. */
  readonly mandateId: string | undefined;
}

/** The outcome of a payment. */
export function outcomeOf(payment: Payment): PaymentOutcome {
  const { status, transactionStatus, preApproved, captureAvailable } = payment;
  if (status === "CO") return { outcome: "paid", payment };
  if (status !== "CA")
    return captureAvailable === true
      ? { outcome: "authorized", payment }
      : { outcome: "pending", approved: preApproved, payment };
  if (transactionStatus === undefined) return { outcome: "cancelled", payment };
  const { code, description } = transactionStatus;
  return code === "NOK" || code === "RETRY"
    ? { outcome: "declined", reason: reasonOf(description), mayRetry: code === "RETRY", payment }
    : { outcome: "cancelled", payment };
}

export function refundedOf(refund: Refund, payment: Payment): Refunded {
  const { status } = refund;
  const outcome =
    status === "CO" ? "confirmed" : status === "CA" ? "refund_cancelled" : "requested";
  return { outcome, refund, payment };
}

export function verificationOf({ cardVerification }: VerifyAnswer): Verification {
  const { transactionStatus, mandateId } = cardVerification;
  const { code, description } = transactionStatus;
  return {
    outcome: code === "OK" ? "valid" : code === "RETRY" ? "unknown" : "declined",
    reason: code === "NOK" ? reasonOf(description) : undefined,
    mandateId,
  };
}

function reasonOf(description: string): DeclineReason {
  const reasons: Readonly<Record<string, DeclineReason>> = declineReasons;
  return (Object.hasOwn(reasons, description) ? reasons[description] : undefined) ?? "other";
}
