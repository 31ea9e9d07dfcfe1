import type { Change } from "../change.ts";
import { attemptToJson, detailToJson, entriesToText, factsToText, orderToJson, verdictToJson } from "./rows.ts";

/**
 * A change on its way to the writer thread: flat arrays of what the statements bind. A structured clone costs by the array and by
 * the bigint, not by the byte: nested parts with bigints took twice as long on both threads. Each part is there or undefined.
 */
export type ChangeMessage = readonly [
  merchant: string,
  at: number,
  payment: PaymentPart | undefined,
  card: CardPart | undefined,
  cardUse: CardUsePart | undefined,
  account: AccountPart | undefined,
];

export type PaymentPart = readonly [
  id: string,
  /** The version to replace; undefined for a payment that is new and brings its fixed columns, which come last. */
  replaces: number | undefined,
  version: number,
  state: string,
  statusAt: number | null,
  capturedAt: number | null,
  /** In decimal: the column makes 64-bit integers of them. */
  authorized: string,
  captured: string,
  attempts: number,
  attempt: string | null,
  recheckAt: number | null,
  verdict: string | null,
  needsReview: number,
  facts: string,
  detail: string | null,
  entries: string,
  /** Kinds of the notifications, with a blank between. */
  notifications: string,
  code: string | undefined,
  createdAt: number | undefined,
  orderJson: string | undefined,
];

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
];

export type CardUsePart = readonly [tokenDigest: string, at: number];

export type AccountPart = readonly [
  version: number,
  replaces: number | undefined,
  name: string,
  settings: string,
  keys: readonly (readonly [digest: string, grants: string])[],
];

export function messageOf(change: Change): ChangeMessage {
  const { merchantId, at, payment, card, cardUse, account } = change;
  return [
    merchantId,
    at,
    payment === undefined ? undefined : paymentPart(change, payment),
    card === undefined ? undefined : cardPart(card),
    cardUse === undefined ? undefined : [cardUse.tokenDigest, cardUse.at],
    account === undefined ? undefined : accountPart(account),
  ];
}

function paymentPart({ facts, entries, notifications }: Change, { next, replaces }: NonNullable<Change["payment"]>): PaymentPart {
  const { attempt, verdict, order } = next;
  const isNew = replaces === undefined;
  return [
    next.id,
    replaces,
    next.version,
    next.state,
    next.statusAt ?? null,
    next.capturedAt ?? null,
    String(next.authorized),
    String(next.captured),
    next.attempts,
    attempt === undefined ? null : attemptToJson(attempt),
    attempt?.recheckAt ?? null,
    verdict === undefined ? null : verdictToJson(verdict),
    next.needsReview ? 1 : 0,
    factsToText(facts),
    detailToJson(facts),
    entriesToText(entries),
    notifications.length === 0 ? "" : notifications.map(({ kind }) => kind).join(" "),
    isNew ? order.code : undefined,
    isNew ? next.createdAt : undefined,
    isNew ? orderToJson(order) : undefined,
  ];
}

function cardPart({ next, replaces }: NonNullable<Change["card"]>): CardPart {
  // Copies, because a clone of a view would take the whole buffer behind it along.
  const [fingerprint, ref] = [Uint8Array.from(next.fingerprint), Uint8Array.from(next.ref)];
  const { tokenDigest, version, createdAt, lastUsedAt, brand, maskedPan } = next;
  return [tokenDigest, version, replaces, createdAt, lastUsedAt, brand, maskedPan, fingerprint, ref];
}

function accountPart({ next, replaces, keys }: NonNullable<Change["account"]>): AccountPart {
  return [next.version, replaces, next.name, JSON.stringify(next.settings), keys.map(({ digest, grants }) => [digest, grants] as const)];
}

/** What became of a change, as the writer thread answers it: an index. */
export const outcomes = [
  "committed",
  "stale",
  "payment_code",
  "payment_id",
  "token",
  "account",
  "account_key",
  "unavailable",
  "commit_unknown",
  "broken",
] as const;
export type Outcome = (typeof outcomes)[number];

/** Answers a batch: the number of commits that wrote it, then for each change, in the order of their arrival, its outcome. */
export type BatchAnswer = readonly number[];
