// The sentences of a payment's timeline in the page's language, from the data of its entries.
// Independent of the document.
import { amountText, countText, decimalText } from "./format.js";
import { t } from "./language.js";
import { authenticationWords, outcomeWords, own, reasonWords, resultWords } from "./words.js";

/** @import { Entry, Posting, Price, Violation } from "./api.js" */

/** @typedef {Readonly<Record<string, unknown>>} Data */

/**
 * One sentence. The server's own, in English, for what this page does not know.
 * @param {Entry} entry
 */
export function sentenceOf({ kind, text, data }) {
  return own(sentences, kind)?.(data) ?? text;
}

/** @type {Readonly<Record<string, (data: Entry["data"]) => string | undefined>>} */
const sentences = {
  authentication: authenticationSentence,
  request: requestSentence,
  fact: factSentence,
  call: callSentence,
  notification: notificationSentence,
  attempt: attemptSentence,
};

/** @type {Readonly<Record<string, string>>} */
const authentications = {
  AReq: t("authentication.AReq"),
  ARes: t("authentication.ARes"),
  CReq: t("authentication.CReq"),
  CRes: t("authentication.CRes"),
  RReq: t("authentication.RReq"),
};

/** @param {Data} data */
function authenticationSentence({ message, status }) {
  const text = own(authentications, word(message));
  if (text === undefined) return undefined;
  if (status === undefined) return `${text}.`;
  return status === "lost"
    ? `${t("authentication.lost", { text })}.`
    : `${text}: ${authenticationWords(word(status))}.`;
}

/** @type {Readonly<Record<string, (request: string) => string>>} */
const senders = {
  session: (request) => t("sent.by_user", { request }),
  secret: (request) => t("sent.by_secret", { request }),
  public: (request) => t("sent.by_public", { request }),
};

/** The connection was cut: nothing of the response, or not all of it, was written. */
const cutStatus = 444;

/** @param {Data} data */
function requestSentence({ method, path, key, http_status: status, status_code: code, ...data }) {
  const request = own(senders, word(key))?.(`${word(method)} ${word(path)}`);
  if (request === undefined) return undefined;
  if (status === undefined) return `${t("sent.running", { request })}.`;
  const values = { request, time: timeText(data["duration_ms"]) };
  if (status === cutStatus) return `${t("sent.cut", values)}.`;
  const http = word(status);
  const sentence =
    code === null
      ? t("sent.answered", { ...values, status: http })
      : t("sent.refused", { ...values, status: http, code: word(code) });
  return `${data["replayed"] === true ? t("sent.replayed", { sentence }) : sentence}.`;
}

/** @type {Readonly<Record<string, string>>} */
const facts = {
  authorization_sent: t("fact.authorization_sent"),
  authorization_approved: t("fact.authorization_approved"),
  authorization_held: t("fact.authorization_held"),
  sale_approved: t("fact.sale_approved"),
  authorization_declined: t("fact.authorization_declined"),
  page_opened: t("fact.page_opened"),
  page_submitted: t("fact.page_submitted"),
  try_declined: t("fact.try_declined"),
  page_cancelled: t("fact.page_cancelled"),
  page_lapsed: t("fact.page_lapsed"),
  authentication_started: t("fact.authentication_started"),
  authentication_passed: t("fact.authentication_passed"),
  authentication_failed: t("fact.authentication_failed"),
  authentication_unanswered: t("fact.authentication_unanswered"),
  try_not_authenticated: t("fact.try_not_authenticated"),
  review_accepted: t("fact.review_accepted"),
  review_rejected: t("fact.review_rejected"),
  capture_sent: t("fact.capture_sent"),
  capture_approved: t("fact.capture_approved"),
  capture_declined: t("fact.capture_declined"),
  void_sent: t("fact.void_sent"),
  void_approved: t("fact.void_approved"),
  void_declined: t("fact.void_declined"),
  void_declined_in_review: t("fact.void_declined_in_review"),
  reversal_sent: t("fact.reversal_sent"),
  reversal_approved: t("fact.reversal_approved"),
  authorization_lapsed: t("fact.authorization_lapsed"),
  lapse_approved: t("fact.lapse_approved"),
  attempt_unanswered: t("fact.attempt_unanswered"),
  authorization_rerouted: t("fact.authorization_rerouted"),
  attempt_repeated: t("fact.attempt_repeated"),
  approval_came_late: t("fact.approval_came_late"),
  late_approval_undone: t("fact.late_approval_undone"),
  notification_resent: t("fact.notification_resent"),
  marked_for_review: t("fact.marked_for_review"),
  refund_requested: t("fact.refund_requested"),
  refund_queued: t("fact.refund_queued"),
  refund_sent: t("fact.refund_sent"),
  refund_approved: t("fact.refund_approved"),
  refund_declined: t("fact.refund_declined"),
  refund_not_done: t("fact.refund_not_done"),
  refund_cancelled: t("fact.refund_cancelled"),
  chargeback_opened: t("fact.chargeback_opened"),
  chargeback_credited: t("fact.chargeback_credited"),
};

/** @type {Readonly<Record<string, (fact: string) => string>>} */
const sources = {
  merchant: (fact) => fact,
  recovery: (fact) => t("fact.by_recovery", { fact }),
  clock: (fact) => t("fact.by_clock", { fact }),
  operator: (fact) => t("fact.by_operator", { fact }),
};

/** @param {Entry["data"]} data */
function factSentence({ fact: name, by, postings = [] }) {
  const known = own(facts, word(name));
  const fact = known === undefined ? undefined : own(sources, word(by))?.(known);
  if (fact === undefined) return undefined;
  const booked = bookedTexts(postings).join(", ");
  return `${booked === "" ? fact : t("fact.booked", { fact, booked })}.`;
}

/**
 * The ledger account whose posting is the amount of an entry, and the text of the entry.
 * @type {Readonly<Record<string, readonly [account: string, text: (amount: string) => string]>>}
 */
const bookings = {
  hold: ["authorized_holds", (amount) => t("booked.hold", { amount })],
  release: ["authorized_holds", (amount) => t("booked.release", { amount })],
  capture: ["acquirer_receivable", (amount) => t("booked.capture", { amount })],
  refund: ["acquirer_receivable", (amount) => t("booked.refund", { amount })],
  chargeback: ["acquirer_receivable", (amount) => t("booked.chargeback", { amount })],
  chargeback_credit: ["acquirer_receivable", (amount) => t("booked.chargeback_credit", { amount })],
};

/**
 * The entries in their order, such as `capture of 100.00 USD (585.22 BRL)`.
 * @param {readonly Posting[]} postings
 */
function bookedTexts(postings) {
  return [...Map.groupBy(postings, ({ kind }) => kind)].flatMap(([kind, lines]) => {
    const [account, text] = own(bookings, kind) ?? [];
    const [first, ...others] = lines
      .filter((line) => line.account === account)
      .map(
        ({ amount, currency }) => `${amountText(amount.replace("-", ""), currency)} ${currency}`,
      );
    if (text === undefined || first === undefined) return [];
    return [text([first, ...others.map((other) => `(${other})`)].join(" "))];
  });
}

/** @type {Readonly<Record<string, string>>} */
const asked = {
  authorize: t("asked.authorize"),
  capture: t("asked.capture"),
  void: t("asked.void"),
  refund: t("asked.refund"),
  verify: t("asked.verify"),
  reverse: t("asked.reverse"),
  inquire: t("asked.inquire"),
};

/** @param {Data} data */
function callSentence({ connector, kind, amount, currency, capture, outcome, ...data }) {
  const verb = capture === true ? t("asked.sale") : own(asked, word(kind));
  if (verb === undefined) return undefined;
  const money =
    typeof amount === "string"
      ? `${amountText(amount, word(currency))} ${word(currency)}`
      : undefined;
  const what = money === undefined ? verb : t("asked.amount", { verb, amount: money });
  const question = t("asked.question", { connector: word(connector), what });
  if (outcome === null || outcome === undefined) return `${t("asked.waiting", { question })}.`;
  const result = outcomeText(/** @type {Data} */ (outcome), word(currency));
  return `${t("asked.answered", { question, result, time: timeText(data["duration_ms"]) })}.`;
}

/** @type {Readonly<Record<string, string>>} */
const causes = {
  timeout: t("cause.timeout"),
  connection: t("cause.connection"),
  garbled: t("cause.garbled"),
  refused_to_say: t("cause.refused_to_say"),
};

/** @type {Readonly<Record<string, (outcome: Data, currency: string) => string>>} */
const outcomes = {
  declined: ({ reason, response_code: code }) => {
    const declined = t("result.declined");
    const why = reason === undefined ? declined : `${declined}, ${reasonWords(word(reason))}`;
    return code === undefined ? why : `${why} (${word(code)})`;
  },
  unknown: ({ cause }) =>
    t("asked.unknown", { cause: own(causes, word(cause)) ?? t("cause.none") }),
  not_sent: () => t("asked.not_sent"),
  found: ({ authorization, captured, voided }, currency) => {
    const values = {
      authorization: resultWords(word(authorization)),
      captured: amountText(word(captured), currency),
    };
    return voided === true ? t("asked.found_voided", values) : t("asked.found", values);
  },
  not_found: () => t("asked.not_found"),
  unknown_original: () => t("asked.unknown_original"),
};

/**
 * @param {Data} outcome
 * @param {string} currency of the amounts in it
 */
function outcomeText(outcome, currency) {
  const kind = word(outcome["kind"]);
  return own(outcomes, kind)?.(outcome, currency) ?? resultWords(kind);
}

/** @param {Data} data */
function notificationSentence({ number, notification_type: type, deliveries = [] }) {
  const endpoints = /** @type {readonly { endpoint: string }[]} */ (deliveries)
    .map(({ endpoint }) => endpoint)
    .join(", ");
  const values = { number: word(number), type: word(type) };
  return endpoints === ""
    ? t("notified.none", values)
    : t("notified.receivers", { ...values, receivers: endpoints });
}

/** @type {Readonly<Record<string, (sentence: string) => string>>} */
const verdicts = {
  delivered: (sentence) => sentence,
  retry: (sentence) => t("attempted.retry", { sentence }),
  failed: (sentence) => t("attempted.failed", { sentence }),
  gone: (sentence) => t("attempted.gone", { sentence }),
};

/** @param {Data} data */
function attemptSentence({ attempt, number, endpoint, outcome, verdict }) {
  const words = word(outcome);
  const values = {
    attempt: word(attempt),
    number: word(number),
    receiver: word(endpoint),
    outcome: outcomeWords(words),
  };
  const sentence = /^\d+$/.test(words)
    ? t("attempted.answered", values)
    : t("attempted.not_answered", values);
  const whole = own(verdicts, word(verdict))?.(sentence);
  return whole === undefined ? undefined : `${whole}.`;
}

/**
 * How an amount was converted to the country's currency.
 * @param {Price} price
 */
export function priceSentence(price) {
  const { amount, currency, local, local_currency: home, rate, gross, tax, text } = price;
  const inHome = (/** @type {string} */ decimal) => `${amountText(decimal, home)} ${home}`;
  const asked = `${amountText(amount, currency)} ${currency}`;
  const { captured, captured_local: capturedLocal } = price;
  if (captured !== undefined && capturedLocal !== undefined)
    return t("price.returned", {
      amount: asked,
      captured: `${amountText(captured, currency)} ${currency}`,
      local: inHome(capturedLocal),
      back: inHome(local),
    });
  if (gross === undefined || tax === undefined) return text;
  const converted =
    rate === undefined
      ? t("price.not_converted", { amount: asked })
      : t("price.converted", { amount: asked, rate: decimalText(rate), gross: inHome(gross) });
  if (/^[0.]*$/.test(tax)) return t("price.no_tax", { converted });
  return local === gross
    ? t("price.tax_merchant", { converted, tax: inHome(tax) })
    : t("price.tax_customer", { converted, tax: inHome(tax), total: inHome(local) });
}

/** @type {Readonly<Record<string, (currency: string) => string>>} */
const rules = {
  unbalanced: () => t("problem.unbalanced"),
  held: (currency) => t("problem.held", { currency }),
  captured: (currency) => t("problem.captured", { currency }),
  left: (currency) => t("problem.left", { currency }),
  divided: (currency) => t("problem.divided", { currency }),
  owner: (currency) => t("problem.owner", { currency }),
  tax: (currency) => t("problem.tax", { currency }),
};

/**
 * A violated rule of a payment's books, as one sentence; undefined: the page does not know the rule.
 * @param {Violation | undefined} violation
 */
export function problemWords(violation) {
  return own(rules, violation?.rule ?? "")?.(violation?.currency ?? "");
}

/**
 * Whole milliseconds.
 * @param {unknown} ms
 */
function timeText(ms) {
  return Number(ms) < 1 ? t("sent.less_than_ms") : `${countText(Math.round(Number(ms)))} ms`;
}

/** @param {unknown} value */
function word(value) {
  return typeof value === "string" || typeof value === "number" ? `${value}` : "";
}
