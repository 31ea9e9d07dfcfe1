import { reading } from "../permission.ts";
import type { Instant } from "../../kernel/instant.ts";
import type { Account } from "../../merchant/account.ts";
import { countryOf } from "../../payment/countries.ts";
import { exchangeRate } from "../../payment/pricing-tables.ts";
import { echo } from "../decode/card-like.ts";
import type { Endpoint } from "../endpoint.ts";
import { fieldOf } from "../requests/fields.ts";
import { refusal } from "../errors/refusal.ts";
import { isTreeObject, type Tree, type TreeObject } from "../decode/tree.ts";
import { answering, type EndpointDeps } from "./deps.ts";
import { readErrors } from "../answers/errors.ts";
import type { EndpointDoc } from "../endpoint-doc.ts";
import { json, NamedSchema } from "../schema.ts";
import { exampleKey, secretKey } from "./shared-docs.ts";

/**
 * Names in the style of the sample ("Real to US Dollar", interface 5.7): the currencies in which
 * payments are accepted.
 */
const currencyNames: ReadonlyMap<string, string> = new Map([
  ["ARS", "Argentine Peso"],
  ["BOB", "Boliviano"],
  ["BRL", "Real"],
  ["CLP", "Chilean Peso"],
  ["COP", "Colombian Peso"],
  ["CRC", "Costa Rican Colon"],
  ["DOP", "Dominican Peso"],
  ["EUR", "Euro"],
  ["GTQ", "Quetzal"],
  ["MXN", "Mexican Peso"],
  ["PAB", "Balboa"],
  ["PEN", "Sol"],
  ["PYG", "Guarani"],
  ["USD", "US Dollar"],
  ["UYU", "Uruguayan Peso"],
]);

const currencyRate = new NamedSchema(
  "CurrencyRate",
  json.object({ code: json.text, base_code: json.text, name: json.text, rate: json.amount }),
);

const exchangeAnswer = new NamedSchema(
  "ExchangeAnswer",
  json.object({ currency_rate: currencyRate, status: json.success }),
);

const exchangeDoc: EndpointDoc = {
  id: "exchange",
  tag: "Utilities",
  summary: "Get an exchange rate",
  description: "The value of one unit of currency_code, from the account's rate table.",
  fields: [
    secretKey,
    {
      name: "currency_code",
      type: "text",
      required: { code: "COFRE-40" },
      note: "ISO 4217.",
      source: "5.7",
    },
    {
      name: "currency_base_code",
      type: "text",
      aliases: ["currency_base"],
      note: "Default: the currency of the account's country.",
      source: "5.7",
    },
  ],
  answer: exchangeAnswer,
  codes: ["COFRE-40", "COFRE-41"],
  example: { ...exampleKey, currency_code: "USD", currency_base_code: "BRL" },
};

/**
 * /ws/exchange (interface 5.7): the value of one unit of `currency_code` in the base currency, by
 * the account's own table.
 */
export function exchangeEndpoint({ clockOf }: EndpointDeps): Endpoint {
  return {
    path: "/ws/exchange",
    doc: exchangeDoc,
    permission: reading,
    recorded: true,
    key: "secret",
    family: "parameters",
    cors: false,
    handle: ({ params, account }) =>
      answering(readErrors, async () => exchangeBody(params, account, clockOf(account).now())),
  };
}

const currencyRatesAnswer = new NamedSchema(
  "CurrencyRatesAnswer",
  json.object({ currency_rates: json.list(currencyRate), status: json.success }),
);

const currencyRatesDoc: EndpointDoc = {
  id: "currencyRates",
  tag: "Utilities",
  summary: "Get several exchange rates",
  description:
    "The value of one unit of each currency in currency_codes, in each of currency_base_codes, from the account's rate table.",
  fields: [
    secretKey,
    {
      name: "currency_codes",
      type: "text",
      aliases: ["currency_code"],
      required: { code: "COFRE-40" },
      note: "ISO 4217: a list, or comma-separated text.",
      source: "5.7",
    },
    {
      name: "currency_base_codes",
      type: "text",
      aliases: ["currency_base_code"],
      note: "A list, or comma-separated text. Default: the currency of the account's country.",
    },
  ],
  answer: currencyRatesAnswer,
  codes: ["COFRE-40", "COFRE-41"],
  example: { ...exampleKey, currency_codes: "USD,EUR", currency_base_codes: "BRL" },
};

/**
 * /ws/exchange/getCurrencyRates (interface 5.7): the rates of every currency in `currency_codes` to
 * every one in `currency_base_codes`. Each is a list, or comma-separated text.
 */
export function currencyRatesEndpoint({ clockOf }: EndpointDeps): Endpoint {
  return {
    path: "/ws/exchange/getCurrencyRates",
    doc: currencyRatesDoc,
    permission: reading,
    recorded: true,
    key: "secret",
    family: "parameters",
    cors: false,
    handle: ({ params, account }) =>
      answering(readErrors, async () => ratesBody(params, account, clockOf(account).now())),
  };
}

function exchangeBody(params: TreeObject, account: Account, now: Instant): string {
  const code = fieldOf(params, "currency_code")?.toUpperCase();
  if (code === undefined) throw refusal("COFRE-40");
  const requested = fieldOf(params, "currency_base_code") ?? fieldOf(params, "currency_base");
  return `{"currency_rate":${rateRow(code, requested?.toUpperCase() ?? baseOf(account), account, now)},"status":"SUCCESS"}`;
}

function ratesBody(params: TreeObject, account: Account, now: Instant): string {
  const codes = codesIn(params, "currency_codes", "currency_code");
  if (codes.length === 0) throw refusal("COFRE-40");
  const requested = codesIn(params, "currency_base_codes", "currency_base_code");
  const bases = requested.length === 0 ? [baseOf(account)] : requested;
  const rows = codes.flatMap((code) => bases.map((base) => rateRow(code, base, account, now)));
  return `{"currency_rates":[${rows.join(",")}],"status":"SUCCESS"}`;
}

/** The default base is the currency of the account's country: most clients send none. */
function baseOf({ settings }: Account): string {
  return countryOf(settings.country)?.currency ?? "BRL";
}

/**
 * Each code once, in upper case. A list may arrive as an object with numbers for names, as PHP
 * writes it.
 */
function codesIn(params: TreeObject, ...names: readonly string[]): readonly string[] {
  const value = names.map((name) => params[name]).find((given) => given !== undefined);
  const members: readonly Tree[] =
    value === undefined
      ? []
      : typeof value === "string"
        ? value.split(",")
        : isTreeObject(value)
          ? Object.values(value)
          : listOf(value);
  const codes = members.map((member) =>
    typeof member === "string" ? member.trim().toUpperCase() : "?",
  );
  return [...new Set(codes.filter((code) => code !== ""))];
}

function listOf(value: Tree): readonly Tree[] {
  return Array.isArray(value) ? (value as readonly Tree[]) : [];
}

function rateRow(code: string, base: string, { settings }: Account, now: Instant): string {
  const rate =
    exchangeRate(settings.rateTable, code, base, now) ??
    inverseOf(exchangeRate(settings.rateTable, base, code, now));
  const names = [currencyNames.get(base), currencyNames.get(code)];
  if (rate === undefined || names.includes(undefined)) {
    throw refusal("COFRE-41", { currency: echo(code), base: echo(base) });
  }
  return `{"code":"${code}","base_code":"${base}","name":"${names.join(" to ")}","rate":"${rate}"}`;
}

/** Eight decimals, rounded half up: four decimals would leave almost nothing of one peso. */
function inverseOf(rate: string | undefined): string | undefined {
  if (rate === undefined) return undefined;
  const tenThousandths = BigInt(rate.replace(".", ""));
  const scaled = (2n * 10n ** 12n + tenThousandths) / (2n * tenThousandths);
  const digits = scaled.toString().padStart(9, "0");
  return `${digits.slice(0, -8)}.${digits.slice(-8)}`;
}
