import { acting, viewing, whenGiven } from "../../wire/permission.ts";
import { formatTimestamp } from "../../kernel/calendar.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import { isPaymentId, type PaymentId } from "../../payment/payment-id.ts";
import type { Account, AccountSettings } from "../../merchant/account.ts";
import { endpointsOf, endpointsSwitched } from "../../merchant/notification-endpoints.ts";
import { type Delivery, openMessage, deliveryStates } from "../../notification/events.ts";
import {
  receiverPublicKey,
  receiverSecret,
  type NotificationKeys,
} from "../../delivery/notification-keys.ts";
import { shownAddress } from "../../merchant/receiver-address.ts";
import { type DetailParts, notificationDetail } from "./notification-detail.ts";
import {
  isEndpointName,
  type NotificationEndpoint,
  secretName,
  urlSecretName,
} from "../../notification/endpoint.ts";
import { replay, type ReplayParts, type ReplaySelection } from "../../delivery/replay.ts";
import type { OutboxRow } from "../../stores/store.ts";
import type { WireResponse } from "../../wire/answers/answer.ts";
import {
  maxPerNotification,
  newestInput,
  newestNotifications,
  maxNewest,
} from "./newest-notifications.ts";
import type { Endpoint, OpenEndpoint, WireRequest } from "../../wire/endpoint.ts";
import { answeringAnswer } from "../../wire/endpoints/deps.ts";
import { hashOf } from "../../wire/requests/fields.ts";
import { refusalAnswer } from "../../wire/answers/refusal-answer.ts";
import { textOf, type TreeObject } from "../../wire/decode/tree.ts";
import { readErrors } from "../../wire/answers/errors.ts";
import type { EndpointDoc } from "../../wire/endpoint-doc.ts";
import { json, NamedSchema } from "../../wire/schema.ts";
import { exampleKey, secretKey } from "../../wire/endpoints/shared-docs.ts";

export interface NotificationsDeps extends ReplayParts, Pick<DetailParts, "recorder"> {
  readonly keys: NotificationKeys;
  /** Wakes the dispatcher: there is something to deliver. */
  readonly nudge: () => void;
  /** The merchant id from which the notification keys are derived. */
  readonly name: MerchantId;
  /**
   * Changes the account's settings, computed from the current ones, and resolves with the changed
   * account.
   */
  readonly change: (
    settingsAfter: (current: AccountSettings) => AccountSettings,
  ) => Promise<Account>;
}

/**
 * The endpoint that a request enables or disables, when the text can be an id: other text stays out
 * of the log.
 */
function changeIn(params: TreeObject): string | undefined {
  const name = changes.find((each) => params[each] !== undefined) ?? "";
  const id = textOf(params, name) ?? "";
  return isEndpointName(id) ? `${name} ${id}` : undefined;
}

const maxListed = 500;
const maxPerPayment = 50;

const answerSchema = new NamedSchema(
  "NotificationsAnswer",
  json.object(
    {
      notifications: {
        ...json.list(json.anyObject),
        description:
          "Number, type, hash, time and deliveries; with `order` also the payment's code.",
      },
      endpoints: {
        ...json.list(json.anyObject),
        description:
          "The account's endpoints: id, url, enabled, and state: enabled, disabled (at `disabled_at`) or gone (it answered 410, at `gone_at`); with a key or with `secrets` also secret.",
      },
      payment_url_secret: json.text,
      public_key: json.text,
      certificate_fingerprint: json.text,
      status: json.success,
    },
    {
      next: {
        type: ["integer", "null"],
        description:
          "With `order`: the value of `before` for the next page; null on the last page.",
      },
      detail: {
        ...json.anyObject,
        description:
          "With `number`: the payment's code, and for each receiver its present address, the body of the message and the recorded attempts (in the sandbox, at most 1,000 of the account): headers and body of the request, duration in milliseconds, and status, some headers and the beginning of the body of the response. Without a receiver, `sample` is the message as a payment's own address would have received it.",
      },
    },
  ),
);

const doc: EndpointDoc = {
  id: "notifications",
  tag: "Sandbox",
  summary: "List or replay notifications, enable or disable endpoints",
  description:
    "The account's notifications with every delivery, and the keys that verify them. See docs/concepts/notifications.md.",
  fields: [
    secretKey,
    {
      name: "after",
      type: "whole",
      note: "Lists higher numbers than this. Default: 0. Any other value: COFRE-85.",
    },
    {
      name: "replay",
      type: "text",
      values: ["failed", "payment", "range"],
      note: "Delivers again: failed notifications, the notifications of a payment, or a range of numbers.",
    },
    {
      name: "hash",
      type: "text",
      note: "The payment, for `payment`. Without `replay`: lists only the notifications of this payment. COFRE-85 when it is not a hash.",
    },
    {
      name: "from",
      type: "whole",
      note: "The first number, for `failed` and `range`. Any other value: COFRE-48.",
    },
    { name: "to", type: "whole", note: "The last number, for `range`." },
    {
      name: "endpoint",
      type: "text",
      note: "Only deliveries to the endpoint with this id, for `range`.",
    },
    {
      name: "number",
      type: "whole",
      note: "Shows this notification with `detail`. COFRE-146 for a number that the account does not have.",
    },
    {
      name: "secrets",
      type: "flag",
      note: "Shows an administrator who has signed in the secrets that a key shows always.",
    },
    {
      name: "enable",
      type: "text",
      note: "The id of the endpoint to enable, also after it answered 410. Notifications kept for it are sent. COFRE-145 for an unknown id.",
    },
    {
      name: "disable",
      type: "text",
      note: "The id of the endpoint to disable. Its notifications are kept. COFRE-145 for an unknown id.",
    },
    {
      name: "order",
      type: "text",
      values: ["newest"],
      note: "Lists the newest first, one page per call. Any other value: COFRE-60.",
    },
    {
      name: "state",
      type: "text",
      values: deliveryStates,
      note: "With `order`: only notifications with a delivery in this state. One call reads at most 2,000. Any other value: COFRE-60.",
    },
    {
      name: "limit",
      type: "whole",
      note: `With \`order\`: the page size, 1 to ${maxNewest}. Default: 50. Any other value: COFRE-61.`,
    },
    { name: "before", type: "whole", note: "With `order`: the `next` of the previous page." },
  ],
  answer: answerSchema,
  codes: ["COFRE-48", "COFRE-60", "COFRE-61", "COFRE-85", "COFRE-145", "COFRE-146"],
  example: { ...exampleKey, after: 0 },
};

/**
 * `/__cofre/notifications`, with the secret key: the account's notifications after the number
 * `after` (of one payment with `hash`), each with its deliveries, and the keys with which receivers
 * verify them. `order=newest` lists from the newest down instead. `replay=failed` (from number
 * `from`), `replay=payment` (`hash`) or `replay=range` (`from`, `to`) delivers again. `enable`
 * and `disable` take the id of an endpoint and return the list. `number` shows one notification
 * with its messages. A signed-in user is shown no secret, because with it receivers could be sent
 * forged notifications; an administrator is with `secrets`, which the audit log records.
 */
export function notificationsEndpoint(of: (account: Account) => NotificationsDeps): Endpoint {
  const answerTo = async ({ params, account, user }: WireRequest): Promise<WireResponse> => {
    const deps = of(account);
    const requested = changes.filter((name) => params[name] !== undefined);
    if (requested.length > 0) {
      const changed = await endpointChanged(deps, params, account, requested);
      return "body" in changed ? changed : list(deps, params, changed, user);
    }
    return textOf(params, "replay") === undefined
      ? list(deps, params, account, user)
      : replayed(deps, params, account);
  };
  return {
    path: "/__cofre/notifications",
    doc,
    permission: whenGiven(
      ["enable", "disable"],
      acting("admin", "endpoint_changed", changeIn),
      whenGiven(
        ["replay"],
        acting("operator", "notification_resent"),
        whenGiven(["secrets"], acting("admin", "secrets_shown"), viewing),
      ),
    ),
    recorded: false,
    key: "secret",
    family: "parameters",
    cors: false,
    handle: (request) => answeringAnswer(readErrors, () => answerTo(request)),
  };
}

/**
 * `/__cofre/certificate.pem`: the certificate that verifies the interface's own signatures. Public,
 * like every certificate.
 */
export function certificateEndpoint({ keys }: Pick<NotificationsDeps, "keys">): OpenEndpoint {
  return {
    path: "/__cofre/certificate.pem",
    doc: "page",
    key: "none",
    isPage: true,
    family: "parameters",
    cors: false,
    handle: async () => ({
      status: 200,
      body: keys.certificate.pem,
      type: "application/x-pem-file",
    }),
  };
}

/**
 * Whether the permission that the request needed was that of `secrets`: any other action that a
 * request names, even with an empty value, needs only its own.
 */
function mayShowSecrets(params: TreeObject): boolean {
  return (
    params["secrets"] !== undefined &&
    [...changes, "replay"].every((action) => params[action] === undefined)
  );
}

async function list(
  deps: NotificationsDeps,
  params: TreeObject,
  account: Account,
  user: WireRequest["user"],
): Promise<WireResponse> {
  const { store, keys, name } = deps;
  const after = numberOf(params, "after", 0);
  const hash = hashOf(params);
  if (after === undefined || (hash !== undefined && !isPaymentId(hash))) {
    return refusalAnswer("COFRE-85");
  }
  // A state alone is refused: a client that forgot the order must not take the result for all
  // notifications.
  const input =
    textOf(params, "order") === undefined && textOf(params, "state") === undefined
      ? undefined
      : newestInput(params);
  if (input !== undefined && "status" in input) return input;
  const newest =
    input === undefined ? undefined : await newestNotifications(store, account.id, input);
  const one =
    params["number"] === undefined
      ? undefined
      : await notificationWithNumber(store, account, numberOf(params, "number", 0) ?? 0);
  if (one !== undefined && one.rows.length === 0) return refusalAnswer("COFRE-146");
  const { rows, deliveries } =
    one ??
    newest ??
    (hash === undefined
      ? await notificationsAfter(store, account, after)
      : await notificationsOfPayment(store, account, hash, after));
  const [only] = one?.rows ?? [];
  const detail =
    only === undefined ? undefined : await notificationDetail(deps, account, only, deliveries);
  const codes = newest === undefined ? undefined : await paymentCodes(store, account.id, rows);
  const showsSecrets = user === undefined || mayShowSecrets(params);
  const notifications = rows.map(({ number, kind, paymentId, at }) => ({
    number,
    notification_type: kind,
    hash: paymentId,
    ...(codes === undefined ? {} : { merchant_payment_code: codes.get(paymentId) ?? null }),
    at: formatTimestamp(at),
    deliveries: deliveries.filter((each) => each.number === number).map(shownDelivery),
  }));
  const endpoints = endpointsOf(account.settings).map((each) =>
    endpointView(each, showsSecrets ? deps : undefined),
  );
  const body = {
    notifications,
    ...(newest === undefined ? {} : { next: newest.next ?? null }),
    ...(detail === undefined ? {} : { detail }),
    endpoints,
    ...(showsSecrets ? { payment_url_secret: receiverSecret(keys, name, urlSecretName) } : {}),
    public_key: receiverPublicKey(keys, name),
    certificate_fingerprint: keys.certificate.fingerprint,
    status: "SUCCESS",
  };
  return { status: 200, body: JSON.stringify(body) };
}

/** `secrets`: where the endpoint's secret comes from; undefined: it is not shown. */
function endpointView(
  endpoint: NotificationEndpoint,
  secrets: Pick<NotificationsDeps, "keys" | "name"> | undefined,
): object {
  const { id, url, enabled, offAt, goneAt, secretVersion } = endpoint;
  return {
    id,
    url: shownAddress(url),
    enabled: enabled && goneAt === undefined,
    state: stateOf(endpoint),
    ...(offAt === undefined ? {} : { disabled_at: formatTimestamp(offAt) }),
    ...(goneAt === undefined ? {} : { gone_at: formatTimestamp(goneAt) }),
    ...(secrets === undefined
      ? {}
      : {
          secret: receiverSecret(secrets.keys, secrets.name, secretName(endpoint, secretVersion)),
        }),
  };
}

function shownDelivery({
  endpoint,
  state,
  attempts,
  outcome,
  dueAt,
  message = openMessage,
}: Delivery): object {
  return {
    endpoint,
    state,
    attempts,
    outcome,
    ...(state === "waiting" ? { due_at: formatTimestamp(dueAt) } : {}),
    ...(message === openMessage ? {} : { message }),
  };
}

/**
 * `disabled` by a user; `gone`: it has answered 410. Its notifications are kept in both cases.
 */
function stateOf({ enabled, goneAt }: NotificationEndpoint): "enabled" | "disabled" | "gone" {
  if (!enabled) return "disabled";
  return goneAt === undefined ? "enabled" : "gone";
}

const changes = ["enable", "disable"] as const;

/**
 * Enables or disables one of the account's endpoints and returns the account, or the refusal.
 * Notifications that were kept for it are sent at once.
 */
async function endpointChanged(
  { change, nudge }: NotificationsDeps,
  params: TreeObject,
  { settings }: Account,
  requested: readonly (typeof changes)[number][],
): Promise<Account | WireResponse> {
  const [name = "enable"] = requested;
  const id = textOf(params, name) ?? "";
  if (
    requested.length > 1 ||
    params["replay"] !== undefined ||
    endpointsSwitched(settings, id, true) === undefined
  ) {
    return refusalAnswer("COFRE-145");
  }
  const account = await change((current) => ({
    ...current,
    notificationEndpoints:
      endpointsSwitched(current, id, name === "enable") ?? current.notificationEndpoints,
  }));
  nudge();
  return account;
}

/** The codes of the notifications' payments. */
async function paymentCodes(
  store: NotificationsDeps["store"],
  merchantId: MerchantId,
  rows: readonly OutboxRow[],
): Promise<ReadonlyMap<PaymentId, string>> {
  const ids = [...new Set(rows.map(({ paymentId }) => paymentId))];
  const payments = await Promise.all(ids.map((id) => store.paymentById(merchantId, id)));
  return new Map(
    payments.flatMap((payment) =>
      payment === undefined ? [] : [[payment.id, payment.order.code]],
    ),
  );
}

interface Notifications {
  readonly rows: readonly OutboxRow[];
  readonly deliveries: readonly Delivery[];
}

async function notificationsAfter(
  store: NotificationsDeps["store"],
  account: Account,
  after: number,
): Promise<Notifications> {
  const rows = await store.notificationsOf(account.id, after, maxListed);
  const deliveries = await store.deliveriesBetween(
    account.id,
    after + 1,
    rows.at(-1)?.number ?? after,
    maxListed,
  );
  // The deliveries of the last notification may be incomplete: it is listed on the next page.
  const upTo =
    deliveries.length < maxListed ? Number.POSITIVE_INFINITY : (deliveries.at(-1)?.number ?? 0);
  return { rows: rows.filter(({ number }) => number < upTo), deliveries };
}

/** The notification with this number, if there is one, with its deliveries. */
async function notificationWithNumber(
  store: NotificationsDeps["store"],
  account: Account,
  number: number,
): Promise<Notifications> {
  const found = number < 1 ? [] : await store.notificationsOf(account.id, number - 1, 1);
  const rows = found.filter((row) => row.number === number);
  const deliveries = await store.deliveriesBetween(account.id, number, number, maxPerNotification);
  return { rows, deliveries };
}

/**
 * The latest notifications of this payment: a payment that is announced repeatedly can have any
 * number of them.
 */
async function notificationsOfPayment(
  store: NotificationsDeps["store"],
  account: Account,
  hash: PaymentId,
  after: number,
): Promise<Notifications> {
  const last = await store.notificationsOfPayment(account.id, hash, maxPerPayment);
  const rows = last.filter(({ number }) => number > after);
  const deliveries = await Promise.all(
    rows.map(({ number }) =>
      store.deliveriesBetween(account.id, number, number, maxPerNotification),
    ),
  );
  return { rows, deliveries: deliveries.flat() };
}

async function replayed(
  deps: NotificationsDeps,
  params: TreeObject,
  account: Account,
): Promise<WireResponse> {
  const selection = selectionOf(params);
  if (selection === undefined) {
    return refusalAnswer("COFRE-48");
  }
  const settings = {
    endpoints: endpointsOf(account.settings),
    chaos: account.settings.notificationChaos,
  };
  const { deliveries, next } = await replay(deps, account.id, settings, selection);
  deps.nudge();
  return {
    status: 200,
    body: JSON.stringify({ deliveries, next: next ?? null, status: "SUCCESS" }),
  };
}

function selectionOf(params: TreeObject): ReplaySelection | undefined {
  const replay = textOf(params, "replay");
  const [from, to, hash] = [
    numberOf(params, "from", replay === "failed" ? 1 : undefined),
    numberOf(params, "to"),
    hashOf(params),
  ];
  switch (replay) {
    case "failed":
      return from === undefined ? undefined : { failedFrom: from };
    case "payment":
      return hash !== undefined && isPaymentId(hash) ? { paymentId: hash } : undefined;
    case "range":
      return from !== undefined && to !== undefined && from >= 1 && to >= from
        ? { from, to, endpoint: textOf(params, "endpoint") }
        : undefined;
    default:
      return undefined;
  }
}

/** undefined for a text that is not a whole number; `without` if there is no text. */
function numberOf(params: TreeObject, name: string, without?: number): number | undefined {
  const text = textOf(params, name);
  if (text === undefined) return without;
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
