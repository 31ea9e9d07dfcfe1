import assert from "node:assert/strict";
import { test } from "node:test";
import * as given from "../../test/contract/store-fixtures.ts";
import { orderToJson, searchTextsInOrder } from "./order-row.ts";
import { TextBlock } from "./text-block.ts";

const names = ["Ana Lima", 'Bruna "Bia" \\ Souza', "João", "Ana\tMaría"];

function orders() {
  const { order } = given.newPayment(1);
  return names.map((name, index) => ({
    ...order,
    code: `order-${index}`,
    customer: { ...order.customer, name },
  }));
}

function block(): TextBlock {
  return new TextBlock(
    orders().map((order, index) => ({
      id: given.paymentId(9 - index),
      code: order.code,
      texts: searchTextsInOrder(orderToJson(order)),
    })),
  );
}

test("a block has the places of its payments by text and by id", () => {
  const texts = block();
  assert.equal(texts.length, names.length);
  for (const [text, places] of [
    ["ana", [0, 3]],
    ["joao", [2]],
    ["maria", [3]],
    ['"bia" \\', [1]],
    ["order-", [0, 1, 2, 3]],
    [given.paymentId(8), [1]],
    ["\n10050\n", [0, 1, 2, 3]],
    ["\n1005\n", []],
    ["\nbr\n", [0, 1, 2, 3]],
    ["nobody", []],
  ] as const)
    assert.deepEqual(texts.placesOf(text), places, text);
  assert.deepEqual(
    [0, 1, 2, 3].map((place) => texts.idAt(place)),
    [9, 8, 7, 6].map(given.paymentId),
  );
  assert.deepEqual(
    [10, 9, 7, 6, 5].map((number) => texts.placeBelow(given.paymentId(number))),
    [0, 1, 3, 4, 4],
  );
});

test("the texts of a packed order are those of the parsed order", () => {
  for (const order of orders()) {
    const { name, email, maskedPan, brand, country, amounts } = searchTextsInOrder(
      orderToJson(order),
    );
    assert.deepEqual(
      { name, email, maskedPan, brand, country, amounts },
      {
        name: order.customer.name,
        email: order.customer.email,
        maskedPan: given.cardIn(order).maskedPan,
        brand: given.cardIn(order).brand,
        country: order.country,
        amounts: [String(order.amount.minor), String(order.pricing.total.minor)],
      },
    );
  }
});
