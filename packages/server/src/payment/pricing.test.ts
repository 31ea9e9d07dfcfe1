import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { instant, type Instant } from "../kernel/instant.ts";
import { formatMoney, multiplyRate, parseAmount, type Money } from "../kernel/money.ts";
import { countryCodes, countryOf } from "./countries.ts";
import { exchangeRate, rateTableNames, taxPolicyNames, taxRate } from "./pricing-tables.ts";
import { maximumAmount, priceOfPart, priceOrder, type PricingSettings } from "./pricing.ts";

const sandbox: PricingSettings = {
  rateTable: "sandbox-2024",
  taxPolicy: "brazil-cross-border",
  taxPaidBy: "customer",
};
const history: PricingSettings = {
  ...sandbox,
  rateTable: "sandbox-history",
  taxPolicy: "brazil-cross-border-history",
};
const local: PricingSettings = { ...sandbox, taxPolicy: "none" };

function on(day: string): Instant {
  return instant(Date.parse(`${day}T12:00:00Z`));
}

function money(text: string, currency: string): Money {
  const minor = parseAmount(text, 2);
  assert.ok(minor !== undefined);
  return { minor, currency };
}

/** Amount, rate, gross, tax and total as the wire prints them. */
function printed(
  amount: Money,
  country: string,
  at: Instant,
  settings: PricingSettings,
): readonly string[] {
  const { rate, gross, tax, total } = priceOrder(amount, country, at, settings);
  return [rate, formatMoney(gross), formatMoney(tax), formatMoney(total)];
}

describe("the samples of interface 8", () => {
  const samples: readonly (readonly [
    amount: string,
    currency: string,
    country: string,
    day: string,
    PricingSettings,
    readonly string[],
  ])[] = [
    ["1.00", "USD", "br", "2017-08-01", history, ["3.3000", "3.30", "0.01", "3.31"]],
    ["80.00", "USD", "br", "2017-08-01", history, ["3.3000", "264.00", "1.00", "265.00"]],
    ["1.00", "USD", "br", "2019-08-01", history, ["4.1700", "4.17", "0.02", "4.19"]],
    ["1.00", "USD", "br", "2024-08-01", sandbox, ["5.8300", "5.83", "0.02", "5.85"]],
    ["100.00", "BRL", "br", "2024-08-01", sandbox, ["1.0000", "100.00", "0.38", "100.38"]],
    ["300.00", "BRL", "br", "2024-08-01", sandbox, ["1.0000", "300.00", "1.14", "301.14"]],
    ["23.02", "BRL", "br", "2024-08-01", local, ["1.0000", "23.02", "0.00", "23.02"]],
    ["64.55", "USD", "co", "2024-08-01", sandbox, ["2355.1200", "152023.00", "0.00", "152023.00"]],
    ["1.00", "USD", "br", "2014-08-01", history, ["2.3500", "2.35", "0.00", "2.35"]],
  ];
  for (const [amount, currency, country, day, settings, expected] of samples) {
    test(`${amount} ${currency} in ${country} at ${expected[0]} comes to ${expected[3]}`, () => {
      assert.deepEqual(printed(money(amount, currency), country, on(day), settings), expected);
    });
  }

  test("the worked example of interface 3.4: 536.00 at 3.5 % is 18.76 of tax", () => {
    assert.equal(multiplyRate(10_000n, "5.3600"), 53_600n);
    assert.equal(
      multiplyRate(53_600n, taxRate("brazil-cross-border-2025", "br", on("2025-11-25"))),
      1_876n,
    );
  });

  test("a merchant who bears the tax leaves it out of what the customer pays", () => {
    assert.deepEqual(
      printed(money("100", "BRL"), "br", on("2024-08-01"), { ...sandbox, taxPaidBy: "merchant" }),
      ["1.0000", "100.00", "0.38", "100.00"],
    );
  });
});

describe("tables with validity dates", () => {
  test("a rate holds from the start of its day in UTC until the next one's", () => {
    const lastOf2018 = instant(Date.parse("2018-12-31T23:59:59.999Z"));
    const firstOf2019 = instant(Date.parse("2019-01-01T00:00:00Z"));
    assert.equal(exchangeRate("sandbox-history", "USD", "BRL", lastOf2018), "3.3000");
    assert.equal(exchangeRate("sandbox-history", "USD", "BRL", firstOf2019), "4.1700");
    assert.equal(
      taxRate("brazil-cross-border-history", "br", instant(Date.parse("2024-12-31T23:59:59.999Z"))),
      "0.0038",
    );
    assert.equal(
      taxRate("brazil-cross-border-history", "br", instant(Date.parse("2025-01-01T00:00:00Z"))),
      "0.0350",
    );
  });

  test("before the first day the first row holds, so that a world may be set to any year", () => {
    assert.equal(exchangeRate("sandbox-history", "USD", "BRL", on("1990-01-01")), "2.3500");
  });

  test("the default table gives the same rate in every year", () => {
    for (const day of ["1960-01-01", "2014-06-01", "2026-11-28", "2090-01-01"]) {
      assert.equal(exchangeRate("sandbox-2024", "USD", "BRL", on(day)), "5.8300");
    }
  });

  test("only Brazil's payments are taxed", () => {
    const taxed = countryCodes.filter(
      (code) => taxRate("brazil-cross-border", code, on("2026-11-28")) !== "0",
    );
    assert.deepEqual(taxed, ["br"]);
  });

  test("every table prices every currency of every country, with a rate as the wire prints it", () => {
    for (const table of rateTableNames) {
      for (const code of countryCodes) {
        const country = countryOf(code);
        for (const currency of country?.currencies ?? []) {
          assert.match(
            exchangeRate(table, currency, country?.currency ?? "", on("2026-11-28")) ?? "",
            /^\d+\.\d{4}$/,
            `${table} ${code} ${currency}`,
          );
        }
      }
    }
    assert.equal(
      exchangeRate("sandbox-2024", "BRL", "USD", on("2026-11-28")),
      undefined,
      "control: what is in no table has no rate",
    );
  });

  test("a name of no table, and a currency without a rate, stop the work", () => {
    assert.throws(() => exchangeRate("sandbox", "USD", "BRL", on("2026-11-28")), {
      name: "BrokenInvariant",
    });
    assert.throws(() => taxRate("toString", "br", on("2026-11-28")), { name: "BrokenInvariant" });
    assert.throws(() => priceOrder(money("1", "MXN"), "br", on("2026-11-28"), sandbox), {
      name: "BrokenInvariant",
    });
    assert.throws(() => priceOrder(money("1", "USD"), "za", on("2026-11-28"), sandbox), {
      name: "BrokenInvariant",
    });
  });
});

describe("limits", () => {
  test("the most of one payment is the account's US dollars at the rate of the day", () => {
    const settings = { ...sandbox, maximumAmountUsd: 10_000 };
    assert.deepEqual(maximumAmount("br", on("2026-11-28"), settings), money("58300.00", "BRL"));
    assert.deepEqual(maximumAmount("ec", on("2026-11-28"), settings), money("10000.00", "USD"));
  });
});

describe("a part of an order", () => {
  const anyOrder = fc.record({
    amount: fc.bigInt({ min: 1n, max: 10n ** 9n }),
    code: fc.constantFrom(...countryCodes),
    foreign: fc.constantFrom("USD", "EUR", undefined),
    taxPolicy: fc.constantFrom(...taxPolicyNames),
    taxPaidBy: fc.constantFrom("customer" as const, "merchant" as const),
  });
  const at = on("2026-11-28");

  test("55.88 of 100 USD at 5.83 is taxed for what it comes to, not with a share of the whole tax, which is a cent more", () => {
    const pricing = {
      ...priceOrder(money("100", "USD"), "br", at, sandbox),
      tax: money("20.41", "BRL"),
      taxRate: "0.035",
    };
    const { gross, tax } = priceOfPart(pricing, money("100", "USD"), 5_588n);
    assert.deepEqual([formatMoney(gross), formatMoney(tax)], ["325.78", "11.40"]);
    // Payments of earlier versions keep the share, as in their journal entries.
    const { taxRate: _, ...earlier } = pricing;
    assert.equal(formatMoney(priceOfPart(earlier, money("100", "USD"), 5_588n).tax), "11.41");
  });

  test("40 of 100 USD at 5.83 is 233.20 and two fifths of the tax", () => {
    const pricing = priceOrder(money("100", "USD"), "br", at, sandbox);
    const { gross, tax, total } = priceOfPart(pricing, money("100", "USD"), 4_000n);
    assert.deepEqual(
      [formatMoney(pricing.tax), formatMoney(gross), formatMoney(tax), formatMoney(total)],
      ["2.22", "233.20", "0.89", "234.09"],
    );
  });

  test("the whole is the whole, nothing is nothing, and a larger part is never less", () => {
    fc.assert(
      fc.property(
        anyOrder,
        fc.array(fc.nat({ max: 1_000 }), { minLength: 2, maxLength: 2 }),
        (order, permilles) => {
          const amount = {
            minor: order.amount,
            currency: order.foreign ?? countryOf(order.code)?.currency ?? "",
          };
          const pricing = priceOrder(amount, order.code, at, {
            ...sandbox,
            taxPolicy: order.taxPolicy,
            taxPaidBy: order.taxPaidBy,
          });
          const [less, more] = permilles
            .toSorted((one, other) => one - other)
            .map((permille) => (order.amount * BigInt(permille)) / 1_000n);
          const [small, large] = [
            priceOfPart(pricing, amount, less ?? 0n),
            priceOfPart(pricing, amount, more ?? 0n),
          ];
          assert.ok(
            small.gross.minor <= large.gross.minor &&
              small.tax.minor <= large.tax.minor &&
              small.total.minor <= large.total.minor,
          );
          assert.ok(
            large.gross.minor <= pricing.gross.minor &&
              large.tax.minor <= pricing.tax.minor &&
              large.total.minor <= pricing.total.minor,
          );
          assert.equal(
            large.gross.minor,
            multiplyRate(more ?? 0n, pricing.rate),
            "amount, rate and gross agree",
          );
          assert.equal(
            large.tax.minor,
            multiplyRate(large.gross.minor, pricing.taxRate ?? "0"),
            "gross, rate and tax agree",
          );
          assert.equal(priceOfPart(pricing, amount, order.amount).total.minor, pricing.total.minor);
          assert.equal(priceOfPart(pricing, amount, 0n).total.minor, 0n);
        },
      ),
      { numRuns: 5_000 },
    );
  });

  test("more than the whole stops the work", () => {
    const pricing = priceOrder(money("100", "USD"), "br", at, sandbox);
    assert.throws(() => priceOfPart(pricing, money("100", "USD"), 10_001n), {
      name: "BrokenInvariant",
    });
    assert.throws(() => priceOfPart(pricing, money("100", "USD"), -1n), {
      name: "BrokenInvariant",
    });
  });

  test("in a currency with more decimals than the local one stops the work", () => {
    const pricing = priceOrder(money("100", "USD"), "br", at, sandbox);
    assert.throws(() => priceOfPart(pricing, { minor: 10_000n, currency: "KWD" }, 4_000n), {
      name: "BrokenInvariant",
    });
  });
});
