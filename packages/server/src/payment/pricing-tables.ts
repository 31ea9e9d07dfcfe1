import { assert } from "../kernel/assert.ts";
import { formatDate } from "../kernel/calendar.ts";
import type { CurrencyCode } from "../kernel/currency.ts";
import type { Instant } from "../kernel/instant.ts";

/**
 * From the start of this UTC day, `YYYY-MM-DD`, one unit of `from` is worth `rate` units of `to`.
 * Four decimals, as the wire prints it.
 */
interface RateRow {
  readonly since: string;
  readonly from: CurrencyCode;
  readonly to: CurrencyCode;
  readonly rate: string;
}

/**
 * From the start of this UTC day, a payment in `country` has this tax: a plain decimal, `0.0038` is
 * 0.38 %.
 */
interface TaxRow {
  readonly since: string;
  readonly country: string;
  readonly rate: string;
}

/**
 * USD->BRL and USD->COP are rates observed in the sandbox of interface 8; the others are our own
 * round figures.
 */
const sandboxRates: readonly (readonly [from: CurrencyCode, to: CurrencyCode, rate: string])[] = [
  ["USD", "BRL", "5.8300"],
  ["USD", "COP", "2355.1200"],
  ["USD", "ARS", "1000.0000"],
  ["USD", "BOB", "6.9000"],
  ["USD", "CLP", "950.0000"],
  ["USD", "CRC", "510.0000"],
  ["USD", "DOP", "60.0000"],
  ["USD", "GTQ", "7.7000"],
  ["USD", "MXN", "20.0000"],
  ["USD", "PAB", "1.0000"],
  ["USD", "PEN", "3.7500"],
  ["USD", "PYG", "7500.0000"],
  ["USD", "UYU", "40.0000"],
  ["EUR", "USD", "1.0800"],
  ["EUR", "BRL", "6.3000"],
  ["EUR", "COP", "2550.0000"],
  ["EUR", "ARS", "1080.0000"],
  ["EUR", "BOB", "7.4500"],
  ["EUR", "CLP", "1025.0000"],
  ["EUR", "CRC", "550.0000"],
  ["EUR", "DOP", "65.0000"],
  ["EUR", "GTQ", "8.3000"],
  ["EUR", "MXN", "21.5000"],
  ["EUR", "PAB", "1.0800"],
  ["EUR", "PEN", "4.0500"],
  ["EUR", "PYG", "8100.0000"],
  ["EUR", "UYU", "43.0000"],
];

/**
 * Named rate tables. `sandbox-2024` never changes, so tests always print the same amounts;
 * `sandbox-history` has the USD->BRL rates that interface 8 observed over the years, for worlds
 * whose clock is moved.
 */
const rateTables = {
  "sandbox-2024": sandboxRates.map(([from, to, rate]) => ({ since: "1970-01-01", from, to, rate })),
  "sandbox-history": [
    ...sandboxRates.map(([from, to, rate]) => ({ since: "2024-01-01", from, to, rate })),
    { since: "2014-01-01", from: "USD", to: "BRL", rate: "2.3500" },
    { since: "2017-01-01", from: "USD", to: "BRL", rate: "3.3000" },
    { since: "2019-01-01", from: "USD", to: "BRL", rate: "4.1700" },
  ],
} as const satisfies Record<string, readonly RateRow[]>;

/**
 * Named tax policies; a country without a row has no tax. Brazil's tax on financial operations
 * (IOF) applies to cross-border payments, even if the price is in BRL. Interface 8 observed 0 % in
 * 2014, 0.38 % in the fixtures of 2017 to 2024 and 3.5 % since 2025. `brazil-cross-border` stays at
 * 0.38 %, because public clients' recorded answers have it.
 */
const taxPolicies = {
  none: [],
  "brazil-cross-border": [{ since: "1970-01-01", country: "br", rate: "0.0038" }],
  "brazil-cross-border-history": [
    { since: "1970-01-01", country: "br", rate: "0" },
    { since: "2017-01-01", country: "br", rate: "0.0038" },
    { since: "2025-01-01", country: "br", rate: "0.0350" },
  ],
  "brazil-cross-border-2025": [{ since: "1970-01-01", country: "br", rate: "0.0350" }],
} as const satisfies Record<string, readonly TaxRow[]>;

export const rateTableNames: readonly string[] = Object.keys(rateTables);
export const taxPolicyNames: readonly string[] = Object.keys(taxPolicies);

const ratesByName = new Map(
  Object.entries<readonly RateRow[]>(rateTables).map(([name, rows]) => [
    name,
    byKey(rows, ({ from, to }) => pairKey(from, to)),
  ]),
);
const taxesByName = new Map(
  Object.entries<readonly TaxRow[]>(taxPolicies).map(([name, rows]) => [
    name,
    byKey(rows, ({ country }) => country),
  ]),
);

/**
 * Units of `to` for one unit of `from` on the day of `at`, four decimals; `1.0000` within one
 * currency. Before a table's first day its first row applies. Undefined if the table does not have
 * the pair.
 */
export function exchangeRate(
  table: string,
  from: CurrencyCode,
  to: CurrencyCode,
  at: Instant,
): string | undefined {
  const pairs = ratesByName.get(table);
  assert(pairs !== undefined, "an account's rate table exists");
  if (from === to) return "1.0000";
  return rowOn(pairs.get(pairKey(from, to)), at)?.rate;
}

/**
 * The tax rate of a payment in `country` (lower case) on the day of `at`, a plain decimal; `0` if
 * the policy has no row.
 */
export function taxRate(policy: string, country: string, at: Instant): string {
  const countries = taxesByName.get(policy);
  assert(countries !== undefined, "an account's tax policy exists");
  return rowOn(countries.get(country), at)?.rate ?? "0";
}

function pairKey(from: CurrencyCode, to: CurrencyCode): string {
  return from + to;
}

/** Rows by key, newest first. */
function byKey<Row extends { readonly since: string }>(
  rows: readonly Row[],
  key: (row: Row) => string,
): ReadonlyMap<string, readonly Row[]> {
  const newestFirst = rows.toSorted((one, other) => (one.since > other.since ? -1 : 1));
  return Map.groupBy(newestFirst, key);
}

function rowOn<Row extends { readonly since: string }>(
  newestFirst: readonly Row[] | undefined,
  at: Instant,
): Row | undefined {
  if (newestFirst === undefined) return undefined;
  if (newestFirst.length === 1) return newestFirst[0];
  const day = formatDate(at);
  return newestFirst.find(({ since }) => since <= day) ?? newestFirst.at(-1);
}
