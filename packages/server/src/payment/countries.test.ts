import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isCurrency } from "../kernel/currency.ts";
import {
  acceptsState,
  acceptsZipcode,
  countryCodes,
  countryOf,
  requiresField,
  type Country,
} from "./countries.ts";

function known(code: string): Country {
  const country = countryOf(code);
  assert.ok(country !== undefined);
  return country;
}

describe("countries", () => {
  test("a code in upper case, of a method or of a country without card payments has no row", () => {
    for (const code of ["BR", "", "toString", "__proto__", "us", "brazil"])
      assert.equal(countryOf(code), undefined, code);
    assert.equal(countryOf("br")?.currency, "BRL");
  });

  test("each row is one that payments can be priced and split by", () => {
    assert.deepEqual(
      countryCodes.toSorted().join(" "),
      "ar bo br cl co cr do ec gt mx pa pe py sv uy",
    );
    for (const country of countryCodes.map(known)) {
      assert.ok(isCurrency(country.currency), country.code);
      assert.ok(
        country.currencies.has("USD") &&
          country.currencies.has("EUR") &&
          country.currencies.has(country.currency),
        country.code,
      );
      assert.ok(country.instalments.has(1) && !country.instalments.has(0), country.code);
      assert.ok(country.minimumAmount > 0n && country.minimumInstalment > 0n, country.code);
      assert.ok(country.brands.has("visa") && country.brands.has("mastercard"), country.code);
      for (const [brand, counts] of country.brandInstalments) {
        assert.ok(
          country.brands.has(brand) && [...counts].every((count) => country.instalments.has(count)),
          country.code,
        );
      }
    }
  });

  test("Brazil asks for a document and a whole address, Mexico for the address, Peru for neither", () => {
    assert.deepEqual(known("br").required, [
      "document",
      "zipcode",
      "address",
      "streetNumber",
      "city",
      "state",
    ]);
    assert.deepEqual(known("mx").required, ["zipcode", "address", "streetNumber", "city", "state"]);
    assert.deepEqual(known("pe").required, []);
  });

  test("Chile asks for the document only when the payment is processed there", () => {
    assert.equal(requiresField(known("cl"), "document", false), false);
    assert.equal(requiresField(known("cl"), "document", true), true);
    assert.equal(requiresField(known("cl"), "zipcode", true), false);
    assert.equal(requiresField(known("br"), "document", false), true);
  });

  test("a Brazilian state is one of 27 codes in any case, a Mexican one is any text", () => {
    assert.equal(known("br").states?.size, 27);
    assert.ok(acceptsState(known("br"), "CE") && acceptsState(known("br"), "sp"));
    for (const state of ["XX", "São Paulo", "", "BR"])
      assert.ok(!acceptsState(known("br"), state), state);
    assert.ok(acceptsState(known("mx"), "MX") && acceptsState(known("co"), "Antioquia"));
  });

  test("a Brazilian zipcode has five to nine characters besides its punctuation, since a real client's six zeros pass", () => {
    for (const zipcode of ["61919-230", "61919230", "80.230-010", "000000"])
      assert.ok(acceptsZipcode(known("br"), zipcode), zipcode);
    for (const zipcode of ["1234", "1234567890", "", "-----", "61919&230"])
      assert.ok(!acceptsZipcode(known("br"), zipcode), zipcode);
    assert.ok(acceptsZipcode(known("mx"), "1"));
  });
});
