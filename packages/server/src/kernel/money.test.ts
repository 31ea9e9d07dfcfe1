import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import {
  addMoney,
  allocate,
  compareMoney,
  formatAmount,
  formatMoney,
  multiplyRate,
  parseAmount,
  proportion,
  roundAmount,
} from "./money.ts";

const upTo = (most: bigint) => fc.bigInt({ min: 0n, max: most });
const minorUnits = upTo(10n ** 15n - 1n);

describe("reading amounts", () => {
  const vectors: readonly (readonly [text: string, minor: bigint])[] = [
    ["100", 10_000n],
    ["100.5", 10_050n],
    ["1.00", 100n],
    ["0.50", 50n],
    ["0", 0n],
    ["0.0", 0n],
    ["22.94", 2_294n],
    ["19.99", 1_999n],
    ["8.20", 820n],
    ["559.30", 55_930n],
    ["423", 42_300n],
    // Printed floats: no digit is lost.
    ["100.5000", 10_050n],
    ["100.000000000000000", 10_000n],
    // More than 2^53, in whole units and in cents.
    ["9007199254740993", -1n],
    ["90071992547409.93", 9_007_199_254_740_993n],
    ["999999999999999.99", 99_999_999_999_999_999n],
    ["007", 700n],
  ];
  for (const [text, minor] of vectors) {
    test(`${text} is ${minor < 0n ? "too long" : `${minor} hundredths`}`, () => {
      assert.equal(parseAmount(text, 2), minor < 0n ? undefined : minor);
    });
  }

  for (const text of [
    "",
    " 1",
    "1 ",
    "1\n",
    "+1",
    "-1",
    "-0",
    "1e2",
    "1E+2",
    "1.",
    ".5",
    "1.005",
    "0.001",
    "100.50001",
    "1,00",
    "1.000,00",
    "1_000",
    "0x10",
    "NaN",
    "Infinity",
    "null",
    "1.2.3",
    "١٠٠",
    "1000000000000000",
  ]) {
    test(`${JSON.stringify(text)} is not an amount`, () => {
      assert.equal(parseAmount(text, 2), undefined);
    });
  }

  test("the scale is the caller's: 1.005 is exact with three decimals, 100.50 is none without", () => {
    assert.equal(parseAmount("1.005", 3), 1_005n);
    assert.equal(parseAmount("100.50", 0), undefined);
    assert.equal(parseAmount("100.00", 0), 100n);
  });

  test("what is printed reads back as itself, below 10^15 minor units and at every scale", () => {
    fc.assert(
      fc.property(minorUnits, fc.integer({ min: 0, max: 4 }), (minor, scale) => {
        const text = formatAmount(minor, scale);
        assert.equal(parseAmount(text, scale), minor);
        assert.equal(text.split(".")[1]?.length ?? 0, scale);
      }),
      { numRuns: 50_000 },
    );
  });

  test("any text is read as an amount exactly when it is a decimal with at most two places", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[-+ ]?[0-9eE]{0,4}[.,]?[0-9eE]{0,4}$/), (text) => {
        const plain =
          /^[0-9]+([.][0-9]+)?$/.test(text) &&
          Number.isInteger(Number((Number(text) * 100).toFixed(6)));
        assert.equal(parseAmount(text, 2) !== undefined, plain, text);
      }),
      { numRuns: 20_000 },
    );
  });
});

describe("rounding amounts", () => {
  const vectors: readonly (readonly [text: string, minor: bigint])[] = [
    // Amounts that official shop plugins send for a total with instalment interest.
    ["108.9909", 10_899n],
    ["102.19769999999998", 10_220n],
    ["104.49540000000001", 10_450n],
    ["1.005", 101n],
    ["1.00499999999999999999999999999", 100n],
    ["0.995", 100n],
    ["999999999999999.999", 10n ** 17n],
    ["0.005", 1n],
    ["100.5", 10_050n],
    ["100", 10_000n],
    ["0.000", 0n],
  ];
  for (const [text, minor] of vectors)
    test(`${text} is ${minor} hundredths`, () => assert.equal(roundAmount(text, 2), minor));

  for (const text of [
    "0.004",
    "0.0000001",
    "1e2",
    "1,005",
    "-1.005",
    ".005",
    "1.",
    "1.00x",
    "1.0.05",
    "9999999999999999.999",
    " 1.005",
    "",
  ]) {
    test(`${JSON.stringify(text)} is not an amount`, () =>
      assert.equal(roundAmount(text, 2), undefined));
  }

  test("an amount with at most the scale's decimals is what parseAmount reads; others are within half a unit of the text", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 4 }),
        fc.stringMatching(/^\d{1,6}(\.\d{1,8})?$/),
        (scale, text) => {
          const exact = parseAmount(text, scale);
          const rounded = roundAmount(text, scale);
          if (exact !== undefined) assert.equal(rounded, exact);
          const fine = parseAmount(text, 8) ?? 0n;
          const unit = 10n ** BigInt(8 - scale);
          const nearest = (2n * fine + unit) / (2n * unit);
          assert.equal(rounded, nearest === 0n && fine > 0n ? undefined : nearest, text);
        },
      ),
      { numRuns: 20_000 },
    );
  });
});

describe("printing amounts", () => {
  test("leading and trailing zeros are kept, and the sign comes first", () => {
    assert.equal(formatAmount(0n, 2), "0.00");
    assert.equal(formatAmount(5n, 2), "0.05");
    assert.equal(formatAmount(-5n, 2), "-0.05");
    assert.equal(formatAmount(-12_345n, 2), "-123.45");
    assert.equal(formatAmount(7n, 0), "7");
    assert.equal(formatAmount(7n, 4), "0.0007");
  });

  test("the wire's two decimals are printed for currencies without cents too", () => {
    assert.equal(formatMoney({ minor: 15_202_300n, currency: "COP" }), "152023.00");
    assert.equal(formatMoney({ minor: 100_050n, currency: "CLP" }), "1000.50");
    assert.equal(formatMoney({ minor: 1_234n, currency: "KWD" }), "1.234");
  });
});

describe("rates", () => {
  const vectors: readonly (readonly [minor: bigint, rate: string, product: bigint])[] = [
    [6_455n, "2355.1200", 15_202_300n],
    [10_000n, "5.3600", 53_600n],
    [53_600n, "0.0350", 1_876n],
    [100n, "5.8300", 583n],
    [583n, "0.0038", 2n],
    // Exact half cents are rounded up, smaller fractions down.
    [1n, "0.5", 1n],
    [3n, "0.5", 2n],
    [1n, "0.4999", 0n],
    [201n, "0.005", 1n],
    [100n, "0.005", 1n],
    [99n, "0.005", 0n],
    [100n, "1.005", 101n],
    // 1.005 as a float is below its decimal value, 8.20 x 100 and 19.99 x 100 are not whole.
    [820n, "1.0000", 820n],
    [1_999n, "1.0000", 1_999n],
    [9_007_199_254_740_993n, "1.0000", 9_007_199_254_740_993n],
    [9_007_199_254_740_993n, "3", 27_021_597_764_222_979n],
    [12_345n, "0", 0n],
  ];
  for (const [minor, rate, product] of vectors) {
    test(`${minor} times ${rate} is ${product}`, () => {
      assert.equal(multiplyRate(minor, rate), product);
    });
  }

  test("the product is the whole number nearest to the exact one, and the higher of two", () => {
    fc.assert(
      fc.property(minorUnits, upTo(10n ** 9n), (minor, tenThousandths) => {
        const product = multiplyRate(minor, formatAmount(tenThousandths, 4));
        const error = product * 10_000n - minor * tenThousandths;
        assert.ok(error > -5_000n && error <= 5_000n);
      }),
      { numRuns: 50_000 },
    );
  });

  test("an invalid rate and an amount below zero are rejected", () => {
    for (const rate of ["", "1e2", "-1", "1.", ".5", "5,83", "NaN", "1e2"])
      assert.throws(() => multiplyRate(100n, rate), { name: "BrokenInvariant" });
    assert.throws(() => multiplyRate(-1n, "1.0000"), { name: "BrokenInvariant" });
  });
});

describe("a share of an amount", () => {
  test("is rounded half up", () => {
    assert.equal(proportion(1_876n, 4_000n, 10_000n), 750n);
    assert.equal(proportion(100n, 1n, 3n), 33n);
    assert.equal(proportion(100n, 2n, 3n), 67n);
    assert.equal(proportion(1n, 1n, 2n), 1n);
    assert.equal(proportion(7n, 3n, 3n), 7n);
    assert.equal(proportion(7n, 0n, 3n), 0n);
    assert.equal(proportion(0n, 3n, 3n), 0n);
  });

  test("of a whole that is nothing, or of less than nothing, stops the work", () => {
    assert.throws(() => proportion(1n, 1n, 0n), { name: "BrokenInvariant" });
    assert.throws(() => proportion(-1n, 1n, 2n), { name: "BrokenInvariant" });
    assert.throws(() => proportion(1n, -1n, 2n), { name: "BrokenInvariant" });
  });
});

describe("splitting", () => {
  const equally = (parts: number): readonly bigint[] => Array.from({ length: parts }, () => 1n);

  test("559.30 in three is 186.44, 186.43 and 186.43", () => {
    assert.deepEqual(allocate(55_930n, equally(3)), [18_644n, 18_643n, 18_643n]);
  });

  test("22.94 in twelve gives the odd cents to the first", () => {
    assert.deepEqual(allocate(2_294n, equally(12)), [192n, 192n, ...equally(10).map(() => 191n)]);
  });

  test("the largest remainder comes first, and a weight of zero gets nothing", () => {
    assert.deepEqual(allocate(100n, [1n, 2n, 3n]), [17n, 33n, 50n]);
    assert.deepEqual(allocate(1n, [0n, 1n, 1n]), [0n, 1n, 0n]);
    assert.deepEqual(allocate(5n, [1n, 8n]), [1n, 4n]);
  });

  test("the parts sum to the whole, and none is a unit away from its exact share", () => {
    const weights = fc
      .array(upTo(10n ** 6n), { minLength: 1, maxLength: 48 })
      .filter((all) => all.some((weight) => weight > 0n));
    fc.assert(
      fc.property(minorUnits, weights, (minor, all) => {
        const parts = allocate(minor, all);
        const sum = all.reduce((total, weight) => total + weight, 0n);
        assert.equal(
          parts.reduce((total, part) => total + part, 0n),
          minor,
        );
        for (const [index, part] of parts.entries()) {
          const error = part * sum - minor * (all[index] ?? 0n);
          assert.ok(error > -sum && error < sum);
        }
      }),
      { numRuns: 20_000 },
    );
  });

  test("no weights, only zeros, or less than nothing to split stop the work", () => {
    assert.throws(() => allocate(1n, []), { name: "BrokenInvariant" });
    assert.throws(() => allocate(1n, [0n, 0n]), { name: "BrokenInvariant" });
    assert.throws(() => allocate(1n, [2n, -1n]), { name: "BrokenInvariant" });
    assert.throws(() => allocate(-1n, [1n]), { name: "BrokenInvariant" });
  });
});

describe("amounts that meet", () => {
  const brl = (minor: bigint) => ({ minor, currency: "BRL" });

  test("equal currencies add and compare", () => {
    assert.deepEqual(addMoney(brl(1n), brl(2n)), brl(3n));
    assert.deepEqual(
      [
        compareMoney(brl(1n), brl(2n)),
        compareMoney(brl(2n), brl(2n)),
        compareMoney(brl(3n), brl(2n)),
      ],
      [-1, 0, 1],
    );
  });

  test("two currencies stop the work", () => {
    assert.throws(() => addMoney(brl(1n), { minor: 1n, currency: "USD" }), {
      name: "BrokenInvariant",
    });
    assert.throws(() => compareMoney(brl(1n), { minor: 1n, currency: "USD" }), {
      name: "BrokenInvariant",
    });
  });
});
