import assert from "node:assert/strict";
import { test } from "node:test";
import { isGuessable } from "./guessable.ts";

test("what is tried first is guessable", () => {
  const guessable = [
    "aaaaaaaaaaaa",
    "123456789012",
    "            ",
    "210987654321",
    "abababababab",
    "abcdefghijkl",
    "qwertyuiop12",
    "QWERTYUIOPas",
    "passwordpassword",
    "abc123abc123",
    "111122223333",
    "   aaaaaaaa   ",
    "k",
    "",
  ];
  for (const text of guessable) assert.ok(isGuessable(text), text);
});

test("a phrase, a drawn text and a text in another script are not", () => {
  for (const text of [
    "correct horse battery staple",
    "correct horse 1 battery",
    "uma frase que eu lembro",
    "7f3c9a1be04d5f26",
    "Straße nach München 7",
    "пароль для кассы 42",
    "test_ik_world",
  ]) {
    assert.ok(!isGuessable(text), text);
  }
});
