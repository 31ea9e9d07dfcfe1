import assert from "node:assert/strict";
import { describe, test } from "node:test";
import vm from "node:vm";
import { instant } from "../../src/kernel/instant.ts";
import type { MerchantId } from "../../src/kernel/ids.ts";
import { SeededRandom } from "../../src/kernel/seeded-random.ts";
import { ServiceError } from "../../src/payment/service-error.ts";
import type { Account } from "../../src/merchant/account.ts";
import { defaultAccountSettings } from "../../src/merchant/settings.ts";
import { IdempotentRequests } from "../../src/operations/idempotent-requests.ts";
import { createMemoryStore } from "../../src/stores/memory/memory-store.ts";
import { decodeRequest } from "../../src/wire/decode/decode.ts";
import { wireEndpoints } from "../../src/wire/endpoints/index.ts";
import { CardLikeNames } from "../../src/wire/decode/card-like-names.ts";
import {
  echo,
  holdsCardNumber,
  maskCardNumbers,
  namesCard,
} from "../../src/wire/decode/card-like.ts";

/*
 * One long value must not block the server: the time for a field may only grow in proportion to its
 * length. Times are not compared. A limit of many times the normal duration stops quadratic work.
 */
const limitMs = 5_000;
/**
 * Number of retries when other processes kept this process waiting for more than half of the limit.
 */
const maxAttempts = 20;

/**
 * Stops `work` from outside when it does not end by itself: node:test's own limit cannot, because
 * no promise is awaited.
 */
function within(work: () => void, what: string, timeout = limitMs): void {
  for (let tries = 0; tries < maxAttempts; tries += 1) {
    const before = process.cpuUsage();
    if (ends(work, timeout)) return;
    // Time that other processes used the processor does not count.
    const { user, system } = process.cpuUsage(before);
    if (user + system > (timeout / 2) * 1_000) break;
  }
  assert.fail(`${what} takes for ever`);
}

function ends(work: () => void, timeout: number): boolean {
  try {
    vm.runInNewContext("work()", { work }, { timeout });
    return true;
  } catch (error) {
    // The error comes from the other context, whose Error class is different.
    if (
      typeof error === "object" &&
      error !== null &&
      "code" in error &&
      error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT"
    )
      return false;
    throw error;
  }
}

const account: Account = {
  id: "0a1b2c3d" as MerchantId,
  version: 1,
  name: "Loja",
  settings: defaultAccountSettings(),
};
const endpoints = wireEndpoints({
  runner: {
    run: () => Promise.reject(new ServiceError("payment_not_found")),
  },
  clockOf: () => ({ now: () => instant(Date.UTC(2026, 10, 28)) }),
  holderOf: () => Promise.resolve(undefined),
  forget: () => undefined,
  randomOf: () => new SeededRandom("long values"),
  requests: new IdempotentRequests(
    createMemoryStore(),
    { now: () => instant(0) },
    { isAlone: true },
  ),
  cardLikeNames: new CardLikeNames(),
  pages: { pageUrl: () => "", isReturnAddress: () => false },
  addressCheck: () => () => undefined,
  authenticatorOf: () => undefined,
  sandbox: undefined,
});

/**
 * Endless digits, in groups, with separators, in other scripts, escaped, and patterns that cause
 * backtracking.
 */
const worst: Readonly<Record<string, (bytes: number) => string>> = {
  digits: (bytes) => "7".repeat(bytes),
  "cards in a row": (bytes) => "4111111111111111".repeat(bytes / 16),
  "single digits": (bytes) => "4 ".repeat(bytes / 2),
  "digits of another script": (bytes) => "\uff14".repeat(bytes / 3),
  "escaped digits": (bytes) => "%34".repeat(bytes / 4),
  "a digit and much else": (bytes) => `${"1a".repeat(12)}${"-".repeat(bytes - 40)}`,
  "at signs and points": (bytes) => `a@${".a".repeat(bytes / 2 - 20)}@`,
  "words for security codes": (bytes) => "cvv ".repeat(bytes / 4),
  "words run together": (bytes) => "codverifica".repeat(bytes / 11),
  "named codes": (bytes) => "cvv 123 ".repeat(bytes / 8),
  "two digits and a word": (bytes) => `1${"a".repeat(bytes / 2)}1${"b".repeat(bytes / 2 - 10)}cvv`,
  "cards and codes": (bytes) => "4111111111111111 123 ".repeat(bytes / 21),
  "tracks that go on": (bytes) => "4111111111111111^".repeat(bytes / 17),
  zeros: (bytes) => `${"0".repeat(bytes - 1)}x`,
};

const noHeaders = {
  simulateInternalError: undefined,
  processingType: undefined,
  idempotencyKey: undefined,
  isCrossSite: () => false,
};
const card = {
  card_number: "4111111111111111",
  card_name: "Ana Lima",
  card_due_date: "4/2030",
  card_cvv: "321",
};
const payment = {
  merchant_payment_code: "ord-1",
  amount_total: "100",
  currency_code: "CLP",
  name: "Ana Lima",
  email: "ana@example.com",
  country: "cl",
  phone_number: "8522847035",
  creditcard: card,
};
const cardFields = [
  "card_number",
  "card_name",
  "card_due_date",
  "card_cvv",
  "soft_descriptor",
  "token",
  "threeds_eci",
  "threeds_trxid",
];
const paymentFields = [
  ...Object.keys(payment).slice(0, -1),
  "order_number",
  "document",
  "document_type",
  "birth_date",
  "zipcode",
  "address",
  "street_number",
  "street_complement",
  "city",
  "state",
  "person_type",
  "payment_type_code",
  "instalments",
  "amount_itens",
  "user_value_1",
  "note",
  "device_id",
  "notification_url",
  "customer_ip",
  "token",
  "auto_capture",
  "create_token",
];
const anyFields = [
  "operation",
  "mode",
  "payment_type_code",
  "country",
  "token",
  "device_id",
  "hash",
  "merchant_payment_code",
  "amount",
  "currency_code",
  "currency_base_code",
  "description",
  "merchant_refund_code",
  "refund_id",
  "zipcode",
  "document",
  "public_integration_key",
  "image",
  "receipt_email",
  "url_response",
  "url_status_change_notification",
];

/** The valid request with one field replaced, for each field. */
function* requestsWith(value: string, path: string): Generator<object> {
  for (const field of anyFields)
    yield { hash: "a".repeat(24), creditcard: card, payment, amount: "1", [field]: value };
  if (path !== "/ws/direct") return;
  for (const field of paymentFields) yield { payment: { ...payment, [field]: value } };
  for (const field of cardFields)
    yield { payment: { ...payment, creditcard: { ...card, [field]: value } } };
}

describe("a long value of any field", () => {
  for (const endpoint of endpoints) {
    if (endpoint.key === "none") continue;
    test(`is answered by ${endpoint.path} in time that grows with its length only`, async () => {
      const answers: Promise<unknown>[] = [];
      for (const [kind, make] of Object.entries(worst)) {
        const value = make(64 * 1024);
        within(() => {
          for (const body of requestsWith(value, endpoint.path)) {
            const { params } = decodeRequest(endpoint.path, Buffer.from(JSON.stringify(body)));
            answers.push(
              endpoint.handle({
                method: "POST",
                params,
                account,
                grants: "secret",
                headers: noHeaders,
              }),
            );
          }
        }, kind);
      }
      await Promise.allSettled(answers);
    });
  }

  test("is searched for card numbers in time that grows with its length only, even where nothing cuts it", () => {
    for (const [kind, make] of Object.entries(worst)) {
      within(() => void maskCardNumbers(make(256 * 1024)), `maskCardNumbers of ${kind}`);
      for (const search of [echo, holdsCardNumber, namesCard]) {
        within(() => void search(make(64 * 1024)), `${search.name} of ${kind}`);
      }
    }
  });

  test("the control: work that grows with the square is found", () => {
    const digits = "7".repeat(64 * 1024);
    assert.throws(
      () => {
        within(
          () => void Array.from(digits, (_, at) => Array.from(digits.slice(at)).join("")),
          "the square",
          100,
        );
      },
      { name: "AssertionError" },
    );
  });
});
