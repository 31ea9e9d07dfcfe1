import { scaleOf } from "../../kernel/currency.ts";
import { formatAmount, type Money } from "../../kernel/money.ts";
import type { Explanation } from "../../ledger/explain.ts";
import type { Payment } from "../../payment/payment.ts";
import { type LocalAmounts, priceOfPart } from "../../payment/pricing.ts";
import { json } from "../../wire/schema.ts";

export const pricesSchema = json.list(
  json.object(
    {
      part: json.oneOf(["payment", "captured", "returned"]),
      amount: json.amount,
      currency: json.text,
      local: json.amount,
      local_currency: json.text,
      text: { ...json.text, description: "How the amounts were calculated, as a sentence." },
    },
    {
      rate: {
        ...json.text,
        description: "Of `payment` and `captured`, where the currency was converted.",
      },
      gross: {
        ...json.amount,
        description: "Of `payment` and `captured`: the converted amount before tax.",
      },
      tax: {
        ...json.amount,
        description: "Of `payment` and `captured`, in the local currency.",
      },
      captured: {
        ...json.amount,
        description: "Of `returned`: the captured amount of which it is a share.",
      },
      captured_local: {
        ...json.amount,
        description: "Of `returned`: the captured amount in the local currency.",
      },
    },
  ),
);

/** How an amount of a payment was converted to the country's currency. Amounts are decimal text. */
export interface ExplainedPrice {
  readonly part: "payment" | "captured" | "returned";
  readonly amount: string;
  readonly currency: string;
  readonly local: string;
  readonly local_currency: string;
  /** The calculation, as a sentence. */
  readonly text: string;
  /** The data of the sentence. `gross` and `tax` are in the local currency. */
  readonly rate?: string;
  readonly gross?: string;
  readonly tax?: string;
  readonly captured?: string;
  readonly captured_local?: string;
}

/**
 * How the amounts of a payment were calculated: its price, the price of the captured part, and the
 * share of that which was returned by refunds or a dispute.
 */
export function explainedPrices(
  { order, captured }: Payment,
  { positions }: Explanation,
): readonly ExplainedPrice[] {
  const { amount, pricing } = order;
  const money = (minor: bigint): Money => ({ minor, currency: amount.currency });
  const row = (
    part: ExplainedPrice["part"],
    minor: bigint,
    local: Money,
    words: string,
    data: Pick<ExplainedPrice, "rate" | "gross" | "tax" | "captured" | "captured_local">,
  ): ExplainedPrice => ({
    part,
    ...textOf(money(minor)),
    local: textOf(local).amount,
    local_currency: local.currency,
    text: words,
    ...data,
  });
  const priced = (
    part: ExplainedPrice["part"],
    minor: bigint,
    parts: LocalAmounts,
  ): ExplainedPrice =>
    row(part, minor, parts.total, sumText(money(minor), pricing.rate, parts), {
      ...(amount.currency === parts.gross.currency ? {} : { rate: pricing.rate }),
      gross: textOf(parts.gross).amount,
      tax: textOf(parts.tax).amount,
    });
  const rows = [priced("payment", amount.minor, pricing)];
  if (captured === 0n) return rows;
  const price = priceOfPart(pricing, amount, captured);
  rows.push(priced("captured", captured, price));
  const [requested, local = requested] = positions.map(
    ({ refunded, chargedBack }) => refunded + chargedBack,
  );
  if (requested !== undefined && local !== undefined && requested > 0n) {
    const back = { minor: local, currency: pricing.total.currency };
    const words = `${inWords(money(requested))} of the captured ${inWords(money(captured))} went back: the same share of ${inWords(price.total)}, ${inWords(back)}.`;
    rows.push(
      row("returned", requested, back, words, {
        captured: textOf(money(captured)).amount,
        captured_local: textOf(price.total).amount,
      }),
    );
  }
  return rows;
}

function sumText(amount: Money, rate: string, { gross, tax, total }: LocalAmounts): string {
  const converted =
    amount.currency === gross.currency
      ? `${inWords(amount)}, not converted`
      : `${inWords(amount)} at a rate of ${rate} are ${inWords(gross)}, rounded half up`;
  if (tax.minor === 0n) return `${converted}; no tax.`;
  return total.minor === gross.minor
    ? `${converted}; the merchant bears the tax of ${inWords(tax)}.`
    : `${converted}; with a tax of ${inWords(tax)} the customer pays ${inWords(total)}.`;
}

function textOf({ minor, currency }: Money): {
  readonly amount: string;
  readonly currency: string;
} {
  return { amount: formatAmount(minor, scaleOf(currency)), currency };
}

function inWords(money: Money): string {
  const { amount, currency } = textOf(money);
  return `${amount} ${currency}`;
}
