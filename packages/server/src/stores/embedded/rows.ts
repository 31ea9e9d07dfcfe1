import type { MerchantId, PaymentId, TokenDigest } from "../../kernel/ids.ts";
import type { Instant } from "../../kernel/instant.ts";
import type { Money } from "../../kernel/money.ts";
import type { EntryKind, JournalEntry, LedgerAccount } from "../../ledger/journal.ts";
import type { PaymentState } from "../../payment/payment-machine.ts";
import type { Attempt, AttemptKind, Customer, OrderCard, Payment, PaymentOrder, Verdict } from "../../payment/payment.ts";
import type { FactRecord } from "../change.ts";
import { accountCodes, entryKindCodes, factCodes } from "./codes.ts";

/** How domain values are packed into columns, and back. JSON members that are undefined are left out and come back undefined. */

export const paymentColumns = `lower(hex(merchant)) AS merchant, lower(hex(id)) AS id, code, created_at, version, state, status_at,
  captured_at, CAST(authorized AS TEXT) AS authorized, CAST(captured AS TEXT) AS captured, attempts, attempt, recheck_at, verdict,
  needs_review, order_json`;

/** A row of `paymentColumns`. Amounts are read as text: 64 bits do not fit a number. */
export interface PaymentRow {
  readonly merchant: MerchantId;
  readonly id: PaymentId;
  readonly code: string;
  readonly created_at: Instant;
  readonly version: number;
  readonly state: PaymentState;
  readonly status_at: Instant | null;
  readonly captured_at: Instant | null;
  readonly authorized: string;
  readonly captured: string;
  readonly attempts: number;
  readonly attempt: string | null;
  readonly recheck_at: Instant | null;
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
    authorized: BigInt(row.authorized),
    captured: BigInt(row.captured),
    attempt: row.attempt === null || row.recheck_at === null ? undefined : attemptFromJson(row.attempt, row.recheck_at),
    attempts: row.attempts,
    verdict: row.verdict === null ? undefined : verdictFromJson(row.verdict),
    needsReview: row.needs_review === 1,
  };
}

type PackedMoney = readonly [minor: string, currency: string];
type Optional<T> = { readonly [K in keyof T]?: T[K] };

/** The order as kept, without its code, which is a column of its own. */
interface PackedOrder {
  readonly orderNumber?: string;
  readonly amount: PackedMoney;
  readonly pricing: { readonly rate: string; readonly gross: PackedMoney; readonly tax: PackedMoney; readonly total: PackedMoney };
  readonly instalments: number;
  readonly autoCapture: boolean;
  readonly manualReview: boolean;
  readonly country: string;
  readonly paymentType: PaymentOrder["paymentType"];
  readonly card: Pick<OrderCard, "brand" | "maskedPan"> & { readonly tokenDigest?: TokenDigest };
  readonly customer: Pick<Customer, "name" | "email" | "personType"> & Optional<Customer>;
  readonly softDescriptor?: string;
  readonly note?: string;
  readonly userValues?: readonly (string | null)[];
  readonly notificationUrl?: string;
  readonly deviceId?: string;
}

export function orderToJson(order: PaymentOrder): string {
  const { amount, pricing, userValues } = order;
  return JSON.stringify({
    ...order,
    code: undefined,
    amount: packMoney(amount),
    pricing: { rate: pricing.rate, gross: packMoney(pricing.gross), tax: packMoney(pricing.tax), total: packMoney(pricing.total) },
    userValues: userValues.length === 0 ? undefined : userValues,
  });
}

function orderFromJson(code: string, json: string): PaymentOrder {
  const packed = JSON.parse(json) as PackedOrder;
  const { card, customer, pricing } = packed;
  return {
    code,
    orderNumber: packed.orderNumber,
    amount: unpackMoney(packed.amount),
    pricing: {
      rate: pricing.rate,
      gross: unpackMoney(pricing.gross),
      tax: unpackMoney(pricing.tax),
      total: unpackMoney(pricing.total),
    },
    instalments: packed.instalments,
    autoCapture: packed.autoCapture,
    manualReview: packed.manualReview,
    country: packed.country,
    paymentType: packed.paymentType,
    card: { brand: card.brand, maskedPan: card.maskedPan, tokenDigest: card.tokenDigest },
    customer: {
      name: customer.name,
      email: customer.email,
      document: customer.document,
      birthDate: customer.birthDate,
      personType: customer.personType,
      phone: customer.phone,
      zipcode: customer.zipcode,
      address: customer.address,
      streetNumber: customer.streetNumber,
      streetComplement: customer.streetComplement,
      city: customer.city,
      state: customer.state,
      ip: customer.ip,
      responsible: customer.responsible,
    },
    softDescriptor: packed.softDescriptor,
    note: packed.note,
    userValues: (packed.userValues ?? []).map((value) => value ?? undefined),
    notificationUrl: packed.notificationUrl,
    deviceId: packed.deviceId,
  };
}

function packMoney({ minor, currency }: Money): PackedMoney {
  return [String(minor), currency];
}

function unpackMoney([minor, currency]: PackedMoney): Money {
  return { minor: BigInt(minor), currency };
}

type PackedAttempt = readonly [kind: AttemptKind, number: number, amount: string, sentAt: Instant, checks: number];

export function attemptToJson({ kind, number, amount, sentAt, checks }: Attempt): string {
  return JSON.stringify([kind, number, String(amount), sentAt, checks] satisfies PackedAttempt);
}

function attemptFromJson(json: string, recheckAt: Instant): Attempt {
  const [kind, number, amount, sentAt, checks] = JSON.parse(json) as PackedAttempt;
  return { kind, number, amount: BigInt(amount), sentAt, checks, recheckAt };
}

type PackedVerdict = readonly [
  approved: 0 | 1,
  reason: Verdict["reason"],
  responseCode: string,
  authorizationCode: string | null,
  adviceCode: string | null,
  acquirerReference: string | null,
  refusedBeforeIssuer: 0 | 1,
];

export function verdictToJson(verdict: Verdict): string {
  return JSON.stringify([
    verdict.approved ? 1 : 0,
    verdict.reason,
    verdict.responseCode,
    verdict.authorizationCode ?? null,
    verdict.adviceCode ?? null,
    verdict.acquirerReference ?? null,
    verdict.refusedBeforeIssuer ? 1 : 0,
  ] satisfies PackedVerdict);
}

function verdictFromJson(json: string): Verdict {
  const [approved, reason, responseCode, authorizationCode, adviceCode, acquirerReference, refused] = JSON.parse(json) as PackedVerdict;
  return {
    approved: approved === 1,
    authorizationCode: authorizationCode ?? undefined,
    responseCode,
    reason,
    adviceCode: adviceCode ?? undefined,
    acquirerReference: acquirerReference ?? undefined,
    refusedBeforeIssuer: refused === 1,
  };
}

/** `as1m sa1m`: for each fact its code, the number of its attempt or nothing, and who it is by. */
export function factsToText(facts: readonly FactRecord[]): string {
  return facts.map(({ fact, attempt, by }) => `${factCodes.codeOf[fact]}${attempt ?? ""}${by === "merchant" ? "m" : "r"}`).join(" ");
}

/** The details of all facts in their order; null when there are none, as on most rows. */
export function detailToJson(facts: readonly FactRecord[]): string | null {
  for (const { detail } of facts) for (const _ in detail) return JSON.stringify(facts.map((record) => record.detail));
  return null;
}

export function factsFromText(text: string, detailJson: string | null): FactRecord[] {
  if (text === "") return [];
  const details = detailJson === null ? [] : (JSON.parse(detailJson) as FactRecord["detail"][]);
  return text.split(" ").map((word, index) => ({
    fact: factCodes.wordOf(word.slice(0, 2)),
    attempt: word.length === 3 ? undefined : Number(word.slice(2, -1)),
    by: word.endsWith("m") ? "merchant" : "recovery",
    detail: details[index] ?? {},
  }));
}

/** `h hUSD1000 cUSD-1000;c ...`: see the history table. */
export function entriesToText(entries: readonly JournalEntry[]): string {
  let text = "";
  for (const { kind, postings } of entries) {
    if (text !== "") text += ";";
    text += entryKindCodes.codeOf[kind];
    for (const { account, currency, minor } of postings) text += ` ${accountCodes.codeOf[account]}${currency}${minor}`;
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
