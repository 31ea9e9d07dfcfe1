import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { echo, holdsCardNumber, maskCardNumbers, oneLine } from "./card-like.ts";

const testCards = [
  "378282246310005",
  "5078601870000127985",
  "30569309025904",
  "6011111111111117",
  "6362970000457013",
  "6062825624254001",
  "4111111111111111",
  "5555555555554444",
  "5062224607440872",
  "5045201174402586",
  "5895626292990446",
  "5680095660610110",
];

function masked(card: string): string {
  return card.slice(0, 6) + "x".repeat(card.length - 10) + card.slice(-4);
}

describe("card numbers in free text", () => {
  test("are masked as stored cards are, whatever stands around them", () => {
    for (const card of testCards) {
      assert.equal(maskCardNumbers(card), masked(card));
      assert.equal(maskCardNumbers(`pan:${card}, exp 12/2030`), `pan:${masked(card)}, exp 12/2030`);
      assert.equal(maskCardNumbers(`${card}\n${card}`), `${masked(card)}\n${masked(card)}`);
    }
  });

  test("are masked in groups, which stay", () => {
    assert.equal(maskCardNumbers("4111 1111 1111 1111"), "4111 11xx xxxx 1111");
    assert.equal(maskCardNumbers("3782-822463-10005"), "3782-82xxxx-x0005");
    assert.equal(maskCardNumbers("4111.1111.1111.1111"), "4111.11xx.xxxx.1111");
    assert.equal(maskCardNumbers("4111  1111 - 1111 1111"), "4111  11xx - xxxx 1111");
    for (const separator of ["/", "_", ", ", "|", "+", "\u2013", "\u00a0", "\u200b"]) {
      assert.equal(maskCardNumbers(["4111", "1111", "1111", "1111"].join(separator)), ["4111", "11xx", "xxxx", "1111"].join(separator));
    }
  });

  test("are found beside other groups of digits", () => {
    assert.equal(maskCardNumbers("4111 1111 1111 1111 12 30 123"), "4111 11xx xxxx 1111 12 30 123");
    assert.equal(maskCardNumbers("order 77 4111111111111111 321"), "order 77 411111xxxxxx1111 321");
  });

  test("are found inside runs that are longer than any card number", () => {
    assert.ok(!maskCardNumbers("000000004111111111111111000000").includes("4111111111111111"));
  });

  test("what is none stays as it is", () => {
    for (const text of [
      "",
      "Rua E, 1040",
      "4111111111111112",
      // Passes the check digit, but no scheme begins like that.
      "1111111111111117",
      "9999999999999995",
      // Twelve digits.
      "411111111116",
      "2026-11-28 18:13:28",
      "0b6c2f9e47d1a8355ce09b714fd2683a",
      "85351346893",
      "+55 (85) 2284-7035",
      "2804:1411:1111:1111:1111:1111:0001:0002",
      "https://shop.example.com/2026/11/28/paid?order=1040",
    ]) {
      assert.equal(maskCardNumbers(text), text);
      assert.ok(!holdsCardNumber(text));
    }
  });

  test("no text keeps a test card whole, and masking twice changes nothing more", () => {
    const noise = fc.string({ maxLength: 12, unit: "grapheme-ascii" }).map((text) => text.replace(/[\d\s.-]/g, ""));
    fc.assert(
      fc.property(noise, fc.constantFrom(...testCards), fc.constantFrom("", " ", "-", "."), noise, (before, card, separator, after) => {
        const grouped = card.replace(/(\d{4})(?=\d)/g, `$1${separator}`);
        const once = maskCardNumbers(before + grouped + after);
        assert.ok(!once.replace(/\D/g, "").includes(card));
        assert.equal(once.length, before.length + grouped.length + after.length);
        assert.equal(maskCardNumbers(once), once);
      }),
    );
  });

  test("a long text without end takes no longer than its length", () => {
    assert.equal(maskCardNumbers("1 ".repeat(50_000)).length, 100_000);
    assert.equal(maskCardNumbers("a1".repeat(50_000)).length, 100_000);
  });
});

test("an echo is short, in one line and without card numbers", () => {
  assert.equal(echo("gold"), "gold");
  assert.equal(echo("a".repeat(100)).length, 40);
  assert.equal(echo("4111111111111111"), "411111xxxxxx1111");
  assert.equal(echo("a\nb\ud800"), "a b\ufffd");
  // Half of a pair at the cut is not left over.
  assert.ok(echo(`${"a".repeat(39)}🛍`).isWellFormed());
});

test("one line has no control characters and no halves of pairs", () => {
  assert.equal(oneLine("a\u0000\u0085b\u007f\udc00"), "a  b \ufffd");
  assert.equal(oneLine("São Paulo 🛍"), "São Paulo 🛍");
});
