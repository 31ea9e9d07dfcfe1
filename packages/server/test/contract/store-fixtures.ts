import assert from "node:assert/strict";
import type { KeyDigest, MerchantId, TokenDigest } from "../../src/kernel/ids.ts";
import type { PaymentId } from "../../src/payment/payment-id.ts";
import { instant } from "../../src/kernel/instant.ts";
import type { JournalEntry } from "../../src/ledger/journal.ts";
import type { Account } from "../../src/merchant/account.ts";
import type {
  Attempt,
  Customer,
  OrderCard,
  Payment,
  PaymentOrder,
  Verdict,
} from "../../src/payment/payment.ts";
import type { DirectOrder } from "../../src/operations/direct-input.ts";
import type { Chargeback } from "../../src/payment/chargeback.ts";
import type { Refund } from "../../src/payment/refund.ts";
import type { Change, FactRecord } from "../../src/stores/change.ts";
import type { StoredCard } from "../../src/vault/stored-card.ts";

/**
 * Records of the store tests. Everything is numbered, so that a test shows only the numbers that
 * matter to it.
 */

export const start = instant(Date.UTC(2026, 10, 28));
export const merchantA = merchantId(0xa);
export const merchantB = merchantId(0xb);

export function merchantId(number: number): MerchantId {
  return hex(number, 8) as MerchantId;
}

export function paymentId(number: number): PaymentId {
  return hex(number, 48) as PaymentId;
}

export function tokenDigest(number: number): TokenDigest {
  return hex(number, 64) as TokenDigest;
}

export function keyDigest(number: number): KeyDigest {
  return hex(number, 64) as KeyDigest;
}

function hex(number: number, length: number): string {
  return number.toString(16).padStart(length, "0");
}

/** A payment in its first version, with all optional members. */
export function newPayment(number: number, over: Partial<Payment> = {}): Payment {
  return {
    merchantId: merchantA,
    id: paymentId(number),
    version: 1,
    state: "authorizing",
    createdAt: start,
    statusAt: undefined,
    capturedAt: undefined,
    order: {
      code: `order-${number}`,
      orderNumber: "A/17",
      amount: { minor: 10_050n, currency: "USD" },
      pricing: {
        rate: "5.1234",
        gross: { minor: 51_490n, currency: "BRL" },
        tax: { minor: 196n, currency: "BRL" },
        total: { minor: 51_686n, currency: "BRL" },
        taxRate: "0.0038",
      },
      instalments: 3,
      autoCapture: true,
      manualReview: false,
      country: "br",
      paymentType: "credit",
      card: { brand: "visa", maskedPan: "411111xxxxxx1111", tokenDigest: tokenDigest(1) },
      customer: {
        name: "José da Silva",
        email: "jose@example.com",
        document: "85351346893",
        birthDate: "1980-04-19",
        personType: "personal",
        phone: "8522847035",
        zipcode: "61919230",
        address: "Rua E",
        streetNumber: "1040",
        streetComplement: "ap. 5",
        city: "Maracanaú",
        state: "CE",
        ip: "192.0.2.1",
        responsible: "Maria",
      },
      softDescriptor: "SHOP",
      note: 'a "note"\nof two lines',
      userValues: ["one", undefined, "three"],
      notificationUrl: "https://shop.example/notify",
      deviceId: "device",
      storedCredential: {
        use: "stored",
        initiator: "MIT",
        reason: "SCHEDULED_RECURRING",
        mandateId: "123456789012345",
      },
      threeDSecure: {
        eci: "05",
        version: "2.2.0",
        transactionId: "7c4f8a1e-0b7d-4a53-9a51-0d6c2f1e9b10",
        xid: "MDAwMDAwMDAwMDAwMDAwMDEyMzQ=",
      },
      expectedLiability: "issuer",
    },
    captureBy: undefined,
    authorized: 0n,
    captured: 0n,
    refunded: 0n,
    refunds: [],
    chargeback: undefined,
    review: "none",
    attempt: newAttempt(),
    attempts: 1,
    verdict: undefined,
    authorization: 1,
    needsReview: false,
    ...over,
  };
}

/** A customer without optional members. */
export const bareCustomer: Customer = {
  name: "Ana Lima",
  email: "ana.lima@example.com",
  document: undefined,
  birthDate: undefined,
  personType: "personal",
  phone: undefined,
  zipcode: undefined,
  address: undefined,
  streetNumber: undefined,
  streetComplement: undefined,
  city: undefined,
  state: undefined,
  ip: undefined,
  responsible: undefined,
};

/** The optional members of an order, all undefined. */
export const bareExtras = {
  softDescriptor: undefined,
  note: undefined,
  userValues: [],
  notificationUrl: undefined,
  deviceId: undefined,
  storedCredential: undefined,
  threeDSecure: undefined,
  expectedLiability: "merchant",
} as const;

/** A Brazilian order of 100.00 in one currency, without optional members. */
export function bareOrder(code: string, currency = "USD"): DirectOrder {
  return {
    code,
    orderNumber: undefined,
    amount: { minor: 100_00n, currency },
    instalments: 1,
    autoCapture: true,
    manualReview: false,
    country: "br",
    paymentType: "credit",
    customer: { ...bareCustomer, document: "85351346893" },
    ...bareExtras,
  };
}

/** The card of an order that has one. */
export function cardIn({ card }: Pick<PaymentOrder, "card">): OrderCard {
  assert(card !== undefined, "the order has a card");
  return card;
}

/** A payment whose page waits for its first card. */
export function pagePayment(number: number): Payment {
  const { order, ...rest } = newPayment(number);
  const bare = { tries: 0, declined: undefined, refusedCards: [] };
  return {
    ...rest,
    state: "opened",
    attempt: undefined,
    attempts: 0,
    order: {
      ...order,
      card: undefined,
      page: {
        lapsesAt: instant(start + 60_000),
        paymentTypes: "_all",
        instalments: [1, 12],
        redirectUrl: undefined,
        ...bare,
      },
    },
  };
}

/** newPayment without optional members. */
export function barePayment(number: number): Payment {
  const { order, ...rest } = newPayment(number);
  return {
    ...rest,
    state: "received",
    attempt: undefined,
    attempts: 0,
    order: {
      ...order,
      orderNumber: undefined,
      card: { ...cardIn(order), tokenDigest: undefined },
      customer: bareCustomer,
      ...bareExtras,
    },
  };
}

export function newAttempt(over: Partial<Attempt> = {}): Attempt {
  const [answerBy, recheckAt] = [instant(start + 20_000), instant(start + 25_000)];
  return {
    kind: "sale",
    number: 1,
    amount: 10_050n,
    sentAt: start,
    answerBy,
    checks: 0,
    recheckAt,
    ...over,
  };
}

export const approval: Verdict = {
  approved: true,
  authorizationCode: "123456",
  responseCode: "00",
  reason: "approved",
  adviceCode: undefined,
  acquirerReference: "SIM-000000000001",
  networkTransactionId: "123456789012345",
  refusedBeforeIssuer: false,
};

export const dispute: Chargeback = {
  state: "opened",
  amount: 500n,
  description: "not mine",
  reason: "fraud",
  openedAt: start,
  creditedAt: undefined,
};

/** A new refund of 1.00. */
export function newRefund(id: number, over: Partial<Refund> = {}): Refund {
  return {
    id,
    code: `refund-${id}`,
    state: "requested",
    amount: 100n,
    description: "too large",
    request: undefined,
    requestedAt: instant(start + 2_000),
    pendingAt: undefined,
    confirmedAt: undefined,
    cancelledAt: undefined,
    attempts: 0,
    sentAt: undefined,
    answerBy: undefined,
    checks: 0,
    dueAt: instant(start + 302_000),
    ...over,
  };
}

/** The next version of a payment, with these refunds and their sum. */
export function refundedNext(payment: Payment, refunds: readonly Refund[]): Payment {
  const refunded = refunds.reduce(
    (sum, { state, amount }) => (state === "cancelled" ? sum : sum + amount),
    0n,
  );
  return { ...payment, version: payment.version + 1, refunds, refunded };
}

/** The next version of a payment whose sale was approved. */
export function paidNext(payment: Payment, over: Partial<Payment> = {}): Payment {
  const { minor } = payment.order.amount;
  return {
    ...payment,
    version: payment.version + 1,
    state: "captured",
    statusAt: instant(start + 900),
    capturedAt: instant(start + 900),
    authorized: minor,
    captured: minor,
    attempt: undefined,
    verdict: approval,
    ...over,
  };
}

export const saleEntries: readonly JournalEntry[] = [
  {
    kind: "hold",
    postings: [
      { account: "authorized_holds", currency: "USD", minor: 10_050n },
      { account: "cardholder_commitments", currency: "USD", minor: -10_050n },
    ],
  },
  {
    kind: "capture",
    postings: [
      { account: "authorized_holds", currency: "USD", minor: -10_050n },
      { account: "cardholder_commitments", currency: "USD", minor: 10_050n },
      { account: "acquirer_receivable", currency: "BRL", minor: 51_686n },
      { account: "merchant_payable", currency: "BRL", minor: -51_490n },
      { account: "tax_payable", currency: "BRL", minor: -196n },
    ],
  },
];

export function fact(over: Partial<FactRecord> = {}): FactRecord {
  return { fact: "authorization_sent", attempt: 1, by: "merchant", detail: {}, ...over };
}

export function newCard(number: number, over: Partial<StoredCard> = {}): StoredCard {
  return {
    merchantId: merchantA,
    tokenDigest: tokenDigest(number),
    version: 1,
    ref: Uint8Array.from({ length: 180 }, (_, index) => (number + index) % 256),
    fingerprint: Uint8Array.from({ length: 32 }, (_, index) => (number * 7 + index) % 256),
    brand: "mastercard",
    maskedPan: "555555xxxxxx4444",
    createdAt: start,
    lastUsedAt: start,
    mac: Uint8Array.from({ length: 32 }, (_, index) => (number * 11 + index) % 256),
    ...over,
  };
}

export function newAccount(id: MerchantId, over: Partial<Account> = {}): Account {
  return {
    id,
    version: 1,
    name: "Shop",
    settings: {
      country: "br",
      profile: "X",
      rateTable: "fixed",
      taxPolicy: "none",
      taxPaidBy: "customer",
      partialCapture: false,
      reviewAboveUsd: 0,
      routes: [],
      captureWindowDays: 4,
      refundWindowDays: 0,
      refundRequestedMinutes: 5,
      refundPendingMinutes: 5,
      strictRefundCancel: false,
      strictMandates: false,
      declineCodes: false,
      legacyDescriptions: false,
      acquirerName: "EBANX",
      createToken: true,
      requireCvv: false,
      pageAuthentication: "strict",
      notificationUrl: "",
      responseUrl: "",
      receiptEmail: "",
      imageUrl: "",
      maximumAmountUsd: 10_000,
      descriptor: "SHOP",
      strictForms: false,
      requireDebitThreeDSecure: false,
      fieldOrigins: "https://shop.example",
      publicRequestsPerMinute: 60,
      publicCardsPerTenMinutes: 0,
      publicFailuresPerTenMinutes: 20,
      strictAmounts: false,
      refuseCardLikeCodes: false,
      notifySynchronous: false,
      notificationEndpoints: [],
      notificationChaos: {
        seed: "seed",
        drop: 0,
        delay: 0,
        reorder: 0,
        delayMs: 0,
        double: 0,
        breakSignature: 0,
        beforeAnswer: 0,
      },
      simulator: {
        seed: "seed",
        latencyMs: 0,
        loseAnswer: 0,
        loseRequest: 0,
        lateAnswer: 0,
        doubleRequest: 0,
      },
      savedViews: [
        { name: `"Recusadas" <b>'\u{202e}\\ 😀`, search: "país:mx %_", columns: "state,code" },
      ],
    },
    ...over,
  };
}

function empty(merchant: MerchantId): Change {
  return { merchantId: merchant, at: start, facts: [], entries: [], notifications: [] };
}

/** A change of this payment; the payment is new if its version is 1. */
export function paymentChange(next: Payment, over: Partial<Change> = {}): Change {
  const replaces = next.version === 1 ? undefined : next.version - 1;
  return { ...empty(next.merchantId), payment: { next, replaces }, facts: [fact()], ...over };
}

export function paidChange(payment: Payment, over: Partial<Change> = {}): Change {
  return paymentChange(paidNext(payment), {
    at: instant(start + 900),
    facts: [
      fact({ fact: "sale_approved", detail: { responseCode: "00", attempts: 1, late: false } }),
    ],
    entries: saleEntries,
    notifications: [{ kind: "update", paymentId: payment.id }],
    ...over,
  });
}

/** A payment's changes: requested, paid, refund requested. */
export function lifeOf(number: number): readonly Change[] {
  const payment = newPayment(number);
  const refunded = refundedNext(paidNext(payment), [newRefund(number + 1)]);
  const facts = [fact({ fact: "refund_requested", attempt: number + 1 })];
  return [
    paymentChange(payment),
    paidChange(payment),
    paymentChange(refunded, { at: instant(start + 2_000), facts }),
  ];
}

export function cardChange(next: StoredCard): Change {
  return {
    ...empty(next.merchantId),
    card: { next, replaces: next.version === 1 ? undefined : next.version - 1 },
  };
}

export function cardUseChange(number: number, atMs: number, merchant = merchantA): Change {
  return { ...empty(merchant), cardUse: { tokenDigest: tokenDigest(number), at: instant(atMs) } };
}

export function accountChange(next: Account, keys: readonly number[]): Change {
  return {
    ...empty(next.id),
    account: {
      next,
      replaces: next.version === 1 ? undefined : next.version - 1,
      keys: keys.map((number) => ({
        digest: keyDigest(number),
        grants: number % 2 === 0 ? "secret" : "public",
      })),
    },
  };
}
