import { instant, type Instant } from "../../server/src/kernel/instant.ts";
import type { NotificationKind } from "../../server/src/notification/events.ts";
import type { Chargeback } from "../../server/src/payment/chargeback.ts";
import type { PaymentState } from "../../server/src/payment/payment-machine.ts";
import type { RefundState } from "../../server/src/payment/refund.ts";
import type { HistoryFact } from "../../server/src/stores/change.ts";

/**
 * The auditor's own rules, written by hand, independent of the state machines' tables and the
 * decisions.
 */

export const allowedMoves: Readonly<Record<PaymentState | "nothing", readonly PaymentState[]>> = {
  nothing: ["authorizing"],
  received: [],
  // The simulation opens no pages: packages/server/src/operations/page.test.ts plays them.
  opened: [],
  authenticating: [],
  authorizing: ["authorizing", "authorized", "captured", "in_review", "declined", "reversing"],
  authorized: ["capturing", "voiding"],
  // A reviewer's acceptance of a sale is followed by its capture.
  in_review: ["authorized", "capturing", "voiding"],
  capturing: ["capturing", "captured", "authorized"],
  voiding: ["voiding", "voided", "expired", "authorized", "in_review"],
  reversing: ["reversing", "voided"],
  // Refunds and chargebacks are separate records: a captured payment stays captured.
  captured: ["captured"],
  declined: [],
  voided: [],
  expired: [],
};

/** An approval that arrives after its attempt has ended: it is noted, or booked. */
export const lateMoves: Readonly<Record<PaymentState | "nothing", readonly PaymentState[]>> = {
  nothing: [],
  received: [],
  opened: [],
  authenticating: [],
  authorizing: ["authorizing"],
  authorized: ["authorized", "captured", "voided", "expired"],
  in_review: ["in_review", "voided", "expired"],
  capturing: ["capturing"],
  voiding: ["voiding"],
  reversing: ["reversing"],
  captured: ["captured"],
  declined: ["declined"],
  voided: ["voided"],
  expired: ["expired"],
};

export const allowedRefundMoves: Readonly<Record<RefundState | "nothing", readonly RefundState[]>> =
  {
    nothing: ["requested"],
    requested: ["requested", "pending", "cancelled"],
    pending: ["pending", "sending", "cancelled"],
    // Back to pending when the acquirer certainly never executed it.
    sending: ["sending", "pending", "confirmed", "cancelled"],
    confirmed: ["confirmed"],
    cancelled: ["cancelled"],
  };

export const allowedChargebackMoves: Readonly<
  Record<Chargeback["state"] | "none", readonly (Chargeback["state"] | "none")[]>
> = {
  none: ["none", "opened"],
  opened: ["opened", "credited"],
  credited: ["credited"],
};

export const finalStates: readonly PaymentState[] = ["captured", "declined", "voided", "expired"];
export const settledStates: readonly PaymentState[] = [...finalStates, "authorized", "in_review"];
export const finalRefundStates: readonly RefundState[] = ["confirmed", "cancelled"];

/**
 * The facts that merchants are notified of, with the kind of notification; other facts have none.
 */
export const announced: Partial<Readonly<Record<HistoryFact, NotificationKind>>> = {
  sale_approved: "update",
  authorization_declined: "update",
  capture_approved: "update",
  void_approved: "update",
  lapse_approved: "update",
  reversal_approved: "update",
  refund_queued: "refund",
  refund_approved: "refund",
  refund_declined: "refund",
  chargeback_opened: "chargeback",
  chargeback_credited: "chargeback_credit",
};

/**
 * Outcomes of unanswered merchant requests that recovery resolves while the status stays: notified
 * by `update`.
 */
export const announcedWhenFound: readonly HistoryFact[] = [
  "authorization_approved",
  "authorization_held",
  "capture_declined",
  "void_declined",
  "void_declined_in_review",
];

/**
 * If the acquirer refuses the release of an expired authorization, it may be captured for this much
 * longer.
 */
export const lapseAgainMs = 3_600_000;

/**
 * Fourteen calendar months after a token's last use, at the month's end if the month has no such
 * day.
 */
export function tokenDiesAt(lastUsedAt: number): Instant {
  const used = new Date(lastUsedAt);
  const month = used.getUTCMonth() + 14;
  const lastDay = new Date(Date.UTC(used.getUTCFullYear(), month + 1, 0)).getUTCDate();
  const midnight = Date.UTC(used.getUTCFullYear(), month, Math.min(used.getUTCDate(), lastDay));
  return instant(midnight + (lastUsedAt % 86_400_000));
}
