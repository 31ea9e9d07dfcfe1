// One payment: what it is, what has happened, where its money is, and what can be done.
import { actions } from "./actions.js";
import { call } from "./api.js";
import { facts, foreign, h, shown, table } from "./dom.js";
import { stateMark } from "./list.js";
import { bothAmounts, moneyBar } from "./money.js";
import { notifications } from "./notifications.js";
import { keepFresh } from "./poll.js";
import { factWords, refundWords, sourceWords } from "./words.js";

/** @import { Explained, Fact, Listed, Page, Payment, Told } from "./api.js" */

/** @type {import("./main.js").View} */
export async function paymentView(main, [hash = ""], _query, signal) {
  const parts = {
    head: h("div"),
    money: h("section"),
    actions: h("section"),
    history: h("section"),
    told: h("section"),
    books: h("section"),
  };
  /** What the parts were made of. */
  let made = "";
  let madeTold = "";
  let turns = 0;

  const refresh = async () => {
    const turn = (turns += 1);
    // Answers that were overtaken tell of what was.
    const isOver = () => signal.aborted || turn !== turns;
    const [page, { notifications: told }] = await Promise.all([
      /** @type {Promise<Page>} */ (call("/__cofre/payments", { search: hash })),
      /** @type {Promise<{ notifications: Told[] }>} */ (call("/__cofre/notifications", { hash })),
    ]);
    const [payment] = page.payments;
    if (payment === undefined || payment.hash !== hash) throw new Error("There is no such payment.");
    if (isOver()) return;
    if (JSON.stringify(told) !== madeTold) {
      madeTold = JSON.stringify(told);
      keepingFocus(parts.told, () => notifications(hash, told, refresh));
    }
    const [explained, { payment: wire }] = await Promise.all([
      /** @type {Promise<Explained>} */ (call("/__cofre/explain", { hash })),
      /** @type {Promise<{ payment: Payment }>} */ (call("/ws/query", { hash })),
    ]);
    const now = JSON.stringify([payment, explained, wire]);
    if (isOver() || now === made) return;
    made = now;
    parts.head.replaceChildren(...headOf(payment, wire));
    parts.money.replaceChildren(h("h2", {}, "Money"), moneyBar(payment), ...refundsOf(wire, payment.currency_ext));
    keepingFocus(parts.actions, () => actions(payment, refresh));
    parts.history.replaceChildren(h("h2", {}, "What has happened"), timeline(explained.facts));
    parts.books.replaceChildren(...booksOf(explained));
  };

  await refresh();
  if (signal.aborted) return;
  main.append(...Object.values(parts));
  void keepFresh(signal, refresh);
}

/**
 * Whoever is at a button of the part is at the button of that name afterwards.
 * @param {HTMLElement} part
 * @param {() => readonly Node[]} make
 */
function keepingFocus(part, make) {
  const name = part.contains(document.activeElement) ? document.activeElement?.getAttribute("name") : undefined;
  part.replaceChildren(...make());
  const again = typeof name === "string" ? part.querySelector(`[name="${CSS.escape(name)}"]`) : null;
  if (again instanceof HTMLElement) again.focus();
}

/**
 * @param {Listed} payment
 * @param {Payment} wire
 */
function headOf(payment, wire) {
  const { transaction_status: said } = wire;
  return [
    h("p", { class: "title" }, foreign(payment.merchant_payment_code, "code"), " ", stateMark(payment.state, payment)),
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
      ["On the wire", `${wire.status}, ${said.code}: ${said.description}${said.authcode === undefined ? "" : `, ${said.authcode}`}`],
    ]),
  ];
}

/**
 * @param {Payment} wire
 * @param {string} currency
 */
function refundsOf({ refunds = [] }, currency) {
  if (refunds.length === 0) return [];
  const rows = refunds.map(({ id, amount_ext: amount, status, request_date: asked, description }) => [
    id,
    `${amount} ${currency}`,
    refundWords(status),
    asked,
    foreign(description),
  ]);
  return [h("h3", {}, "Refunds"), h("div", { class: "wide" }, table("Refunds", ["Refund", "Amount", "State", "Asked (UTC)", "Why"], rows))];
}

/** Members of a fact that are said in words. */
const said = new Set(["version", "at", "fact", "by", "attempt"]);

/** @param {readonly Fact[]} happened */
function timeline(happened) {
  return h(
    "ol",
    { class: "timeline" },
    ...happened.map((fact) => {
      const details = Object.entries(fact).filter(([name, value]) => !said.has(name) && value !== undefined);
      return h(
        "li",
        {},
        h("time", { datetime: `${fact.at.replace(" ", "T")}Z`, class: "soft" }, fact.at),
        h("span", {}, factWords(fact.fact)),
        h(
          "span",
          { class: "soft" },
          [sourceWords(fact.by), ...details.map(([name, value]) => `${name} ${shown(String(value))}`)].join(", "),
        ),
      );
    }),
  );
}

/** @param {Explained} explained */
function booksOf({ postings, problems }) {
  const heads = ["When (UTC)", "Entry", "Account", "Amount", "Balance"];
  const rows = postings.map(({ at, kind, account, amount, balance, currency }) => [at, kind, account, `${amount} ${currency}`, balance]);
  return [
    h("h2", {}, "Books"),
    ...problems.map((text) => h("p", { class: "problem" }, text)),
    h(
      "details",
      {},
      h("summary", {}, `${postings.length} postings`),
      h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Postings" }, table("Postings", heads, rows)),
    ),
  ];
}
