import type { KeyDigest, MerchantId } from "../kernel/ids.ts";
import type { PaymentId } from "../payment/payment-id.ts";
import { laterBy } from "../kernel/instant.ts";
import type { Instant } from "../kernel/instant.ts";
import type { EntryKind, JournalEntry, LedgerAccount } from "../ledger/journal.ts";
import type { Account } from "../merchant/account.ts";
import type { PaymentState } from "../payment/payment-machine.ts";
import type { Chargeback, ChargebackReason } from "../payment/chargeback.ts";
import type {
  Attempt,
  AttemptKind,
  DeclineReason,
  Payment,
  ReviewState,
  Verdict,
} from "../payment/payment.ts";
import type { Refund } from "../payment/refund.ts";
import type { FactRecord, HistoryRow, KeyGrant, IdempotentRequest } from "./change.ts";
import { orderFromJson, searchedInOrder } from "./order-row.ts";
import type { Listed } from "./payment-list.ts";
import type { DeliverySum, PaymentFigure, PaymentGroup, StoredAccountKey } from "./store.ts";
import type { Brand } from "../vault/brand.ts";
import { accountCodes, entryKindCodes, factCodes, factSourceCodes } from "./codes.ts";

/**
 * Conversion of domain values to columns and back. Undefined JSON members are omitted and read back
 * as undefined.
 */

export const paymentColumns = `lower(hex(merchant)) AS merchant, lower(hex(id)) AS id, code, created_at, version, state, status_at,
  captured_at, capture_by, CAST(authorized AS TEXT) AS authorized, CAST(captured AS TEXT) AS captured,
  CAST(refunded AS TEXT) AS refunded, refunds, chargeback, review, rerouted, attempts, attempt, verdict, needs_review, order_json`;

/** A row of `paymentColumns`. Amounts are read as text, because a number cannot hold 64 bits. */
export interface PaymentRow {
  readonly merchant: MerchantId;
  readonly id: PaymentId;
  readonly code: string;
  readonly created_at: Instant;
  readonly version: number;
  readonly state: PaymentState;
  readonly status_at: Instant | null;
  readonly captured_at: Instant | null;
  readonly capture_by: Instant | null;
  readonly authorized: string;
  readonly captured: string;
  readonly refunded: string;
  readonly refunds: string | null;
  readonly chargeback: string | null;
  readonly review: Exclude<ReviewState, "none"> | null;
  readonly rerouted: string | null;
  readonly attempts: number;
  readonly attempt: string | null;
  readonly verdict: string | null;
  readonly needs_review: number;
  readonly order_json: string;
}

export function paymentFromRow(row: PaymentRow): Payment {
  return {
    merchantId: row.merchant,
    id: row.id,
    version: row.version,
    state: row.state,
    createdAt: row.created_at,
    statusAt: row.status_at ?? undefined,
    capturedAt: row.captured_at ?? undefined,
    order: orderFromJson(row.code, row.order_json),
    captureBy: row.capture_by ?? undefined,
    authorized: BigInt(row.authorized),
    captured: BigInt(row.captured),
    refunded: BigInt(row.refunded),
    refunds: row.refunds === null ? [] : refundsFromJson(row.refunds),
    chargeback: row.chargeback === null ? undefined : chargebackFromJson(row.chargeback),
    review: row.review ?? "none",
    attempt: row.attempt === null ? undefined : attemptFromJson(row.attempt),
    attempts: row.attempts,
    ...(row.rerouted === null ? { authorization: 1 } : authorizationFromText(row.rerouted)),
    verdict: row.verdict === null ? undefined : verdictFromJson(row.verdict),
    needsReview: row.needs_review === 1,
  };
}

/** A row of a payment's figures, as the databases read it. */
export interface FigureRow extends Pick<
  PaymentRow,
  "id" | "created_at" | "state" | "authorized" | "captured" | "refunded"
> {
  /** 1: it was charged back. */
  readonly disputed: number;
  readonly currency: string;
  readonly country: string;
  readonly brand: Brand | "";
  /** null unless the state is `declined`. */
  readonly reason: DeclineReason | null;
}

export function figureFromRow({
  id,
  created_at: createdAt,
  state,
  authorized,
  captured,
  refunded,
  disputed,
  currency,
  country,
  brand,
  reason,
}: FigureRow): PaymentFigure {
  return {
    id,
    createdAt,
    state,
    brand: brand === "" ? undefined : brand,
    country,
    currency,
    reason: reason ?? undefined,
    authorized: BigInt(authorized),
    captured: BigInt(captured),
    refunded: BigInt(refunded),
    disputed: disputed === 1,
  };
}

/** A row of `PaymentGroup`, as the databases read it. */
export interface PaymentGroupRow extends Omit<PaymentGroup, "refund" | "disputed"> {
  readonly refund: PaymentGroup["refund"] | null;
  /** 1: they were charged back. */
  readonly disputed: number;
}

/** The member `refund` of a group, of a payment's row. */
export const refundInSql =
  "CASE WHEN refunded = 0 THEN NULL WHEN refunded = captured THEN 'refunded' ELSE 'partly_refunded' END";

export function paymentGroupFromRow({ refund, disputed, ...row }: PaymentGroupRow): PaymentGroup {
  return { ...row, refund: refund ?? undefined, disputed: disputed === 1 };
}

/** A row of `DeliverySum`, as the databases read it. */
export interface DeliverySumRow extends Omit<DeliverySum, "waitingSince"> {
  readonly waitingSince: Instant | null;
}

export function deliverySumFromRow({ waitingSince, ...row }: DeliverySumRow): DeliverySum {
  return { ...row, waitingSince: waitingSince ?? undefined };
}

export function listedRow(row: PaymentRow): Listed {
  const { id, state, code, order_json: json } = row;
  return {
    id,
    state,
    code,
    searched: () => searchedInOrder(json),
    payment: () => paymentFromRow(row),
  };
}

/**
 * `2` or `2 name`: the attempt that is the authorization, and the connector to which it was
 * rerouted. Null, as on nearly all payments, if the first attempt is the authorization.
 */
export function authorizationToText({
  authorization,
  reroutedTo,
}: Pick<Payment, "authorization" | "reroutedTo">): string | null {
  if (reroutedTo !== undefined) return `${authorization} ${reroutedTo}`;
  return authorization === 1 ? null : String(authorization);
}

function authorizationFromText(text: string): Pick<Payment, "authorization" | "reroutedTo"> {
  const [authorization = "", reroutedTo] = text.split(" ");
  return {
    authorization: Number(authorization),
    ...(reroutedTo === undefined ? {} : { reroutedTo }),
  };
}

type PackedAttempt = readonly [
  kind: AttemptKind,
  number: number,
  amount: string,
  sentAt: Instant,
  /** Both relative to `sentAt`, which saves many digits. */
  answerByMs: number,
  recheckAtMs: number,
  checks: number,
];

export function attemptToJson({
  kind,
  number,
  amount,
  sentAt,
  answerBy,
  recheckAt,
  checks,
}: Attempt): string {
  return JSON.stringify([
    kind,
    number,
    String(amount),
    sentAt,
    answerBy - sentAt,
    recheckAt - sentAt,
    checks,
  ] satisfies PackedAttempt);
}

function attemptFromJson(json: string): Attempt {
  const [kind, number, amount, sentAt, answerByMs, recheckAtMs, checks] = JSON.parse(
    json,
  ) as PackedAttempt;
  const [answerBy, recheckAt] = [laterBy(sentAt, answerByMs), laterBy(sentAt, recheckAtMs)];
  return { kind, number, amount: BigInt(amount), sentAt, answerBy, checks, recheckAt };
}

type PackedRefund = readonly [
  id: number,
  state: Refund["state"],
  amount: string,
  code: string | null,
  description: string,
  requestedAt: Instant,
  pendingAt: Instant | null,
  confirmedAt: Instant | null,
  cancelledAt: Instant | null,
  attempts: number,
  sentAt: Instant | null,
  answerBy: Instant | null,
  checks: number,
  dueAt: Instant | null,
  request: string | null,
];

/** Places in a packed refund. */
const refundIndex = {
  id: 0,
  state: 1,
  amount: 2,
  code: 3,
  description: 4,
  requestedAt: 5,
  pendingAt: 6,
  confirmedAt: 7,
  cancelledAt: 8,
  attempts: 9,
  sentAt: 10,
  answerBy: 11,
  checks: 12,
  dueAt: 13,
  request: 14,
} as const;

export function refundsToJson(refunds: readonly Refund[]): string {
  return JSON.stringify(refunds.map(packRefund));
}

function refundsFromJson(json: string): Refund[] {
  return (JSON.parse(json) as PackedRefund[]).map(unpackRefund);
}

function packRefund(refund: Refund): PackedRefund {
  return [
    refund.id,
    refund.state,
    String(refund.amount),
    refund.code ?? null,
    refund.description,
    refund.requestedAt,
    refund.pendingAt ?? null,
    refund.confirmedAt ?? null,
    refund.cancelledAt ?? null,
    refund.attempts,
    refund.sentAt ?? null,
    refund.answerBy ?? null,
    refund.checks,
    refund.dueAt ?? null,
    refund.request ?? null,
  ];
}

function unpackRefund(packed: PackedRefund): Refund {
  return {
    id: packed[refundIndex.id],
    code: packed[refundIndex.code] ?? undefined,
    state: packed[refundIndex.state],
    amount: BigInt(packed[refundIndex.amount]),
    description: packed[refundIndex.description],
    request: packed[refundIndex.request] ?? undefined,
    requestedAt: packed[refundIndex.requestedAt],
    pendingAt: packed[refundIndex.pendingAt] ?? undefined,
    confirmedAt: packed[refundIndex.confirmedAt] ?? undefined,
    cancelledAt: packed[refundIndex.cancelledAt] ?? undefined,
    attempts: packed[refundIndex.attempts],
    sentAt: packed[refundIndex.sentAt] ?? undefined,
    answerBy: packed[refundIndex.answerBy] ?? undefined,
    checks: packed[refundIndex.checks],
    dueAt: packed[refundIndex.dueAt] ?? undefined,
  };
}

type PackedChargeback = readonly [
  state: Chargeback["state"],
  amount: string,
  description: string,
  openedAt: Instant,
  creditedAt: Instant | null,
  /** Missing if none was given, and on chargebacks of earlier versions. */
  reason?: ChargebackReason,
];

export function chargebackToJson({
  state,
  amount,
  description,
  openedAt,
  creditedAt,
  reason,
}: Chargeback): string {
  const packed: PackedChargeback = [
    state,
    String(amount),
    description,
    openedAt,
    creditedAt ?? null,
  ];
  return JSON.stringify(reason === undefined ? packed : [...packed, reason]);
}

function chargebackFromJson(json: string): Chargeback {
  const [state, amount, description, openedAt, creditedAt, reason] = JSON.parse(
    json,
  ) as PackedChargeback;
  return {
    state,
    amount: BigInt(amount),
    description,
    openedAt,
    creditedAt: creditedAt ?? undefined,
    ...(reason === undefined ? {} : { reason }),
  };
}

/**
 * The mandate id by which later stored-credential payments refer to this one; undefined except on
 * approved initial payments.
 */
export function mandateOf({ order, verdict }: Payment): string | undefined {
  return order.storedCredential?.use === "initial" ? verdict?.networkTransactionId : undefined;
}

/**
 * Stored for every paid payment, so it is compact: a missing value is 0, which is shorter than
 * null, and the reason of an approval is omitted.
 */
type PackedVerdict = readonly [
  approved: 0 | 1,
  reason: DeclineReason | 0,
  responseCode: string,
  authorizationCode: string | 0,
  adviceCode: string | 0,
  acquirerReference: string | 0,
  refusedBeforeIssuer: 0 | 1,
  networkTransactionId: string | 0,
];

export function verdictToJson(verdict: Verdict): string {
  return JSON.stringify([
    verdict.approved ? 1 : 0,
    verdict.reason === "approved" ? 0 : verdict.reason,
    verdict.responseCode,
    verdict.authorizationCode ?? 0,
    verdict.adviceCode ?? 0,
    verdict.acquirerReference ?? 0,
    verdict.refusedBeforeIssuer ? 1 : 0,
    verdict.networkTransactionId ?? 0,
  ] satisfies PackedVerdict);
}

function verdictFromJson(json: string): Verdict {
  const [approved, reason, responseCode, authorization, advice, acquirer, refused, network] =
    JSON.parse(json) as PackedVerdict;
  return {
    approved: approved === 1,
    authorizationCode: authorization === 0 ? undefined : authorization,
    responseCode,
    reason: reason === 0 ? "approved" : reason,
    adviceCode: advice === 0 ? undefined : advice,
    acquirerReference: acquirer === 0 ? undefined : acquirer,
    networkTransactionId: network === 0 ? undefined : network,
    refusedBeforeIssuer: refused === 1,
  };
}

/**
 * `as1m sa1m`: for each fact its code, the number of its attempt or refund if any, and its source.
 */
export function factsToText(facts: readonly FactRecord[]): string {
  return facts
    .map(
      ({ fact, attempt, by }) =>
        `${factCodes.codeOf[fact]}${attempt ?? ""}${factSourceCodes.codeOf[by]}`,
    )
    .join(" ");
}

/** The details of all facts in order; null if there are none, as on most rows. */
export function detailToJson(facts: readonly FactRecord[]): string | null {
  for (const { detail } of facts)
    for (const _ in detail) return JSON.stringify(facts.map((record) => record.detail));
  return null;
}

export function factsFromText(text: string, detailJson: string | null): FactRecord[] {
  if (text === "") return [];
  const details = detailJson === null ? [] : (JSON.parse(detailJson) as FactRecord["detail"][]);
  return text.split(" ").map((word, index) => ({
    fact: factCodes.wordOf(word.slice(0, 2)),
    attempt: word.length === 3 ? undefined : Number(word.slice(2, -1)),
    by: factSourceCodes.wordOf(word.slice(-1)),
    detail: details[index] ?? {},
  }));
}

/** `h hUSD1000 cUSD-1000;c ...`: see the history table. */
export function entriesToText(entries: readonly JournalEntry[]): string {
  let text = "";
  for (const { kind, postings } of entries) {
    if (text !== "") text += ";";
    text += entryKindCodes.codeOf[kind];
    for (const { account, currency, minor } of postings)
      text += ` ${accountCodes.codeOf[account]}${currency}${minor}`;
  }
  return text;
}

export function entriesFromText(text: string): JournalEntry[] {
  if (text === "") return [];
  return text.split(";").map((entry) => {
    const [kindCode = "", ...words] = entry.split(" ");
    const kind: EntryKind = entryKindCodes.wordOf(kindCode);
    const postings = words.map((word) => {
      const account: LedgerAccount = accountCodes.wordOf(word.slice(0, 1));
      return { account, currency: word.slice(1, 4), minor: BigInt(word.slice(4)) };
    });
    return { kind, postings };
  });
}

export interface AccountRow {
  readonly id: MerchantId;
  readonly version: number;
  readonly name: string;
  readonly settings: string;
}

export function accountFromRow({ id, version, name, settings }: AccountRow): Account {
  return { id, version, name, settings: JSON.parse(settings) as Account["settings"] };
}

export interface AccountKeyRow {
  readonly digest: KeyDigest;
  readonly merchantId: MerchantId;
  readonly grants: KeyGrant;
  readonly mac: Uint8Array | null;
}

export function accountKeyFromRow({
  digest,
  merchantId,
  grants,
  mac,
}: AccountKeyRow): StoredAccountKey {
  return { digest, merchantId, grants, mac: mac === null ? undefined : Uint8Array.from(mac) };
}

export interface PackedHistoryRow {
  readonly version: number;
  readonly at: Instant;
  readonly facts: string;
  readonly detail: string | null;
  readonly entries: string;
}

export function historyFromRow({
  version,
  at,
  facts,
  detail,
  entries,
}: PackedHistoryRow): HistoryRow {
  return { version, at, facts: factsFromText(facts, detail), entries: entriesFromText(entries) };
}

export interface NamedRequestRow {
  readonly digest: string;
  readonly claimedAt: Instant;
  readonly status: number | null;
  readonly body: string | null;
}

export function namedRequestFromRow(
  key: string,
  { digest, claimedAt, status, body }: NamedRequestRow,
): IdempotentRequest {
  return {
    key,
    digest,
    claimedAt,
    answer: status === null || body === null ? undefined : { status, body },
  };
}
