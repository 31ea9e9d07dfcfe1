import type { MerchantId } from "../kernel/ids.ts";
import type { PaymentId } from "../payment/payment-id.ts";
import type { Instant } from "../kernel/instant.ts";

/** The kinds of notifications (interface 6). */
export const notificationKinds = ["update", "refund", "chargeback", "chargeback_credit"] as const;
export type NotificationKind = (typeof notificationKinds)[number];

/**
 * Committed with the change that it announces and delivered afterwards; identified by the merchant
 * and the number that the commit assigns.
 */
export interface Notification {
  readonly kind: NotificationKind;
  readonly paymentId: PaymentId;
}

/**
 * A receiver of a merchant's notifications: the name of one of the account's endpoints, or `url-`
 * with digests of the origin and of the whole address for a payment's own address (urlEndpoint in
 * endpoint.ts).
 */
export type EndpointId = string & { readonly [brand]: "EndpointId" };
/**
 * Deliveries that share a turn, a limit and a circuit: those of one endpoint of the account, or of
 * all payments' own addresses at one origin.
 */
export type QueueId = string & { readonly [brand]: "QueueId" };
declare const brand: unique symbol;

/** One endpoint of one merchant. */
export interface EndpointKey {
  readonly merchantId: MerchantId;
  readonly endpoint: EndpointId;
}

/** One queue of one merchant. */
export interface QueueKey {
  readonly merchantId: MerchantId;
  readonly queue: QueueId;
}

/** `waiting` until `delivered` or finally `failed`; a replay makes either wait again. */
export const deliveryStates = ["waiting", "delivered", "failed"] as const;
export type DeliveryState = (typeof deliveryStates)[number];

/**
 * Value of `message`: the delivery may be combined with others, but these are not determined yet,
 * and it was never sent.
 */
export const openMessage = 0;

/** One notification on its way to one endpoint. */
export interface Delivery extends EndpointKey, Notification {
  /** The notification's number within its account. */
  readonly number: number;
  /** 1 at the first commit; each change adds one. */
  readonly version: number;
  readonly state: DeliveryState;
  /** When it was requested: with its notification, or by the last replay. */
  readonly requestedAt: Instant;
  /**
   * While it waits, the time of its next attempt; afterwards, when it ended. In rows of earlier
   * versions, when its last attempt was due.
   */
  readonly dueAt: Instant;
  /** Attempts since it was requested. */
  readonly attempts: number;
  /**
   * Outcome of the last attempt: an HTTP status or a name of delivery.ts; undefined before the
   * first.
   */
  readonly outcome: string | undefined;
  /** false: later deliveries of the same payment do not wait for it. */
  readonly inOrder: boolean;
  /**
   * undefined: sent alone. `openMessage`: the message is not determined yet; it is recorded before
   * the first attempt, permanently, as the lowest number in it. All deliveries of a message are
   * changed together.
   */
  readonly message: number | undefined;
}

/** Identifies a message within its endpoint: the lowest number in it. */
export function messageNumber({
  message = openMessage,
  number,
}: Pick<Delivery, "message" | "number">): number {
  return message === openMessage ? number : message;
}

/**
 * The first version of a delivery, which a commit creates for each of its notifications and each
 * endpoint; `gathers` if it may be combined with others.
 */
export function newDelivery(
  of: EndpointKey & Notification & { readonly number: number },
  at: Instant,
  isBatched = false,
): Delivery {
  const { merchantId, endpoint, number, paymentId, kind } = of;
  const fresh = {
    version: 1,
    state: "waiting",
    requestedAt: at,
    dueAt: at,
    attempts: 0,
    outcome: undefined,
    inOrder: true,
  } as const;
  return {
    merchantId,
    endpoint,
    number,
    paymentId,
    kind,
    ...fresh,
    message: isBatched ? openMessage : undefined,
  };
}
