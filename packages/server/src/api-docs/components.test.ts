import assert from "node:assert/strict";
import { test } from "node:test";
import { json, NamedSchema } from "../wire/schema.ts";
import { componentsOf } from "./components.ts";

const card = new NamedSchema("Card", json.object({ brand: json.text }));
const payment = new NamedSchema("Payment", json.object({ card, earlier: json.list(card) }));

test("nested schemas are components of their own, each once, behind the first that refers to them", () => {
  const reference = { $ref: "#/components/schemas/Card" };
  const components = componentsOf([payment, payment]);
  assert.deepEqual(components, {
    Payment: {
      type: "object",
      required: ["card", "earlier"],
      properties: { card: reference, earlier: { type: "array", items: reference } },
      additionalProperties: false,
    },
    Card: card.schema,
  });
  assert.deepEqual(Object.keys(components), ["Payment", "Card"]);
});

test("two schemas with one name are refused, because one of them would be lost", () => {
  const other = new NamedSchema("Card", json.object({ number: json.text }));
  assert.throws(() => componentsOf([payment, other]), { name: "BrokenInvariant" });
});
