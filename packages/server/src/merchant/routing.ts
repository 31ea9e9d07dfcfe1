import { ownValue } from "../kernel/own.ts";
import { isConnectorName } from "../kernel/connector-name.ts";
import { countryCodes } from "../payment/countries.ts";
import { type Brand, brands } from "../vault/brand.ts";

/**
 * Which acquirers an account's payments go to. Plain data, kept with the account; what is left out
 * does not matter.
 */
export interface Route {
  /**
   * Names of connectors, 1 to 4: the first is asked, each other when the one before certainly did
   * nothing.
   */
  readonly connectors: readonly string[];
  readonly brands?: readonly Brand[];
  /** First digits of card numbers, 1 to 8 of them. */
  readonly bins?: readonly string[];
  /** The currency that the payment is asked for in, three upper-case letters. */
  readonly currencies?: readonly string[];
  /** Two lower-case letters. */
  readonly countries?: readonly string[];
  /** Whole USD by the account's rate table: this much or more. */
  readonly fromUsd?: number;
  /** Less than this. */
  readonly belowUsd?: number;
}

export const maximumRoutes = 50;
const mostConnectors = 4;
const mostValues = 200;
const highestUsd = 1_000_000_000;

/**
 * Reads an account's routes from plain JSON, as settings are changed. Undefined when it is anything
 * else.
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
  connectors: (value: unknown) => listOf(value, mostConnectors, isConnectorName),
  brands: (value: unknown) =>
    listOf(value, mostValues, (name) => brands.some((brand) => brand === name)),
  bins: (value: unknown) => listOf(value, mostValues, (bin) => /^\d{1,8}$/.test(bin)),
  currencies: (value: unknown) => listOf(value, mostValues, (code) => /^[A-Z]{3}$/.test(code)),
  countries: (value: unknown) =>
    listOf(value, mostValues, (code) => countryCodes.some((known) => known === code)),
  fromUsd: wholeUsd,
  belowUsd: wholeUsd,
} satisfies Record<keyof Route, (value: unknown) => unknown>;

/**
 * A form's scalars may have become numbers on their way (settings-endpoint.ts): a BIN is text all
 * the same.
 */
function listOf(
  value: unknown,
  most: number,
  allows: (text: string) => boolean,
): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > most) return undefined;
  const texts = value.map((each: unknown) => (typeof each === "number" ? String(each) : each));
  const isAllowed = texts.every((text): text is string => typeof text === "string" && allows(text));
  return isAllowed && new Set(texts).size === texts.length ? texts : undefined;
}

function wholeUsd(value: unknown): number | undefined {
  return typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= highestUsd
    ? value
    : undefined;
}
