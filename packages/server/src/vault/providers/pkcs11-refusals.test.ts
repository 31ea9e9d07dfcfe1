import assert from "node:assert/strict";
import { test } from "node:test";
import type { RootKeyFailure } from "../key-provider.ts";
import { isWrongPin, refusalOf } from "./pkcs11-refusals.ts";

test("only a statement about this key is denied, only one about the login unauthorized", () => {
  const failures: readonly (readonly [number, RootKeyFailure])[] = [
    [0x05, "unavailable"],
    [0x30, "unavailable"],
    [0x32, "unavailable"],
    [0x68, "denied"],
    [0x82, "unavailable"],
    [0xa0, "unauthorized"],
    [0xa4, "unauthorized"],
    [0xb3, "unavailable"],
    [0xe0, "unavailable"],
    [0x101, "unauthorized"],
    // CKR_VENDOR_DEFINED.
    [0x80000001, "unavailable"],
  ];
  for (const [rv, failure] of failures) {
    const refusal = refusalOf("returned", "C_DecryptInit", rv);
    assert.equal(refusal.failure, failure, rv.toString(16));
    assert.match(
      refusal.text,
      /^C_DecryptInit of the PKCS#11 module returned (?:CKR_[A-Z_]+|0x80000001)$/,
    );
  }
  for (const name of [
    "pin_count_low",
    "pin_final_try",
    "pin_locked",
    "pin_to_be_changed",
    "pin_not_set",
  ])
    assert.equal(refusalOf(name, "", Number.NaN).failure, "unauthorized", name);
  for (const name of [
    "token_missing",
    "token_ambiguous",
    "key_ambiguous",
    "key_unfit",
    "no_mechanism",
    "else",
  ])
    assert.equal(refusalOf(name, "", Number.NaN).failure, "unavailable", name);
  assert.equal(refusalOf("key_missing", "", Number.NaN).failure, "denied");
  assert.match(
    refusalOf("key_unfit", "CKA_WRAP must be 0", Number.NaN).text,
    /: CKA_WRAP must be 0$/,
  );
});

test("a wrong PIN is one that the login has refused as such", () => {
  assert.equal(isWrongPin("returned", "C_Login", 0xa0), true);
  for (const [name, detail, rv] of [
    ["returned", "C_Login", 0xa4],
    ["returned", "C_Login", 0x30],
    ["returned", "C_OpenSession", 0xa0],
    ["pin_locked", "", Number.NaN],
  ] as const)
    assert.equal(isWrongPin(name, detail, rv), false, `${name} ${detail} ${rv}`);
});
