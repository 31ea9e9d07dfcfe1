// The requests of the page New payment, from its form.
import { ShellVariable } from "./curl.js";
import { typedAmount } from "./format.js";
import { withPoint } from "./money.js";
import { own } from "./words.js";

/**
 * The rules of a country, as `/__cofre/countries` lists them.
 * @typedef {object} Country
 * @property {string} country
 * @property {readonly string[]} currencies
 * @property {readonly string[]} required
 * @property {readonly string[]} states
 * @property {readonly { brand: string, instalments: readonly number[] }[]} brands
 * @property {Readonly<Record<string, string>>} customer
 */
/**
 * A test card, as `/__cofre/test-cards` lists it.
 * @typedef {object} TestCard
 * @property {string} card_number
 * @property {string} masked_card_number
 * @property {string} brand
 * @property {number} cvv_digits
 * @property {string} funding
 * @property {readonly string[]} countries
 * @property {string} result
 * @property {string | null} transaction_code
 * @property {string | null} transaction_description
 * @property {string} [reason]
 * @property {{ status_code: string, status_message: string, when: string }} [refusal]
 * @property {string} [three_d_secure]
 */
/**
 * What the form is made from. `year`: of the account's clock.
 * @typedef {{ countries: readonly Country[], cards: readonly TestCard[], year: number }} Tables
 */
/** Values of the form by name. @typedef {Readonly<Record<string, string>>} Values */
/** @typedef {{ path: string, fields: Readonly<Record<string, unknown>> }} Request */

/** Always shown. */
export const customerFields = ["name", "email", "phone_number"];
/** Shown where the country requires them. */
export const countryFields = ["document", "zipcode", "address", "street_number", "city", "state"];
/** Optional in every country. */
export const optionalFields = [
  "notification_url",
  "order_number",
  "note",
  "soft_descriptor",
  "birth_date",
];

/** Amounts of local currencies with small units; of all others it is 100. */
/** @type {Readonly<Record<string, string>>} */
const usualAmounts = { ARS: "50000", CLP: "50000", COP: "200000", CRC: "50000", PYG: "500000" };

/** Years until a card expires. */
const yearsOfCard = 3;

/**
 * The form: every value that was typed, and examples of the chosen country and card for the others.
 * @param {Values} typed
 * @param {Tables} tables
 */
export function formOf(typed, { countries, cards, year }) {
  const country = countries.find((each) => each.country === typed["country"]) ?? countries[0];
  const { currencies = [], required = [], states = [], brands = [], customer = {} } = country ?? {};
  const currency =
    currencies.find((each) => each === typed["currency_code"]) ?? currencies[0] ?? "";
  const [firstCard = ""] = cards
    .filter(({ card_number: number }) => number === "4111111111111111")
    .map(({ card_number: number }) => number);
  const chosen = typed["card"] ?? firstCard;
  const number = chosen === "" ? (typed["card_number"] ?? "") : chosen;
  const card = cards.find((each) => each.card_number === number.replaceAll(/[ -]/g, ""));
  const counts = instalmentsOf(brands, card?.brand);
  const example = (/** @type {string} */ name) => own(typed, name) ?? own(customer, name) ?? "";
  const needed = countryFields.filter((name) => required.includes(name));
  /** @type {Values} */
  const values = {
    merchant_payment_code: "",
    capture: "now",
    source: "card",
    payment_type_code: "creditcard",
    card_name: example("name"),
    card_due_date: `12/${year + yearsOfCard}`,
    card_cvv: "1234".slice(0, card?.cvv_digits ?? 3),
    token: "",
    fault: "",
    reason: "insufficient_funds",
    delay_ms: "5000",
    amount_total: typedAmount(`${own(usualAmounts, currency) ?? "100"}.00`, currency),
    ...Object.fromEntries([...customerFields, ...needed].map((name) => [name, example(name)])),
    ...typed,
    country: country?.country ?? "",
    currency_code: currency,
    card: chosen,
    card_number: number,
    instalments: counts.map(String).find((each) => each === typed["instalments"]) ?? "1",
  };
  return { values, country, card, needed, currencies, states, counts };
}

/**
 * The numbers of instalments that a country offers for a brand, or for any brand.
 * @param {Country["brands"]} brands
 * @param {string | undefined} brand
 */
function instalmentsOf(brands, brand) {
  const known = brands.filter((each) => each.brand === brand);
  const counts = (known.length === 0 ? brands : known).flatMap(({ instalments }) => instalments);
  return counts.length === 0 ? [1] : [...new Set(counts)].toSorted((left, right) => left - right);
}

/**
 * The requests that make the payment, in their order. Where the card is stored first, the second
 * one takes the token that the first was answered.
 * @param {Values} values of the whole form
 * @param {unknown} [token] of the stored card
 * @returns {readonly Request[]}
 */
export function requestsOf(values, token = new ShellVariable("TOKEN")) {
  const given = (/** @type {string} */ name) => {
    const value = own(values, name) ?? "";
    return value === "" ? undefined : value;
  };
  const card = {
    card_number: given("card_number"),
    card_name: given("card_name"),
    card_due_date: given("card_due_date"),
    card_cvv: given("card_cvv"),
  };
  const source = values["source"];
  const payer = source === "card" ? card : { token: source === "store" ? token : given("token") };
  const payment = {
    merchant_payment_code: given("merchant_payment_code"),
    amount_total: withPoint(values["amount_total"] ?? "", values["currency_code"] ?? ""),
    currency_code: given("currency_code"),
    country: given("country"),
    ...Object.fromEntries(
      [...customerFields, ...countryFields, ...optionalFields].map((name) => [name, given(name)]),
    ),
    instalments: Number(values["instalments"]),
    payment_type_code: given("payment_type_code"),
    creditcard: { ...payer, auto_capture: values["capture"] !== "later" },
  };
  const direct = { path: "/ws/direct", fields: { operation: "request", payment } };
  if (source !== "store") return [direct];
  const { country, payment_type_code: type } = payment;
  const stored = { country, payment_type_code: type, creditcard: card };
  return [{ path: "/ws/token", fields: stored }, direct];
}

/**
 * The request of a shop that got no answer.
 * @param {string} code
 * @returns {Request}
 */
export function queryOf(code) {
  return { path: "/ws/query", fields: { merchant_payment_code: code } };
}

/**
 * The fault of `/__cofre/faults` for this payment alone; undefined: none was chosen.
 * @param {Values} values
 * @param {boolean} waits whether the kind takes a time
 */
export function faultOf(values, waits) {
  const { fault: kind = "", merchant_payment_code: code, delay_ms: delay, reason } = values;
  if (kind === "") return undefined;
  return {
    kind,
    path: "/ws/direct",
    merchant_payment_code: code,
    // A browser may repeat a request whose connection was cut. The page removes the fault.
    times: 0,
    ...(waits ? { delay_ms: delay } : {}),
    ...(kind === "decline" ? { reason } : {}),
  };
}

/** More digits could be a card number. */
const mostDigits = 9;

/**
 * The code of the next payment: the number at the end plus one.
 * @param {string} code
 */
export function nextCode(code) {
  const [number = ""] = /\d+$/.exec(code) ?? [];
  if (number === "" || number.length > mostDigits) return `${code}-2`;
  return code.slice(0, -number.length) + String(Number(number) + 1).padStart(number.length, "0");
}
