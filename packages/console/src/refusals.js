// The server's refusals in the page's language: by their code, or by the form of their message.
// Names of fields, and values, stay as they are.
import { language, refusals as messages, t } from "./language.js";
import { own } from "./words.js";

/** @type {Readonly<Record<string, string>>} */
const byCode = {
  "BP-DR-83": t("refused.foreign_card"),
  "BP-DR-97": t("refused.prepaid_instalments"),
  "BP-DR-100": t("refused.debit_instalments"),
  "BP-DR-101": t("refused.not_eligible"),
  "BP-DR-102": t("refused.card_attempts"),
  "BP-SA-2": t("refused.key"),
  "DA-1": t("refused.key"),
  "BP-QRY-2": t("refused.payment_not_found"),
  "BP-CAP-2": t("refused.payment_not_found"),
  "BP-CAN-2": t("refused.payment_not_found"),
  "BP-CAP-3": t("refused.capture_over"),
  "BP-CAP-4": t("refused.captured_before"),
  "BP-CAP-5": t("refused.capture_open"),
  "BP-CAP-6": t("refused.amount_invalid"),
  "BP-REF-4": t("refused.amount_invalid"),
  "BP-CAP-7": t("refused.capture_declined"),
  "BP-CAP-11": t("refused.partial_capture"),
  "BP-CAN-3": t("refused.void_not_open"),
  "BP-CAN-4": t("refused.void_declined"),
  "BP-REF-3": t("refused.amount_missing"),
  "BP-REF-5": t("refused.amount_above"),
  "BP-REF-7": t("refused.refund_not_confirmed"),
  "BP-REF-9": t("refused.refund_not_found"),
  "BP-REF-10": t("refused.refund_not_cancelled"),
  "BP-REF-11": t("refused.refund_exists"),
  "BP-REF-12": t("refused.refunded_before"),
  "COFRE-2": t("refused.too_large"),
  "COFRE-12": t("refused.busy"),
  "COFRE-165": t("refused.account_busy"),
  "COFRE-166": t("refused.wrong_clock"),
  "COFRE-13": t("refused.stopping"),
  "COFRE-14": t("refused.internal"),
  "COFRE-20": t("refused.in_flight"),
  "COFRE-21": t("refused.not_recorded"),
  "COFRE-22": t("refused.unanswered"),
  "COFRE-24": t("refused.refund_late"),
  "COFRE-25": t("refused.charged_back"),
  "COFRE-29": t("refused.no_notification"),
  "COFRE-37": t("refused.not_in_review"),
  "COFRE-38": t("refused.no_dispute"),
  "COFRE-176": t("refused.issuer_liable"),
  "COFRE-43": t("refused.most_refunds"),
  "COFRE-44": t("refused.key_reused"),
  "COFRE-45": t("refused.key_in_progress"),
  "COFRE-72": t("refused.most_worlds"),
  "COFRE-162": t("refused.world_moved"),
  "COFRE-74": t("refused.not_a_world"),
  "COFRE-76": t("refused.most_snapshots"),
  "COFRE-77": t("refused.no_snapshot"),
  "COFRE-100": t("refused.no_faults"),
  "COFRE-110": t("refused.not_signed_in"),
  "COFRE-111": t("refused.sign_in"),
  "COFRE-112": t("refused.other_page"),
  "COFRE-113": t("refused.role"),
  "COFRE-114": t("refused.invitation"),
  "COFRE-115": t("refused.password"),
  "COFRE-116": t("refused.code"),
  "COFRE-117": t("refused.name"),
  "COFRE-118": t("refused.last_admin"),
  "COFRE-123": t("refused.too_many_attempts"),
  "COFRE-168": t("refused.slow_query"),
  "COFRE-170": t("refused.view_name"),
  "COFRE-171": t("refused.no_view"),
  "COFRE-172": t("refused.most_views"),
  "COFRE-173": t("refused.view_taken"),
};

/**
 * Those with the most words first: several forms may match a message.
 * @type {(readonly [form: RegExp, text: string])[]}
 */
const byForm = Object.entries(messages)
  .toSorted(([one], [other]) => fixedPart(other).length - fixedPart(one).length)
  .map(([message, text]) => {
    const form = message
      .split(/\{(\w+)\}/)
      .map((part, place) => (place % 2 === 0 ? escaped(part) : `(?<${part}>.+)`))
      .join("");
    return [new RegExp(`^${form}$`, "s"), text];
  });

/** @param {string} text */
function escaped(text) {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** @param {string} message */
function fixedPart(message) {
  return message.replaceAll(/\{\w+\}/g, "");
}

/**
 * The text of a refusal in the page's language, or the server's English message.
 * @param {string} code
 * @param {string} message of the server
 */
export function refusalWords(code, message) {
  const known = own(byCode, code) ?? sentencesWords(message);
  return known === undefined ? { text: message, lang: "en" } : { text: known, lang: language };
}

/** @param {string} message */
function formWords(message) {
  for (const [form, text] of byForm) {
    const found = form.exec(message);
    if (found !== null)
      return text.replaceAll(/\{(\w+)\}/g, (_, name) => own(found.groups ?? {}, name) ?? "");
  }
  return undefined;
}

/**
 * A refusal of settings has a sentence for each; other messages are one.
 * @param {string} message
 */
function sentencesWords(message) {
  const sentences = message
    .split(/(?<=[.?]) (?=\S+(?:: the address| is not a setting| must be )|One of the names )/)
    .map(formWords);
  return sentences.includes(undefined) ? undefined : sentences.join(" ");
}

/**
 * Fields of payments by the numbers of the refusals that are about them, without BP-DR-.
 * @type {Readonly<Record<string, readonly number[]>>}
 */
const numbers = {
  merchant_payment_code: [0, 9, 10],
  currency_code: [3, 4],
  amount_total: [5, 6, 7, 8],
  order_number: [11],
  name: [13, 14],
  email: [15, 16, 17],
  birth_date: [20, 21],
  document: [22, 23],
  zipcode: [24],
  address: [25],
  street_number: [26],
  city: [27],
  state: [28, 29],
  phone_number: [31, 32],
  instalments: [33, 34, 97, 100],
  payment_type_code: [35, 36, 38],
  card_number: [48, 49, 75, 83, 101, 102],
  card_name: [51, 52, 95],
  card_cvv: [54, 55],
  card_due_date: [56, 57, 58, 59, 67],
  token: [64],
  country: [76, 77],
};

/** @type {Readonly<Record<string, string>>} */
const fields = {
  ...Object.fromEntries(
    Object.entries(numbers).flatMap(([field, codes]) =>
      codes.map((number) => [`BP-DR-${number}`, field]),
    ),
  ),
  "BP-CAP-11": "amount",
  "BP-REF-5": "amount",
  "COFRE-115": "new_password",
  "COFRE-116": "code",
  "COFRE-117": "name",
};

/**
 * The field that a refusal is about, without the names of the objects around it: by its code, or by
 * the field that its message names. Answers do not have it. undefined: the refusal is about none.
 * @param {string} code
 * @param {string} message of the server
 */
export function refusedField(code, message) {
  const named = /^Parameter (?:\w+\.)*(\w+) |\b(?:payment|creditcard)\.([a-z_]+)\b/.exec(message);
  return own(fields, code) ?? named?.[1] ?? named?.[2];
}
