import type { PaymentId } from "../kernel/ids.ts";

/** What merchants are told about (interface 6). */
export const notificationKinds = ["update", "refund", "chargeback", "chargeback_credit"] as const;
export type NotificationKind = (typeof notificationKinds)[number];

/** Committed with the change that it tells of, delivered afterwards; its identity is (payment, version). */
export interface Notification {
  readonly kind: NotificationKind;
  readonly paymentId: PaymentId;
}
