import type { MerchantId, PaymentId } from "../kernel/ids.ts";
import type { Instant } from "../kernel/instant.ts";

/** What merchants are told about (interface 6). */
export const notificationKinds = ["update", "refund", "chargeback", "chargeback_credit"] as const;
export type NotificationKind = (typeof notificationKinds)[number];

/**
 * Committed with the change that it tells of, delivered afterwards; its identity is the merchant
 * and the number it gets then.
 */
export interface Notification {
  readonly kind: NotificationKind;
  readonly paymentId: PaymentId;
}

/**
 * Receiver of a merchant's notifications: the name of one of the account's endpoints, or `url-`
 * with digests of the origin and the whole of the address that a payment brought itself
 * (urlEndpoint in endpoint.ts).
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

/**
 * `waiting` until it was `delivered` or has `failed` for good; either can be asked for again, and
 * waits again.
 */
export const deliveryStates = ["waiting", "delivered", "failed"] as const;
export type DeliveryState = (typeof deliveryStates)[number];

/**
 * In `message`: it may go together with others, which ones is not fixed yet, and it was never sent.
 */
export const openMessage = 0;

/** One notification on its way to one endpoint. */
export interface Delivery extends EndpointKey, Notification {
  /** The notification's number within its account. */
  readonly number: number;
  /** 1 when it is first committed; each change of it adds one. */
  readonly version: number;
  readonly state: DeliveryState;
  /** When it was asked for: with its notification, or by the last replay. */
  readonly askedAt: Instant;
  /**
   * When it is to be tried, while it waits; afterwards when it ended. In rows of versions before,
   * when its last attempt was due.
   */
  readonly dueAt: Instant;
  /** Attempts since it was asked for. */
  readonly attempts: number;
  /**
   * What the last attempt ended in: an HTTP status or a word of delivery.ts; undefined before there
   * was one.
   */
  readonly outcome: string | undefined;
  /** false: later ones of the same payment do not wait for it. */
  readonly inOrder: boolean;
  /**
   * undefined: it goes alone. `openMessage`, until before the first attempt it is written down
   * which go together; from then on, for good, the lowest number of those in its message. All of a
   * message are moved by one change.
   */
  readonly message: number | undefined;
}

/** Names what is sent as one message, within its endpoint: the lowest number in it. */
export function messageNumber({
  message = openMessage,
  number,
}: Pick<Delivery, "message" | "number">): number {
  return message === openMessage ? number : message;
}

/**
 * The first version of a delivery, as a commit makes it for each of its notifications and each
 * endpoint that is to hear of it; `gathers` when it may go together with others.
 */
export function newDelivery(
  of: EndpointKey & Notification & { readonly number: number },
  at: Instant,
  gathers = false,
): Delivery {
  const { merchantId, endpoint, number, paymentId, kind } = of;
  const fresh = {
    version: 1,
    state: "waiting",
    askedAt: at,
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
    message: gathers ? openMessage : undefined,
  };
}
