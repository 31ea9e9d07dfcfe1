import assert from "node:assert/strict";
import { after, before, describe, test, type TestContext } from "node:test";
import { instant } from "../../src/kernel/instant.ts";
import type { MerchantId } from "../../src/kernel/ids.ts";
import { defaultAccountSettings } from "../../src/merchant/settings.ts";
import { maskCardNumbers } from "../../src/wire/decode/card-like.ts";
import { decodeRequest } from "../../src/wire/decode/decode.ts";
import { readDirect, wipeSource } from "../../src/wire/requests/direct-request.ts";
import { WireError } from "../../src/wire/decode/wire-error.ts";
import { withoutCardNumber } from "../../src/operations/card-number-in-order.ts";
import { containsMaskedPan } from "../../src/vault/contains-pan.ts";
import { containsTestNumber } from "../../src/vault/test-numbers.ts";
import {
  type Chance,
  chanceOf,
  codes,
  documents,
  type Kind,
  names,
  phones,
  texts,
} from "../vectors/ordinary-values.ts";
import { testCards } from "../vectors/cards.ts";
import {
  directBody,
  integrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../server.ts";

/*
 * The share of ordinary values that are refused for their form, per field and kind of value. Each
 * refusal costs a shop a sale, at random and without a visible reason: the bound is zero.
 */

const account = {
  id: "0a1b2c3d" as MerchantId,
  version: 1,
  name: "Loja",
  settings: defaultAccountSettings(),
};
const now = instant(Date.UTC(2027, 0, 27));
const rounds = 300;
const visaDigits = testCards
  .filter(([, brand]) => brand === "visa" || brand === "mastercard")
  .map(([digits]) => digits);

/**
 * The refusal of a payment with this value; undefined when it is accepted with the value unchanged.
 */
function outcomeOf(change: Readonly<Record<string, unknown>>, index: number): string | undefined {
  const card_number = visaDigits[index % visaDigits.length];
  const body = directBody("a", {
    ...change,
    creditcard: { ...testCard, card_number, ...(change["creditcard"] as object | undefined) },
  });
  try {
    const { source, order } = readDirect(
      decodeRequest("/ws/direct", Buffer.from(JSON.stringify(body))).params,
      account,
      now,
    );
    try {
      assert.ok(source.kind !== "token");
      withoutCardNumber(order, source.card.pan, account);
      const url = change["notification_url"];
      return url === undefined || order.notificationUrl === url ? undefined : "left out";
    } finally {
      wipeSource(source);
    }
  } catch (error) {
    return error instanceof WireError ? error.statusCode : String(error);
  }
}

function measure(
  context: TestContext,
  field: string,
  kinds: readonly Kind[],
  refused: (value: string, index: number) => string | undefined,
): void {
  const found: string[] = [];
  for (const [index, { kind, make }] of kinds.entries()) {
    const chance: Chance = chanceOf(20_261_129 + index);
    const codesOf = Array.from({ length: rounds }, (_, round) =>
      refused(make(chance), round),
    ).filter((code) => code !== undefined);
    if (codesOf.length > 0)
      found.push(
        `${field}, ${kind}: ${codesOf.length} of ${rounds} (${[...new Set(codesOf)].join(", ")})`,
      );
  }
  context.diagnostic(
    `${field}: ${found.length === 0 ? `0 of ${rounds * kinds.length} refused, ${kinds.length} kinds` : found.join("; ")}`,
  );
  assert.deepEqual(found, []);
}

describe("ordinary values are accepted", () => {
  const field = (
    name: string,
    kinds: readonly Kind[],
    write: (value: string) => Readonly<Record<string, unknown>>,
  ): void => {
    test(name, (context) =>
      measure(context, name, kinds, (value, index) => outcomeOf(write(value), index)),
    );
  };

  // A code has 40 characters at most.
  const short = codes.map(({ kind, make }) => ({
    kind,
    make: (chance: Chance) => make(chance).slice(0, 40),
  }));
  field("merchant_payment_code", short, (merchant_payment_code) => ({ merchant_payment_code }));
  field("order_number", short, (order_number) => ({ order_number }));
  field("user_value_1", codes, (value) => ({ user_value_1: value.slice(0, 20) }));
  field("notification_url", codes, (value) => ({
    notification_url: `https://shop.example/paid?order=${encodeURIComponent(value)}`,
  }));
  field("device_id", codes, (device_id) => ({ device_id }));
  field("a chosen token", codes, (value) => ({
    create_token: true,
    token: value.replaceAll(" ", "_").padStart(32, "customer-card-of-the-shop-number-"),
  }));
  field("name", names, (name) => ({ name }));
  field("card_name", names, (name) => ({ creditcard: { card_name: name } }));
  field("note", texts, (note) => ({ note }));
  field("address", texts, (address) => ({ address }));
  field("phone_number", phones, (phone_number) => ({ phone_number }));

  test("document", (context) => {
    for (const { country, ...kind } of documents) {
      const currency_code =
        { ar: "ARS", mx: "MXN", co: "COP", pe: "PEN", uy: "UYU", bo: "BOB" }[country] ?? "USD";
      measure(context, `document in ${country}`, [kind], (document, index) =>
        outcomeOf({ document, country, currency_code }, index),
      );
    }
  });

  test("merchant_refund_code, by the mask of the payment's card", (context) => {
    measure(context, "merchant_refund_code", codes, (code) =>
      containsMaskedPan(code, "411111xxxxxx1111") ? "COFRE-47" : undefined,
    );
  });

  test("the names of worlds, snapshots and of payments that a fault waits for", (context) => {
    measure(context, "a world's name", codes, (name) =>
      containsTestNumber(name) ? "COFRE-73" : undefined,
    );
  });
});

describe("ordinary texts stay as they are", () => {
  /**
   * How many of a thousand values may change; by default none. Digits that form a card number by
   * chance cannot be distinguished from one.
   */
  const maxOf = new Map<string, number>([
    ["two telephone numbers", 30],
    ["a UUID", 5],
  ]);
  test("names, addresses, notes", (context) => {
    const tooMany: string[] = [];
    for (const [index, { kind, make }] of texts.entries()) {
      const chance = chanceOf(20_270_101 + index);
      const changed = Array.from({ length: 2_000 }, () => make(chance)).filter(
        (text) => maskCardNumbers(text) !== text,
      );
      context.diagnostic(`${kind}: ${changed.length} of 2000 changed`);
      if (changed.length > 2 * (maxOf.get(kind) ?? 0))
        tooMany.push(`${kind}: ${changed.slice(0, 3).join(" | ")}`);
    }
    assert.deepEqual(tooMany, []);
  });

  /**
   * In note, order_number and user values: codes with enough consecutive digits that one in ten
   * passes the check digit.
   */
  const maxOfCodes = new Map<string, number>([
    ["yymmdd and ten digits", 125],
    ["groups of four with blanks", 60],
    ["yyyymmdd and eight digits", 35],
    ["ULID", 2],
    ["dotted id", 60],
    ["UUID", 5],
    ["UUID without dashes", 10],
    ["VTEX: transaction id", 10],
    ["microseconds", 5],
    ["Snowflake", 320],
    ["shop, order id and milliseconds", 65],
    ["WooCommerce: order id and seconds", 45],
    ["ddmmyyyy, a dash and eight digits", 30],
    ["PrestaShop: cart, customer and seconds", 85],
    ["VTEX: thirteen digits and a sequence", 40],
    ["Shopify: id of an order", 50],
    ["Shopify: id of a checkout, fourteen digits", 30],
    ["nanoseconds", 220],
    ["12 random digits", 10],
    ["13 random digits", 30],
    ["14 random digits", 30],
    ["15 random digits", 60],
    ["16 random digits", 90],
    ["17 random digits", 150],
    ["18 random digits", 250],
    ["19 random digits", 400],
  ]);
  test("codes, in fields that are for text", (context) => {
    const tooMany: string[] = [];
    for (const [index, { kind, make }] of codes.entries()) {
      const chance = chanceOf(20_280_101 + index);
      const changed = Array.from({ length: 2_000 }, () => make(chance)).filter(
        (text) => maskCardNumbers(text) !== text,
      );
      context.diagnostic(`${kind}: ${changed.length} of 2000 changed`);
      if (changed.length > 2 * (maxOfCodes.get(kind) ?? 0))
        tooMany.push(`${kind}: ${changed.length}`);
    }
    assert.deepEqual(tooMany, []);
  });
});

describe("the running program", () => {
  let server: TestServer;
  before(async () => {
    server = await startTestServer({ seed: "ordinary values" });
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
  });

  test("takes codes, refund codes and keys that look like card numbers, by number and by token", async () => {
    const stored = await server.postJson("/ws/token", {
      integration_key: integrationKey,
      country: "pe",
      payment_type_code: "creditcard",
      creditcard: testCard,
    });
    const token = String(stored.body["token"]);
    const chance = chanceOf(7);
    const looks = codes.filter(({ kind }) =>
      /16 random|yymmdd|groups|dotted|shop, order/.test(kind),
    );
    for (let round = 0; round < 30; round += 1) {
      for (const { kind, make } of looks) {
        const [code, refundCode, key] = [
          make(chance),
          make(chance),
          make(chance).replaceAll(" ", "-"),
        ];
        const creditcard = round % 2 === 0 ? testCard : { token, card_cvv: "123" };
        const sent = async (path: string, body: unknown): Promise<unknown> => {
          const response = await fetch(server.url + path, {
            method: "POST",
            body: JSON.stringify(body),
            headers: { "Idempotency-Key": `${path.slice(4, 7)}-${key}` },
          });
          return ((await response.json()) as Record<string, unknown>)["status_code"];
        };
        assert.equal(
          await sent("/ws/direct", directBody(code, { creditcard })),
          undefined,
          `${kind}: ${code.slice(0, 6)}`,
        );
        const refund = {
          integration_key: integrationKey,
          operation: "request",
          merchant_payment_code: code,
          amount: "1.00",
          description: "x",
          merchant_refund_code: refundCode,
        };
        assert.equal(
          await sent("/ws/refund", refund),
          undefined,
          `${kind}: ${refundCode.slice(0, 6)}`,
        );
      }
    }
  });
});

test("control: the search for whatever looks like a card number would refuse one of forty", () => {
  const chance = chanceOf(1);
  const taken = Array.from({ length: 4_000 }, () => codes.at(-4)?.make(chance) ?? "").filter(
    (code) => maskCardNumbers(code) !== code,
  ).length;
  assert.ok(taken > 80, String(taken));
});
