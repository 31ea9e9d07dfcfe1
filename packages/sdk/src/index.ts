/** The client of servers: payments with the account's secret key. */
export {
  Card,
  type CardDetails,
  type Digits,
  type NetworkTokenDetails,
  type StoredCardDetails,
} from "./card.ts";
export {
  type CardOrToken,
  type CardToStore,
  type CardToVerify,
  type Charge,
  Cofre,
  type PaymentName,
  type RefundName,
  type RefundRequest,
  type StoredCard,
} from "./cofre.ts";
export { CofreConnectionError, CofreRequestError, CofreSignatureError } from "./errors.ts";
export type * from "./generated/types.ts";
export * as notifications from "./notifications.ts";
export type {
  HeadersLike,
  Notification,
  NotificationKeys,
  ReceivedRequest,
  ReceiverOptions,
  VerifyOptions,
} from "./notifications.ts";
export type * from "./outcomes.ts";
export type { ByteStream, CancelSignal, Fetch, FetchResponse, Runtime } from "./runtime.ts";
export type { CallOptions, CofreOptions } from "./transport.ts";
