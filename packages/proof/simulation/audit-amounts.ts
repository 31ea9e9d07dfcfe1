import type { Is } from "./audit-payment.ts";
import type { PaymentView } from "./payment-view.ts";

/** The amount and currency of an order, and whether it is processed within its country. */
export interface Order {
  /** Minor units. */
  readonly amount: bigint;
  readonly currency: string;
  readonly country: string;
  readonly local: boolean;
}

export interface TaxRules {
  readonly taxPolicy: string;
  readonly taxPaidBy: "customer" | "merchant";
}

/**
 * The sandbox's published rates, copied by hand: ten-thousandths of a unit of the local currency
 * for one unit.
 */
const rates: Readonly<Record<string, bigint>> = {
  "br USD": 58_300n,
  "br EUR": 63_000n,
  "br BRL": 10_000n,
  "mx USD": 200_000n,
  "mx MXN": 10_000n,
  "co COP": 10_000n,
  "pe USD": 37_500n,
  "ec USD": 10_000n,
  "ar EUR": 10_800_000n,
};

/** Brazil's tax on cross-border payments, in ten-thousandths. */
const taxes: Readonly<Record<string, bigint>> = {
  none: 0n,
  "brazil-cross-border": 38n,
  "brazil-cross-border-2025": 350n,
};

/**
 * Checks that rate, tax and total of an answer follow from the order, each rounded half up to the
 * cent (interface 8).
 */
export function checkAmounts(
  reported: PaymentView,
  { amount, currency, country, local }: Order,
  { taxPolicy, taxPaidBy }: TaxRules,
  is: Is,
): void {
  is(
    reported.currency === currency && reported.country === country,
    "I11: a payment keeps its currency and its country",
  );
  is(
    reported.amount === amount || (reported.status === "CO" && reported.amount < amount),
    "I11: a payment is told with its amount, or with what was captured",
  );
  const rate = rates[`${country} ${currency}`] ?? 0n;
  is(
    reported.rate === `${rate / 10_000n}.${String(rate % 10_000n).padStart(4, "0")}`,
    `I11: the rate is the table's, and not ${reported.rate}`,
  );
  const gross = share(reported.amount, rate);
  const tax = country === "br" && !local ? share(gross, taxes[taxPolicy] ?? 0n) : 0n;
  is(reported.tax === tax, `I11: the tax is ${tax}, and not ${reported.tax}`);
  is(
    reported.total === (taxPaidBy === "customer" ? gross + reported.tax : gross),
    `I11: the total of ${gross} and ${reported.tax} is not ${reported.total}`,
  );
}

/** Rounds half up. */
function share(minor: bigint, tenThousandths: bigint): bigint {
  return (minor * tenThousandths + 5_000n) / 10_000n;
}
