import type { Brand } from "../vault/brand.ts";

/** Bears the amount of a payment that the cardholder did not make. */
export type Liability = "issuer" | "merchant";

/**
 * Electronic commerce indicators by which the issuer bears fraud, for all brands but Mastercard: 05
 * authenticated, 06 attempted. Source: the tables of indicators that acquirers publish.
 */
const shifted: ReadonlySet<string> = new Set(["05", "06"]);
/** The same of Mastercard: 02 authenticated, 01 attempted. */
const shiftedByMastercard: ReadonlySet<string> = new Set(["02", "01"]);
/** Mastercard, later payments of a recurring agreement whose first payment was authenticated. */
const recurring = "07";

/**
 * The party that is expected to bear fraud, by the brand's own indicator. `merchant` without 3-D
 * Secure (`eci` is undefined), and for an indicator of another brand. Only expected: schemes exclude some products and
 * regions, mostly from attempts. A payment that the merchant initiates with a stored card has no
 * proof of its own, so of these only Mastercard's recurring ones count.
 */
export function expectedLiability(
  brand: Brand,
  eci: string | undefined,
  isMerchantInitiated: boolean,
): Liability {
  if (eci === undefined) return "merchant";
  const isMastercard = brand === "mastercard";
  if (isMerchantInitiated) return isMastercard && eci === recurring ? "issuer" : "merchant";
  return (isMastercard ? shiftedByMastercard : shifted).has(eci) ? "issuer" : "merchant";
}
