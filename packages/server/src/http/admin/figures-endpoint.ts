import { formatTimestamp, parseInstant } from "../../kernel/calendar.ts";
import type { Clock } from "../../kernel/clock.ts";
import { scaleOf } from "../../kernel/currency.ts";
import { type Instant, instant } from "../../kernel/instant.ts";
import { formatAmount } from "../../kernel/money.ts";
import type { Account } from "../../merchant/account.ts";
import { type Counted, type CountInput, countPayments, type Period, periods, type Tally } from "../../operations/count-payments.ts";
import { errorAnswer, type WireAnswer } from "../wire/answer.ts";
import type { Endpoint } from "../wire/endpoint.ts";
import { answering, type OperationRunner } from "../wire/endpoints/deps.ts";
import { fieldOf } from "../wire/fields.ts";
import type { TreeObject } from "../wire/tree.ts";

/** Periods that one answer tells of. */
export const mostPeriods = 100;
/** Unless `from` says otherwise. */
const usualPeriods: Readonly<Record<Period, number>> = { hour: 24, day: 30 };
export const periodNames = ["hour", "day"] as const satisfies readonly Period[];

/**
 * `/__cofre/figures`: how many of the account's payments were made `per` hour or day, how many of them were approved and declined, of each brand too, and what
 * was authorized and captured. The last 24 hours or 30 days of the account's own time unless `from` and `to` say otherwise. 10,000 payments at most,
 * the newest: `complete` says whether these are all.
 */
export function figuresEndpoint(runner: OperationRunner, clockOf: (account: Account) => Clock): Endpoint {
  return {
    path: "/__cofre/figures",
    key: "secret",
    family: "parameters",
    cors: false,
    async handle({ params, account }) {
      const input = inputOf(params, clockOf(account).now());
      if ("status" in input) return input;
      return answering("query", async () => figuresBody(input, await runner.run(countPayments, account, input)));
    },
  };
}

function inputOf(params: TreeObject, now: Instant): CountInput | WireAnswer {
  const asked = fieldOf(params, "per")?.toLowerCase() ?? "hour";
  const per = periodNames.find((name) => name === asked);
  if (per === undefined) return errorAnswer("COFRE-62", `Parameter per must be one of ${periodNames.join(", ")}`);
  const length = periods[per];
  const begin = (at: Instant): Instant => instant(Math.floor(at / length) * length);
  const [fromText, toText] = [fieldOf(params, "from"), fieldOf(params, "to")];
  const toAsked = toText === undefined ? now : parseInstant(toText);
  const fromAsked = fromText === undefined ? undefined : parseInstant(fromText);
  const isRead = toAsked !== undefined && (fromText === undefined || fromAsked !== undefined);
  const to = begin(instant((toAsked ?? now) + (toText === undefined ? length : length - 1)));
  // A world's time may be of the first days that there are.
  const from = fromAsked === undefined ? instant(Math.max(to - usualPeriods[per] * length, 0)) : begin(fromAsked);
  const count = (to - from) / length;
  if (isRead && from >= 0 && count >= 1 && count <= mostPeriods) return { per, from, to };
  return errorAnswer("COFRE-63", `Parameters from and to must be times in UTC with at most ${mostPeriods} hours or days between them`);
}

function figuresBody({ per, from, to }: CountInput, { periods: counted, brands, lookedAt, complete }: Counted): string {
  return JSON.stringify({
    per,
    from: formatTimestamp(from),
    to: formatTimestamp(to),
    periods: counted.map(({ from: begin, tally }) => ({ from: formatTimestamp(begin), ...shown(tally) })),
    brands: brands.map(({ brand, tally }) => ({ brand, ...shown(tally) })),
    looked_at: lookedAt,
    complete,
    status: "SUCCESS",
  });
}

function shown({ payments, approved, declined, amounts }: Tally): object {
  return {
    payments,
    approved,
    declined,
    amounts: Array.from(amounts, ([currency, { authorized, captured }]) => ({
      currency,
      authorized: formatAmount(authorized, scaleOf(currency)),
      captured: formatAmount(captured, scaleOf(currency)),
    })),
  };
}
