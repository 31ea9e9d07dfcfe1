import type { Instant } from "../../../kernel/instant.ts";
import type { Account } from "../../../merchant/account.ts";
import { countryOf } from "../../../payment/countries.ts";
import { exchangeRate } from "../../../payment/pricing-tables.ts";
import { echo } from "../card-like.ts";
import type { Endpoint } from "../endpoint.ts";
import { fieldOf } from "../fields.ts";
import type { TreeObject } from "../tree.ts";
import { WireError } from "../wire-error.ts";
import { answering, type EndpointDeps } from "./deps.ts";

/** As the sample names one ("Real to US Dollar", interface 5.7): the currencies that payments are taken in. */
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

/** No source has codes for these. */
export const exchangeErrors = {
  missing: { code: "COFRE-40", message: "Parameter currency_code not informed" },
  noRate: { code: "COFRE-41", message: "There is no rate from {code} to {base}" },
} as const;

/** /ws/exchange (interface 5.7): what one unit of `currency_code` is worth in the base currency, by the account's own table. */
export function exchangeEndpoint({ clockOf }: EndpointDeps): Endpoint {
  return {
    path: "/ws/exchange",
    key: "secret",
    family: "parameters",
    cors: false,
    handle: ({ params, account }) => answering("query", async () => exchangeBody(params, account, clockOf(account).now())),
  };
}

/** Without a base it is the currency of the account's own country: most clients send none. */
function exchangeBody(params: TreeObject, { settings }: Account, now: Instant): string {
  const code = fieldOf(params, "currency_code")?.toUpperCase();
  if (code === undefined) throw new WireError(exchangeErrors.missing.code, exchangeErrors.missing.message);
  const asked = fieldOf(params, "currency_base_code") ?? fieldOf(params, "currency_base");
  const base = asked?.toUpperCase() ?? countryOf(settings.country)?.currency ?? "BRL";
  const rate = exchangeRate(settings.rateTable, code, base, now) ?? inverseOf(exchangeRate(settings.rateTable, base, code, now));
  const names = [currencyNames.get(base), currencyNames.get(code)];
  if (rate === undefined || names.includes(undefined)) {
    const { message } = exchangeErrors.noRate;
    throw new WireError(exchangeErrors.noRate.code, message.replace("{code}", echo(code)).replace("{base}", echo(base)));
  }
  return `{"currency_rate":{"code":"${code}","base_code":"${base}","name":"${names.join(" to ")}","rate":"${rate}"},"status":"SUCCESS"}`;
}

/** Eight decimals, rounded half up: with four nothing would be left of one peso. */
function inverseOf(rate: string | undefined): string | undefined {
  if (rate === undefined) return undefined;
  const tenThousandths = BigInt(rate.replace(".", ""));
  const scaled = (2n * 10n ** 12n + tenThousandths) / (2n * tenThousandths);
  const digits = scaled.toString().padStart(9, "0");
  return `${digits.slice(0, -8)}.${digits.slice(-8)}`;
}
