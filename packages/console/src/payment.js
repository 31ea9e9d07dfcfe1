// One payment: its data, history, postings and possible actions.
import { actions } from "./actions.js";
import { call } from "./api.js";
import { facts, foreign, h, keepingFocus, shown, table } from "./dom.js";
import { stateMark } from "./list.js";
import { bothAmounts, moneyBar } from "./money.js";
import { notifications } from "./notifications.js";
import { keepFresh } from "./poll.js";
import { kindWords, refundWords } from "./words.js";

/** @import { Entry, Listed, Page, Payment, Timeline, ListedNotification } from "./api.js" */

/** @type {import("./main.js").View} */
export async function paymentView(main, [hash = ""], _query, signal) {
  const parts = {
    head: h("div"),
    money: h("section"),
    actions: h("section"),
    history: h("section"),
    notifications: h("section"),
    books: h("section"),
  };
  /** The data from which the parts were last made. */
  let made = "";
  let shownNotifications = "";
  let turns = 0;

  const refresh = async () => {
    const turn = (turns += 1);
    // The answers of an overtaken refresh are out of date.
    const isOver = () => signal.aborted || turn !== turns;
    const [page, { notifications: listed }] = await Promise.all([
      /** @type {Promise<Page>} */ (call("/__cofre/payments", { search: hash })),
      /** @type {Promise<{ notifications: ListedNotification[] }>} */ (
        call("/__cofre/notifications", { hash })
      ),
    ]);
    const [payment] = page.payments;
    if (payment === undefined || payment.hash !== hash) throw new Error("Payment not found.");
    if (isOver()) return;
    document.title = `${shown(payment.merchant_payment_code)} · Cofre`;
    if (JSON.stringify(listed) !== shownNotifications) {
      shownNotifications = JSON.stringify(listed);
      keepingFocus(parts.notifications, () => notifications(hash, listed, refresh));
    }
    const timeline = /** @type {Timeline} */ (await call("/__cofre/timeline", { hash }));
    const { payment: wire } = timeline;
    const now = JSON.stringify([payment, timeline]);
    if (isOver() || now === made) return;
    made = now;
    parts.head.replaceChildren(...headOf(payment, wire));
    parts.money.replaceChildren(
      h("h2", {}, "Money"),
      moneyBar(payment),
      ...refundsOf(wire, payment.currency_ext),
    );
    keepingFocus(parts.actions, () => actions(payment, refresh));
    keepingFocus(parts.history, () => historyOf(timeline));
    keepingFocus(parts.books, () => booksOf(timeline));
  };

  await refresh();
  if (signal.aborted) return;
  main.append(...Object.values(parts));
  void keepFresh(signal, refresh);
}

/**
 * @param {Listed} payment
 * @param {Payment} wire
 */
function headOf(payment, wire) {
  const { transaction_status: said } = wire;
  return [
    h(
      "p",
      { class: "title" },
      foreign(payment.merchant_payment_code, "code"),
      " ",
      stateMark(payment.state, payment),
    ),
    facts([
      ["Hash", h("code", {}, payment.hash)],
      ["Amount", bothAmounts(payment)],
      ["Rate", payment.currency_ext === payment.currency_br ? "none" : wire.currency_rate],
      ["Instalments", payment.instalments],
      ["Opened (UTC)", payment.open_date],
      ["Card", `${payment.brand} ${payment.masked_card_number}`],
      ["Customer", foreign(payment.name)],
      ["E-mail", foreign(payment.email)],
      ["Country", payment.country],
      [
        "Wire status",
        `${wire.status}, ${said.code}: ${said.description}${said.authcode === undefined ? "" : `, ${said.authcode}`}`,
      ],
    ]),
  ];
}

/**
 * @param {Payment} wire
 * @param {string} currency
 */
function refundsOf({ refunds = [] }, currency) {
  if (refunds.length === 0) return [];
  const rows = refunds.map(
    ({ id, amount_ext: amount, status, request_date: asked, description }) => [
      id,
      `${amount} ${currency}`,
      refundWords(status),
      asked,
      foreign(description),
    ],
  );
  return [
    h("h3", {}, "Refunds"),
    h(
      "div",
      { class: "wide" },
      table("Refunds", ["Refund", "Amount", "State", "Requested (UTC)", "Reason"], rows),
    ),
  ];
}

/** The label of an entry's raw message, for entries that have one. */
const messages = new Map([
  ["request", "Request and response"],
  ["call", "Message and response"],
]);

/** @param {Timeline} timeline */
function historyOf({ entries, recording }) {
  const { since, complete } = recording;
  const missing =
    since === null ? "none are available." : `none before ${moment(since)} are available.`;
  return [
    h("h2", {}, "Timeline"),
    ...(complete
      ? []
      : [
          h(
            "p",
            { class: "soft" },
            `Requests, acquirer calls and deliveries are kept in memory only: ${missing}`,
          ),
        ]),
    h("ol", { class: "timeline" }, ...entries.map(entryOf)),
  ];
}

/**
 * @param {Entry} entry
 * @param {number} place
 */
function entryOf({ at, kind, text, data }, place) {
  const message = messages.get(kind);
  return h(
    "li",
    {},
    h("time", { datetime: at, class: "soft" }, moment(at)),
    h("span", {}, h("strong", {}, shown(kindWords(kind))), " ", foreign(text)),
    message !== undefined &&
      h(
        "details",
        {},
        // An entry keeps its name when later entries follow.
        h("summary", { "data-name": `${place} ${at} ${kind}` }, message),
        h("pre", {}, ...linesOf(data)),
      ),
  );
}

/**
 * As JSON, with its line breaks.
 * @param {unknown} data
 */
function linesOf(data) {
  return JSON.stringify(data, undefined, 2)
    .split("\n")
    .map((line) => `${shown(line)}\n`);
}

/** @param {string} at */
function moment(at) {
  return shown(at.replace("T", " ").replace("Z", ""));
}

/** @param {Timeline} timeline */
function booksOf({ entries, price, problems }) {
  const heads = ["When (UTC)", "Entry", "Account", "Amount", "Balance"];
  const rows = entries.flatMap(({ at, data: { postings = [] } }) =>
    postings.map(({ kind, account, amount, balance, currency }) => [
      moment(at),
      kind,
      account,
      `${amount} ${currency}`,
      balance,
    ]),
  );
  return [
    h("h2", {}, "Ledger"),
    ...problems.map((text) => h("p", { class: "problem" }, text)),
    h("ul", {}, ...price.map(({ text }) => h("li", {}, text))),
    h(
      "details",
      {},
      h("summary", { "data-name": "postings" }, `${rows.length} postings`),
      h(
        "div",
        { class: "wide", tabindex: "0", role: "region", "aria-label": "Postings" },
        table("Postings", heads, rows),
      ),
    ),
  ];
}
