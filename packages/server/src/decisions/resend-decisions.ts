import type { Instant } from "../kernel/instant.ts";
import { ServiceError } from "../payment/service-error.ts";
import type { NotificationKind } from "../notification/events.ts";
import type { Payment } from "../payment/payment.ts";
import { isFinal, change, changed, type PaymentChange, record } from "./steps.ts";

/**
 * Announces the latest announced change again; receivers then query the current payment. `wasAnnounced`:
 * whether anything was announced yet, because announcements about a payment that stays PE leave no
 * time in it.
 */
export function decideResend(payment: Payment, wasAnnounced: boolean, now: Instant): PaymentChange {
  const kind = lastAnnounced(payment) ?? (wasAnnounced ? "update" : undefined);
  if (kind === undefined) throw new ServiceError("nothing_to_resend");
  const note = record("notification_resent", undefined, "merchant", { kind });
  return change(now, changed(payment, {}), payment.version, [note], [], kind);
}

/**
 * Derived from the payment's times, which every announced change has. If several have the same
 * time, the one that happened last.
 */
function lastAnnounced({
  state,
  statusAt,
  refunds,
  chargeback,
}: Payment): NotificationKind | undefined {
  const announced: (readonly [at: Instant | undefined, kind: NotificationKind])[] = [
    [isFinal(state) ? statusAt : undefined, "update"],
    // A refund that was cancelled before it was pending was never announced.
    ...refunds.flatMap(({ pendingAt, confirmedAt, cancelledAt, sentAt }) =>
      [pendingAt, confirmedAt, sentAt === undefined ? undefined : cancelledAt].map(
        (at) => [at, "refund"] as const,
      ),
    ),
    [chargeback?.openedAt, "chargeback"],
    [chargeback?.creditedAt, "chargeback_credit"],
  ];
  let last: NotificationKind | undefined;
  let lastAt: Instant | undefined;
  for (const [at, kind] of announced) {
    if (at === undefined || (lastAt !== undefined && at < lastAt)) continue;
    last = kind;
    lastAt = at;
  }
  return last;
}
