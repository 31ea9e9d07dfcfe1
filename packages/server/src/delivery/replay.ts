import type { Clock } from "../kernel/clock.ts";
import type { MerchantId } from "../kernel/ids.ts";
import type { PaymentId } from "../payment/payment-id.ts";
import type { Instant } from "../kernel/instant.ts";
import type { OutboxRow, Store } from "../stores/store.ts";
import { deliveryChange } from "./delivery.ts";
import {
  batchingTargets,
  isUrlEndpoint,
  type NotificationSettings,
  targetsOf,
} from "../notification/endpoint.ts";
import {
  type Delivery,
  type EndpointId,
  newDelivery,
  openMessage,
} from "../notification/events.ts";
import { mapMessage, type Message } from "../notification/message.ts";

/** The notifications that an account wants to receive again. */
export type ReplaySelection =
  | { readonly paymentId: PaymentId }
  /** Notification numbers, both inclusive; only to this endpoint unless it is undefined. */
  | { readonly from: number; readonly to: number; readonly endpoint?: string | undefined }
  /** Failed deliveries, from this notification number on. */
  | { readonly failedFrom: number };

export interface ReplayParts {
  readonly store: Pick<
    Store,
    | "notificationsOf"
    | "notificationsOfPayment"
    | "deliveriesOf"
    | "deliveriesBetween"
    | "deliveriesOfMessage"
    | "paymentById"
    | "commit"
  >;
  readonly clock: Clock;
}

export interface Replayed {
  /** Number of deliveries that wait again, or for the first time. */
  readonly deliveries: number;
  /**
   * The number to continue from if there are more than one call takes; undefined if that was all,
   * or for a single payment's notifications.
   */
  readonly next: number | undefined;
}

/** Maximum number of notifications per call. */
const maxNotifications = 500;
/**
 * Maximum number of deliveries read per notification: more than an account can have endpoints,
 * because some may have been removed.
 */
const maxDeliveriesOfOne = 64;

/**
 * Queues notifications again for their current receivers: the payment's own address, or the
 * account's present endpoints. Deliveries that already wait are unchanged, as are those that
 * another process changes meanwhile. Ids and numbers stay the same: all notifications of one
 * message are sent in the same message again.
 */
export async function replay(
  parts: ReplayParts,
  merchantId: MerchantId,
  settings: NotificationSettings,
  selection: ReplaySelection,
): Promise<Replayed> {
  if ("failedFrom" in selection) return replayFailed(parts, merchantId, selection.failedFrom);
  const { store } = parts;
  const rows =
    "paymentId" in selection
      ? await store.notificationsOfPayment(merchantId, selection.paymentId, maxNotifications)
      : await store.notificationsOf(
          merchantId,
          selection.from - 1,
          Math.min(maxNotifications, selection.to - selection.from + 1),
        );
  // Concurrently, so that they share commits; the numbers keep each payment's order.
  const only = "to" in selection ? selection.endpoint : undefined;
  const counts = await Promise.all(rows.map((row) => replayRow(parts, row, settings, only)));
  const last = rows.at(-1)?.number;
  const more =
    "to" in selection &&
    rows.length === maxNotifications &&
    last !== undefined &&
    last < selection.to;
  return { deliveries: sum(counts), next: more ? last + 1 : undefined };
}

async function replayFailed(
  parts: ReplayParts,
  merchantId: MerchantId,
  from: number,
): Promise<Replayed> {
  const failed = await parts.store.deliveriesOf(merchantId, from, maxNotifications, "failed");
  const counts = await Promise.all(failed.map((delivery) => requestAgain(parts, delivery)));
  const last = failed.at(-1)?.number;
  return { deliveries: sum(counts), next: failed.length === maxNotifications ? last : undefined };
}

async function replayRow(
  parts: ReplayParts,
  row: OutboxRow,
  { endpoints }: NotificationSettings,
  only: string | undefined,
): Promise<number> {
  const { store, clock } = parts;
  const { merchantId, number, paymentId } = row;
  const payment = await store.paymentById(merchantId, paymentId);
  const existing = await store.deliveriesBetween(merchantId, number, number, maxDeliveriesOfOne);
  let count = 0;
  const targets = targetsOf(endpoints, payment?.order.notificationUrl);
  const batching = new Set(batchingTargets(endpoints, targets));
  for (const endpoint of targets) {
    if (only !== undefined && endpoint !== only) continue;
    const delivery = existing.find((each) => isSameReceiver(each.endpoint, endpoint));
    if (delivery?.state === "waiting") continue;
    const now = clock.now();
    count +=
      delivery === undefined
        ? await commit(store, now, [newDelivery({ ...row, endpoint }, now, batching.has(endpoint))])
        : await requestAgain(parts, delivery);
  }
  return count;
}

/** A payment has one own address, which had another name in an earlier version. */
function isSameReceiver(left: EndpointId, right: EndpointId): boolean {
  return left === right || (isUrlEndpoint(left) && isUrlEndpoint(right));
}

/**
 * Requests a delivery again with all others of its message. If several of them are requested at a
 * time, one of the changes is committed and counts them all.
 */
async function requestAgain({ store, clock }: ReplayParts, delivery: Delivery): Promise<number> {
  const { message = openMessage } = delivery;
  const [first = delivery, ...others] =
    message === openMessage ? [delivery] : await store.deliveriesOfMessage(delivery, message);
  const together: Message = [first, ...others];
  if (together.some(({ state }) => state === "waiting")) return 0;
  const at = clock.now();
  return commit(
    store,
    at,
    mapMessage(together, (each) => requestedAgain(each, at)),
  );
}

function requestedAgain(delivery: Delivery, at: Instant): Delivery {
  return {
    ...delivery,
    version: delivery.version + 1,
    state: "waiting",
    requestedAt: at,
    dueAt: at,
    attempts: 0,
    inOrder: true,
  };
}

async function commit(store: ReplayParts["store"], at: Instant, next: Message): Promise<number> {
  const { outcome } = await store.commit(deliveryChange(at, ...next));
  return outcome === "committed" ? next.length : 0;
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
