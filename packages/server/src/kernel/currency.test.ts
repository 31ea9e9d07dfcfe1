import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { currencyTableSource } from "../../../../tools/currency-table.ts";
import { isoExponents } from "./currency-table.ts";
import { isCurrency, scaleOf } from "./currency.ts";

describe("currencies", () => {
  test("the table is what the tool makes of today's ISO 4217 data", () => {
    assert.equal(
      readFileSync(new URL("currency-table.ts", import.meta.url), "utf8"),
      currencyTableSource(),
    );
  });

  test("the exponents that are easily taken from the wrong place are those of ISO 4217", () => {
    const { COP, CLP, PYG, HUF, IDR, MGA, MRU, KWD, CLF, JPY, BRL } = isoExponents;
    assert.deepEqual(
      { COP, HUF, IDR, MGA, MRU, BRL },
      { COP: 2, HUF: 2, IDR: 2, MGA: 2, MRU: 2, BRL: 2 },
    );
    assert.deepEqual({ CLP, PYG, JPY, KWD, CLF }, { CLP: 0, PYG: 0, JPY: 0, KWD: 3, CLF: 4 });
  });

  test("an amount has two decimals on the wire, or more where the currency has them", () => {
    assert.deepEqual(["BRL", "COP", "CLP", "PYG", "KWD"].map(scaleOf), [2, 2, 2, 2, 3]);
  });

  test("lower case, names of methods and made-up codes are not currencies", () => {
    assert.ok(isCurrency("USD"));
    for (const code of ["usd", "XXY", "", "toString", "__proto__", "USDT"])
      assert.ok(!isCurrency(code), code);
    assert.throws(() => scaleOf("XXY"), { name: "BrokenInvariant" });
  });
});
