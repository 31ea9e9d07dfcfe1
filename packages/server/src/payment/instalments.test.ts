import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Brand } from "../vault/brand.ts";
import { countryOf, type Country } from "./countries.ts";
import { offeredInstalments, refuseInstalments, type InstalmentRefusal } from "./instalments.ts";

function known(code: string): Country {
  const country = countryOf(code);
  assert.ok(country !== undefined);
  return country;
}

describe("instalments", () => {
  const vectors: readonly (readonly [
    code: string,
    brand: Brand | undefined,
    count: number,
    minor: bigint,
    InstalmentRefusal | undefined,
  ])[] = [
    ["br", "visa", 0, 100_000n, "count_not_offered"],
    ["br", "visa", 12, 100_000n, undefined],
    ["br", "visa", 13, 100_000n, "count_not_offered"],
    ["br", "amex", 6, 100_000n, undefined],
    ["br", "amex", 7, 100_000n, "count_not_offered"],
    ["br", "elo", 7, 100_000n, "count_not_offered"],
    ["br", undefined, 7, 100_000n, undefined],
    ["mx", "visa", 2, 100_000n, "count_not_offered"],
    ["mx", "visa", 3, 100_000n, undefined],
    ["co", "visa", 36, 100_000n, undefined],
    ["co", "visa", 37, 100_000n, "count_not_offered"],
    ["pe", "visa", 48, 100_000n, undefined],
    ["uy", "visa", 7, 100_000n, "count_not_offered"],
    ["gt", "visa", 4, 100_000n, "count_not_offered"],
    // 5 BRL each: ten instalments of a total of 50.00 are allowed, of 49.99 are not.
    ["br", "visa", 10, 5_000n, undefined],
    ["br", "visa", 10, 4_999n, "instalment_too_small"],
    // 15.00 / 3 is exactly 5; 14.99 / 3 rounds to 5.00 and is still less.
    ["br", "visa", 3, 1_499n, "instalment_too_small"],
    ["mx", "visa", 3, 29_999n, "instalment_too_small"],
    ["br", "visa", 1, 50n, undefined],
  ];
  for (const [code, brand, count, minor, refusal] of vectors) {
    test(`${count} of ${minor} hundredths in ${code} on ${brand ?? "any card"}: ${refusal ?? "taken"}`, () => {
      const country = known(code);
      assert.equal(
        refuseInstalments(country, brand, count, { minor, currency: country.currency }),
        refusal,
      );
    });
  }

  test("a brand without a limit of its own has the country's", () => {
    assert.equal(offeredInstalments(known("br"), "visa"), known("br").instalments);
    assert.equal(Math.max(...offeredInstalments(known("br"), "elo")), 6);
  });

  test("an amount in another currency than the country's stops the work", () => {
    assert.throws(
      () => refuseInstalments(known("br"), "visa", 2, { minor: 100_000n, currency: "USD" }),
      { name: "BrokenInvariant" },
    );
  });
});
