import assert from "node:assert/strict";
import { test } from "node:test";
import creditCardType from "credit-card-type";
import { numberUnder, panOf, testCards } from "../../test/vectors/cards.ts";
import { brandOf } from "./bin.ts";
import { brands, type Brand } from "./brand.ts";

test("every public test card is taken for its brand, and every brand has one", () => {
  for (const [digits, brand] of testCards) assert.equal(brandOf(panOf(digits)), brand, digits);
  assert.deepEqual(new Set(testCards.map(([, brand]) => brand)), new Set(brands));
});

const examples: readonly (readonly [prefix: string, length: number, brand: Brand | undefined])[] = [
  ["34", 15, "amex"],
  ["34", 16, undefined],
  ["35", 15, undefined],
  ["3645", 14, "diners"],
  ["3646", 14, undefined],
  ["3647", 14, "diners"],
  ["3648", 14, undefined],
  ["38", 14, "diners"],
  ["38", 16, "hipercard"],
  ["38", 19, "hipercard"],
  ["38", 15, undefined],
  ["39", 14, undefined],
  ["222099", 16, undefined],
  ["2221", 16, "mastercard"],
  ["272099", 16, "mastercard"],
  ["2721", 16, undefined],
  ["528732", 16, "mastercard"],
  ["528733", 16, undefined],
  ["542702", 16, undefined],
  ["557039", 16, undefined],
  ["557040", 16, "mastercard"],
  ["527572", 16, "naranja"],
  ["401177", 16, "visa"],
  ["401178", 16, "elo"],
  ["401179", 16, "elo"],
  ["401180", 16, "visa"],
  ["401178", 19, "visa"],
  ["650030", 16, "discover"],
  ["650031", 16, "elo"],
  ["650034", 16, "discover"],
  ["6011", 16, "discover"],
  ["6012", 16, undefined],
  ["65", 19, undefined],
  ["56", 19, "aura"],
  ["506199", 16, "carnet"],
  ["506402", 16, "carnet"],
  ["506403", 16, undefined],
  ["60462202", 16, undefined],
  ["60462203", 16, "carnet"],
  ["60462204", 16, "carnet"],
  ["60462205", 16, undefined],
  ["604400", 16, "cabal"],
  ["604401", 16, undefined],
  ["4", 16, "visa"],
  ["4", 15, undefined],
  ["4", 18, undefined],
  ["4", 19, "visa"],
  ["0", 16, undefined],
  ["99999999", 19, undefined],
];

test("order, lengths and exclusions of the table decide at their edges", () => {
  for (const [prefix, length, brand] of examples) {
    assert.equal(
      brandOf(panOf(numberUnder(prefix, length))),
      brand,
      `${prefix} with ${length} digits`,
    );
  }
});

const brandOfOracle: Readonly<Record<string, Brand>> = {
  visa: "visa",
  mastercard: "mastercard",
  "american-express": "amex",
  "diners-club": "diners",
  discover: "discover",
  elo: "elo",
  hiper: "hipercard",
  hipercard: "hipercard",
  naranja: "naranja",
};

/**
 * The brand according to the independent library; undefined for a scheme that the interface does
 * not have, or for no result.
 */
function oracleOf(digits: string): Brand | undefined {
  const [best] = creditCardType(digits).filter(({ lengths }) => lengths.includes(digits.length));
  return best === undefined ? undefined : brandOfOracle[best.type];
}

interface Disagreement {
  readonly ours: Brand | undefined;
  readonly theirs: Brand;
  readonly where: RegExp;
  readonly reason: string;
}

const disagreements: readonly Disagreement[] = [
  {
    ours: undefined,
    theirs: "visa",
    where: /^4\d{17}$/,
    reason: "Visa has no cards of 18 digits; its rules know 16 and 19",
  },
  { ours: undefined, theirs: "diners", where: /^39\d{12}$/, reason: "2.6 has 30, 36 and 38 only" },
  { ours: undefined, theirs: "diners", where: /^364[68]\d{10}$/, reason: "2.6 excludes both" },
  {
    ours: undefined,
    theirs: "diners",
    where: /^3(0[0-5]|6|9)\d+$/,
    reason: "2.6 has 14 digits only",
  },
  {
    ours: "hipercard",
    theirs: "diners",
    where: /^38\d{14}(\d{3})?$/,
    reason: "2.6 gives 38 with more than 14 digits to hipercard",
  },
  {
    ours: undefined,
    theirs: "mastercard",
    where: /^(528733|542702|557039)\d{10}$/,
    reason: "2.6 excludes these",
  },
  {
    ours: undefined,
    theirs: "discover",
    where: /^64[4-9]\d{13}$/,
    reason: "2.6 has 6011 and 65 only",
  },
  {
    ours: undefined,
    theirs: "discover",
    where: /^(6011|64[4-9]|65)\d+$/,
    reason: "2.6 has 16 digits only",
  },
  {
    ours: undefined,
    theirs: "hipercard",
    where: /^(63737423|63743358)\d{8}$/,
    reason: "single cards' ranges that no page of the wire names",
  },
  {
    ours: "visa",
    theirs: "naranja",
    where: /^402918\d{10}$/,
    reason: "2.6 gives every 4 that is not Elo's to visa",
  },
];

test("brands agree with an independent library except for the listed reasons, each of which is met", () => {
  const edges = new Set<string>();
  for (const type of Object.keys(brandOfOracle)) {
    for (const pattern of creditCardType.getTypeInfo(type).patterns) {
      const [first = 0, last = first] = typeof pattern === "number" ? [pattern] : pattern;
      for (const edge of [first - 1, first, Math.floor((first + last) / 2), last, last + 1]) {
        for (const tail of ["", "9"]) edges.add(`${edge}`.padEnd(8, tail === "" ? "0" : tail));
      }
    }
  }
  for (const [prefix] of examples) edges.add(prefix.padEnd(8, "0"));
  // Every prefix of four digits too, so that no range is left out.
  for (let prefix = 1_000; prefix <= 9_999; prefix += 1) edges.add(`${prefix}5000`);

  const met = new Set<Disagreement>();
  let agreed = 0;
  for (const prefix of edges) {
    for (let length = 14; length <= 19; length += 1) {
      const digits = numberUnder(prefix, length);
      const theirs = oracleOf(digits);
      if (theirs === undefined) continue;
      const ours = brandOf(panOf(digits));
      if (ours === theirs) {
        agreed += 1;
        continue;
      }
      const row = disagreements.find(
        (known) => known.ours === ours && known.theirs === theirs && known.where.test(digits),
      );
      assert.ok(row !== undefined, `${digits}: ours ${ours ?? "none"}, theirs ${theirs}`);
      met.add(row);
    }
  }
  assert.ok(agreed > 2_000);
  assert.deepEqual(
    disagreements.filter((row) => !met.has(row)),
    [],
  );
});
