import type { Instant } from "../kernel/instant.ts";
import { ServiceError } from "../payment/service-error.ts";
import type { Payment } from "../payment/payment.ts";
import { advance, startAttempt, change, type PaymentChange, record, settle } from "./steps.ts";

/**
 * The reviewer accepts: the payment is captured now, or later by the merchant, as requested. If the
 * merchant is to capture it, the merchant is notified: it stays PE, but can now be captured
 * (interface 4.2).
 */
export function decideReviewAccepted(
  payment: Payment,
  now: Instant,
  answerBy: Instant,
): PaymentChange {
  refuseUnlessWaiting(payment);
  // As with a capture: the job that voids lapsed authorizations may be late, the window is exact.
  if (payment.captureBy !== undefined && payment.captureBy <= now)
    throw new ServiceError("payment_not_in_review", { state: payment.state });
  const accepted = settle(advance(payment, "review_accepted", now), { review: "accepted" });
  if (!payment.order.autoCapture)
    return change(
      now,
      accepted,
      payment.version,
      [record("review_accepted", undefined, "operator")],
      [],
      "update",
    );
  const capturing = startAttempt(
    { ...accepted, version: payment.version },
    "capture_sent",
    "capture",
    payment.authorized,
    now,
    answerBy,
  );
  return change(now, capturing, payment.version, [
    record("review_accepted", undefined, "operator"),
    record("capture_sent", capturing.attempts, "operator"),
  ]);
}

/** The reviewer rejects: the authorization is voided. */
export function decideReviewRejected(
  payment: Payment,
  now: Instant,
  answerBy: Instant,
): PaymentChange {
  refuseUnlessWaiting(payment);
  const next = {
    ...startAttempt(payment, "review_rejected", "reject", payment.authorized, now, answerBy),
    review: "rejected" as const,
  };
  return change(now, next, payment.version, [record("review_rejected", next.attempts, "operator")]);
}

function refuseUnlessWaiting({ state }: Payment): void {
  if (state === "voiding") throw new ServiceError("payment_in_flight");
  if (state !== "in_review") throw new ServiceError("payment_not_in_review", { state });
}
