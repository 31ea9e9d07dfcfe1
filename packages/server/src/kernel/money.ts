import type { CurrencyCode } from "./currency.ts";

/** An exact amount: whole minor units (cents) of a currency. Scale comes from the currency table, never from a float. */
export interface Money {
  readonly minor: bigint;
  readonly currency: CurrencyCode;
}
