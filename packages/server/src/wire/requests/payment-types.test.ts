import assert from "node:assert/strict";
import { test } from "node:test";
import { paymentTypeOf } from "./payment-types.ts";

test("a card's code is known in every spelling that public clients send", () => {
  const brandOf = (code: string): unknown => {
    const type = paymentTypeOf(code);
    return type?.kind === "card" ? `${type.paymentType} ${type.brand ?? "any"}` : type?.kind;
  };
  // Six years of a public library's releases sent master_card; a game's payment library sends
  // master and hiper.
  for (const code of [
    "mastercard",
    "master_card",
    "master",
    "MASTER CARD",
    "Master-Card",
    "MasterCard",
  ]) {
    assert.equal(brandOf(code), "credit mastercard", code);
  }
  for (const code of ["hipercard", "hiper", "hiper_card", "Hiper"])
    assert.equal(brandOf(code), "credit hipercard", code);
  for (const code of ["amex", "american_express", "American Express", "americanexpress"])
    assert.equal(brandOf(code), "credit amex", code);
  for (const code of ["diners", "diners_club", "DINERS-CLUB"])
    assert.equal(brandOf(code), "credit diners", code);
  for (const code of ["creditcard", "credit_card", "credit-card", "CreditCard"])
    assert.equal(brandOf(code), "credit any", code);
  for (const code of ["debitcard", "debit_card", "Debit Card"])
    assert.equal(brandOf(code), "debit any", code);
});

test("other types keep their spelling, and an unknown code stays unknown", () => {
  assert.deepEqual(paymentTypeOf("_creditcard"), { kind: "hosted" });
  assert.deepEqual(paymentTypeOf("boleto"), { kind: "inactive" });
  // `debit` is a payment method without a card, not a debit card.
  assert.deepEqual(paymentTypeOf("debit"), { kind: "inactive" });
  for (const code of [
    "gold",
    "shells",
    "constructor",
    "__proto__",
    "to_string",
    "mastercardx",
    "_",
    "",
  ]) {
    assert.equal(paymentTypeOf(code), undefined, code);
  }
});
