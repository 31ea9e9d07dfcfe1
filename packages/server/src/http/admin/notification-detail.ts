import { formatInstant } from "../../kernel/calendar.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import { messageHeaders } from "../../delivery/message-sender.ts";
import type { NotificationKeys } from "../../delivery/notification-keys.ts";
import { createSigner } from "../../delivery/signature.ts";
import type { Account } from "../../merchant/account.ts";
import { endpointsOf } from "../../merchant/notification-endpoints.ts";
import { shownAddress } from "../../merchant/receiver-address.ts";
import {
  isUrlEndpoint,
  messageBody,
  messageId,
  urlSecretName,
} from "../../notification/endpoint.ts";
import { type Delivery, type EndpointId, openMessage } from "../../notification/events.ts";
import type { Payment } from "../../payment/payment.ts";
import type { RecordedAttempt, Recorder } from "../../sandbox/recording/recorder.ts";
import type { OutboxRow, Store } from "../../stores/store.ts";

export interface DetailParts {
  readonly store: Pick<Store, "deliveriesOfMessage" | "paymentById">;
  readonly keys: NotificationKeys;
  /** The merchant id from which the notification keys are derived. */
  readonly name: MerchantId;
  /** Undefined in production, where no message is recorded. */
  readonly recorder: Pick<Recorder, "of"> | undefined;
}

/**
 * One notification with its message for each receiver and the attempts that are still recorded;
 * without a receiver, the message as a receiver would have got it.
 */
export async function notificationDetail(
  { store, keys, name, recorder }: DetailParts,
  account: Account,
  row: OutboxRow,
  deliveries: readonly Delivery[],
): Promise<object> {
  const payment = await store.paymentById(account.id, row.paymentId);
  const recording = recorder?.of(account.id);
  const attempts = (recording?.attempts ?? []).filter(({ number }) => number === row.number);
  const receivers = await Promise.all(
    deliveries.map(async (delivery) => ({
      endpoint: delivery.endpoint,
      url: addressOf(account, payment, delivery.endpoint),
      body: await bodyOf(store, delivery),
      attempts: attempts.filter(({ endpoint }) => endpoint === delivery.endpoint).map(attemptView),
    })),
  );
  return {
    number: row.number,
    merchant_payment_code: payment?.order.code ?? null,
    receivers,
    sample: deliveries.length === 0 ? await sampleOf(keys, name, row) : null,
    recorded_since: recording?.since === undefined ? null : formatInstant(recording.since),
  };
}

/** The receiver's present address; null if it was removed. */
function addressOf(
  { settings }: Account,
  payment: Payment | undefined,
  endpoint: EndpointId,
): string | null {
  const url = isUrlEndpoint(endpoint)
    ? payment?.order.notificationUrl
    : endpointsOf(settings).find(({ id }) => id === endpoint)?.url;
  return url === undefined ? null : shownAddress(url);
}

/** The message's body, which is the same for each attempt, made again from its notifications. */
async function bodyOf(store: DetailParts["store"], delivery: Delivery): Promise<string> {
  const { message = openMessage } = delivery;
  if (message === openMessage) return messageBody([delivery]);
  const [first = delivery, ...others] = await store.deliveriesOfMessage(delivery, message);
  return messageBody([first, ...others]);
}

/** No endpoint has this name. */
const noEndpoint = "url-none" as EndpointId;

/**
 * The message that a payment's own address would have got at the time of the notification, signed
 * with the secret of those addresses.
 */
async function sampleOf(
  keys: NotificationKeys,
  merchantId: MerchantId,
  row: OutboxRow,
): Promise<object> {
  const body = messageBody([row]);
  const numbers = [row.number];
  const signed = await createSigner(keys)({
    merchantId,
    id: messageId(keys.certificate.fingerprint, { merchantId, endpoint: noEndpoint, numbers }),
    at: row.at,
    body,
    secrets: [urlSecretName],
  });
  return { headers: messageHeaders(numbers, 1, signed), body };
}

function attemptView({ at, url, attempt, outcome, verdict, dueAt, exchange }: RecordedAttempt) {
  const { headers, body, durationMs, response } = exchange ?? {};
  return {
    at: formatInstant(at),
    url,
    attempt,
    outcome,
    verdict,
    due_at: dueAt === undefined ? null : formatInstant(dueAt),
    duration_ms: durationMs ?? null,
    request: exchange === undefined ? null : { headers, body },
    response:
      response === undefined
        ? null
        : {
            status: response.status,
            headers: response.headers,
            body: response.body,
            truncated: response.isCut,
          },
  };
}
