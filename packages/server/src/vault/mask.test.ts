import assert from "node:assert/strict";
import { test } from "node:test";
import { numberUnder, panOf } from "../../test/vectors/cards.ts";
import { maskOf } from "./mask.ts";

test("a mask shows the first six and the last four digits and keeps the length", () => {
  assert.equal(maskOf(panOf("4111111111111111")), "411111xxxxxx1111");
  assert.equal(maskOf(panOf("378282246310005")), "378282xxxxx0005");
  assert.equal(maskOf(panOf("30569309025904")), "305693xxxx5904");
  assert.equal(maskOf(panOf("5078601870000127985")), "507860xxxxxxxxx7985");
});

test("at least four digits are hidden whatever the length", () => {
  for (let length = 14; length <= 19; length += 1) {
    const mask = maskOf(panOf(numberUnder("4000001234567", length)));
    assert.match(mask, /^\d{6}x{4,9}\d{4}$/);
    assert.equal(mask.length, length);
  }
});
