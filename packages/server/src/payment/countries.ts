import { assert } from "../kernel/assert.ts";
import { scaleOf, type CurrencyCode } from "../kernel/currency.ts";
import { parseAmount } from "../kernel/money.ts";
import { groupKinds, withoutSeparators } from "../kernel/separators.ts";
import type { Brand } from "../vault/brand.ts";

/**
 * Customer fields that a country may require, in the order in which their absence is reported:
 * BP-DR-22, then 24 to 28.
 */
const addressFields = ["zipcode", "address", "streetNumber", "city", "state"] as const;
export const countryFields = ["document", ...addressFields] as const;
export type CountryField = (typeof countryFields)[number];

/**
 * Rules for card payments in one country (interface 3.5). Credit and debit cards are accepted
 * everywhere.
 */
export interface Country {
  /** ISO 3166-1 alpha-2, lower case. */
  readonly code: string;
  /** The local currency. */
  readonly currency: CurrencyCode;
  /** The currencies of payments: the local currency, USD and EUR. */
  readonly currencies: ReadonlySet<CurrencyCode>;
  readonly required: readonly CountryField[];
  /** true: the document is required only if the payment is processed within the country. */
  readonly documentWhenLocal: boolean;
  readonly instalments: ReadonlySet<number>;
  /** Brands with fewer instalments than the country allows. */
  readonly brandInstalments: ReadonlyMap<Brand, ReadonlySet<number>>;
  /** Minimum amount of one instalment of several, in minor units of the local currency. */
  readonly minimumInstalment: bigint;
  /** Minimum amount of a payment, in minor units of the local currency. */
  readonly minimumAmount: bigint;
  readonly brands: ReadonlySet<Brand>;
  /** The allowed values of `state`, upper case; undefined: free text. */
  readonly states: ReadonlySet<string> | undefined;
}

interface CountryRow {
  readonly currency: CurrencyCode;
  readonly required: readonly CountryField[];
  readonly documentWhenLocal?: true;
  readonly instalments: readonly number[];
  readonly brandInstalments?: Partial<Record<Brand, readonly number[]>>;
  /** Decimal text in the local currency, like the next. */
  readonly minimumInstalment: string;
  readonly minimumAmount: string;
  readonly brands: readonly Brand[];
  readonly states?: readonly string[];
}

/** The 26 states of Brazil and its federal district. */
const brazilianStates =
  "AC AL AM AP BA CE DF ES GO MA MG MS MT PA PB PE PI PR RJ RN RO RR RS SC SE SP TO".split(" ");

/**
 * Interface 3.5 says that the last six countries are accepted and require no further fields, and
 * has the minimums of cr, pa and sv. Their brands are those of every country; twelve instalments
 * and the other minimums are our own choice.
 */
const acceptedOnly = {
  required: [],
  instalments: upTo(12),
  minimumInstalment: "1",
  brands: ["visa", "mastercard"],
} as const;

/**
 * Columns br to py are the table of interface 3.5; local currencies follow ISO 4217, and ec and sv
 * use the US dollar.
 */
const rows: Readonly<Record<string, CountryRow>> = {
  br: {
    currency: "BRL",
    required: countryFields,
    instalments: upTo(12),
    // Only the documentation of 2020 limits brands.
    brandInstalments: { amex: upTo(6), elo: upTo(6) },
    minimumInstalment: "5",
    minimumAmount: "0.5",
    brands: ["amex", "aura", "diners", "discover", "elo", "hipercard", "mastercard", "visa"],
    states: brazilianStates,
  },
  mx: {
    currency: "MXN",
    required: addressFields,
    instalments: [1, 3, 6, 9, 12],
    minimumInstalment: "100",
    minimumAmount: "3",
    brands: ["amex", "carnet", "mastercard", "visa"],
  },
  co: {
    currency: "COP",
    required: countryFields,
    instalments: upTo(36),
    minimumInstalment: "1",
    minimumAmount: "1",
    brands: ["amex", "diners", "mastercard", "visa"],
  },
  ar: {
    currency: "ARS",
    required: countryFields,
    instalments: upTo(12),
    minimumInstalment: "1",
    minimumAmount: "5",
    brands: ["visa", "mastercard", "amex", "naranja", "cabal", "credimas"],
  },
  cl: {
    currency: "CLP",
    required: [],
    documentWhenLocal: true,
    instalments: upTo(12),
    minimumInstalment: "1",
    minimumAmount: "1",
    brands: ["visa", "mastercard", "amex", "magna"],
  },
  pe: {
    currency: "PEN",
    required: [],
    instalments: upTo(48),
    minimumInstalment: "1",
    minimumAmount: "1",
    brands: ["amex", "diners", "mastercard", "visa"],
  },
  uy: {
    currency: "UYU",
    required: ["document"],
    instalments: upTo(6),
    minimumInstalment: "1",
    minimumAmount: "15",
    brands: ["visa", "mastercard"],
  },
  gt: {
    currency: "GTQ",
    required: [],
    instalments: [1, 2, 3, 6, 9, 12],
    minimumInstalment: "1",
    minimumAmount: "1",
    brands: ["visa", "mastercard"],
  },
  py: {
    currency: "PYG",
    required: [],
    instalments: upTo(12),
    minimumInstalment: "1",
    minimumAmount: "1",
    brands: ["visa", "mastercard"],
  },
  ec: { ...acceptedOnly, currency: "USD", minimumAmount: "1" },
  bo: { ...acceptedOnly, currency: "BOB", minimumAmount: "1" },
  cr: { ...acceptedOnly, currency: "CRC", minimumAmount: "10" },
  do: { ...acceptedOnly, currency: "DOP", minimumAmount: "1" },
  pa: { ...acceptedOnly, currency: "PAB", minimumAmount: "0.5" },
  sv: { ...acceptedOnly, currency: "USD", minimumAmount: "1" },
};

const countriesByCode: ReadonlyMap<string, Country> = new Map(
  Object.entries(rows).map(([code, row]) => [code, countryFromRow(code, row)]),
);

/** Codes of all countries in the table, lower case. */
export const countryCodes: readonly string[] = [...countriesByCode.keys()];

/** By ISO code in lower case; undefined if payments there are not supported (BP-DR-77). */
export function countryOf(code: string): Country | undefined {
  return countriesByCode.get(code);
}

/**
 * Whether a payment in `country` requires the field. `local`: it is processed within the country,
 * not across its border.
 */
export function requiresField(country: Country, field: CountryField, local: boolean): boolean {
  return (
    country.required.includes(field) || (local && field === "document" && country.documentWhenLocal)
  );
}

/**
 * Whether the country has this `state`, in upper or lower case; countries without a list accept any
 * text (BP-DR-29).
 */
export function acceptsState(country: Country, state: string): boolean {
  return country.states?.has(state.toUpperCase()) ?? true;
}

/**
 * Brazil uses eight digits, with or without punctuation, but a client's test against the real host
 * passes with six: any five to nine letters and digits are accepted (interface 12). Other countries
 * accept any text.
 */
export function acceptsZipcode(country: Country, zipcode: string): boolean {
  return country.code !== "br" || /^[a-z0-9]{5,9}$/i.test(withoutSeparators(zipcode, groupKinds));
}

function countryFromRow(code: string, row: CountryRow): Country {
  return {
    code,
    currency: row.currency,
    currencies: new Set([row.currency, "USD", "EUR"]),
    required: row.required,
    documentWhenLocal: row.documentWhenLocal ?? false,
    instalments: new Set(row.instalments),
    brandInstalments: new Map(row.brands.flatMap((brand) => limitOf(brand, row))),
    minimumInstalment: minorOf(row.minimumInstalment, row.currency),
    minimumAmount: minorOf(row.minimumAmount, row.currency),
    brands: new Set(row.brands),
    states: row.states === undefined ? undefined : new Set(row.states),
  };
}

function limitOf(
  brand: Brand,
  row: CountryRow,
): readonly (readonly [Brand, ReadonlySet<number>])[] {
  const limit = row.brandInstalments?.[brand];
  return limit === undefined ? [] : [[brand, new Set(limit)]];
}

function minorOf(text: string, currency: CurrencyCode): bigint {
  const minor = parseAmount(text, scaleOf(currency));
  assert(minor !== undefined, "a minimum in the country table is an amount");
  return minor;
}

function upTo(most: number): readonly number[] {
  return Array.from({ length: most }, (_, index) => index + 1);
}
