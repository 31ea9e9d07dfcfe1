import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { decodeRequest } from "../../src/wire/decode/decode.ts";
import { expectedTree, plainTree, renderAll } from "./decoder-encodings.ts";
import type { ModelObject } from "./decoder-encodings.ts";

/** Text that clients really send and that naive parsers fail on. */
const text = fc.oneof(
  fc
    .string({ unit: "grapheme", minLength: 1, maxLength: 24 })
    .filter((value) => !value.includes("\0") && value.isWellFormed()),
  fc.constantFrom(
    "José + Ana",
    "100% <Cia>",
    'a "quoted" \\ value',
    "Rua E, nº 5/7",
    "x=1&y=2",
    "%41%zz%",
    "+55 11",
    "[]{}:,",
    "naïve 🂡",
    "line\nbreak\ttab",
    " edges ",
  ),
);
const word = fc.stringMatching(/^[a-z0-9][a-z0-9._@-]{0,30}$/);
const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null | ""> =>
  fc.oneof({ weight: 5, arbitrary }, { weight: 1, arbitrary: fc.constantFrom(null, "" as const) });
const amount = fc.oneof(
  fc.integer({ min: 0, max: 10_000_000 }),
  fc.integer({ min: 0, max: 10_000_000 }).map((minor) => minor / 100),
  fc.integer({ min: 0, max: 10_000_000 }).map((minor) => (minor / 100).toFixed(2)),
);
const pan = fc
  .constantFrom("4111111111111111", "5555555555554444", "378282246310005", "6362970000457013")
  .chain((digits) =>
    fc.constantFrom<string | number>(
      digits,
      Number(digits),
      digits.replaceAll(/(.{4})(?=.)/g, "$1 "),
      digits.replaceAll(/(.{4})(?=.)/g, "$1-"),
    ),
  );
const cvv = fc.oneof(
  fc.integer({ min: 0, max: 9999 }).map((code) => String(code).padStart(3, "0")),
  fc.integer({ min: 100, max: 9999 }),
);
const metadata = fc.dictionary(
  fc.oneof(
    word,
    fc.constantFrom("__proto__", "constructor", "toString", "hash", "amount", "card_number"),
  ),
  text,
  { minKeys: 1, maxKeys: 4 },
);

const card = fc.record(
  {
    card_number: optional(pan),
    card_name: text,
    card_due_date: fc.constantFrom("9/2030", "12/2060"),
    card_cvv: optional(cvv),
    token: optional(fc.constantFrom("0", "7", "a", "f").map((digit) => digit.repeat(128))),
    auto_capture: fc.boolean(),
    network_token_cryptogram: fc.constant("AAAAAAAAAAAAAAAAAAAA+/=="),
    soft_descriptor: text,
  },
  { requiredKeys: ["card_name"] },
);
const item = fc.record(
  { name: text, quantity: fc.integer({ min: 1, max: 99 }), unit_price: amount },
  { requiredKeys: ["name"] },
);
const payment = fc.record(
  {
    amount_total: amount,
    currency_code: fc.constantFrom("BRL", "USD"),
    merchant_payment_code: fc.oneof(word, fc.integer({ min: 1, max: 4_000_000_000 })),
    name: text,
    email: word,
    street_number: fc.oneof(word, fc.integer({ min: 1, max: 99_999 })),
    document: optional(word),
    create_token: fc.boolean(),
    creditcard: card,
    card,
    items: fc
      .array(item, { minLength: 1, maxLength: 3 })
      .map((items) => Object.fromEntries(items.map((each, index) => [String(index), each]))),
    tags: fc.array(text, { minLength: 1, maxLength: 3 }),
    metadata,
  },
  { requiredKeys: ["amount_total"] },
);
const requests: Readonly<Record<string, fc.Arbitrary<ModelObject>>> = {
  "/ws/direct": fc.record(
    {
      integration_key: word,
      operation: fc.constant("request"),
      mode: optional(fc.constant("full")),
      payment,
      metadata,
    },
    { requiredKeys: ["payment", "integration_key"] },
  ),
  "/ws/token": fc.record(
    {
      integration_key: word,
      payment_type_code: optional(word),
      country: fc.constantFrom("br", "BR", "mx"),
      creditcard: card,
      token: optional(word),
    },
    { requiredKeys: ["creditcard", "country"] },
  ),
  "/ws/capture": fc.record(
    {
      integration_key: word,
      hash: fc.constantFrom("0", "7", "a", "f").map((digit) => digit.repeat(48)),
      merchant_payment_code: optional(word),
      amount,
      note: text,
    },
    { requiredKeys: ["hash"] },
  ),
};

for (const [path, request] of Object.entries(requests)) {
  test(`a request to ${path} is the same in every encoding`, () => {
    fc.assert(
      fc.property(request, (model) => {
        const expected = expectedTree(model);
        for (const { encoding, target, body } of renderAll(path, model)) {
          const decoded = decodeRequest(target, body);
          assert.deepEqual(plainTree(decoded.params), expected, encoding);
          assert.ok(
            body.every((byte) => byte === 0),
            "the body is overwritten",
          );
          decoded.wipe();
          assert.ok(decoded.lifted.every((lifted) => lifted.bytes.every((byte) => byte === 0)));
        }
      }),
      { numRuns: 500 },
    );
  });
}

test("control: the comparison sees a changed value", () => {
  const model: ModelObject = { hash: "a", amount: 5 };
  const [first] = renderAll("/ws/capture", { ...model, amount: 6 });
  assert.ok(first !== undefined);
  assert.notDeepEqual(
    plainTree(decodeRequest(first.target, first.body).params),
    expectedTree(model),
  );
});
