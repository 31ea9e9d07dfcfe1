// Stored cards, with the data that may be shown.
import { signal } from "@preact/signals";
import { call } from "./api.js";
import { html, mountIn } from "./html.js";
import { parts, t } from "./language.js";
import { withoutNumber } from "./list.js";
import { Choice, Foreign, Problem, Table, TextField, valuesOf, When, Wide } from "./pieces.js";
import { keepFresh } from "./poll.js";
import { brandOptions } from "./words.js";

/** @import { ReadonlySignal } from "@preact/signals" */

/**
 * @typedef {{ brand: string, masked_card_number: string, created_at: string, last_used_at: string,
 * expires_at: string }} Token
 */
/** @typedef {{ tokens: Token[], found: number, next: string | null }} Tokens */
/** @typedef {{ tokens: readonly Token[], found: number, isAll: boolean }} Found */
/** @typedef {Readonly<Record<string, string>>} Filter */

const heads = [t("head.card"), t("tokens.stored"), t("tokens.used"), t("tokens.expires")];
const step = 100;
/** Most tokens in one answer. */
const mostOfCall = 1_000;

/** @type {import("./main.js").View} */
export async function tokensView(main, _words, query, abort) {
  const filter = filterOf(query);
  if (filter["card"] !== undefined && filter["card"] !== query.get("card"))
    history.replaceState(null, "", addressOf(filter));
  const read = signal(/** @type {Found | undefined} */ (undefined));
  const trouble = signal(/** @type {unknown} */ (undefined));
  let wanted = step;
  const refresh = async () => {
    const found = await look(filter, wanted);
    if (abort.aborted) return;
    trouble.value = undefined;
    read.value = found;
  };
  const more = () => {
    wanted += wanted < mostOfCall ? step : mostOfCall;
    refresh().catch((error) => (trouble.value = error));
  };
  mountIn(
    main,
    html`<${View} filter=${filter} read=${read} trouble=${trouble} more=${more} />`,
    abort,
  );
  await refresh();
  void keepFresh(abort, refresh);
}

/**
 * @param {{ filter: Filter, read: ReadonlySignal<Found | undefined>, trouble:
 * ReadonlySignal<unknown>, more: () => void }} props
 */
function View({ filter, read, trouble, more }) {
  /** @param {Event} event */
  const apply = (event) => {
    event.preventDefault();
    const { card = "", brand = "" } = valuesOf(event.target);
    location.hash = addressOf({ card: withoutNumber(card), brand }).slice(1);
  };
  return html`
    <div>
      <p>${t("tokens.explained")}</p>
      <form role="search" class="search" onSubmit=${apply}>
        <${TextField}
          label=${t("tokens.digits")}
          name="card"
          type="search"
          maxlength="40"
          defaultValue=${filter["card"] ?? ""}
        />
        <${Choice}
          label=${t("head.brand")}
          name="brand"
          options=${brandChoices}
          chosen=${filter["brand"]}
          onChange=${apply}
        />
        <button type="submit">${t("search")}</button>
      </form>
      ${read.value !== undefined && html`<${Cards} found=${read.value} filter=${filter} more=${more} />`}
      <${Problem} error=${trouble.value} />
    </div>
  `;
}

/** @type {readonly (readonly [value: string, text: string])[]} */
const brandChoices = [["", t("any")], ...brandOptions];

/** @param {{ found: Found, filter: Filter, more: () => void }} props */
function Cards({ found: { tokens, found, isAll }, filter, more }) {
  const counted = t("tokens.count", { count: found });
  const all = isAll ? counted : t("so_far", { found: counted });
  return html`
    <div>
      <p class="soft" role="status">
        ${tokens.length < found ? t("tokens.newest", { all, shown: tokens.length }) : all}
      </p>
      ${tokens.length === 0 && isAll && html`<${None} isFiltered=${Object.keys(filter).length > 0} />`}
      ${
        tokens.length > 0 &&
        html`
          <${Wide} label=${t("tokens.caption")}>
            <${Table}
              caption=${t("tokens.caption")}
              heads=${heads}
              rows=${tokens.map((token, place) => ({ key: String(place), cells: cells(token) }))}
            />
          <//>
        `
      }
      ${(!isAll || tokens.length < found) && html`<button type="button" onClick=${more}>${t("show_more")}</button>`}
    </div>
  `;
}

/** @param {{ isFiltered: boolean }} props */
function None({ isFiltered }) {
  if (isFiltered)
    return html`<p class="nothing">${t("no_match")} <a href="#/tokens">${t("show_all")}</a></p>`;
  const link = html`<a href="#/new">${t("view.new")}</a>`;
  return html`<p class="nothing">${parts("tokens.none", { link, path: "/ws/token" })}</p>`;
}

/**
 * Reads cards a thousand at a time, until the wanted number is reached.
 * @param {Filter} filter
 * @param {number} wanted
 * @returns {Promise<Found>}
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
    html`<span class="card"><${Foreign} text=${`${brand} ${pan}`} /></span>`,
    ...[created, used, expires].map((at) => html`<${When} at=${at} />`),
  ];
}

/**
 * @param {URLSearchParams} query
 * @returns {Filter}
 */
function filterOf(query) {
  const [brand, card] = [query.get("brand") ?? "", withoutNumber(query.get("card") ?? "")];
  return {
    ...(brandOptions.some(([value]) => value === brand) ? { brand } : {}),
    ...(card === "" ? {} : { card }),
  };
}

/** @param {Filter} filter */
function addressOf(filter) {
  const chosen = Object.entries(filter).filter(([, value]) => value !== "");
  const text = new URLSearchParams(chosen).toString();
  return text === "" ? "#/tokens" : `#/tokens?${text}`;
}
