import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { brands } from "../vault/brand.ts";
import { expectedLiability } from "./liability.ts";

const indicators = ["00", "01", "02", "05", "06", "07"];

describe("expected liability", () => {
  test("is the merchant's without 3-D Secure, for each brand", () => {
    for (const brand of brands)
      assert.equal(expectedLiability(brand, undefined, false), "merchant", brand);
  });

  test("is the issuer's for the brand's own indicators of an authentication or an attempt only", () => {
    for (const brand of brands) {
      const shifted = indicators.filter((eci) => expectedLiability(brand, eci, false) === "issuer");
      assert.deepEqual(shifted, brand === "mastercard" ? ["01", "02"] : ["05", "06"], brand);
    }
  });

  test("of a payment that the merchant initiates with a stored card is the issuer's for Mastercard's recurring indicator only", () => {
    for (const brand of brands) {
      const shifted = indicators.filter((eci) => expectedLiability(brand, eci, true) === "issuer");
      assert.deepEqual(shifted, brand === "mastercard" ? ["07"] : [], brand);
    }
  });
});
