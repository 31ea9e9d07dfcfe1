// Stored cards, with the data that may be shown.
import { call } from "./api.js";
import { field, foreign, h, problem, searchForm, select, table, tableRow } from "./dom.js";
import { parts, t } from "./language.js";
import { withoutNumber } from "./list.js";
import { nothing } from "./live-list.js";
import { keepFresh } from "./poll.js";
import { when } from "./when.js";
import { brandOptions } from "./words.js";

/**
 * @typedef {{ brand: string, masked_card_number: string, created_at: string, last_used_at: string,
 * expires_at: string }} Token
 */
/** @typedef {{ tokens: Token[], found: number, next: string | null }} Tokens */

const heads = [t("head.card"), t("tokens.stored"), t("tokens.used"), t("tokens.expires")];
const step = 100;
/** Most tokens in one answer. */
const mostOfCall = 1_000;

/** @type {import("./main.js").View} */
export async function tokensView(main, _words, query, signal) {
  const filter = filterOf(query);
  if (filter["card"] !== undefined && filter["card"] !== query.get("card"))
    history.replaceState(null, "", `#/tokens?${new URLSearchParams(filter).toString()}`);
  const list = table(t("tokens.caption"), heads, []);
  const body = /** @type {HTMLElement} */ (list.tBodies[0]);
  const count = h("p", { class: "soft", role: "status" });
  const none = nothing(
    Object.keys(filter).length > 0,
    parts("tokens.none", { link: h("a", { href: "#/try" }, t("view.try")), path: "/ws/token" }),
    "#/tokens",
  );
  const trouble = h("div");
  let wanted = step;
  let made = "";

  const refresh = async () => {
    const { tokens, found, isAll } = await look(filter, wanted);
    if (signal.aborted) return;
    const now = JSON.stringify([tokens, found, isAll]);
    trouble.replaceChildren();
    if (now === made) return;
    made = now;
    body.replaceChildren(...tokens.map((token) => tableRow(heads, cells(token))));
    const counted = t("tokens.count", { count: found });
    const all = isAll ? counted : t("so_far", { found: counted });
    count.textContent =
      tokens.length < found ? t("tokens.newest", { all, shown: tokens.length }) : all;
    list.hidden = tokens.length === 0;
    none.hidden = tokens.length > 0 || !isAll;
    more.hidden = isAll && tokens.length === found;
  };
  const more = h(
    "button",
    {
      type: "button",
      hidden: true,
      onclick: () => {
        wanted += wanted < mostOfCall ? step : mostOfCall;
        refresh().catch((error) => trouble.replaceChildren(problem(error)));
      },
    },
    t("show_more"),
  );

  main.append(
    h("p", {}, t("tokens.explained")),
    form(filter),
    count,
    none,
    h("div", { class: "wide" }, list),
    more,
    trouble,
  );
  await refresh();
  void keepFresh(signal, refresh);
}

/**
 * Reads cards a thousand at a time, until the wanted number is reached.
 * @param {Readonly<Record<string, string>>} filter
 * @param {number} wanted
 */
async function look(filter, wanted) {
  /** @type {Token[]} */
  const tokens = [];
  let found = 0;
  /** @type {string | null} */
  let after = null;
  do {
    const asked = {
      ...filter,
      limit: Math.min(wanted, mostOfCall),
      ...(after === null ? {} : { after }),
    };
    const answer = /** @type {Tokens} */ (await call("/__cofre/tokens", asked));
    tokens.push(...answer.tokens);
    found += answer.found;
    after = answer.next;
  } while (after !== null && found < wanted);
  const newest = tokens.toSorted((left, right) =>
    left.created_at < right.created_at ? 1 : left.created_at > right.created_at ? -1 : 0,
  );
  return { tokens: newest.slice(0, wanted), found, isAll: after === null };
}

/** @param {Token} token */
function cells({
  brand,
  masked_card_number: pan,
  created_at: created,
  last_used_at: used,
  expires_at: expires,
}) {
  return [
    h("span", { class: "card" }, foreign(`${brand} ${pan}`)),
    when(created),
    when(used),
    when(expires),
  ];
}

/**
 * @param {URLSearchParams} query
 * @returns {Readonly<Record<string, string>>}
 */
function filterOf(query) {
  const [brand, card] = [query.get("brand") ?? "", withoutNumber(query.get("card") ?? "")];
  return {
    ...(brandOptions.some(([value]) => value === brand) ? { brand } : {}),
    ...(card === "" ? {} : { card }),
  };
}

/** @param {Readonly<Record<string, string>>} filter */
function form(filter) {
  const card = h("input", {
    type: "search",
    name: "card",
    maxlength: "40",
    autocomplete: "off",
    value: filter["card"] ?? "",
  });
  const brand = select("brand", [["", t("any")], ...brandOptions], filter["brand"] ?? "");
  return searchForm(
    "tokens",
    () => ({ card: withoutNumber(card.value.trim()), brand: brand.value }),
    field(t("tokens.digits"), card),
    field(t("head.brand"), brand),
  );
}
