import type { Delivery } from "../notification/events.ts";
import { dueAt } from "../payment/due.ts";
import type { Payment } from "../payment/payment.ts";
import type { Change } from "./change.ts";
import { orderToJson } from "./order-row.ts";
import {
  attemptToJson,
  authorizationToText,
  chargebackToJson,
  detailToJson,
  entriesToText,
  factsToText,
  mandateOf,
  refundsToJson,
  verdictToJson,
} from "./rows.ts";

/**
 * A change in transit to the writer thread: flat arrays of the values that the statements bind. The
 * cost of a structured clone depends on the number of arrays and bigints, not on bytes: nested
 * parts with bigints took twice as long on both threads. Each part is present or undefined.
 */
export type ChangeMessage = readonly [
  merchant: string,
  at: number,
  payment: PaymentPart | undefined,
  card: CardPart | undefined,
  cardUse: CardUsePart | undefined,
  account: AccountPart | undefined,
  request: RequestPart | undefined,
  cardErasure: CardErasurePart | undefined,
  deliveries: DeliveriesPart | undefined,
  parking: ParkingPart | undefined,
  requestDeletion: RequestDeletionPart | undefined,
  deliveryDeletion: DeliveryDeletionPart | undefined,
];

/** Places in a ChangeMessage. */
export const changeIndex = {
  merchant: 0,
  at: 1,
  payment: 2,
  card: 3,
  cardUse: 4,
  account: 5,
  request: 6,
  cardErasure: 7,
  deliveries: 8,
  parking: 9,
  requestDeletion: 10,
  deliveryDeletion: 11,
} as const;

/**
 * Columns that most payments never use: refunds, a dispute, a review, a mandate that the payment
 * establishes, an authorization that is not the first attempt.
 */
export type Rare = readonly [
  refunded: string,
  refunds: string | null,
  chargeback: string | null,
  review: string | null,
  mandate: string | null,
  rerouted: string | null,
];

/** Places in a Rare. */
export const rareIndex = {
  refunded: 0,
  refunds: 1,
  chargeback: 2,
  review: 3,
  mandate: 4,
  rerouted: 5,
} as const;

export type RefundName = readonly [id: number, code: string | null];

type RarePart = readonly [columns: Rare, refunds: readonly RefundName[]];

export type PaymentPart = readonly [
  id: string,
  /**
   * The version to replace; undefined for a new payment, which brings its fixed columns at the end.
   * A payment with a page always brings its order, which its customer may have changed.
   */
  replaces: number | undefined,
  version: number,
  state: string,
  statusAt: number | null,
  capturedAt: number | null,
  captureBy: number | null,
  /** In decimal; the column converts them to 64-bit integers. */
  authorized: string,
  captured: string,
  attempts: number,
  attempt: string | null,
  dueAt: number | null,
  verdict: string | null,
  needsReview: number,
  facts: string,
  detail: string | null,
  entries: string,
  /** Notification kinds, separated by a space. */
  notifications: string,
  /**
   * With the names of all its refunds, old and new; undefined if the payment uses none of these
   * columns.
   */
  rare: RarePart | undefined,
  code: string | undefined,
  createdAt: number | undefined,
  orderJson: string | undefined,
];

/** Places in a PaymentPart. */
export const paymentIndex = {
  id: 0,
  replaces: 1,
  version: 2,
  state: 3,
  statusAt: 4,
  capturedAt: 5,
  captureBy: 6,
  authorized: 7,
  captured: 8,
  attempts: 9,
  attempt: 10,
  dueAt: 11,
  verdict: 12,
  needsReview: 13,
  facts: 14,
  detail: 15,
  entries: 16,
  notifications: 17,
  rare: 18,
  code: 19,
  createdAt: 20,
  orderJson: 21,
} as const;

export type CardPart = readonly [
  tokenDigest: string,
  version: number,
  replaces: number | undefined,
  createdAt: number,
  lastUsedAt: number,
  brand: string,
  maskedPan: string,
  fingerprint: Uint8Array,
  ref: Uint8Array,
  mac: Uint8Array | null,
  /** The digest of the row that is replaced. */
  from: string,
];

/** `claims`: true inserts a row without an answer; false adds the answer to the existing row. */
export type RequestPart = readonly [
  claims: boolean,
  key: string,
  digest: string,
  claimedAt: number,
  status: number | null,
  body: string | null,
];

export type RequestDeletionPart = readonly [keys: readonly string[], claimedBefore: number];

export type DeliveryDeletionPart = readonly [
  deliveries: readonly (readonly [endpoint: string, number: number])[],
  endedBefore: number,
];

export type CardErasurePart = readonly [tokenDigest: string, unusedSince: number];

export type CardUsePart = readonly [tokenDigest: string, at: number];

export type AccountPart = readonly [
  version: number,
  replaces: number | undefined,
  name: string,
  settings: string,
  keys: readonly (readonly [digest: string, grants: string, mac: Uint8Array | null])[],
];

/**
 * `endpoints` receive the change's notifications; those in `gathering` take several in one message.
 */
export type DeliveriesPart = readonly [
  endpoints: readonly string[],
  moved: readonly MovedDelivery[],
  gathering: readonly string[],
];

/** Places in a DeliveriesPart. */
export const deliveriesIndex = { endpoints: 0, moved: 1, gathering: 2 } as const;

export type ParkingPart = readonly [queue: string, until: number, accountVersion: number];

export type MovedDelivery = readonly [
  endpoint: string,
  number: number,
  replaces: number | undefined,
  paymentId: string,
  kind: string,
  columns: DeliveryColumns,
];

/** Place in a MovedDelivery of the version that is replaced. */
export const replacedVersion = 2;

export type DeliveryColumns = readonly [
  version: number,
  state: string,
  requestedAt: number,
  dueAt: number,
  attempts: number,
  outcome: string | null,
  inOrder: number,
  message: number | null,
];

export function messageOf(change: Change): ChangeMessage {
  const {
    merchantId,
    at,
    payment,
    card,
    cardUse,
    account,
    request,
    cardErasure,
    requestDeletion,
    deliveryDeletion,
  } = change;
  return [
    merchantId,
    at,
    payment === undefined ? undefined : paymentPart(change, payment),
    card === undefined ? undefined : cardPart(card),
    cardUse === undefined ? undefined : [cardUse.tokenDigest, cardUse.at],
    account === undefined ? undefined : accountPart(account),
    request === undefined ? undefined : requestPart(request),
    cardErasure === undefined ? undefined : [cardErasure.tokenDigest, cardErasure.unusedSince],
    deliveriesPart(change),
    change.parking === undefined
      ? undefined
      : [change.parking.queue, change.parking.until, change.parking.accountVersion],
    requestDeletion === undefined
      ? undefined
      : [requestDeletion.keys, requestDeletion.claimedBefore],
    deliveryDeletion === undefined
      ? undefined
      : [
          deliveryDeletion.deliveries.map(({ endpoint, number }) => [endpoint, number]),
          deliveryDeletion.endedBefore,
        ],
  ];
}

function paymentPart(
  { facts, entries, notifications }: Change,
  { next, replaces }: NonNullable<Change["payment"]>,
): PaymentPart {
  const { attempt, verdict, order } = next;
  const isNew = replaces === undefined;
  return [
    next.id,
    replaces,
    next.version,
    next.state,
    next.statusAt ?? null,
    next.capturedAt ?? null,
    next.captureBy ?? null,
    String(next.authorized),
    String(next.captured),
    next.attempts,
    attempt === undefined ? null : attemptToJson(attempt),
    dueAt(next) ?? null,
    verdict === undefined ? null : verdictToJson(verdict),
    next.needsReview ? 1 : 0,
    factsToText(facts),
    detailToJson(facts),
    entriesToText(entries),
    notifications.length === 0 ? "" : notifications.map(({ kind }) => kind).join(" "),
    rarePart(next),
    isNew ? order.code : undefined,
    isNew ? next.createdAt : undefined,
    isNew || order.page !== undefined ? orderToJson(order) : undefined,
  ];
}

function rarePart(payment: Payment): RarePart | undefined {
  const { refunded, refunds, chargeback, review } = payment;
  const authorization = authorizationToText(payment);
  const mandate = mandateOf(payment);
  const isOrdinary = refunds.length === 0 && chargeback === undefined && review === "none";
  // PostgreSQL writes a run of payments without rare columns together, and no orders again.
  const isPlain = isOrdinary && payment.order.page === undefined;
  if (isPlain && mandate === undefined && authorization === null) return undefined;
  const columns: Rare = [
    String(refunded),
    refunds.length === 0 ? null : refundsToJson(refunds),
    chargeback === undefined ? null : chargebackToJson(chargeback),
    review === "none" ? null : review,
    mandate ?? null,
    authorization,
  ];
  return [columns, refunds.map(({ id, code }) => [id, code ?? null] as const)];
}

function cardPart({
  next,
  replaces,
  from = next.tokenDigest,
}: NonNullable<Change["card"]>): CardPart {
  // Copies, because cloning a view would also clone its whole underlying buffer.
  const [fingerprint, ref] = [Uint8Array.from(next.fingerprint), Uint8Array.from(next.ref)];
  const { tokenDigest, version, createdAt, lastUsedAt, brand, maskedPan } = next;
  const mac = next.mac === undefined ? null : Uint8Array.from(next.mac);
  return [
    tokenDigest,
    version,
    replaces,
    createdAt,
    lastUsedAt,
    brand,
    maskedPan,
    fingerprint,
    ref,
    mac,
    from,
  ];
}

function accountPart({ next, replaces, keys }: NonNullable<Change["account"]>): AccountPart {
  const added = keys.map(
    ({ digest, grants, mac }) =>
      [digest, grants, mac === undefined ? null : Uint8Array.from(mac)] as const,
  );
  return [next.version, replaces, next.name, JSON.stringify(next.settings), added];
}

function requestPart({ next, replaces }: NonNullable<Change["request"]>): RequestPart {
  const { key, digest, claimedAt, answer } = next;
  return [
    replaces === "nothing",
    key,
    digest,
    claimedAt,
    answer?.status ?? null,
    answer?.body ?? null,
  ];
}

function deliveriesPart({
  endpoints = [],
  batchFor = [],
  deliveries = [],
}: Change): DeliveriesPart | undefined {
  if (endpoints.length === 0 && deliveries.length === 0) return undefined;
  return [
    endpoints,
    deliveries.map(({ next, replaces }) => [
      next.endpoint,
      next.number,
      replaces,
      next.paymentId,
      next.kind,
      deliveryColumns(next),
    ]),
    batchFor,
  ];
}

export function deliveryColumns({
  version,
  state,
  requestedAt,
  dueAt: at,
  attempts,
  outcome,
  inOrder,
  message,
}: Delivery): DeliveryColumns {
  return [
    version,
    state,
    requestedAt,
    at,
    attempts,
    outcome ?? null,
    inOrder ? 1 : 0,
    message ?? null,
  ];
}

/** The outcome of a change; the writer thread sends its index. */
export const outcomes = [
  "committed",
  "stale",
  "payment_code",
  "payment_id",
  "refund_id",
  "refund_code",
  "token",
  "account",
  "account_key",
  "request_key",
  "unavailable",
  "commit_unknown",
  "broken",
] as const;
export type Outcome = (typeof outcomes)[number];

/**
 * Answer to a batch: the number of commits that wrote it, then the outcome of each change in the
 * order of arrival.
 */
export type BatchAnswer = readonly number[];
