import { assert } from "../kernel/assert.ts";
import { scaleOf } from "../kernel/currency.ts";
import type { Instant } from "../kernel/instant.ts";
import { addMoney, multiplyRate, proportion, type Money } from "../kernel/money.ts";
import { countryOf, type Country } from "./countries.ts";
import type { Pricing } from "./payment.ts";
import { exchangeRate, taxRate } from "./pricing-tables.ts";

/** The account settings for pricing. */
export interface PricingSettings {
  readonly rateTable: string;
  readonly taxPolicy: string;
  readonly taxPaidBy: "customer" | "merchant";
}

/** The local amount that the customer pays, and its parts. */
export type LocalAmounts = Pick<Pricing, "gross" | "tax" | "total">;

/**
 * Prices an order at `at` (interface 8): gross is amount times rate, tax is gross times the
 * policy's rate, each rounded half up to a cent, and the customer pays both unless the merchant
 * pays the tax. The country and the currency must have been validated.
 */
export function priceOrder(
  amount: Money,
  country: string,
  at: Instant,
  settings: PricingSettings,
): Pricing {
  const local = knownCountry(country).currency;
  const rate = exchangeRate(settings.rateTable, amount.currency, local, at);
  assert(rate !== undefined, "every accepted currency has a rate into the local one");
  const gross = convert(amount, rate, local);
  const ofTax = taxRate(settings.taxPolicy, country, at);
  const priced = { rate, ...withTotal(gross, taxOn(gross, ofTax), settings.taxPaidBy) };
  return ofTax === "0" ? priced : { ...priced, taxRate: ofTax };
}

/**
 * The local amounts of `part` minor units of an order of `amount`, for a partial capture. Gross is
 * converted again, so that amount, rate and gross agree to the cent on every printed payment; so is
 * tax, if its rate is known. Payments of earlier versions have no tax rate; their tax is the same
 * share of the whole tax, as in their journal entries. The whole amount gives the whole price, and
 * a part never costs more than a larger one.
 */
export function priceOfPart(pricing: Pricing, amount: Money, part: bigint): LocalAmounts {
  assert(part >= 0n && part <= amount.minor, "a part is not above the whole");
  if (part === amount.minor) return pricing;
  const gross = convert(
    { minor: part, currency: amount.currency },
    pricing.rate,
    pricing.gross.currency,
  );
  const share = {
    minor: proportion(pricing.tax.minor, part, amount.minor),
    currency: pricing.tax.currency,
  };
  const tax = pricing.taxRate === undefined ? share : taxOn(gross, pricing.taxRate);
  return withTotal(
    gross,
    tax,
    pricing.total.minor === pricing.gross.minor ? "merchant" : "customer",
  );
}

/**
 * The maximum amount of a payment, in the country's currency: a setting in whole USD at the rate of
 * the day (interface 3.5).
 */
export function maximumAmount(
  country: string,
  at: Instant,
  settings: PricingSettings & { readonly maximumAmountUsd: number },
): Money {
  const local = knownCountry(country).currency;
  const rate = exchangeRate(settings.rateTable, "USD", local, at);
  assert(rate !== undefined, "every local currency has a rate from USD");
  return convert({ minor: BigInt(settings.maximumAmountUsd) * 100n, currency: "USD" }, rate, local);
}

function convert(amount: Money, rate: string, currency: string): Money {
  assert(
    scaleOf(amount.currency) === scaleOf(currency),
    "currencies that convert into one another have equally many decimals here",
  );
  return { minor: multiplyRate(amount.minor, rate), currency };
}

function taxOn(gross: Money, rate: string): Money {
  return { minor: multiplyRate(gross.minor, rate), currency: gross.currency };
}

function withTotal(gross: Money, tax: Money, taxPaidBy: "customer" | "merchant"): LocalAmounts {
  return { gross, tax, total: taxPaidBy === "customer" ? addMoney(gross, tax) : gross };
}

function knownCountry(code: string): Country {
  const country = countryOf(code);
  assert(country !== undefined, "an order that is priced names a country of the table");
  return country;
}
