import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SeededRandom } from "../kernel/seeded-random.ts";
import { mayRepeatCard, repeatsCard } from "./card-echo.ts";
import { Cryptogram, Cvv, Pan } from "./pan.ts";

const bytes = (text: string) => Uint8Array.from(Buffer.from(text, "latin1"));
const number = "4111115666052208";
const mask = "411111xxxxxx2208";

function inHand(digits = number, code = "837", cryptogram?: string) {
  const pan = Pan.from(bytes(digits));
  assert.ok(pan !== undefined);
  return {
    card: { pan },
    cvv: Cvv.from(bytes(code)),
    cryptogram: cryptogram === undefined ? undefined : Cryptogram.from(bytes(cryptogram)),
  };
}

describe("a text that repeats the card in hand", () => {
  const texts = [
    number,
    "4111 1156 6605 2208",
    "4111-1156-6605-2208",
    "4_1_1_1_1_1_5_6_6_6_0_5_2_2_0_8",
    `9${number}837`,
    `card${number}x`,
    Array.from(number).toReversed().join(""),
    Buffer.from(number).toString("hex"),
    Buffer.from(number).toString("base64"),
    Buffer.from(`x${number}`).toString("base64url"),
    // Parts that no mask shows: the beginning, the middle and the end.
    "41111156",
    "566605",
    "66052208",
    "11156660",
    "837",
    "0837",
    "000837",
    "CVV837",
    "A837",
    "837A",
    "8-3-7",
    "x-837-y",
    "cvv 8370",
    "cvc2-123",
  ];
  for (const text of texts) test(text, () => assert.equal(repeatsCard(text, inHand()), true));

  test("a cryptogram, with and without its padding", () => {
    const cryptogram = "AJ9kVyGkTLKLAAKT5cJrAAADFA==";
    for (const text of [cryptogram, cryptogram.replace("==", ""), `x${cryptogram}`]) {
      assert.equal(repeatsCard(text, inHand(number, "", cryptogram)), true);
    }
    assert.equal(repeatsCard("AJ9kVyGkTLKLAAKT5cJrAAAAAA", inHand(number, "", cryptogram)), false);
  });
});

describe("a text that does not", () => {
  const texts = [
    "",
    "00",
    "51",
    "123456",
    "411111",
    "2208",
    "48213",
    "A1B2C3",
    "8370",
    "838",
    "083",
    "000000000001",
    "123456789012345",
    "MCC0000001128",
  ];
  for (const text of texts)
    test(JSON.stringify(text), () => assert.equal(repeatsCard(text, inHand()), false));

  test("without a security code in hand, three digits are not a repetition", () => {
    assert.equal(repeatsCard("837", inHand(number, "")), false);
  });

  test("random codes and references are kept, but for those that are the code by chance", () => {
    const random = new SeededRandom("references");
    const card = inHand();
    let dropped = 0;
    for (let round = 0; round < 20_000; round += 1) {
      const drawn = Buffer.from(random.bytes(24));
      const six = String(drawn.readUInt32LE(0) % 1_000_000).padStart(6, "0");
      const fifteen = String(drawn.readUIntLE(4, 6)).padStart(15, "0").slice(0, 15);
      for (const text of [six, fifteen, drawn.toString("hex"), drawn.toString("base64url")])
        if (repeatsCard(text, card)) dropped += 1;
    }
    assert.ok(dropped <= 8, `${dropped} of 80,000`);
  });
});

describe("where only the mask is left", () => {
  for (const text of [
    number,
    `card-${number}`,
    "4111-1156-6605-2208",
    "41111156",
    "66052208",
    "837",
    "8370",
    "cvv837",
    Buffer.from(number).toString("hex"),
  ]) {
    test(`${text} is not kept`, () => assert.equal(mayRepeatCard(text, mask), true));
  }
  for (const text of [
    "00",
    "51",
    "N7",
    "411111",
    "48213",
    "A83702",
    "000000000001",
    "6925f1c8b7d04e3aa91c5f20d8e6437b10c2f9a4be7d5831",
  ]) {
    test(`${text} is`, () => assert.equal(mayRepeatCard(text, mask), false));
  }
  test("without a mask, the code is looked for alone", () => {
    assert.equal(mayRepeatCard("837", undefined), true);
    assert.equal(mayRepeatCard(number, undefined), false);
  });
});
