import type { MerchantId } from "../../kernel/ids.ts";
import type { PaymentId } from "../../payment/payment-id.ts";
import type { Instant } from "../../kernel/instant.ts";
import type {
  Delivery,
  DeliveryState,
  EndpointId,
  EndpointKey,
  NotificationKind,
} from "../../notification/events.ts";
import type { OpenDeliveryState } from "../store.ts";

/** Columns and rows of notifications and deliveries as they are read. */

/** With the tables that they come from. */
export const notificationColumns = `sequence, kind, lower(hex(payment.id)) AS paymentId, lower(hex(outbox.merchant)) AS merchantId, number,
  outbox.version, history.at
  FROM outbox JOIN payment ON payment.no = outbox.payment
  JOIN history ON history.payment = outbox.payment AND history.version = outbox.version`;

export const deliveryColumns = `lane, delivery.number, lower(hex(payment.id)) AS paymentId, delivery.kind, delivery.version,
  delivery.state, asked_at AS requestedAt, delivery.due_at AS dueAt, delivery.attempts, outcome, in_order AS inOrder, message`;

/** A row of `deliveryColumns`. */
export interface DeliveryRow {
  readonly lane: string;
  readonly number: number;
  readonly paymentId: PaymentId;
  readonly kind: NotificationKind;
  readonly version: number;
  readonly state: DeliveryState;
  readonly requestedAt: Instant;
  readonly dueAt: Instant;
  readonly attempts: number;
  readonly outcome: string | null;
  readonly inOrder: number;
  readonly message: number | null;
}

/**
 * The state and the merchant expression are written exactly as in the index of that state;
 * otherwise the index is not used. A lane begins with its merchant.
 */
export function deliveriesInState(state: OpenDeliveryState): string {
  return `SELECT ${deliveryColumns} FROM delivery CROSS JOIN payment ON payment.no = delivery.payment
    WHERE delivery.state = '${state}' AND substr(lane, 1, 8) = ? AND delivery.number >= ? ORDER BY delivery.number, lane LIMIT ?`;
}

export function deliveryFromRow({
  lane,
  outcome,
  inOrder,
  message,
  ...row
}: DeliveryRow): Delivery {
  return {
    ...keyOfLane(lane),
    ...row,
    outcome: outcome ?? undefined,
    inOrder: inOrder === 1,
    message: message ?? undefined,
  };
}

/** The merchant and the endpoint of a lane (delivery-writer.ts). */
export function keyOfLane(lane: string): EndpointKey {
  return { merchantId: lane.slice(0, 8) as MerchantId, endpoint: lane.slice(9) as EndpointId };
}
