import assert from "node:assert/strict";
import { test } from "node:test";
import { numberUnder, panOf, testCards } from "../../test/vectors/cards.ts";
import { containsTestNumber, isTestNumber, testNumbers } from "./test-numbers.ts";

test("every published number passes its check digit, is listed once and is known", () => {
  assert.equal(new Set(testNumbers).size, testNumbers.length);
  for (const digits of testNumbers) assert.ok(isTestNumber(panOf(digits)), digits);
  for (const [digits] of testCards)
    assert.ok(testNumbers.includes(digits) || isTestNumber(panOf(digits)), digits);
});

test("a number that is only like a published one is not known, unless it is in a range for tests", () => {
  for (const prefix of ["411112", "453201", "541333123", "37828399", "6062829", "5067"]) {
    assert.ok(!isTestNumber(panOf(numberUnder(prefix, prefix.startsWith("37") ? 15 : 16))), prefix);
  }
  assert.ok(isTestNumber(panOf(numberUnder("411111987654", 16))));
});

test("a text holds a published number however it is written, and nothing else by chance", () => {
  for (const text of [
    "4111 1111 1111 1111",
    "x-5555555555554444-y",
    "%34111111111111111",
    "378282246310005123",
  ])
    assert.ok(containsTestNumber(text), text);
  for (const text of [
    "",
    "4111111111111112",
    "build-20261129-1234567890",
    numberUnder("453201", 16),
  ])
    assert.ok(!containsTestNumber(text), text);
});
