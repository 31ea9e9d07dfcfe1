import { parseDayMonthYear, startOfDay } from "../../kernel/calendar.ts";
import { day, type Instant, laterBy } from "../../kernel/instant.ts";
import { compareMoney, formatMoney, type Money } from "../../kernel/money.ts";
import type { Account } from "../../merchant/account.ts";
import type { OpenPageInput } from "../../operations/page.ts";
import { type Country, countryOf } from "../../payment/countries.ts";
import { offeredInstalments, refuseInstalments } from "../../payment/instalments.ts";
import type { Customer, Pricing } from "../../payment/payment.ts";
import { maximumAmount, priceOrder } from "../../payment/pricing.ts";
import { controlOrHalfPair, maskCardNumbers } from "../decode/card-like.ts";
import { isTreeObject, textOf, type Tree, type TreeObject } from "../decode/tree.ts";
import { refusal } from "../errors/refusal.ts";
import { amountIn } from "./amounts.ts";
import {
  directLongest,
  documentOf,
  exceeds,
  freeText,
  isActiveCurrency,
  isEmail,
  isInactive,
  notificationUrlOf,
  phoneOf,
  pricingOf,
  userValuesIn,
} from "./direct-request.ts";
import type { PageAddresses } from "./page-addresses.ts";
import { fieldOf, flagOf, hasWrongShape } from "./fields.ts";
import { paymentTypeOf } from "./payment-types.ts";

export const pageLongest = {
  code: 40,
  redirectUrl: 2_000,
} as const;

/** A page takes cards for this time, unless the request has a due date. */
const pageDays = 3;
/** Latest due date of a page. */
const mostPageDays = 30;

/**
 * Validates a request to /ws/request (interface 5.6) and refuses it with the code of the first
 * broken rule, by ascending number (7.4). What the customer can correct on the page is left out
 * instead: the page asks for it.
 */
export function readPageRequest(
  params: TreeObject,
  account: Account,
  now: Instant,
  addresses: Pick<PageAddresses, "isReturnAddress">,
): OpenPageInput {
  const country = hasWrongShape(params, "country")
    ? undefined
    : countryOf((fieldOf(params, "country") ?? account.settings.country).toLowerCase());
  const currency = fieldOf(params, "currency_code")?.toUpperCase();
  if (currency === undefined) throw refusal("BP-R-1");
  const amountText = fieldOf(params, "amount");
  if (amountText === undefined && !hasWrongShape(params, "amount")) throw refusal("BP-R-2");
  const code = codeOf(params);
  const name = freeText(params, "name", directLongest.name);
  if (name === undefined) throw refusal("BP-R-4");
  const email = freeText(params, "email", directLongest.email);
  if (email === undefined || !isEmail(email)) throw refusal("BP-R-5");
  const types = typesOf(params["payment_type_code"]);
  if (types.length === 0) throw refusal("BP-R-6");
  const offered = offeredTypes(types, country);
  // The amount is that of its currency, which is checked after it (BP-R-23).
  const amount = amountIn(amountText, currency, account);
  if ((amount === undefined && isActiveCurrency(currency, undefined)) || amount?.minor === 0n)
    throw refusal("BP-R-9");
  const local = account.settings.profile === "B";
  const pricing =
    amount !== undefined && country !== undefined && isActiveCurrency(currency, country)
      ? priceOrder(amount, country.code, now, pricingOf(account, local))
      : undefined;
  if (country !== undefined && pricing !== undefined && pricing.gross.minor < country.minimumAmount)
    throw refusal("BP-R-10");
  const instalments = rangeIn(params);
  if (!offered.hasInstalments && instalments !== undefined && instalments[1] > 1)
    throw refusal("BP-R-11");
  refuseRange(instalments, country, pricing);
  const personType = fieldOf(params, "person_type")?.toLowerCase() ?? "personal";
  if (personType !== "personal" && personType !== "business") throw refusal("BP-R-18");
  const lapsesAt = lapseOf(params, now);
  if (amount === undefined || !isActiveCurrency(currency, country)) throw refusal("BP-R-23");
  if (instalments === undefined) throw refusal("BP-R-28");
  if (country === undefined || pricing === undefined)
    throw refusal("COFRE-190", { name: "country", problem: "is invalid" });
  refuseRangeOf(instalments, country);
  refuseHighAmount(pricing, maximumAmount(country.code, now, account.settings));
  return {
    order: {
      code,
      orderNumber: freeText(params, "order_number", directLongest.orderNumber),
      amount,
      autoCapture: true,
      // An unclear value selects the safer way: a review before money moves.
      manualReview: (flagOf(params, "manual_review") ?? false) !== false,
      country: country.code,
      customer: customerOf(params, country, local, { name, email, personType }),
      softDescriptor: undefined,
      note: freeText(params, "note", directLongest.note),
      userValues: userValuesIn(params).map((value) =>
        value === undefined ? undefined : maskCardNumbers(value).slice(0, directLongest.userValue),
      ),
      notificationUrl: notificationUrlOf(params),
    },
    page: {
      lapsesAt,
      paymentTypes: types.join(","),
      instalments,
      redirectUrl: redirectOf(params, addresses),
    },
    local,
  };
}

/** Not trimmed: it is the payment's name, and a later request must find it by the same text. */
function codeOf(params: TreeObject): string {
  const text = textOf(params, "merchant_payment_code");
  const isUsable =
    text !== undefined &&
    text.trim() !== "" &&
    !exceeds(text, pageLongest.code) &&
    !controlOrHalfPair.test(text) &&
    !text.includes("\ufffd") &&
    maskCardNumbers(text) === text;
  if (!isUsable) throw refusal("BP-R-3");
  return text;
}

/** One type, several separated by commas, or a list. */
function typesOf(value: Tree | undefined): readonly string[] {
  const texts = Array.isArray(value) ? (value as readonly Tree[]) : [value];
  return texts
    .flatMap((each) => (typeof each === "string" ? each.split(",") : []))
    .map((each) => each.trim().toLowerCase())
    .filter((each) => each !== "");
}

function offeredTypes(
  types: readonly string[],
  country: Country | undefined,
): { readonly hasInstalments: boolean } {
  const kinds = types.map((type) => {
    const kind = paymentTypeOf(type);
    if (kind === undefined) throw refusal("BP-R-8");
    return { type, kind };
  });
  const cards = kinds.filter(({ kind }) => kind.kind === "hosted" || !isInactive(kind, country));
  // Cards of the list are offered beside types that this server does not have.
  if (cards.length === 0) throw refusal("BP-R-7");
  return {
    hasInstalments: cards.some(({ type, kind }) =>
      kind.kind === "card" ? kind.paymentType === "credit" : type !== "_debitcard",
    ),
  };
}

/** `3` or `1-6`, one instalment if nothing is given; undefined if it is neither. */
function rangeIn(params: TreeObject): readonly [least: number, most: number] | undefined {
  const text = fieldOf(params, "instalments");
  if (text === undefined) return hasWrongShape(params, "instalments") ? undefined : [1, 1];
  const [, from, to = from] = /^(\d{1,2})(?:\s*-\s*(\d{1,2}))?$/.exec(text) ?? [];
  const [least, most] = [Number(from), Number(to)];
  return least >= 1 && most >= least ? [least, most] : undefined;
}

function refuseRange(
  range: readonly [least: number, most: number] | undefined,
  country: Country | undefined,
  pricing: Pricing | undefined,
): void {
  if (range === undefined || country === undefined) return;
  const [least, most] = range;
  if (most > Math.max(...offeredInstalments(country, undefined))) throw refusal("BP-R-12");
  if (
    pricing !== undefined &&
    refuseInstalments(country, undefined, least, pricing.total) === "instalment_too_small"
  )
    throw refusal("BP-R-13");
}

/** At least one number of the range is one of the country's. */
function refuseRangeOf([least, most]: readonly [number, number], country: Country): void {
  const offered = [...offeredInstalments(country, undefined)];
  if (!offered.some((count) => count >= least && count <= most)) throw refusal("BP-R-28");
}

function refuseHighAmount({ gross }: Pricing, most: Money): void {
  if (compareMoney(gross, most) > 0)
    throw refusal("BP-R-32", { currency: most.currency, amount: formatMoney(most) });
}

/** The end of the due date, in UTC. */
function lapseOf(params: TreeObject, now: Instant): Instant {
  const text = fieldOf(params, "due_date");
  if (hasWrongShape(params, "due_date")) throw refusal("BP-R-20");
  if (text === undefined) return laterBy(now, pageDays * day);
  const date = parseDayMonthYear(text);
  if (date === undefined) throw refusal("BP-R-20");
  const end = laterBy(startOfDay(date), day);
  if (end <= now) throw refusal("BP-R-21");
  if (end > laterBy(now, mostPageDays * day)) throw refusal("BP-R-22");
  return end;
}

interface Known {
  readonly name: string;
  readonly email: string;
  readonly personType: "personal" | "business";
}

/** Values that are unusable are left out. */
function customerOf(
  params: TreeObject,
  country: Country,
  local: boolean,
  { name, email, personType }: Known,
): Customer {
  const documentText = fieldOf(params, "document");
  const document =
    documentText === undefined ? undefined : documentOf(country, documentText, local, params);
  return {
    name,
    email,
    personType,
    document: document === undefined || document === "invalid" ? undefined : document.normalized,
    birthDate: undefined,
    phone: phoneOf(fieldOf(params, "phone_number")),
    zipcode: freeText(params, "zipcode", directLongest.zipcode),
    address: freeText(params, "address", directLongest.address),
    streetNumber: freeText(params, "street_number", directLongest.streetNumber),
    streetComplement: freeText(params, "street_complement", directLongest.streetComplement),
    city: freeText(params, "city", directLongest.city),
    state: freeText(params, "state", directLongest.state),
    ip: undefined,
    responsible: isTreeObject(params["responsible"])
      ? freeText(params["responsible"], "name", directLongest.responsible)
      : undefined,
  };
}

/** The address is checked before the customer is sent there: a page does not lead to other addresses. */
function redirectOf(
  params: TreeObject,
  { isReturnAddress }: Pick<PageAddresses, "isReturnAddress">,
): string | undefined {
  const text = fieldOf(params, "redirect_url");
  if (text === undefined && !hasWrongShape(params, "redirect_url")) return undefined;
  if (text === undefined || text.length > pageLongest.redirectUrl || !isReturnAddress(text))
    throw refusal("COFRE-190", { name: "redirect_url", problem: "is invalid" });
  return text;
}
