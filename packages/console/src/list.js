// Payments, newest first, with search, filters and refresh.
import { call } from "./api.js";
import { field, foreign, h, searchForm, select, shown } from "./dom.js";
import { liveList } from "./live-list.js";
import { bothAmounts, minorOf } from "./money.js";
import { mayDo } from "./session.js";
import { brandOptions, moneyWords, stateOptions, stateWords } from "./words.js";

/** @import { Listed, Page } from "./api.js" */

const heads = ["Code", "State", "Amount", "Card", "Customer", "Opened (UTC)"];
const filterNames = new Set(["search", "state", "brand"]);
const pageSize = 50;
/** Longest code that fits on one line. */
const mostOnOneLine = 18;

/** @type {import("./main.js").View} */
export async function listView(main, _words, query, signal) {
  const filter = filterOf(query);
  // A URL that contains a whole card number is replaced at once.
  if (filter["search"] !== undefined && filter["search"] !== query.get("search"))
    history.replaceState(null, "", `#/payments?${new URLSearchParams(filter).toString()}`);
  main.append(form(filter));
  await liveList(main, signal, {
    caption: "Payments, newest first",
    heads,
    noun: ["payment", "payments"],
    isFiltered: Object.keys(filter).length > 0,
    page: async (before) => {
      const asked = { ...filter, limit: pageSize, ...(before === undefined ? {} : { before }) };
      const { payments, next } = /** @type {Page} */ (await call("/__cofre/payments", asked));
      return { items: payments, next };
    },
    keyOf: ({ hash }) => hash,
    cells,
    whenNone: mayDo("operator")
      ? [
          "There are no payments yet. ",
          h("a", { href: "#/try" }, "Try it"),
          " sends one from here. Payments of your shop appear here automatically.",
        ]
      : ["There are no payments yet. Payments of the shop appear here automatically."],
    all: "#/payments",
  });
}

/** @param {Listed} payment */
function cells(payment) {
  const {
    hash,
    merchant_payment_code: code,
    state,
    brand,
    masked_card_number: pan,
    name,
    email,
    open_date: opened,
  } = payment;
  return [
    h(
      "a",
      { href: `#/payment/${hash}`, class: code.length > mostOnOneLine ? "code" : "code one-line" },
      foreign(code),
    ),
    stateMark(state, payment),
    bothAmounts(payment),
    h("span", { class: "card" }, `${brand} ${pan}`),
    h("span", { class: "customer" }, foreign(name), " ", addressOf(email)),
    h("time", { datetime: `${opened.replace(" ", "T")}Z` }, opened),
  ];
}

/**
 * An e-mail address, which may break before its @ and its dots, but not within a word that fits on
 * a line.
 * @param {string} email
 */
function addressOf(email) {
  const parts = shown(email).split(/(?=[@.])/);
  return h(
    "bdi",
    { class: "soft address" },
    ...parts.flatMap((part, place) => (place === 0 ? [part] : [h("wbr"), part])),
  );
}

/**
 * @param {string} state
 * @param {Pick<Listed, "captured" | "refunded" | "charged_back" | "disputed" | "needs_review">}
 * flags
 */
export function stateMark(
  state,
  { captured, refunded, charged_back: isChargedBack, disputed, needs_review: needsReview },
) {
  const { text, colour } =
    state === "captured"
      ? moneyWords(minorOf(captured), minorOf(refunded), isChargedBack)
      : stateWords(state);
  return h(
    "span",
    { class: "marks" },
    h("span", { class: `mark ${colour}` }, text),
    disputed && !isChargedBack && h("span", { class: "mark good" }, "Dispute won"),
    needsReview && h("span", { class: "mark bad" }, "Needs investigation"),
  );
}

/**
 * The filter in a URL, without a whole card number.
 * @param {URLSearchParams} query
 * @returns {Readonly<Record<string, string>>}
 */
export function filterOf(query) {
  const asked = [...query].filter(([name, value]) => filterNames.has(name) && value !== "");
  return Object.fromEntries(asked.map(([name, value]) => [name, withoutNumber(value)]));
}

/** @param {Readonly<Record<string, string>>} filter */
function form(filter) {
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
  return searchForm(
    "payments",
    () => ({ search: withoutNumber(search.value.trim()), state: state.value, brand: brand.value }),
    field("Search by code, hash, customer, card, amount, currency or country", search),
    field("State", state),
    field("Brand", brand),
  );
}

/** A possible card number, with any separators between its digits, including an adjacent date. */
const numberLike = /\p{Nd}(?:[^\p{L}\p{N}]{0,6}\p{Nd}){11,}/gu;

/**
 * A URL never contains a whole card number: the search is for its mask. A payment's whole hash may
 * have as many digits, and is kept.
 * @param {string} text
 */
export function withoutNumber(text) {
  if (/^[0-9a-f]{48}$/i.test(text)) return text;
  return text.replaceAll(numberLike, (run) => {
    const digits = run.match(/\p{Nd}/gu) ?? [];
    return [...digits.slice(0, 6), "x".repeat(digits.length - 10), ...digits.slice(-4)].join("");
  });
}
