import { compareMoney } from "../kernel/money.ts";
import type { Instant } from "../kernel/instant.ts";
import type { Pricing } from "./payment.ts";
import { maximumAmount, type PricingSettings } from "./pricing.ts";

/** The account settings for reviews. */
export interface ReviewSettings extends PricingSettings {
  /** Payments above this amount in whole USD wait for a reviewer; 0: no limit. */
  readonly reviewAboveUsd: number;
}

interface ReviewCase {
  readonly country: string;
  readonly pricing: Pricing;
  readonly at: Instant;
}

/**
 * Rules that send a payment to review, independent of the request. A further rule is a further row.
 */
const rules: readonly ((payment: ReviewCase, settings: ReviewSettings) => boolean)[] = [
  ({ country, pricing, at }, settings) =>
    settings.reviewAboveUsd > 0 &&
    compareMoney(
      pricing.gross,
      maximumAmount(country, at, { ...settings, maximumAmountUsd: settings.reviewAboveUsd }),
    ) > 0,
];

/**
 * Whether a payment that the issuer approves must wait for a reviewer (interface 4.2: risk review).
 */
export function needsReview(payment: ReviewCase, settings: ReviewSettings): boolean {
  return rules.some((applies) => applies(payment, settings));
}
