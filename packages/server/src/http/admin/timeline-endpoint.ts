import { viewing } from "../../wire/permission.ts";
import { explainedPrices, pricesSchema } from "./explained-price.ts";
import { formatInstant } from "../../kernel/calendar.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import type { Account } from "../../merchant/account.ts";
import { explainPayment } from "../../operations/explain-payment.ts";
import type { Delivery } from "../../notification/events.ts";
import type { OutboxRow, Store } from "../../stores/store.ts";
import type { Recorder } from "../../sandbox/recording/recorder.ts";
import type { Endpoint } from "../../wire/endpoint.ts";
import { answering, type EndpointDeps, type OperationRunner } from "../../wire/endpoints/deps.ts";
import { renderPayment } from "../../wire/answers/payment-answer.ts";
import { readSelector } from "../../wire/requests/payment-request.ts";
import { timelineKinds, timelineOf } from "./timeline-entries.ts";
import { readErrors } from "../../wire/answers/errors.ts";
import type { EndpointDoc } from "../../wire/endpoint-doc.ts";
import { paymentSchema } from "../../wire/answers/payment-schema.ts";
import { json, NamedSchema } from "../../wire/schema.ts";
import { query } from "../../operations/query.ts";
import { exampleOrder, paymentFields } from "../../wire/endpoints/shared-docs.ts";

export interface TimelineDeps {
  readonly runner: OperationRunner;
  readonly storeOf: (
    account: Account,
  ) => Pick<Store, "notificationsOfPayment" | "deliveriesBetween">;
  readonly recorder: Pick<Recorder, "of">;
  readonly authenticatorOf: EndpointDeps["authenticatorOf"];
}

const maxNotifications = 50;
/**
 * Deliveries of one notification: more than an account can have endpoints, because some may have
 * been removed.
 */
const maxPerNotification = 64;

const answerSchema = new NamedSchema(
  "TimelineAnswer",
  json.object({
    hash: json.text,
    merchant_payment_code: json.text,
    state: json.text,
    recording: json.object({
      since: {
        ...json.textOrNull,
        description:
          "Requests, calls and attempts before this time may be missing; null: none was recorded.",
      },
      complete: { ...json.flag, description: "Nothing about this payment is missing." },
      omitted: {
        ...json.number,
        description:
          "The number of older recorded requests, calls and attempts of this payment that are not shown.",
      },
    }),
    entries: json.list(
      json.object({
        at: { ...json.text, description: "Such as 2026-01-31T12:00:00.000Z." },
        kind: json.oneOf(timelineKinds),
        text: { ...json.text, description: "One sentence." },
        data: json.anyObject,
      }),
    ),
    price: pricesSchema,
    problems: {
      ...json.list(json.text),
      description: "Violated invariants of the ledger; normally empty.",
    },
    violations: {
      ...json.list(json.object({ rule: json.text }, { currency: json.text })),
      description: "The invariants of `problems` in the same order, as names for programs.",
    },
    payment: paymentSchema,
    status: json.success,
  }),
);

const doc: EndpointDoc = {
  id: "timeline",
  tag: "Sandbox",
  summary: "Get a payment's timeline",
  description:
    "The simulated 3-D Secure authentication, requests, facts with their postings, acquirer calls, notifications and delivery attempts, as one list in order of time. Requests, calls and attempts are kept in memory only, since `recording.since`.",
  fields: paymentFields,
  answer: answerSchema,
  errors: readErrors,
  runs: [query],
  codes: ["BP-QRY-1"],
  example: exampleOrder,
  needs: "held",
};

/**
 * `/__cofre/timeline`, in the sandbox only: everything that happened to a payment, named by `hash`
 * or `merchant_payment_code`, as one chronological list. Facts, postings and notifications come
 * from the store; requests, calls and attempts are those that this process has recorded since it
 * started.
 */
export function timelineEndpoint({
  runner,
  storeOf,
  recorder,
  authenticatorOf,
}: TimelineDeps): Endpoint {
  return {
    path: "/__cofre/timeline",
    doc,
    permission: viewing,
    recorded: false,
    key: "secret",
    family: "parameters",
    cors: false,
    handle: ({ params, account }) =>
      answering(readErrors, async () => {
        const explained = await runner.run(
          explainPayment,
          account,
          readSelector(params, "BP-QRY-1"),
        );
        const { payment } = explained;
        const recording = recorder.of(account.id);
        const { since } = recording;
        const notified = await notificationsOf(storeOf(account), account.id, payment.id);
        const { transactionId, xid } = payment.order.threeDSecure ?? {};
        const authentication = authenticatorOf(account)?.issuerOf(account.id, {
          transactionId,
          xid,
          cryptogram: undefined,
        });
        const { entries, leftOut } = timelineOf({
          ...explained,
          ...notified,
          recording,
          authentication,
        });
        const body = {
          hash: payment.id,
          merchant_payment_code: payment.order.code,
          state: payment.state,
          recording: {
            since: since === undefined ? null : formatInstant(since),
            // Everything about the payment was recorded, and is shown.
            complete: since !== undefined && since <= payment.createdAt && leftOut === 0,
            omitted: leftOut,
          },
          entries,
          price: explainedPrices(payment, explained.explanation),
          problems: explained.explanation.problems,
          violations: explained.explanation.violations,
          // The payment as /ws/query shows it, without a second request.
          payment: JSON.parse(renderPayment(payment, account)) as unknown,
          status: "SUCCESS",
        };
        return JSON.stringify(body);
      }),
  };
}

async function notificationsOf(
  store: ReturnType<TimelineDeps["storeOf"]>,
  merchantId: MerchantId,
  paymentId: Parameters<Store["notificationsOfPayment"]>[1],
): Promise<{
  readonly notifications: readonly OutboxRow[];
  readonly deliveries: readonly Delivery[];
}> {
  const notifications = await store.notificationsOfPayment(merchantId, paymentId, maxNotifications);
  const deliveries = await Promise.all(
    notifications.map(({ number }) =>
      store.deliveriesBetween(merchantId, number, number, maxPerNotification),
    ),
  );
  return { notifications, deliveries: deliveries.flat() };
}
