import type { Clock } from "../kernel/clock.ts";
import type { MerchantId, PaymentId } from "../kernel/ids.ts";
import type { Instant } from "../kernel/instant.ts";
import type { OutboxRow, Store } from "../stores/store.ts";
import { deliveryChange } from "./delivery.ts";
import {
  gatheringOf,
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
import { eachOf, type Message } from "../notification/message.ts";

/** Which notifications an account wants to hear again. */
export type ReplaySelection =
  | { readonly paymentId: PaymentId }
  /** Numbers, both included. */
  | { readonly from: number; readonly to: number }
  /** Those that could not be delivered. */
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
  /** Deliveries that wait again, or for the first time. */
  readonly deliveries: number;
  /**
   * The number to go on from when there was more than one call takes; undefined when that was all,
   * or the last ones of one payment.
   */
  readonly next: number | undefined;
}

/** Notifications that one call takes. */
const mostAtOnce = 500;
/**
 * Deliveries of one notification that are looked at: more than an account can have endpoints, for
 * some were taken away.
 */
const mostOfOne = 64;

/**
 * Puts notifications back into the queues of those who are to hear of them now: the payment's own
 * address, or the account's endpoints as they are today. What waits already is left alone, and so
 * is what somebody else moves meanwhile. Ids and numbers stay the same: what went in one message
 * goes in the same message again, whole.
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
      ? await store.notificationsOfPayment(merchantId, selection.paymentId, mostAtOnce)
      : await store.notificationsOf(
          merchantId,
          selection.from - 1,
          Math.min(mostAtOnce, selection.to - selection.from + 1),
        );
  // Together, so that they share commits; each payment's order is kept by the numbers.
  const counts = await Promise.all(rows.map((row) => replayRow(parts, row, settings)));
  const last = rows.at(-1)?.number;
  const more =
    "to" in selection && rows.length === mostAtOnce && last !== undefined && last < selection.to;
  return { deliveries: sum(counts), next: more ? last + 1 : undefined };
}

async function replayFailed(
  parts: ReplayParts,
  merchantId: MerchantId,
  from: number,
): Promise<Replayed> {
  const failed = await parts.store.deliveriesOf(merchantId, from, mostAtOnce, "failed");
  const counts = await Promise.all(failed.map((delivery) => askAgain(parts, delivery)));
  const last = failed.at(-1)?.number;
  return { deliveries: sum(counts), next: failed.length === mostAtOnce ? last : undefined };
}

async function replayRow(
  parts: ReplayParts,
  row: OutboxRow,
  { endpoints }: NotificationSettings,
): Promise<number> {
  const { store, clock } = parts;
  const { merchantId, number, paymentId } = row;
  const payment = await store.paymentById(merchantId, paymentId);
  const known = await store.deliveriesBetween(merchantId, number, number, mostOfOne);
  let count = 0;
  const targets = targetsOf(endpoints, payment?.order.notificationUrl);
  const gathering = new Set(gatheringOf(endpoints, targets));
  for (const endpoint of targets) {
    const delivery = known.find((each) => isSameReceiver(each.endpoint, endpoint));
    if (delivery?.state === "waiting") continue;
    const now = clock.now();
    count +=
      delivery === undefined
        ? await commit(store, now, [
            newDelivery({ ...row, endpoint }, now, gathering.has(endpoint)),
          ])
        : await askAgain(parts, delivery);
  }
  return count;
}

/** A payment has one address of its own, which has had another name in the version before. */
function isSameReceiver(left: EndpointId, right: EndpointId): boolean {
  return left === right || (isUrlEndpoint(left) && isUrlEndpoint(right));
}

/**
 * With all that are in its message. When several of them are asked for at a time one of the changes
 * is committed and counts them all.
 */
async function askAgain({ store, clock }: ReplayParts, delivery: Delivery): Promise<number> {
  const { message = openMessage } = delivery;
  const [first = delivery, ...others] =
    message === openMessage ? [delivery] : await store.deliveriesOfMessage(delivery, message);
  const together: Message = [first, ...others];
  if (together.some(({ state }) => state === "waiting")) return 0;
  const at = clock.now();
  return commit(
    store,
    at,
    eachOf(together, (each) => askedAgain(each, at)),
  );
}

function askedAgain(delivery: Delivery, at: Instant): Delivery {
  return {
    ...delivery,
    version: delivery.version + 1,
    state: "waiting",
    askedAt: at,
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
