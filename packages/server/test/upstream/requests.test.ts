import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { describe, test } from "node:test";
import { getHeapSnapshot } from "node:v8";
import { captureBody, directBody } from "../../src/connectors/upstream/requests.ts";
import {
  isReversalCode,
  paymentCodeOf,
  refundCodeOf,
  refundReferenceOf,
  reversalCodeOf,
} from "../../src/connectors/upstream/references.ts";
import { refundReference, type Refund } from "../../src/payment/refund.ts";
import { Cryptogram, Pan } from "../../src/vault/pan.ts";
import { httpAnswer, startCannedServer } from "./canned-server.ts";
import { authorizeRequest, cardInHand, upstreamAt, upstreamKey } from "./connector.ts";

type Fields = Record<string, unknown>;
const { merchantId } = authorizeRequest("any");
const cardOfBody = (body: Buffer): Fields =>
  (JSON.parse(body.toString()) as { payment: { creditcard: Fields } }).payment.creditcard;

describe("requests to the upstream", () => {
  test("a payment is JSON with everything that the interface asks for", () => {
    const request = authorizeRequest(`${"ab".repeat(24)}-1`, {
      capture: false,
      descriptor: 'Loja "Ação"',
    });
    const body = JSON.parse(directBody("key", "code", request, cardInHand()).toString()) as Fields;
    assert.deepEqual(body, {
      integration_key: "key",
      operation: "request",
      mode: "full",
      payment: {
        merchant_payment_code: "code",
        order_number: "ab".repeat(20),
        amount_total: "12.34",
        currency_code: "USD",
        country: "br",
        instalments: 1,
        payment_type_code: "creditcard",
        user_value_1: "hold",
        name: "Ana Lima",
        email: "ana.lima@example.com",
        document: "85351346893",
        birth_date: "30/04/1979",
        person_type: "personal",
        phone_number: "8522847035",
        zipcode: "61919230",
        address: "Rua E",
        street_number: "1040",
        city: "Maracanaú",
        state: "CE",
        creditcard: {
          card_number: "4111111111111111",
          card_name: "JOSE DA SILVA",
          card_due_date: "12/2060",
          auto_capture: false,
          soft_descriptor: 'Loja "Ação"',
          card_cvv: "123",
        },
      },
    });
  });

  test("a network token and its cryptogram go by their own names, also with an indicator of 3-D Secure beside them", () => {
    const cryptogram = () =>
      Cryptogram.from(Uint8Array.from(Buffer.from("AAABBBCCC000111222333444555=")));
    const threeDSecure = { eci: "05", version: "2", transactionId: undefined, xid: undefined };
    const secured = cardOfBody(
      directBody("key", "code", authorizeRequest("p-1", { threeDSecure }), {
        ...cardInHand(),
        cryptogram: cryptogram(),
      }),
    );
    assert.deepEqual(
      [secured["threeds_eci"], secured["threeds_cryptogram"]],
      ["05", "AAABBBCCC000111222333444555="],
    );
    assert.equal(secured["card_number"], "4111111111111111");

    // A network token was recognized by a cryptogram without an indicator: one with an indicator,
    // as wallets send it, or without a cryptogram, as in a merchant's own charges, was sent to the
    // upstream as a card number.
    for (const secure of [undefined, threeDSecure]) {
      const card = {
        ...cardInHand(),
        networkToken: true,
        cvv: undefined,
        cryptogram: cryptogram(),
      };
      const token = cardOfBody(
        directBody("key", "code", authorizeRequest("p-1", { threeDSecure: secure }), card),
      );
      assert.deepEqual(
        [
          token["network_token_pan"],
          token["network_token_expire_date"],
          token["network_token_cryptogram"],
          token["card_number"],
        ],
        ["4111111111111111", "12/2060", "AAABBBCCC000111222333444555=", undefined],
      );
      assert.equal(token["threeds_eci"], secure?.eci);
    }
    const bare = cardOfBody(
      directBody("key", "code", authorizeRequest("p-1"), { ...cardInHand(), networkToken: true }),
    );
    assert.deepEqual(
      [bare["network_token_pan"], bare["card_number"]],
      ["4111111111111111", undefined],
    );
    // A card's cryptogram without an indicator turned its number into a network token.
    const lone = cardOfBody(
      directBody("key", "code", authorizeRequest("p-1"), {
        ...cardInHand(),
        cryptogram: cryptogram(),
      }),
    );
    assert.deepEqual(
      [lone["card_number"], lone["threeds_cryptogram"]],
      ["4111111111111111", "AAABBBCCC000111222333444555="],
    );
  });

  test("an amount is decimal text in the currency's own scale", () => {
    const amountOf = (minor: bigint, currency: string) =>
      (JSON.parse(captureBody("key", "code", { minor, currency }).toString()) as Fields)["amount"];
    assert.deepEqual(
      [amountOf(5n, "BRL"), amountOf(123_456_00n, "COP"), amountOf(1_234n, "KWD")],
      ["0.05", "123456.00", "1.234"],
    );
  });

  test("no card number becomes a string on its way out", async () => {
    await using server = await startCannedServer();
    server.say(httpAnswer("[]"));
    const upstream = upstreamAt(`http://127.0.0.1:${server.port}`);
    const digits = freshDigits();
    const pan = Pan.from(Uint8Array.from(digits));
    assert.ok(pan !== undefined);
    const { card } = cardInHand();
    await upstream.authorize(authorizeRequest("p-1"), {
      card: { ...card, pan },
      cvv: undefined,
      cryptogram: undefined,
    });
    upstream.close();
    assert.equal(server.received[0]?.includes(digits), true, "control: the digits were sent");
    server.received.length = 0;
    assert.equal(await isInHeapStrings(digits), false);
    // Controls: the search finds a string, and the rest of the request.
    const kept = { text: digits.toString("latin1") };
    assert.equal(await isInHeapStrings(digits), true);
    assert.equal(await isInHeapStrings(Buffer.from(upstreamKey)), true);
    assert.equal(kept.text.length, 16);
  });
});

describe("names at the upstream", () => {
  test("a payment's name is stable, has 40 characters, and is another for another merchant or reference", () => {
    const names = [
      paymentCodeOf(merchantId, "p-1"),
      paymentCodeOf(merchantId, "p-2"),
      paymentCodeOf("00000001" as typeof merchantId, "p-1"),
    ];
    assert.equal(new Set(names).size, 3);
    for (const name of names) assert.match(name, /^[0-9a-f]{40}$/);
    assert.equal(paymentCodeOf(merchantId, "p-1"), names[0]);
  });

  test("a refund's name leads back to its reference, also with the longest of each", () => {
    const id = "6925f1c8b7d04e3aa91c5f20d8e6437b10c2f9a4be7d5831";
    const references = [1, 2 ** 31 - 1].map((refund) =>
      refundReference(id, { id: refund, attempts: 9_999 } as Refund),
    );
    for (const reference of references) {
      const code = refundCodeOf(merchantId, `${id}-1`, reference);
      assert.ok(code.length <= 40, code);
      assert.equal(refundReferenceOf(merchantId, `${id}-1`, code), reference);
      assert.equal(isReversalCode(merchantId, `${id}-1`, code), false);
      assert.equal(refundReferenceOf(merchantId, "another-1", code), undefined);
    }
    assert.equal(
      new Set(references.map((reference) => refundCodeOf(merchantId, `${id}-1`, reference))).size,
      2,
    );
  });

  test("a reversal's name differs from a refund's", () => {
    const code = reversalCodeOf(merchantId, "p-1", 0);
    assert.ok(code.length <= 40);
    assert.ok(isReversalCode(merchantId, "p-1", code));
    assert.equal(refundReferenceOf(merchantId, "p-1", code), undefined);
    assert.notEqual(reversalCodeOf(merchantId, "p-1", 1), code);
  });

  test("a reference that is not of the payment's form has a name too", () => {
    const [one, other] = [
      refundCodeOf(merchantId, "p-1", "q-r1"),
      refundCodeOf(merchantId, "p-1", `p-${"x".repeat(60)}`),
    ];
    assert.ok(one.length <= 40 && other.length <= 40 && one !== other);
  });
});

/**
 * A card number under a test BIN that is stored nowhere: sixteen ASCII digits that never were a
 * string.
 */
function freshDigits(): Buffer {
  const digits = Buffer.alloc(16);
  for (const [index, digit] of [4, 1, 1, 1, 1, 1].entries()) digits[index] = 0x30 + digit;
  for (let index = 6; index < 15; index += 1) digits[index] = 0x30 + randomInt(10);
  for (let check = 0; check < 10; check += 1) {
    digits[15] = 0x30 + check;
    const pan = Pan.from(Uint8Array.from(digits));
    if (pan !== undefined) break;
  }
  return digits;
}

/**
 * Searches a heap snapshot for bytes; a snapshot contains all strings, but not the contents of
 * buffers.
 */
async function isInHeapStrings(wanted: Buffer): Promise<boolean> {
  let tail = Buffer.alloc(0);
  let found = false;
  for await (const piece of getHeapSnapshot() as AsyncIterable<Buffer>) {
    const window = Buffer.concat([tail, piece]);
    found ||= window.includes(wanted);
    tail = window.subarray(-wanted.length);
  }
  return found;
}
