import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { brandOf } from "../../vault/bin.ts";
import { Pan } from "../../vault/pan.ts";
import { cardReader, issuerDecline, magicCards } from "./magic-cards.ts";

const read = cardReader([]);
const bytes = (digits: string): Uint8Array => Uint8Array.from(Buffer.from(digits, "latin1"));

describe("magic cards", () => {
  for (const [digits, brand, result] of magicCards) {
    test(`${brand} ${digits}: ${result}`, () => {
      assert.deepEqual(read(bytes(digits)), result === "approve" ? undefined : issuerDecline(result));
    });
  }

  test("every number passes the Luhn check and has the brand that the vault sees in it", () => {
    for (const [digits, brand] of magicCards) {
      const pan = Pan.from(bytes(digits));
      assert.ok(pan !== undefined, digits);
      assert.equal(brandOf(pan), brand, digits);
    }
  });

  test("any other number is refused before it reaches an issuer", () => {
    for (const other of ["4242424242424242", "4111111111111112", "411111111111111", "41111111111111111", "0", "9999999999999999999"]) {
      const verdict = read(bytes(other));
      assert.equal(verdict?.reason, "invalid_card_number", other);
      assert.equal(verdict.responseCode, "14");
      assert.equal(verdict.refusedBeforeIssuer, true);
    }
  });

  test("a refusal by the issuer does not say that it came before the issuer", () => {
    assert.equal(read(bytes("4716909774636285"))?.refusedBeforeIssuer, false);
  });

  test("a test BIN approves the numbers under it, but not a magic card that declines", () => {
    const readWide = cardReader(["424242", "47169097"]);
    assert.equal(readWide(bytes("4242424242424242")), undefined);
    assert.equal(readWide(bytes("4242420000000000")), undefined);
    assert.equal(readWide(bytes("4242430000000000"))?.reason, "invalid_card_number");
    assert.equal(readWide(bytes("4716909774636285"))?.reason, "insufficient_funds");
  });

  test("a test BIN of another length or with other characters is refused", () => {
    for (const bin of ["", "42424", "424242424", "4242x2"]) assert.throws(() => cardReader([bin]), { name: "BrokenInvariant" });
  });
});
