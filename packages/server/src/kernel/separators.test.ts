import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  allKinds,
  blankKinds,
  groupKinds,
  separatorAt,
  separatorKind,
  separatorKinds,
  trimmed,
  utf8Length,
  withoutSeparators,
} from "./separators.ts";

const every = Array.from({ length: 0x1_0000 }, (_, codePoint) => codePoint).filter(
  (codePoint) => separatorKind(codePoint) !== 0,
);

describe("the table of separators", () => {
  test("has every blank, dash and invisible character of Unicode's basic plane", () => {
    for (let codePoint = 0; codePoint < 0x1_0000; codePoint += 1) {
      const character = String.fromCharCode(codePoint);
      if (/\s/u.test(character))
        assert.notEqual(separatorKind(codePoint) & blankKinds, 0, codePoint.toString(16));
      if (/[\u2010-\u2015\u2212\ufe58\ufe63\uff0d-]/u.test(character))
        assert.equal(separatorKind(codePoint), separatorKinds.dash);
      if (/[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\u00ad\u061c]/u.test(character)) {
        assert.equal(separatorKind(codePoint), separatorKinds.invisible, codePoint.toString(16));
      }
    }
  });

  test("has no letter and no digit of any script", () => {
    for (const codePoint of every)
      assert.doesNotMatch(String.fromCharCode(codePoint), /[\p{L}\p{N}]/u, codePoint.toString(16));
  });
});

test("a text loses blanks and invisible characters at both ends only", () => {
  assert.equal(trimmed("\u202a\ufeff\u00a0 a\u00a0b\u200b\u202c\r\n"), "a\u00a0b");
  assert.equal(trimmed("(a)"), "(a)");
  assert.equal(trimmed("-"), "-");
  assert.equal(trimmed("\u200e\n"), "");
  assert.equal(trimmed("❤️"), "❤️");
});

test("a text loses separators of the kinds that are named", () => {
  assert.equal(withoutSeparators("+55 (11)\u00a09\u20118765–4321*"), "5511987654321");
  assert.equal(withoutSeparators("853.513.468\u201393", groupKinds), "85351346893");
  assert.equal(withoutSeparators("98828842;drop", groupKinds), "98828842;drop");
  assert.equal(withoutSeparators("São 🛍", allKinds), "São🛍");
  assert.equal(withoutSeparators(""), "");
});

test("a separator is read from UTF-8 wherever it is", () => {
  for (const codePoint of every) {
    const bytes = Buffer.from(`1${String.fromCharCode(codePoint)}1`);
    assert.equal(separatorAt(bytes, 1), codePoint);
    assert.equal(utf8Length(codePoint), bytes.length - 2);
    for (let end = 1; end < bytes.length - 1; end += 1)
      assert.equal(separatorAt(bytes, 1, end), -1, "cut");
  }
  // Letters, digits, a surrogate pair, a byte of another charset, blanks with overlong encodings.
  for (const bytes of [
    Buffer.from("a"),
    Buffer.from("1"),
    Buffer.from("ñ"),
    Buffer.from("🛍"),
    Buffer.from([0xa0]),
    Buffer.from([0xc0, 0xa0]),
    Buffer.from([0xe0, 0x82, 0xa0]),
    Buffer.alloc(0),
  ]) {
    assert.equal(separatorAt(bytes, 0), -1);
  }
});
