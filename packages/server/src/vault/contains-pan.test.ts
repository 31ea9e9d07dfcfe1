import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cardOf } from "../../test/vectors/cards.ts";
import { maskOf } from "./mask.ts";
import { containsDigits, containsMaskedPan, containsPan } from "./contains-pan.ts";

const { pan } = cardOf("4111111111111111");
const mask = maskOf(pan);

describe("a text that holds the number of a card", () => {
  test("is known by the number and by its mask, wherever the number is in it and however it is written", () => {
    for (const text of [
      "4111111111111111",
      "x4111111111111111",
      "4111111111111111x",
      "994111111111111111",
      "411111111111111199",
      "4111-1111 1111.1111",
      "4a1b1c1d1e1f1g1h1i1j1k1l1m1n1o1",
    ]) {
      assert.deepEqual(
        [containsPan(text, pan), containsDigits(text, pan.reveal()), containsMaskedPan(text, mask)],
        [true, true, true],
        text,
      );
    }
  });

  test("is not one that holds another card's: each digit counts, and so do the length and the order", () => {
    for (const text of [
      "4111111111111112",
      "5111111111111111",
      "4111115111111111",
      "411111111111111",
      "1111111111111114",
      "4111116111111111",
      "4012888888881881",
      "",
    ]) {
      assert.deepEqual(
        [containsPan(text, pan), containsDigits(text, pan.reveal()), containsMaskedPan(text, mask)],
        [false, false, false],
        text,
      );
    }
  });

  test("is known by the mask where first six, last four, length and check digit agree, and only then", () => {
    // The hidden digits may have any values, so another number with the same mask matches too.
    assert.deepEqual(
      [containsPan("4111110000001111", pan), containsMaskedPan("4111110000001111", mask)],
      [false, false],
      "another check digit",
    );
    assert.deepEqual(
      [containsPan("4111111812391111", pan), containsMaskedPan("4111111812391111", mask)],
      [false, true],
      "a right one",
    );
    for (const text of [
      ["411112", "1812381111"].join(""),
      "4111111812391129",
      "411111181291111",
      "41111118123481111",
    ]) {
      assert.equal(containsMaskedPan(text, mask), false, text);
    }
    // A match that begins after a partial match.
    assert.equal(containsMaskedPan("411111 4111111812391111", mask), true);
  });
});
