import { ownValue } from "../kernel/own.ts";
import { isConnectorName } from "../payment/connector-name.ts";
import { countryCodes } from "../payment/countries.ts";
import { type Brand, brands } from "../vault/brand.ts";

/**
 * Selects the acquirers of an account's payments. Plain data, stored with the account; absent
 * members match everything.
 */
export interface Route {
  /**
   * Names of connectors, 1 to 4: the first gets the request, each other one after the previous one
   * definitely did nothing.
   */
  readonly connectors: readonly string[];
  readonly brands?: readonly Brand[];
  /** First digits of card numbers, 1 to 8 digits each. */
  readonly bins?: readonly string[];
  /** Requested currencies, three upper-case letters each. */
  readonly currencies?: readonly string[];
  /** Two lower-case letters. */
  readonly countries?: readonly string[];
  /** Minimum amount in whole USD by the account's rate table, inclusive. */
  readonly fromUsd?: number;
  /** Maximum amount in whole USD, exclusive. */
  readonly belowUsd?: number;
}

export const maximumRoutes = 50;
const maxConnectors = 4;
const maxValues = 200;
const highestUsd = 1_000_000_000;

/**
 * Parses an account's routes from plain JSON, as in a settings change. Undefined for anything else.
 */
export function readRoutes(value: unknown): readonly Route[] | undefined {
  if (!Array.isArray(value) || value.length > maximumRoutes) return undefined;
  const routes = value.map((each: unknown) => readRoute(each));
  return routes.every((route) => route !== undefined) ? routes : undefined;
}

function readRoute(value: unknown): Route | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const fields = new Map<string, unknown>(Object.entries(value));
  const read = new Map<string, unknown>();
  for (const [name, member] of fields) {
    const known = ownValue<(value: unknown) => unknown>(readers, name)?.(member);
    if (known === undefined) return undefined;
    read.set(name, known);
  }
  if (!fields.has("connectors")) return undefined;
  const route = Object.fromEntries(read) as unknown as Route;
  return (route.fromUsd ?? 0) < (route.belowUsd ?? Number.POSITIVE_INFINITY) ? route : undefined;
}

const readers = {
  connectors: (value: unknown) => listOf(value, maxConnectors, isConnectorName),
  brands: (value: unknown) =>
    listOf(value, maxValues, (name) => brands.some((brand) => brand === name)),
  bins: (value: unknown) => listOf(value, maxValues, (bin) => /^\d{1,8}$/.test(bin)),
  currencies: (value: unknown) => listOf(value, maxValues, (code) => /^[A-Z]{3}$/.test(code)),
  countries: (value: unknown) =>
    listOf(value, maxValues, (code) => countryCodes.some((known) => known === code)),
  fromUsd: wholeUsd,
  belowUsd: wholeUsd,
} satisfies Record<keyof Route, (value: unknown) => unknown>;

/**
 * Numbers become text again: a BIN in a form may have been converted to a number
 * (settings-endpoint.ts).
 */
function listOf(
  value: unknown,
  max: number,
  allows: (text: string) => boolean,
): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > max) return undefined;
  const texts = value.map((each: unknown) => (typeof each === "number" ? String(each) : each));
  const isAllowed = texts.every((text): text is string => typeof text === "string" && allows(text));
  return isAllowed && new Set(texts).size === texts.length ? texts : undefined;
}

function wholeUsd(value: unknown): number | undefined {
  return typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= highestUsd
    ? value
    : undefined;
}
