import type { Money } from "../kernel/money.ts";
import { assert } from "../kernel/assert.ts";
import type { Brand } from "../vault/brand.ts";
import type { Country } from "./countries.ts";

/**
 * Why a number of instalments is refused: the country or brand does not offer it, or each one would
 * be too small.
 */
export type InstalmentRefusal = "count_not_offered" | "instalment_too_small";

/**
 * The instalment counts of a country, fewer for some brands. `brand` is undefined while the card is
 * not known.
 */
export function offeredInstalments(
  country: Country,
  brand: Brand | undefined,
): ReadonlySet<number> {
  return (
    (brand === undefined ? undefined : country.brandInstalments.get(brand)) ?? country.instalments
  );
}

/**
 * Checks `count` instalments of `total`, the local amount that the customer pays (interface 8). A
 * single instalment has no minimum. The rule is total / count >= minimum, compared without
 * division.
 */
export function refuseInstalments(
  country: Country,
  brand: Brand | undefined,
  count: number,
  total: Money,
): InstalmentRefusal | undefined {
  assert(total.currency === country.currency, "instalments are of the local amount");
  if (!offeredInstalments(country, brand).has(count)) return "count_not_offered";
  if (count > 1 && total.minor < country.minimumInstalment * BigInt(count))
    return "instalment_too_small";
  return undefined;
}
