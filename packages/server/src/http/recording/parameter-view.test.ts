import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { decodeRequest } from "../../wire/decode/decode.ts";
import type { ParameterList } from "../../sandbox/recording/recorder.ts";
import { unkeyedDigest } from "../../vault/token.ts";
import { answerFactsOf, paymentIn } from "./answer-view.ts";
import { viewOf } from "./parameter-view.ts";

const pan = "4111111111111111";

interface Viewed {
  readonly shown: Record<string, unknown>;
  readonly leftOut: number;
  readonly characters: number;
}

function viewed(body: unknown, most = 4_096): Viewed {
  const decoded = decodeRequest("/ws/direct", Buffer.from(JSON.stringify(body)));
  const { parameters, characters, leftOut } = viewOf(decoded.params, most);
  decoded.wipe();
  return { shown: objectOf(parameters), leftOut, characters };
}

function objectOf(list: ParameterList): Record<string, unknown> {
  const members: Record<string, unknown> = {};
  for (let index = 0; index < list.length; index += 2) {
    const value = list[index + 1];
    members[String(list[index])] = typeof value === "object" ? objectOf(value) : value;
  }
  return members;
}

describe("the view of a request's parameters", () => {
  test("shows what is on its list, and of the card the mask alone", () => {
    const creditcard = {
      card_number: pan,
      card_cvv: "987",
      card_name: "Ana Lima",
      card_due_date: "12/2035",
      auto_capture: true,
    };
    const { shown, leftOut } = viewed({
      integration_key: "k-secret",
      operation: "request",
      payment: { name: "Ana", country: "br", creditcard },
    });
    assert.deepEqual(shown, {
      operation: "request",
      payment: {
        name: "Ana",
        country: "br",
        creditcard: {
          card_number: "411111xxxxxx1111",
          card_name: "[not kept]",
          card_due_date: "[not kept]",
          auto_capture: "true",
        },
      },
    });
    assert.equal(leftOut, 1);
  });

  test("shows nothing of a security code, not even its presence, nor of an invalid number", () => {
    const of = (card_cvv: unknown, card_number: unknown): unknown =>
      viewed({ creditcard: { card_cvv, card_number } }).shown;
    for (const code of ["1", "123", "1234", "12 34", ["123"], { code: "123" }]) {
      assert.deepEqual(of(code, "12345"), { creditcard: { card_number: "[not kept]" } });
    }
    assert.deepEqual(of("123", `${pan}12345`), { creditcard: { card_number: "[not kept]" } });
  });

  test("leaves out what is not on its list, and says how much, by no name", () => {
    const { shown, leftOut } = viewed({
      [pan]: pan,
      metadata: { card: pan },
      items: [pan],
      payment: { cvv: "123", note: "x" },
    });
    assert.deepEqual(shown, { payment: { note: "x" } });
    assert.equal(leftOut, 4);
  });

  test("masks what looks like a card number in every field of its list, and shortens tokens and long texts", () => {
    const token = "0123456789abcdef".repeat(8);
    const { shown } = viewed({
      hash: pan,
      description: `card 4111 1111 1111 1111 of Ana`,
      token,
      note: "n".repeat(1_000),
      user_value_1: "41111111\u06611111111",
    });
    assert.deepEqual(shown, {
      hash: "411111xxxxxx1111",
      description: "card 4111 11xx xxxx 1111 of Ana",
      token: "01234567…",
      note: "n".repeat(200),
      user_value_1: "411111xxxxxx1111",
    });
    assert.deepEqual(viewed({ token: "short" }).shown, { token: "[not kept]" });
    const hash = "6b0725480000".padEnd(48, "1");
    assert.deepEqual(viewed({ hash }).shown, { hash });
  });

  test("shows no digits of what may have been a card number before it was spoilt", () => {
    const spoilt = {
      note: "4111          117283946507",
      description: "kept1117283946507",
      name: "11728394   11728394",
      operation: "a-123456789012",
    };
    assert.deepEqual(viewed(spoilt).shown, {
      note: "xxxx          xxxxxxxxxxxx",
      description: "keptxxxxxxxxxxxxx",
      name: "xxxxxxxx   xxxxxxxx",
      operation: "a-123456789012",
    });
  });

  test("shows no security code that is named in a text, or glued to the number", () => {
    assert.deepEqual(
      viewed({ note: "cvv 837", payment: { address: "o código de segurança é 8370" } }).shown,
      {
        note: "cvv xxx",
        payment: { address: "o código de segurança é xxxx" },
      },
    );
    const of = (card_number: string): unknown =>
      viewed({ creditcard: { card_number } }).shown["creditcard"];
    // Seventeen digits or more may be a number followed by its code, also one with a wrong digit.
    for (const [number, code] of [
      [pan, "837"],
      ["4111111111111112", "837"],
      ["378282246310005", "837"],
      ["378282246310005", "8370"],
      ["30569309025904", "837"],
    ] as const) {
      assert.deepEqual(of(number + code), {
        card_number: number.slice(0, 6) + "x".repeat(number.length + code.length - 6),
      });
    }
    assert.deepEqual(of(pan), { card_number: "411111xxxxxx1111" });
  });

  test("is never longer than it may be", () => {
    const wide = Object.fromEntries(
      ["note", "name", "email", "city", "state", "address", "description"].map((name) => [
        name,
        '"\\\u0000'.repeat(300),
      ]),
    );
    for (const characters of [64, 500, 2_000]) {
      const { characters: held, leftOut } = viewed(
        { ...wide, payment: { ...wide, creditcard: wide } },
        characters,
      );
      assert.ok(held > 0 && held <= characters, `${held}`);
      assert.ok(leftOut > 0);
    }
  });
});

describe("what is kept of an answer", () => {
  const hash = "6b0725480000".padEnd(48, "a");
  const payment = (members: string): string =>
    `{"payment":{"hash":"${hash}",${members}},"status":"SUCCESS"}`;
  const kept = (body: string, characters = 4_096) =>
    answerFactsOf({ status: 200, body }, characters, unkeyedDigest);

  test("is the answer itself where nothing is to be taken out, and which payment it is about", () => {
    const body = payment('"merchant_payment_code":"order \\"1\\"","status":"CO"');
    const facts = kept(body);
    assert.deepEqual([facts.body, facts.isCut], [body, false]);
    assert.deepEqual(paymentIn(facts), { hash, code: 'order "1"' });
    assert.equal(paymentIn(kept('{"status":"ERROR"}')), undefined);
  });

  test("has no whole token in it, but its identity where it is not about a payment", () => {
    const token = "fedcba9876543210".repeat(8);
    const stored = kept(
      `{"status":"SUCCESS","token":"${token}","masked_card_number":"411111xxxxxx1111"}`,
    );
    assert.equal(
      stored.body,
      '{"status":"SUCCESS","token":"fedcba98…","masked_card_number":"411111xxxxxx1111"}',
    );
    assert.match(stored.tokenDigest ?? "", /^[0-9a-f]{64}$/);
    const paid = kept(payment(`"merchant_payment_code":"a","token":"${token}"`));
    assert.ok(!paid.body.includes(token.slice(0, 12)));
    assert.equal(paid.tokenDigest, undefined);
  });

  test("has no card number in it, also where a merchant's names may be one", () => {
    for (const name of ["merchant_payment_code", "merchant_refund_code"]) {
      const { body } = kept(
        payment(`"merchant_payment_code":"a","${name}":"x-${pan}"`).replace(
          '"merchant_payment_code":"a","merchant_payment_code"',
          '"merchant_payment_code"',
        ),
      );
      assert.ok(!body.includes(pan), name);
      JSON.parse(body);
    }
    assert.ok(!kept(`{"status":"ERROR","status_message":"no ${pan}"}`).body.includes(pan));
  });

  test("is masked text where it is not JSON", () => {
    assert.deepEqual(kept(`no JSON: ${pan}`).body, "no JSON: 411111xxxxxx1111");
  });

  test("is cut where it is too long", () => {
    const { body, isCut } = kept(payment(`"note":"${"ã".repeat(10_000)}"`));
    assert.deepEqual([body.length, isCut], [4_096, true]);
  });
});
