import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { startOfDay } from "../../kernel/calendar.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import type { KeyGrant } from "../../stores/change.ts";
import type { Account, AccountSettings } from "../../merchant/account.ts";
import { defaultAccountSettings } from "../../merchant/settings.ts";
import { maskOf } from "../../vault/mask.ts";
import { decodeRequest } from "../decode/decode.ts";
import { answeredType, readToken, tokenRules } from "./token-request.ts";
import { Lifted } from "../decode/tree.ts";
import { WireError } from "../decode/wire-error.ts";

const now = startOfDay({ year: 2026, month: 11, day: 28 });
const card = {
  card_number: "5555555555554444",
  card_name: "Ana Lima",
  card_due_date: "4/2030",
  card_cvv: "321",
};

type Fields = Readonly<Record<string, unknown>>;

function read(
  top: Fields,
  node: Fields | undefined = {},
  settings: Partial<AccountSettings> = {},
  grants: KeyGrant = "secret",
): ReturnType<typeof readToken> {
  const account: Account = {
    id: "0a1b2c3d" as MerchantId,
    version: 1,
    name: "Loja",
    settings: { ...defaultAccountSettings(), ...settings },
  };
  const body = {
    payment_type_code: "creditcard",
    country: "br",
    creditcard: { ...card, ...node },
    ...top,
  };
  return readToken(
    decodeRequest("/ws/token", Buffer.from(JSON.stringify(body))).params,
    account,
    now,
    grants,
  );
}

function refusal(top: Fields, node?: Fields, settings?: Partial<AccountSettings>): string {
  try {
    read(top, node, settings).card.pan.wipe();
  } catch (error) {
    assert.ok(error instanceof WireError);
    return `${error.statusCode} ${error.message}`;
  }
  return "accepted";
}

describe("a token request", () => {
  test("names its token with the secret key only, and not after the card", () => {
    const chosen = "order-000417-ana-lima-2026-11-28-x";
    assert.equal(read({ token: chosen }).token, chosen);
    assert.throws(() => read({ token: chosen }, {}, {}, "public"), {
      statusCode: "BP-DR-66",
      message: "Field token is accepted with the integration_key only",
    });
    // The control: without a chosen token, browsers create tokens.
    assert.equal(read({ token: "" }, {}, {}, "public").token, undefined);
    for (const token of ["5555555555554444".repeat(2), ["a"]])
      assert.throws(() => read({ token }), { statusCode: "BP-DR-66" });
  });

  test("becomes a card of the vault", () => {
    const { card: read1, token } = read({});
    assert.equal(maskOf(read1.pan), "555555xxxxxx4444");
    assert.deepEqual(
      [read1.expiryMonth, read1.expiryYear, read1.holderName, token],
      [4, 2030, "Ana Lima", undefined],
    );
  });

  const rows: readonly (readonly [refused: string, top: Fields, node?: Fields])[] = [
    ["BP-DR-35 Invalid payment_type_code: gold", { payment_type_code: "gold" }],
    ["BP-DR-35 Invalid payment_type_code: boleto", { payment_type_code: "boleto" }],
    ["BP-DR-35 Invalid payment_type_code", { payment_type_code: ["visa"] }],
    ["BP-DR-48 Field creditcard is required for this payment type", { creditcard: null }],
    [
      "BP-DR-48 Field creditcard is required for this payment type",
      { creditcard: "4111111111111111" },
    ],
    ["BP-DR-49 Field payment.creditcard.card_number is required", {}, { card_number: null }],
    [
      "BP-DR-49 Field payment.creditcard.card_number is required",
      {},
      { card_number: "", token: "t".repeat(40) },
    ],
    ["BP-DR-51 Field payment.creditcard.card_name is required", {}, { card_name: " " }],
    [
      "BP-DR-52 Field payment.creditcard.card_name can have 64 characters maximum",
      {},
      { card_name: "a".repeat(65) },
    ],
    ["BP-DR-54 Field payment.creditcard.card_cvv is required", {}, { card_cvv: null }],
    ["BP-DR-55 Field payment.creditcard.card_cvv must have 3 or 4 digits", {}, { card_cvv: 12 }],
    ["BP-DR-56 Field payment.creditcard.card_due_date is required", {}, { card_due_date: "" }],
    [
      "BP-DR-57 Field payment.creditcard.card_due_date must be in the format mm/yyyy",
      {},
      { card_due_date: "2030-04" },
    ],
    [
      "BP-DR-58 Field payment.creditcard.card_due_date is invalid",
      {},
      { card_due_date: "00/2030" },
    ],
    [
      "BP-DR-59 Field payment.creditcard.card_due_date is invalid",
      {},
      { card_due_date: "01/2999" },
    ],
    ["BP-DR-66 Field token must have between 32 and 128 characters", { token: "t".repeat(129) }],
    ["BP-DR-66 Field token must have between 32 and 128 characters", { token: "t".repeat(31) }],
    // Regression: thirty-nine characters, one of them a blank, were reported as too few or too
    // many.
    ["BP-DR-66 Field token is invalid", { token: `${"t".repeat(20)} ${"t".repeat(18)}` }],
    ["BP-DR-66 Field token is invalid", { token: "é".repeat(40) }],
    [
      "BP-DR-67 Field payment.creditcard.card_due_date is in the past",
      {},
      { card_due_date: "10/2026" },
    ],
    [
      "BP-DR-75 Field payment.creditcard.card_number is invalid",
      {},
      { card_number: "5555555555554445" },
    ],
    [
      "BP-DR-75 Field payment.creditcard.card_number is invalid",
      {},
      { card_number: ["5555555555554444"] },
    ],
    ["BP-DR-76 Field country is required", { country: ["br"] }],
    ["BP-DR-77 Field country is not an allowed country", { country: "zz" }],
    [
      "BP-DR-95 Field payment.creditcard.card_name must not be a card number",
      {},
      { card_name: "5555555555554444" },
    ],
  ];
  for (const [refused, top, node] of rows) {
    test(refused, () => {
      assert.equal(refusal(top, node), refused);
    });
  }

  test("every rule is broken by a request of these tests", () => {
    const provoked = new Set(rows.map(([refused]) => refused.split(" ")[0]));
    assert.deepEqual(
      tokenRules.filter(({ code }) => !provoked.has(`BP-DR-${code}`)),
      [],
    );
  });

  test("of two broken rules the smaller number is reported", () => {
    assert.match(refusal({ country: "zz" }, { card_name: "" }), /^BP-DR-51 /);
    assert.match(refusal({ payment_type_code: "gold" }, { card_number: "" }), /^BP-DR-35 /);
  });

  test("a card is good until its month is over everywhere", () => {
    assert.equal(refusal({}, { card_due_date: "11/2026" }), "accepted");
  });

  test("takes both names of the node, digits with blanks, numbers, and no country and no type", () => {
    assert.equal(refusal({ creditcard: undefined, card }), "accepted");
    assert.equal(
      refusal({ payment_type_code: "", country: "" }, { card_number: "5555 5555 5555 4444" }),
      "accepted",
    );
    assert.equal(
      refusal({ country: "MX" }, { card_number: 5555555555554444, card_cvv: 321 }),
      "accepted",
    );
    assert.equal(
      refusal({ payment_type_code: "carnet" }, { card_name: "a".repeat(64) }),
      "accepted",
    );
  });

  test("takes a token of the merchant's choice at both limits", () => {
    for (const length of [32, 128])
      assert.equal(read({ token: "t".repeat(length) }).token, "t".repeat(length));
  });

  test("an account that needs no security code may leave it out", () => {
    assert.equal(refusal({}, { card_cvv: null }, { requireCvv: false }), "accepted");
  });

  test("keeps nothing of the security code, and nothing at all after a refusal", () => {
    const copies: Uint8Array[] = [];
    class Watched extends Lifted {
      override copy(): Uint8Array {
        const copied = super.copy();
        copies.push(copied);
        return copied;
      }
    }
    const account: Account = {
      id: "0a1b2c3d" as MerchantId,
      version: 1,
      name: "Loja",
      settings: defaultAccountSettings(),
    };
    const node = (name: string): Record<string, string | Watched> => ({
      card_name: name,
      card_due_date: "4/2030",
      card_number: new Watched(Buffer.from(card.card_number), true),
      card_cvv: new Watched(Buffer.from("321"), true),
    });
    const isWiped = (bytes: Uint8Array | undefined): boolean =>
      bytes?.every((byte) => byte === 0) ?? false;

    const { card: kept } = readToken({ card: node("Ana Lima") }, account, now, "secret");
    assert.deepEqual(copies.map(isWiped), [false, true]);
    kept.pan.wipe();

    copies.length = 0;
    assert.throws(() => readToken({ card: node("") }, account, now, "secret"), WireError);
    assert.deepEqual(copies.map(isWiped), [true, true]);
  });
});

test("the answer names the brand that was sent, or the card's own", () => {
  for (const [sent, answered] of [
    ["creditcard", "visa"],
    ["", "visa"],
    [undefined, "visa"],
    ["mastercard", "mastercard"],
    ["MASTERCARD", "mastercard"],
    ["debitcard", "debitcard"],
  ] as const) {
    assert.equal(
      answeredType(sent === undefined ? {} : { payment_type_code: sent }, "visa"),
      answered,
    );
  }
});
