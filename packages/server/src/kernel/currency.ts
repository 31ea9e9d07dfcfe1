/** ISO 4217 alphabetic code, upper case. */
export type CurrencyCode = string;
