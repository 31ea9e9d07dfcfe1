import type { ModelObject, Rendering } from "../../server/test/wire/decoder-encodings.ts";
import { renderAll } from "../../server/test/wire/decoder-encodings.ts";

/**
 * A card number under the BIN of the test cards whose middle digits occur nowhere else: put
 * together here, so that no file holds it.
 */
export const fuzzPan = withCheckDigit(["411111", "728394", "650"].join(""));
/**
 * The digits that no answer may show six of in a row: everything but the first six and the last
 * four.
 */
export const secretDigits = fuzzPan.slice(6, -4);

/** Valid requests to all paths in all encodings: what the mutator starts from. */
export function fuzzCorpus(integrationKey: string): readonly Rendering[] {
  const card: ModelObject = {
    card_number: fuzzPan,
    card_name: "José da Silva",
    card_due_date: "9/2030",
    card_cvv: "729",
    auto_capture: false,
  };
  const models: readonly (readonly [string, ModelObject])[] = [
    [
      "/ws/direct",
      {
        integration_key: integrationKey,
        operation: "request",
        mode: "full",
        payment: {
          amount_total: 100.5,
          currency_code: "BRL",
          merchant_payment_code: "order-1",
          name: "José & Ana + 100%",
          email: "a@example.com",
          document: "853.513.468-93",
          creditcard: card,
          items: { 0: { name: "Item", quantity: 1 } },
          tags: ["a", "b"],
          redirect_url: null,
        },
      },
    ],
    [
      "/ws/direct",
      {
        integration_key: integrationKey,
        payment: { amount_total: "1.00", card: { ...card, card_number: Number(fuzzPan) } },
      },
    ],
    [
      "/ws/token",
      {
        integration_key: integrationKey,
        country: "br",
        creditcard: { ...card, card_number: fuzzPan.replaceAll(/(.{4})(?=.)/g, "$1 ") },
      },
    ],
    [
      "/ws/capture",
      { integration_key: integrationKey, hash: "0123456789abcdef".repeat(3), amount: 0 },
    ],
  ];
  return models.flatMap(([path, model]) => renderAll(path, model));
}

function withCheckDigit(digits: string): string {
  const sum = Array.from(digits, Number)
    .toReversed()
    .reduce(
      (total, digit, index) =>
        total + (index % 2 === 0 ? (digit * 2 > 9 ? digit * 2 - 9 : digit * 2) : digit),
      0,
    );
  return digits + String((10 - (sum % 10)) % 10);
}
