import { viewing } from "../../wire/permission.ts";
import { formatTimestamp } from "../../kernel/calendar.ts";
import { scaleOf } from "../../kernel/currency.ts";
import { isPaymentId } from "../../payment/payment-id.ts";
import { formatAmount, formatMoney } from "../../kernel/money.ts";
import { countStates } from "../../operations/count-payments.ts";
import { listPayments, type ListInput } from "../../operations/list-payments.ts";
import { type Notified, notifiedReceivers } from "../../operations/notified-receivers.ts";
import { paymentStates } from "../../payment/payment-machine.ts";
import { declineReasonOf, type Payment } from "../../payment/payment.ts";
import { moneyOutcomes } from "../../payment/money-outcome.ts";
import { brands } from "../../vault/brand.ts";
import type { WireResponse } from "../../wire/answers/answer.ts";
import { cut, maskedText } from "../../wire/decode/card-like.ts";
import type { Endpoint } from "../../wire/endpoint.ts";
import { answering, type OperationRunner } from "../../wire/endpoints/deps.ts";
import { fieldOf } from "../../wire/requests/fields.ts";
import { wireStatusOf } from "../../wire/answers/payment-answer.ts";
import { refusalAnswer } from "../../wire/answers/refusal-answer.ts";
import type { TreeObject } from "../../wire/decode/tree.ts";
import { readErrors } from "../../wire/answers/errors.ts";
import type { EndpointDoc } from "../../wire/endpoint-doc.ts";
import { json, NamedSchema } from "../../wire/schema.ts";
import { exampleKey, secretKey } from "../../wire/endpoints/shared-docs.ts";

const defaultLimit = 50;
const maxPayments = 100;
const longestSearch = 200;

const listedPayment = json.object(
  {
    hash: json.text,
    merchant_payment_code: json.text,
    state: json.text,
    status: json.oneOf(["PE", "CO", "CA"]),
    open_date: json.time,
    amount_ext: json.amount,
    currency_ext: json.text,
    amount_br: json.amount,
    currency_br: json.text,
    authorized: { ...json.amount, description: "In currency_ext, like captured and refunded." },
    captured: json.amount,
    refunded: json.amount,
    brand: json.text,
    masked_card_number: json.text,
    name: json.text,
    email: json.text,
    country: json.text,
    instalments: json.text,
    expected_liability: {
      ...json.oneOf(["issuer", "merchant"]),
      description: "The party that is expected to bear fraud, by brand and 3-D Secure.",
    },
    charged_back: { ...json.flag, description: "A chargeback is open." },
    disputed: { ...json.flag, description: "There was a chargeback, reversed or not." },
    in_flight: json.flag,
    needs_review: {
      ...json.flag,
      description: "An invariant of the payment was violated; needs investigation.",
    },
  },
  {
    decline_reason: { ...json.text, description: "Of a declined payment." },
    eci: { ...json.text, description: "Of a payment with 3-D Secure." },
    notified: {
      ...json.object({
        receivers: json.integer,
        delivered: {
          ...json.integer,
          description: "Receivers that accepted each of the payment's notifications.",
        },
        failed: {
          ...json.integer,
          description: "Receivers with a notification that is not sent again by itself.",
        },
        late: { ...json.flag, description: "One has waited for more than a minute." },
      }),
      description: "Of a payment with notifications that are kept.",
    },
    capture_by: { ...json.time, description: "Of an authorized payment: it expires then." },
  },
);

const answerSchema = new NamedSchema(
  "PaymentsAnswer",
  json.object(
    {
      payments: { ...json.list(listedPayment), description: "Newest first." },
      next: {
        ...json.textOrNull,
        description: "The value of `before` for the next page; null on the last page.",
      },
      status: json.success,
    },
    {
      counts: {
        ...json.anyObject,
        description: "With `count`: the number of payments by state and outcome.",
      },
      payments_read: { ...json.number, description: "With `count`: the payments counted." },
      complete: { ...json.flag, description: "With `count`: these are all payments." },
    },
  ),
);

const doc: EndpointDoc = {
  id: "listPayments",
  tag: "Sandbox",
  summary: "List and search payments",
  description:
    "Newest first. One call examines at most 10,000 payments, or 2,000 where each has to be read: if the answer has a `next`, repeat the request with `before` set to it. No card is read.",
  fields: [
    secretKey,
    {
      name: "search",
      type: "text",
      longest: { characters: longestSearch },
      note: "Words to find in the payment's code or hash, the customer's name or email address, the masked card number or its last four digits, the brand, an amount, a currency in capitals, a country or a state. All words must match. A complete hash or code finds only that payment. `status:declined`, `amount:>500`, `amount:100..500`, `currency:MXN`, `country:mx`, `brand:visa`, `reason:expired_card`, `after:2026-01-31` and `before:2026-02-01` compare that member alone; quotes keep words together, as in `reason:\"invalid card\"`; amount and currency are those requested, times are UTC.",
    },
    {
      name: "state",
      type: "text",
      note: `One or several, comma-separated: ${[...paymentStates, ...moneyOutcomes].join(", ")}. Any other value: COFRE-55.`,
    },
    {
      name: "brand",
      type: "text",
      values: brands,
      note: "Only cards of this brand. Any other value: COFRE-56.",
    },
    {
      name: "limit",
      type: "whole",
      note: `The page size, 1 to ${maxPayments}. Default: 50. Any other value: COFRE-57.`,
    },
    { name: "before", type: "text", note: "The `next` of the previous page." },
    {
      name: "count",
      type: "text",
      values: ["states"],
      note: "Instead of payments, the number of the newest 10,000 in each state, and of those refunded, partly refunded or disputed. The other fields do not apply. Any other value: COFRE-58.",
    },
  ],
  answer: answerSchema,
  errors: readErrors,
  runs: [listPayments, notifiedReceivers, countStates],
  codes: ["COFRE-55", "COFRE-56", "COFRE-57", "COFRE-58"],
  example: { ...exampleKey, search: "ana.lima@example.com", limit: 10 },
};

/**
 * `/__cofre/payments`: the account's payments, newest first. `search` matches a payment's code or
 * hash, the customer's name or e-mail address, the masked number or a part of it, the brand, an
 * amount, a currency, a country, a state; each of its words must match. `state` is one state or
 * several with commas between them; `refunded`, `partly_refunded`, `charged_back` and `disputed`
 * select payments by what became of the money. Returns `limit` payments at most, and fewer if one
 * call has read its maximum: while there is a `next`, the same call with `before=next` continues.
 * `count=states` returns the number of payments by state instead. Never reads a card: a number in
 * `search` is masked before the search.
 */
export function paymentsEndpoint(runner: OperationRunner): Endpoint {
  return {
    path: "/__cofre/payments",
    doc,
    permission: viewing,
    recorded: false,
    key: "secret",
    family: "parameters",
    cors: false,
    async handle({ params, account }) {
      const count = fieldOf(params, "count");
      if (count !== undefined) {
        if (count !== "states") return refusalAnswer("COFRE-58", { list: "states" });
        return answering(readErrors, async () => {
          const { counts, examined, complete } = await runner.run(countStates, account, undefined);
          const status = "SUCCESS";
          return JSON.stringify({
            payments: [],
            next: null,
            counts,
            payments_read: examined,
            complete,
            status,
          });
        });
      }
      const input = inputOf(params);
      if ("status" in input) return input;
      return answering(readErrors, async () => {
        const { payments, next } = await runner.run(listPayments, account, input);
        const ids = payments.map(({ id }) => id);
        const notified = await runner.run(notifiedReceivers, account, ids);
        return JSON.stringify({
          payments: payments.map((payment) => listed(payment, notified.get(payment.id))),
          next: next ?? null,
          status: "SUCCESS",
        });
      });
    },
  };
}

function inputOf(params: TreeObject): ListInput | WireResponse {
  const words = fieldOf(params, "state")
    ?.toLowerCase()
    .split(/\s*,\s*/);
  const states = paymentStates.filter((state) => words?.includes(state) === true);
  const outcomes = moneyOutcomes.filter((outcome) => words?.includes(outcome) === true);
  if (words !== undefined && states.length + outcomes.length < new Set(words).size) {
    const known = [...paymentStates, ...moneyOutcomes].join(", ");
    return refusalAnswer("COFRE-55", { list: known });
  }
  const requestedBrand = fieldOf(params, "brand")?.toLowerCase();
  const brand = brands.find((each) => each === requestedBrand);
  if (requestedBrand !== undefined && brand === undefined)
    return refusalAnswer("COFRE-56", { list: brands.join(", ") });
  const limit = fieldOf(params, "limit") ?? String(defaultLimit);
  const before = fieldOf(params, "before");
  if (
    !/^[1-9]\d{0,2}$/.test(limit) ||
    Number(limit) > maxPayments ||
    (before !== undefined && !isPaymentId(before))
  ) {
    return refusalAnswer("COFRE-57", { most: maxPayments });
  }
  const search = fieldOf(params, "search");
  return {
    filter: {
      ...(words === undefined ? {} : { states, outcomes }),
      ...(brand === undefined ? {} : { brand }),
      ...(search === undefined ? {} : { text: maskedSearch(search) }),
    },
    name: search,
    before,
    limit: Number(limit),
  };
}

/**
 * A range of amounts has as many digits as a card number, and one in ten passes its check. No side
 * alone has that many.
 */
const amountRange = /(?<!\S)(amount:\d{1,9}(?:[.,]\d{1,2})?\.\.\d{1,9}(?:[.,]\d{1,2})?)(?!\S)/i;

/** The words of a search as they are read and stored: a card number in them is masked. */
export function maskedSearch(search: string): string {
  const parts = inOnePiece(search).split(amountRange);
  const masked = parts.map((part, index) =>
    index % 2 === 1 ? part : maskedText(part, longestSearch),
  );
  return cut(masked.join(""), longestSearch);
}

/** Joins the digit groups of a card number, so that its mask can be compared. */
function inOnePiece(search: string): string {
  return /^[\d -]+$/.test(search) ? search.replaceAll(/[ -]/g, "") : search;
}

function listed(payment: Payment, notified: Notified | undefined): unknown {
  const { id, state, createdAt, order, authorized, captured, refunded } = payment;
  const { chargeback, attempt, needsReview, captureBy } = payment;
  const reason = declineReasonOf(payment);
  const { code, amount, pricing, card, customer, country, instalments } = order;
  const inCurrency = (minor: bigint): string => formatAmount(minor, scaleOf(amount.currency));
  return {
    hash: id,
    merchant_payment_code: code,
    state,
    status: wireStatusOf(payment),
    open_date: formatTimestamp(createdAt),
    amount_ext: formatMoney(amount),
    currency_ext: amount.currency,
    amount_br: formatMoney(pricing.total),
    currency_br: pricing.total.currency,
    authorized: inCurrency(authorized),
    captured: inCurrency(captured),
    refunded: inCurrency(refunded),
    // Empty until a card is submitted on the payment's page.
    brand: card?.brand ?? "",
    masked_card_number: card?.maskedPan ?? "",
    name: customer.name,
    email: customer.email,
    country,
    instalments: String(instalments),
    expected_liability: order.expectedLiability,
    charged_back: chargeback?.state === "opened",
    disputed: chargeback !== undefined,
    in_flight: attempt !== undefined,
    needs_review: needsReview,
    ...(reason === undefined ? {} : { decline_reason: reason }),
    ...(order.threeDSecure === undefined ? {} : { eci: order.threeDSecure.eci }),
    ...(notified === undefined ? {} : { notified }),
    ...(state === "authorized" && captureBy !== undefined
      ? { capture_by: formatTimestamp(captureBy) }
      : {}),
  };
}
