// Payments, newest first: found, filtered, and kept fresh.
import { call } from "./api.js";
import { field, foreign, h, problem, select, table, tableRow } from "./dom.js";
import { bothAmounts } from "./money.js";
import { gone, newest } from "./newest.js";
import { keepFresh } from "./poll.js";
import { brandOptions, stateOptions, stateWords } from "./words.js";

/** @import { Listed, Page } from "./api.js" */

const heads = ["Code", "State", "Amount", "Card", "Customer", "Opened (UTC)"];
const filterNames = new Set(["search", "state", "brand"]);
const pageSize = 50;
/** How many calls one search makes before it asks whether to go on: 10,000 payments. */
const callsAtOnce = 5;

/** @type {import("./main.js").View} */
export async function listView(main, _words, query, signal) {
  const filter = filterOf(query);
  // A link that brought a whole number is put right at once.
  if (filter["search"] !== undefined && filter["search"] !== query.get("search"))
    history.replaceState(null, "", `#/payments?${new URLSearchParams(filter).toString()}`);
  /** @type {Map<string, { payment: Listed, row: HTMLElement }>} */
  const rows = new Map();
  const list = table("Payments, newest first", heads, []);
  const body = /** @type {HTMLElement} */ (list.tBodies[0]);
  const count = h("p", { class: "soft", role: "status" });
  const more = h("button", { type: "button", hidden: true, onclick: () => void goOn() }, "Show more");
  const trouble = h("div");
  /** @type {string | null} */
  let next = null;
  /**
   * How far down the first call of the newest look went.
   * @type {string | null}
   */
  let lookedTo = null;

  /** @param {string | undefined} before */
  const page = (before) =>
    /** @type {Promise<Page>} */ (call("/__cofre/payments", { ...filter, limit: pageSize, ...(before === undefined ? {} : { before }) }));

  /** @param {readonly Listed[]} payments */
  const put = (payments) => {
    for (const payment of payments) {
      const known = rows.get(payment.hash);
      if (known !== undefined && JSON.stringify(known.payment) === JSON.stringify(payment)) continue;
      const row = rowOf(payment);
      const hadFocus = known?.row.contains(document.activeElement) === true;
      known?.row.replaceWith(row);
      if (hadFocus) row.querySelector("a")?.focus();
      rows.set(payment.hash, { payment, row });
    }
    arrange(
      body,
      [...rows].toSorted(([left], [right]) => (left < right ? 1 : -1)).map(([, { row }]) => row),
    );
    const found = `${rows.size} ${rows.size === 1 ? "payment" : "payments"}${next === null ? "" : " so far"}`;
    if (count.textContent !== found) count.textContent = found;
    list.hidden = rows.size === 0;
    more.hidden = next === null;
  };

  /** Until there are more to show, or enough was looked at. */
  const goOn = async () => {
    const before = rows.size;
    more.disabled = true;
    try {
      for (let calls = 0; calls < callsAtOnce && (calls === 0 || (next !== null && rows.size - before < pageSize)); calls += 1) {
        const from = next;
        const { payments, next: following } = await page(from ?? undefined);
        // A fresh look may have begun the list anew meanwhile.
        if (signal.aborted || next !== from) return;
        next = following;
        if (from === null) lookedTo = following;
        put(payments);
      }
      trouble.replaceChildren();
    } catch (error) {
      trouble.replaceChildren(problem(error));
      throw error;
    } finally {
      more.disabled = false;
    }
  };

  main.append(searchForm(filter), count, h("div", { class: "wide", onkeydown: walk }, list), more, trouble);
  await goOn();
  void keepFresh(signal, async () => {
    const known = [...rows.keys()].reduce((left, right) => (left > right ? left : right), lookedTo ?? "");
    // Without a filter a gap is more than a page of new payments: they are a list of their own.
    const look = await newest(page, known, Object.keys(filter).length === 0 ? 1 : callsAtOnce);
    if (signal.aborted) return;
    lookedTo = look.first;
    if (!look.joins || look.following === null) next = look.following;
    for (const hash of gone(rows.keys(), look)) {
      rows.get(hash)?.row.remove();
      rows.delete(hash);
    }
    put(look.payments);
  });
}

/**
 * Puts the rows in this order, and leaves alone those that stand where they should: whoever is in one stays there.
 * @param {HTMLElement} body
 * @param {readonly HTMLElement[]} rows
 */
function arrange(body, rows) {
  let place = body.firstElementChild;
  for (const row of rows) {
    if (row === place) place = place.nextElementSibling;
    else body.insertBefore(row, place);
  }
}

/** @param {Listed} payment */
function rowOf(payment) {
  const { hash, merchant_payment_code: code, state, brand, masked_card_number: pan, name, email, open_date: opened } = payment;
  return tableRow(heads, [
    h("a", { href: `#/payment/${hash}`, class: "code" }, foreign(code)),
    stateMark(state, payment),
    bothAmounts(payment),
    h("span", { class: "card" }, `${brand} ${pan}`),
    h("span", { class: "customer" }, foreign(name), " ", foreign(email, "soft")),
    h("time", { datetime: `${opened.replace(" ", "T")}Z` }, opened),
  ]);
}

/**
 * @param {string} state
 * @param {Pick<Listed, "charged_back" | "needs_review">} flags
 */
export function stateMark(state, { charged_back: isChargedBack, needs_review: needsReview }) {
  const { text, colour } = stateWords(state);
  return h(
    "span",
    { class: "marks" },
    h("span", { class: `mark ${colour}` }, text),
    isChargedBack && h("span", { class: "mark bad" }, "Charged back"),
    needsReview && h("span", { class: "mark bad" }, "Look at this"),
  );
}

/**
 * What an address asks for, without a whole card number.
 * @param {URLSearchParams} query
 * @returns {Readonly<Record<string, string>>}
 */
export function filterOf(query) {
  const asked = [...query].filter(([name, value]) => filterNames.has(name) && value !== "");
  return Object.fromEntries(asked.map(([name, value]) => [name, withoutNumber(value)]));
}

/** @param {Readonly<Record<string, string>>} filter */
function searchForm(filter) {
  const search = h("input", {
    type: "search",
    name: "search",
    maxlength: "200",
    autocomplete: "off",
    spellcheck: "false",
    value: filter["search"] ?? "",
  });
  const state = select("state", [["", "any"], ...stateOptions], filter["state"] ?? "");
  const brand = select("brand", [["", "any"], ...brandOptions], filter["brand"] ?? "");
  const apply = () => {
    const chosen = new URLSearchParams();
    for (const [name, value] of [
      ["search", withoutNumber(search.value.trim())],
      ["state", state.value],
      ["brand", brand.value],
    ]) {
      if (value !== "") chosen.set(name ?? "", value ?? "");
    }
    const text = chosen.toString();
    location.hash = text === "" ? "#/payments" : `#/payments?${text}`;
  };
  return h(
    "form",
    {
      role: "search",
      class: "search",
      onsubmit: (event) => {
        event.preventDefault();
        apply();
      },
      onchange: (event) => {
        if (event.target instanceof HTMLSelectElement) apply();
      },
    },
    field("Search by code, hash, customer or card", search),
    field("State", state),
    field("Brand", brand),
    h("button", { type: "submit" }, "Search"),
  );
}

/** What may be a card number, however its digits are set apart; a date after it, glued or not, is taken along. */
const numberLike = /\p{Nd}(?:[^\p{L}\p{N}]{0,6}\p{Nd}){11,}/gu;

/**
 * A whole card number stands in no address: what is searched for is its mask. A payment's whole hash may have as many digits, and stays.
 * @param {string} text
 */
export function withoutNumber(text) {
  if (/^[0-9a-f]{48}$/i.test(text)) return text;
  return text.replaceAll(numberLike, (run) => {
    const digits = run.match(/\p{Nd}/gu) ?? [];
    return [...digits.slice(0, 6), "x".repeat(digits.length - 10), ...digits.slice(-4)].join("");
  });
}

/**
 * Arrows go from row to row.
 * @param {Event} event
 */
function walk(event) {
  if (!(event instanceof KeyboardEvent) || (event.key !== "ArrowDown" && event.key !== "ArrowUp")) return;
  const row = event.target instanceof Element ? event.target.closest("tr") : null;
  const to = event.key === "ArrowDown" ? row?.nextElementSibling : row?.previousElementSibling;
  const link = to?.querySelector("a");
  if (link === null || link === undefined) return;
  event.preventDefault();
  link.focus();
}
