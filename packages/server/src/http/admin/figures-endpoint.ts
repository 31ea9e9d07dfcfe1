import { reading } from "../../wire/permission.ts";
import { formatTimestamp, parseInstant } from "../../kernel/calendar.ts";
import { scaleOf } from "../../kernel/currency.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import { type Instant, instant } from "../../kernel/instant.ts";
import { formatAmount } from "../../kernel/money.ts";
import {
  type Counted,
  type CountInput,
  countPayments,
  evenBounds,
  type Period,
  periods,
  type Tally,
} from "../../operations/count-payments.ts";
import type { WireResponse } from "../../wire/answers/answer.ts";
import { type CardLikeNames, keptNames } from "../../wire/decode/card-like-names.ts";
import type { Endpoint } from "../../wire/endpoint.ts";
import { brands } from "../../vault/brand.ts";
import { answering, type EndpointDeps } from "../../wire/endpoints/deps.ts";
import { fieldOf } from "../../wire/requests/fields.ts";
import { refusalAnswer } from "../../wire/answers/refusal-answer.ts";
import type { TreeObject } from "../../wire/decode/tree.ts";
import { readErrors } from "../../wire/answers/errors.ts";
import type { EndpointDoc } from "../../wire/endpoint-doc.ts";
import { json, NamedSchema } from "../../wire/schema.ts";
import { exampleKey, secretKey } from "../../wire/endpoints/shared-docs.ts";

/** Maximum number of periods in one answer. */
const maxPeriods = 100;
/** Default number of periods, without `from`. */
const usualPeriods: Readonly<Record<Period, number>> = { hour: 24, day: 30 };
export const periodNames = ["hour", "day"] as const satisfies readonly Period[];

type FiguresDeps = Pick<EndpointDeps, "runner" | "clockOf" | "cardLikeNames">;

const tally = {
  payments: json.integer,
  approved: { ...json.integer, description: "Approved by the issuer, whatever the later state." },
  declined: json.integer,
  disputed: {
    ...json.integer,
    description: "Charged back by the issuer, also if the merchant won since.",
  },
  amounts: json.list(
    json.object({
      currency: json.text,
      authorized: json.amount,
      captured: json.amount,
      refunded: json.amount,
    }),
  ),
};

const answerSchema = new NamedSchema(
  "FiguresAnswer",
  json.object({
    per: json.oneOf(periodNames),
    from: json.time,
    to: json.time,
    total: json.object(tally),
    periods: {
      ...json.list(json.object({ from: json.time, ...tally })),
      description: "All periods, oldest first.",
    },
    brands: {
      ...json.list(json.object({ brand: json.text, ...tally })),
      description:
        "Brands with payments, the most used first; also those that the parameter `brand` leaves out.",
    },
    countries: {
      ...json.list(json.object({ country: json.text, ...tally })),
      description: "Countries, in the same way.",
    },
    currencies: {
      ...json.list(json.object({ currency: json.text, ...tally })),
      description: "Requested currencies, in the same way.",
    },
    decline_reasons: {
      ...json.list(json.object({ reason: json.text, ...tally })),
      description: "Why payments were declined, the most frequent first.",
    },
    card_like_names: {
      ...json.object({
        merchant_payment_code: json.integer,
        merchant_refund_code: json.integer,
        idempotency_key: json.integer,
      }),
      description:
        "The number of accepted names that looked like a card number, since the process started.",
    },
    payments_read: json.integer,
    complete: {
      ...json.flag,
      description: "false: there are more than 10,000 payments, and the oldest are not counted.",
    },
    status: json.success,
  }),
);

const doc: EndpointDoc = {
  id: "figures",
  tag: "Sandbox",
  summary: "Count payments by hour or day, brand, country, currency and decline reason",
  description:
    "The number of payments made, approved, declined and charged back, and the amounts authorized, captured and refunded. At most the 10,000 newest.",
  fields: [
    secretKey,
    {
      name: "per",
      type: "text",
      values: periodNames,
      note: "The period of each count. Default: `hour`. Any other value: COFRE-62.",
    },
    {
      name: "brand",
      type: "text",
      note: "Only payments with cards of this brand. Any other value: COFRE-56.",
    },
    {
      name: "country",
      type: "text",
      note: "Only payments of this country, such as `mx`.",
    },
    {
      name: "currency",
      type: "text",
      note: "Only payments with amounts requested in this currency, such as `MXN`.",
    },
    {
      name: "from",
      type: "text",
      note: "The start in UTC, rounded down to its hour or day. Default: 24 hours or 30 days before the end. COFRE-63 when it is not a time.",
    },
    {
      name: "to",
      type: "text",
      note: `The end in UTC, rounded up to its hour or day. Default: now. At most ${maxPeriods} hours or days (COFRE-63).`,
    },
    {
      name: "bounds",
      type: "text",
      note: `Instead of \`from\` and \`to\`, for periods such as the days of a time zone: the beginning of each period and the end of the last one, in UTC, ascending, with commas between them. At most ${maxPeriods} periods (COFRE-63).`,
    },
  ],
  answer: answerSchema,
  errors: readErrors,
  runs: [countPayments],
  codes: ["COFRE-56", "COFRE-62", "COFRE-63"],
  example: { ...exampleKey, per: "day" },
};

/**
 * `/__cofre/figures`: the number of the account's payments `per` hour or day, by brand, country,
 * currency and decline reason: how many were approved, declined and charged back, and the amounts
 * authorized, captured and refunded. Default: the last 24 hours or 30 days of the account's own time;
 * `from` and `to`, or the `bounds` of each period, select others, `brand`, `country` and `currency` limit what is counted. Counts at
 * most the newest 10,000 payments: `complete` is true if these are all. `card_like_names` counts
 * since the process started.
 */
export function figuresEndpoint({ runner, clockOf, cardLikeNames }: FiguresDeps): Endpoint {
  return {
    path: "/__cofre/figures",
    doc,
    permission: reading,
    recorded: false,
    key: "secret",
    family: "parameters",
    cors: false,
    async handle({ params, account }) {
      const input = inputOf(params, clockOf(account).now());
      if ("status" in input) return input;
      return answering(readErrors, async () => {
        const counted = await runner.run(countPayments, account, input);
        return figuresBody(input, counted, countsOf(cardLikeNames, account.id));
      });
    },
  };
}

interface FiguresInput extends CountInput {
  readonly per: Period;
}

function inputOf(params: TreeObject, now: Instant): FiguresInput | WireResponse {
  const requested = fieldOf(params, "per")?.toLowerCase() ?? "hour";
  const per = periodNames.find((name) => name === requested);
  if (per === undefined) return refusalAnswer("COFRE-62", { list: periodNames.join(", ") });
  const only = onlyOf(params);
  if (only === undefined) return refusalAnswer("COFRE-56", { list: brands.join(", ") });
  const bounds = fieldOf(params, "bounds");
  if (bounds !== undefined) {
    const read = boundsOf(bounds);
    return read === undefined
      ? refusalAnswer("COFRE-63", { most: maxPeriods })
      : { bounds: read, only, per };
  }
  const length = periods[per];
  const begin = (at: Instant): Instant => instant(Math.floor(at / length) * length);
  const [fromText, toText] = [fieldOf(params, "from"), fieldOf(params, "to")];
  const requestedTo = toText === undefined ? now : parseInstant(toText);
  const requestedFrom = fromText === undefined ? undefined : parseInstant(fromText);
  const isRead =
    requestedTo !== undefined && (fromText === undefined || requestedFrom !== undefined);
  const to = begin(instant((requestedTo ?? now) + (toText === undefined ? length : length - 1)));
  // The clock of a world may show the first days of 1970.
  const from =
    requestedFrom === undefined
      ? instant(Math.max(to - usualPeriods[per] * length, 0))
      : begin(requestedFrom);
  const count = (to - from) / length;
  if (isRead && from >= 0 && count >= 1 && count <= maxPeriods)
    return { bounds: evenBounds(per, from, to), only, per };
  return refusalAnswer("COFRE-63", { most: maxPeriods });
}

/** Undefined: they are not at least two times, ascending. */
function boundsOf(text: string): readonly Instant[] | undefined {
  const read = text.split(",").map((each) => parseInstant(each.trim()));
  const bounds = read.filter((at) => at !== undefined);
  const isAscending = bounds.every((at, index) => at > (bounds[index - 1] ?? -1));
  return bounds.length === read.length &&
    isAscending &&
    bounds.length >= 2 &&
    bounds.length <= maxPeriods + 1
    ? bounds
    : undefined;
}

/** Undefined: there is no such brand. A country or a currency without payments counts nothing. */
function onlyOf(params: TreeObject): CountInput["only"] | undefined {
  const brand = fieldOf(params, "brand")?.toLowerCase();
  const country = fieldOf(params, "country")?.toLowerCase();
  const currency = fieldOf(params, "currency")?.toUpperCase();
  if (brand !== undefined && !brands.some((each) => each === brand)) return undefined;
  return {
    ...(brand === undefined ? {} : { brand }),
    ...(country === undefined ? {} : { country }),
    ...(currency === undefined ? {} : { currency }),
  };
}

/** Each stored name, in the wire's lower case. */
function countsOf(names: CardLikeNames, merchantId: MerchantId): Readonly<Record<string, number>> {
  return Object.fromEntries(
    keptNames.map((name) => [
      name.toLowerCase().replaceAll("-", "_"),
      names.count(merchantId, name),
    ]),
  );
}

function figuresBody(
  { per, bounds }: FiguresInput,
  { total, periods: counted, groups, reasons, examined, complete }: Counted,
  cardLikeNames: Readonly<Record<string, number>>,
): string {
  return JSON.stringify({
    per,
    from: formatTimestamp(bounds[0] ?? instant(0)),
    to: formatTimestamp(bounds.at(-1) ?? instant(0)),
    total: shown(total),
    periods: counted.map(({ from: begin, tally }) => ({
      from: formatTimestamp(begin),
      ...shown(tally),
    })),
    brands: groups.brand.map(({ value, tally }) => ({ brand: value, ...shown(tally) })),
    countries: groups.country.map(({ value, tally }) => ({ country: value, ...shown(tally) })),
    currencies: groups.currency.map(({ value, tally }) => ({ currency: value, ...shown(tally) })),
    decline_reasons: reasons.map(({ value, tally }) => ({ reason: value, ...shown(tally) })),
    card_like_names: cardLikeNames,
    payments_read: examined,
    complete,
    status: "SUCCESS",
  });
}

function shown({ payments, approved, declined, disputed, amounts }: Tally): object {
  return {
    payments,
    approved,
    declined,
    disputed,
    amounts: Array.from(amounts, ([currency, { authorized, captured, refunded }]) => {
      const text = (minor: bigint): string => formatAmount(minor, scaleOf(currency));
      return {
        currency,
        authorized: text(authorized),
        captured: text(captured),
        refunded: text(refunded),
      };
    }),
  };
}
