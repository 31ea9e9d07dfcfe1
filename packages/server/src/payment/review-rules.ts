import { compareMoney } from "../kernel/money.ts";
import type { Instant } from "../kernel/instant.ts";
import type { Pricing } from "./payment.ts";
import { maximumAmount, type PricingSettings } from "./pricing.ts";

/** The part of an account's settings that says which payments people look at. */
export interface ReviewSettings extends PricingSettings {
  /** Whole USD above which a payment waits for a reviewer; 0: none does for its amount. */
  readonly reviewAboveUsd: number;
}

interface ReviewCase {
  readonly country: string;
  readonly pricing: Pricing;
  readonly at: Instant;
}

/**
 * Each rule that sends a payment to review, whatever the request says. One more rule is one more
 * row.
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
 * Whether a payment that the issuer approves waits for a reviewer all the same (interface 4.2: risk
 * review).
 */
export function needsReview(payment: ReviewCase, settings: ReviewSettings): boolean {
  return rules.some((applies) => applies(payment, settings));
}
