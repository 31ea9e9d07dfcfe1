import { assert } from "./assert.ts";
import { isoExponents } from "./currency-table.ts";

/** ISO 4217 alphabetic code, upper case. */
export type CurrencyCode = string;

/**
 * The wire prints two decimals and accepts up to two in every currency, even if ISO 4217 has none
 * (interface 8).
 */
const minScale = 2;

const scales: ReadonlyMap<string, number> = new Map(
  Object.entries(isoExponents).map(([code, exponent]) => [code, Math.max(exponent, minScale)]),
);

export function isCurrency(code: string): code is CurrencyCode {
  return scales.has(code);
}

/**
 * Decimal places of a `Money.minor` of this currency: two, or those of ISO 4217 if there are more.
 * So a Chilean peso has 100 minor units here although the currency has no cents
 * (docs/decisions/0005-money.md).
 */
export function scaleOf(currency: CurrencyCode): number {
  const scale = scales.get(currency);
  assert(scale !== undefined, "a currency is one of ISO 4217");
  return scale;
}
