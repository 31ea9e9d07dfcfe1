import type { Instant } from "../kernel/instant.ts";
import { compareMoney } from "../kernel/money.ts";
import type { AccountSettings } from "../merchant/account.ts";
import type { Route } from "../merchant/routing.ts";
import type { Pricing } from "../payment/payment.ts";
import { maximumAmount } from "../payment/pricing.ts";
import { startsWith } from "../vault/bin.ts";
import type { Brand } from "../vault/brand.ts";
import type { Pan } from "../vault/pan.ts";

/** The criteria of a route. */
export interface Routable {
  readonly brand: Brand;
  readonly pan: Pan;
  readonly currency: string;
  readonly country: string;
  /**
   * undefined without an amount (a verification): routes with an amount limit do not match then.
   */
  readonly pricing: Pricing | undefined;
  readonly at: Instant;
}

/** The connectors of the first matching route; undefined if none matches. */
export function routeFor(
  payment: Routable,
  settings: AccountSettings,
): readonly string[] | undefined {
  return settings.routes.find((route) => fits(route, payment, settings))?.connectors;
}

function fits(
  route: Route,
  { brand, pan, currency, country, pricing, at }: Routable,
  settings: AccountSettings,
): boolean {
  if (pricing === undefined) {
    if (route.fromUsd !== undefined || route.belowUsd !== undefined) return false;
  } else {
    const usd = (amount: number) =>
      compareMoney(
        pricing.gross,
        maximumAmount(country, at, { ...settings, maximumAmountUsd: amount }),
      );
    if (route.fromUsd !== undefined && usd(route.fromUsd) < 0) return false;
    if (route.belowUsd !== undefined && usd(route.belowUsd) >= 0) return false;
  }
  return (
    (route.brands?.includes(brand) ?? true) &&
    (route.bins?.some((bin) => startsWith(pan, bin)) ?? true) &&
    (route.currencies?.includes(currency) ?? true) &&
    (route.countries?.includes(country) ?? true)
  );
}
