import type { Instant } from "../kernel/instant.ts";
import { ServiceError } from "../payment/service-error.ts";
import type { NotificationKind } from "../notification/events.ts";
import type { Payment } from "../payment/payment.ts";
import { isFinal, change, changed, type PaymentChange, record } from "./steps.ts";

/**
 * The merchant wants to hear once more of the latest change that was announced: receivers ask for
 * the payment then, as it is now. `told` says whether anything was yet: what was told of a payment
 * that stays PE left no time on it.
 */
export function decideResend(payment: Payment, told: boolean, now: Instant): PaymentChange {
  const kind = lastAnnounced(payment) ?? (told ? "update" : undefined);
  if (kind === undefined) throw new ServiceError("nothing_to_resend");
  const note = record("notification_resent", undefined, "merchant", { kind });
  return change(now, changed(payment, {}), payment.version, [note], [], kind);
}

/**
 * Read off the payment: what merchants are told of has its time there. Of several at one time the
 * one that came about last.
 */
function lastAnnounced({
  state,
  statusAt,
  refunds,
  chargeback,
}: Payment): NotificationKind | undefined {
  const announced: (readonly [at: Instant | undefined, kind: NotificationKind])[] = [
    [isFinal(state) ? statusAt : undefined, "update"],
    // A refund that the merchant took back before it was pending was never announced.
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
