// Payments, newest first, with search, filters and refresh.
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { call, subjectOfTab } from "./api.js";
import { csvOf, download } from "./csv.js";
import { problemText, say, shown } from "./shown.js";
import {
  amountText,
  countryText,
  countText,
  dayText,
  momentText,
  timeOf,
  utcText,
} from "./format.js";
import { html, mountIn } from "./html.js";
import { parts, t } from "./language.js";
import { liveData } from "./live-data.js";
import { comeBack, isReturn, walk } from "./live-list.js";
import { minorOf } from "./money.js";
import { NearRows } from "./near-rows.js";
import { Cells, Heads, opens } from "./pieces.js";
import { keepFresh } from "./poll.js";
import { Pick, Selection } from "./row-selection.js";
import { forgetViews, readViews, SavedViews } from "./saved-views.js";
import { isSandbox, mayDo } from "./session.js";
import { clock, stateCounts } from "./state.js";
import { brandOptions, isHash, moneyWords, own, reasonWords, stateWords } from "./words.js";
import { hasDates, plainText, serverSearch, timeTyped, zone } from "./zone.js";

/** @import { ReadonlySignal } from "@preact/signals" */
/** @import { Listed, Page, Subject } from "./api.js" */

const filterNames = new Set(["search", "state", "brand", "period", "from", "to"]);
/** Payments of the first call, of which few are on the screen. */
const pageSize = 50;
/** Most payments of one call. */
const largestPage = 100;
/** Most payments of an exported file. */
const mostExported = 10_000;
/** The counts of the tabs are read again every fifth time. */
const turnsOfCounts = 5;

/**
 * Tabs above the list, by the states that they select. `isRare`: shown only when it has payments.
 * @type {readonly { states: string, title: string, isRare?: true }[]}
 */
const tabs = [
  { states: "", title: t("tab.all") },
  { states: "captured", title: t("tab.captured") },
  { states: "authorized", title: t("tab.authorized") },
  { states: "declined", title: t("tab.declined") },
  { states: "refunded,partly_refunded", title: t("tab.refunded") },
  { states: "disputed", title: t("tab.disputed") },
  { states: "expired", title: t("tab.expired"), isRare: true },
  { states: "voided", title: t("tab.voided"), isRare: true },
  { states: "in_review", title: t("state.in_review"), isRare: true },
  {
    states: "received,opened,authenticating,authorizing,capturing,voiding,reversing",
    title: t("tab.in_progress"),
    isRare: true,
  },
];

const hourMs = 3_600_000;
/** @type {Readonly<Record<string, readonly [title: string, hours: number]>>} */
const periods = {
  "24h": [t("period.24h"), 24],
  "7d": [t("period.7d"), 7 * 24],
  "30d": [t("period.30d"), 30 * 24],
};

/** Value of the choice of two dates instead of a period. */
const range = "range";

/**
 * Brands whose names are too long for their place.
 * @type {Readonly<Record<string, string>>}
 */
const shortBrands = { discover: "disc", hipercard: "hiper", mastercard: "mc" };

/**
 * `isFirst`: shown without a choice. `text`: the cell in an exported file.
 * @type {readonly { id: string, head: string, isFirst: boolean, isNumber?: true, cell: (payment:
 * Listed, now: number) => unknown, text: (payment: Listed) => string }[]}
 */
const columns = [
  {
    id: "state",
    head: t("head.state"),
    isFirst: true,
    cell: (payment, now) => html`<${StateCell} payment=${payment} now=${now} />`,
    text: (payment) => wordsOf(payment).text,
  },
  {
    id: "amount",
    head: t("head.amount"),
    isFirst: true,
    isNumber: true,
    cell: ({ amount_ext: amount, currency_ext: currency }) =>
      html`<${Amount} amount=${amount} currency=${currency} />`,
    text: ({ amount_ext: amount, currency_ext: currency }) => `${amount} ${currency}`,
  },
  {
    id: "code",
    head: t("head.code"),
    isFirst: true,
    cell: ({ hash, merchant_payment_code: code }) =>
      html`<a href=${`#/payment/${hash}`} class="code"><bdi>${shown(code)}</bdi></a>`,
    text: ({ merchant_payment_code: code }) => code,
  },
  {
    id: "customer",
    head: t("head.customer"),
    isFirst: true,
    cell: ({ name, country }) =>
      html`<span class="named"
        ><bdi title=${shown(name)}>${shown(name)}</bdi>${" "}
        <small title=${countryText(country)}>${shown(country.toUpperCase())}</small></span
      >`,
    text: ({ name }) => name,
  },
  {
    id: "card",
    head: t("head.card"),
    isFirst: true,
    cell: ({ brand, masked_card_number: mask }) =>
      html`<span class="card" title=${`${shown(brand)} ${shown(mask)}`}>
        <span class="brand-name">${shown(own(shortBrands, brand) ?? brand)}</span>${" "}
        ${`•••• ${shown(mask.slice(-4))}`}
      </span>`,
    text: ({ brand, masked_card_number: mask }) => `${brand} ${mask}`,
  },
  {
    id: "notified",
    head: t("head.notified"),
    isFirst: true,
    cell: ({ notified }) => html`<${NotifiedCell} notified=${notified} />`,
    text: ({ notified }) => (notified === undefined ? "" : notifiedText(notified)),
  },
  {
    id: "opened",
    head: t("head.opened"),
    isFirst: true,
    isNumber: true,
    cell: ({ open_date: at }, now) =>
      html`<time datetime=${`${at.replace(" ", "T")}Z`} title=${utcText(at)}
        >${momentText(at, now)}</time
      >`,
    text: ({ open_date: at }) => (Number.isNaN(timeOf(at)) ? at : plainText(timeOf(at))),
  },
  {
    id: "email",
    head: t("head.email"),
    isFirst: false,
    cell: ({ email }) => html`<bdi>${shown(email)}</bdi>`,
    text: ({ email }) => email,
  },
  {
    id: "local",
    head: t("head.local"),
    isFirst: false,
    isNumber: true,
    cell: ({ amount_br: amount, currency_br: currency }) =>
      html`<${Amount} amount=${amount} currency=${currency} />`,
    text: ({ amount_br: amount, currency_br: currency }) => `${amount} ${currency}`,
  },
  {
    id: "instalments",
    head: t("head.instalments"),
    isFirst: false,
    isNumber: true,
    cell: ({ instalments }) => shown(instalments),
    text: ({ instalments }) => instalments,
  },
  {
    id: "hash",
    head: t("head.hash"),
    isFirst: false,
    cell: ({ hash }) => html`<span class="code">${shown(hash)}</span>`,
    text: ({ hash }) => hash,
  },
];

/** Set while the columns differ from the usual ones, in this tab. */
const placeOfColumns = "cofre.columns";

/** @typedef {"loading" | "read" | "failed"} Phase */
/**
 * The ids of the shown columns. `isInAddress`: a saved view has them, not this tab.
 * @typedef {{ ids: readonly string[], isInAddress: boolean }} Columns
 */
/**
 * What the components show.
 * @typedef {object} Model
 * @property {ReadonlySignal<readonly Listed[]>} payments newest first
 * @property {ReadonlySignal<Phase>} phase
 * @property {ReadonlySignal<boolean>} hasMore
 * @property {ReadonlySignal<boolean>} isReading older payments are being read
 * @property {ReadonlySignal<string | null>} readTo the hash from which the list continues
 * @property {ReadonlySignal<string>} trouble
 * @property {Readonly<Record<string, string>>} filter
 * @property {ReadonlySignal<Columns>} columns
 * @property {(columns: readonly string[]) => void} chooseColumns
 * @property {import("@preact/signals").Signal<readonly Listed[]>} selected to be compared
 * @property {Subject} subject
 * @property {AbortSignal} abort
 * @property {() => void} more
 * @property {ReadonlySignal<boolean>} isExporting
 * @property {() => Promise<void>} exportAll
 */

/** @type {import("./main.js").View} */
export async function listView(main, _words, query, abort) {
  const filter = filterOf(query);
  const chosen = signal(columnsIn(query));
  const address = () => addressOf({ ...filter, ...inAddress(chosen.value) });
  // A URL that contains a whole card number is replaced at once.
  if (filter["search"] !== undefined && filter["search"] !== query.get("search"))
    history.replaceState(null, "", address());
  const payments = signal(/** @type {readonly Listed[]} */ ([]));
  const phase = signal(/** @type {Phase} */ ("loading"));
  const hasMore = signal(false);
  const isReading = signal(false);
  const readTo = signal(/** @type {string | null} */ (null));
  const trouble = signal("");
  const isExporting = signal(false);
  // Every page is read from the account for which the list was opened.
  const subject = subjectOfTab();
  const begun = clock.value?.now;
  /** @param {Readonly<Record<string, unknown>>} page */
  const read = async (page) => {
    const now = filter["period"] === undefined ? "" : (begun ?? (await accountTime(subject)));
    return /** @type {Page} */ (
      await call("/__cofre/payments", { ...askedOf(filter, now), ...page }, subject)
    );
  };
  const data = liveData(
    {
      isFiltered: Object.keys(filter).length > 0,
      page: async (before) => {
        const { payments: items, next } = await read({
          limit: before === undefined ? pageSize : largestPage,
          ...(before === undefined ? {} : { before }),
        });
        return { items, next };
      },
      keyOf: ({ hash }) => hash,
      callsAtOnce: 1,
    },
    abort,
    () => {
      payments.value = [...data.rows.values()].toSorted((left, right) =>
        left.hash < right.hash ? 1 : -1,
      );
      phase.value = "read";
      hasMore.value = data.next() !== null;
      readTo.value = data.next();
    },
  );
  // A search of a large account takes many calls: what is found is shown at once.
  const more = async (until = data.rows.size + pageSize) => {
    if (isReading.value) return;
    isReading.value = true;
    try {
      while (hasMore.value && data.rows.size < until && !abort.aborted) await data.more();
      trouble.value = "";
    } catch (error) {
      if (!abort.aborted) trouble.value = problemText(error);
    } finally {
      isReading.value = false;
    }
  };
  const model = {
    payments,
    phase,
    hasMore,
    isReading,
    readTo,
    trouble,
    filter,
    columns: chosen,
    chooseColumns: (/** @type {readonly string[]} */ ids) => {
      chosen.value = { ...chosen.value, ids };
      if (chosen.value.isInAddress) history.replaceState(history.state, "", address());
      else keepColumns(ids);
    },
    selected: signal(/** @type {readonly Listed[]} */ ([])),
    subject,
    abort,
    more: () => void more(),
    isExporting,
    exportAll: async () => {
      isExporting.value = true;
      await exportAll(read, abort);
      isExporting.value = false;
    },
  };
  mountIn(main, html`<${Payments} model=${model} />`, abort);
  // The list that the browser's Back returns to is shown at once, and then refreshed.
  const name = JSON.stringify([subject, addressOf(filter)]);
  const earlier = isReturn() && left?.name === name ? left.read : undefined;
  left = undefined;
  abort.addEventListener("abort", () => (left = { name, address: address(), read: data.read() }), {
    once: true,
  });
  await comeBack(abort, data.rows, async () => {
    try {
      if (earlier === undefined) await data.more();
      else data.resume(earlier);
    } catch (error) {
      // The router reports it.
      phase.value = "failed";
      throw error;
    }
    return earlier === undefined && data.next() !== null && !abort.aborted;
  });
  void more(pageSize);
  // After the rows, which they would delay.
  const beside = [readCounts(subject, abort), readViews(subject, abort)];
  const counts = Promise.allSettled(beside);
  if (earlier !== undefined) await data.refresh();
  await counts;
  let turn = 0;
  void keepFresh(abort, async () => {
    await data.refresh();
    turn += 1;
    if (turn % turnsOfCounts === 0)
      await Promise.all([readCounts(subject, abort), readViews(subject, abort)]);
  });
}

/**
 * The list of the last view: its data only, and for one return.
 * @type {{ name: string, address: string, read: import("./live-data.js").Read<Listed> } | undefined}
 */
let left;

/**
 * The payments beside this one in the list of the last view, its place there, their number, and
 * whether the list has more.
 * @param {string} hash
 */
export function neighboursOf(hash) {
  const hashes = [...(left?.read.rows.keys() ?? [])].toSorted().toReversed();
  const place = hashes.indexOf(hash);
  if (place < 0) return { before: undefined, after: undefined, place: 0, count: 0, hasMore: false };
  return {
    before: hashes[place + 1],
    after: hashes[place - 1],
    place: place + 1,
    count: hashes.length,
    hasMore: left?.read.next !== null,
  };
}

/** The URL of the last list. */
export function listAddress() {
  return left?.address ?? "#/payments";
}

/** Drops the last list: its account or user is not the present one. */
export function forgetList() {
  left = undefined;
  forgetViews();
}

/**
 * @param {Subject} subject
 * @param {AbortSignal} abort
 */
async function readCounts(subject, abort) {
  const {
    counts,
    payments_read: all,
    complete,
  } = /** @type {{ counts: Readonly<Record<string, number>>, payments_read: number, complete: boolean }} */ (
    await call("/__cofre/payments", { count: "states" }, subject)
  );
  // Another account may have been opened in the meantime.
  if (!abort.aborted) stateCounts.value = { counts, all, isAll: complete };
}

/**
 * The account's present time, of which a period is counted back.
 * @param {Subject} subject
 */
export async function accountTime(subject) {
  const { clock: read } = /** @type {{ clock: { now: string } }} */ (
    await call("/__cofre/clock", {}, subject)
  );
  return read.now;
}

/**
 * The members of the request.
 * @param {Readonly<Record<string, string>>} filter
 * @param {string} now
 */
function askedOf({ search = "", state, brand, period = "", from = "", to = "" }, now) {
  const [, hours] = own(periods, period) ?? [];
  const since = hours === undefined ? timeTyped(from) : timeOf(now) - hours * hourMs;
  // The server cuts a long search at its end.
  const words = [
    Number.isNaN(since) ? "" : `after:${secondText(since)}`,
    Number.isNaN(timeTyped(to)) ? "" : `before:${secondText(timeTyped(dayAfter(to)))}`,
    serverSearch(search),
  ]
    .filter((each) => each !== "")
    .join(" ");
  return {
    ...(words === "" ? {} : { search: words }),
    ...(state === undefined ? {} : { state }),
    ...(brand === undefined ? {} : { brand }),
  };
}

/** @param {number} ms */
function secondText(ms) {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

/** @param {string} date */
function dayAfter(date) {
  return new Date(Date.parse(date) + 24 * hourMs).toISOString().slice(0, 10);
}

/** @param {{ model: Model }} props */
function Payments({ model }) {
  const { filter } = model;
  const { ids: chosen } = model.columns.value;
  const shownColumns = columns.filter(({ id }) => chosen.includes(id));
  const ofAddress = inAddress(model.columns.value);
  const isUsual = chosen.join(",") === usualColumns().join(",");
  /** @param {string} id */
  const turn = (id) =>
    model.chooseColumns(
      columns.map((column) => column.id).filter((each) => chosen.includes(each) !== (each === id)),
    );
  return html`
    <div class="payments">
      <${Tabs} filter=${{ ...filter, ...ofAddress }} />
      <${SearchBar} filter=${{ ...filter, ...ofAddress }} />
      <div class="above">
        <${Count} model=${model} />
        <${SavedViews}
          place=${{
            fields: { ...filter, ...ofAddress },
            saved: isUsual ? filter : { ...filter, columns: chosen.join(",") },
            addressOf,
            subject: model.subject,
            abort: model.abort,
          }}
        />
        <details class="menu">
          <summary>${t("list.columns")}</summary>
          <div class="choices">
            ${columns
              .filter(({ id }) => id !== "code")
              .map(
                ({ id, head }) => html`
                  <label key=${id} class="check">
                    <input
                      type="checkbox"
                      checked=${chosen.includes(id)}
                      onChange=${() => turn(id)}
                    />
                    ${head}
                  </label>
                `,
              )}
          </div>
        </details>
        <button
          type="button"
          class="small"
          disabled=${model.isExporting.value}
          onClick=${() => void model.exportAll()}
        >
          ${t("list.export")}
        </button>
      </div>
      <${Rows} model=${model} columns=${shownColumns} />
    </div>
  `;
}

/**
 * Those of the address, of this tab, or the usual ones.
 * @param {URLSearchParams} query
 * @returns {Columns}
 */
function columnsIn(query) {
  const given = query.get("columns");
  // The code is the link to the payment.
  const ids = given?.split(",").filter((id) => columns.some((column) => column.id === id)) ?? [];
  if (ids.includes("code")) return { ids, isInAddress: true };
  const kept = sessionStorage.getItem(placeOfColumns);
  return { ids: kept?.split(",") ?? usualColumns(), isInAddress: false };
}

function usualColumns() {
  return columns.filter(({ isFirst }) => isFirst).map(({ id }) => id);
}

/**
 * The columns as a field of the address.
 * @param {Columns} chosen
 * @returns {Readonly<Record<string, string>>}
 */
function inAddress({ ids, isInAddress }) {
  return isInAddress ? { columns: ids.join(",") } : {};
}

/** @param {readonly string[]} ids */
function keepColumns(ids) {
  sessionStorage.setItem(placeOfColumns, ids.join(","));
}

/** @param {{ filter: Model["filter"] }} props */
function Tabs({ filter }) {
  const { state = "" } = filter;
  return html`
    <nav class="tabs" aria-label=${t("list.states")}>
      ${tabs.map(({ states, title, isRare }) => {
        const count = countOf(states);
        if (isRare === true && state !== states && (count === undefined || count.number === 0))
          return null;
        return html`
          <a
            key=${states}
            name=${`tab-${title}`}
            href=${addressOf({ ...filter, state: states })}
            aria-current=${state === states ? "page" : undefined}
          >
            ${title}${count !== undefined && html` <span class="count">${count.text}</span>`}
          </a>
        `;
      })}
    </nav>
  `;
}

/** @param {string} states */
function countOf(states) {
  const known = stateCounts.value;
  if (known === undefined) return undefined;
  const { counts, all, isAll } = known;
  const number =
    states === ""
      ? all
      : states.split(",").reduce((sum, state) => sum + (own(counts, state) ?? 0), 0);
  return { number, text: `${countText(number)}${isAll ? "" : "+"}` };
}

/** @param {{ filter: Model["filter"] }} props */
function SearchBar({ filter }) {
  const { search = "", state = "", brand = "", period = "", from = "", to = "" } = filter;
  const { columns: ids = "" } = filter;
  const [hasRange, setRange] = useState(from !== "" || to !== "");
  /** @param {Event} event */
  const choosePeriod = (event) => {
    const { value } = /** @type {HTMLSelectElement} */ (event.currentTarget);
    setRange(value === range);
    // The list changes when a date is chosen.
    if (value !== range) apply(event);
  };
  /** @param {Event} event */
  const apply = (event) => {
    event.preventDefault();
    const form = /** @type {HTMLElement} */ (event.currentTarget).closest("form");
    if (form === null) return;
    const typed = new FormData(form);
    const text = (/** @type {string} */ name) => {
      const value = typed.get(name);
      return typeof value === "string" ? value.trim() : "";
    };
    location.hash = addressOf({
      search: withoutNumber(text("search")),
      state,
      brand: text("brand"),
      ...(text("period") === range
        ? { from: text("from"), to: text("to") }
        : { period: text("period") }),
      columns: ids,
    }).slice(1);
  };
  return html`
    <form role="search" class="search" onSubmit=${apply}>
      <input
        type="search"
        name="search"
        aria-label=${t("list.search_by")}
        placeholder=${t("list.search_hint", { example: "status:declined amount:>500 country:mx" })}
        maxlength="140"
        autocomplete="off"
        spellcheck=${false}
        value=${search}
      />
      <select name="brand" aria-label=${t("head.brand")} onChange=${apply}>
        <option value="" selected=${brand === ""}>${t("list.any_brand")}</option>
        ${brandOptions.map(
          ([value, text]) =>
            html`<option key=${value} value=${value} selected=${value === brand}>${text}</option>`,
        )}
      </select>
      <select name="period" aria-label=${t("list.period")} onChange=${choosePeriod}>
        <option value="" selected=${period === "" && !hasRange}>${t("list.any_time")}</option>
        ${Object.entries(periods).map(
          ([value, [text]]) =>
            html`<option key=${value} value=${value} selected=${value === period && !hasRange}>
              ${text}
            </option>`,
        )}
        <option value=${range} selected=${hasRange}>${t("period.range")}</option>
      </select>
      ${
        hasRange &&
        html`<span class="range">
          <input
            type="date"
            name="from"
            aria-label=${t("list.from")}
            value=${from}
            max=${to}
            onChange=${apply}
          />
          <span aria-hidden="true">–</span>
          <input
            type="date"
            name="to"
            aria-label=${t("list.to")}
            value=${to}
            min=${from}
            onChange=${apply}
          />
        </span>`
      }
      <button type="submit">${t("search")}</button>
    </form>
  `;
}

/** @param {{ model: Model }} props */
function Count({ model }) {
  const found = model.payments.value.length;
  const counted = t("payments", { count: found });
  const words = model.hasMore.value ? t("so_far", { found: counted }) : counted;
  const phase = model.phase.value;
  if (phase === "loading") return html`<p class="soft looking" role="status">${t("loading")}</p>`;
  return html`
    <p class="soft counted">
      <span role="status">${phase === "read" ? words : ""}</span>
      ${hasDates(model.filter["search"] ?? "") && html` <span>${t("list.dates_in", { zone })}</span>`}
      <${Searching} model=${model} />
    </p>
  `;
}

/**
 * The day at which a running search is.
 * @param {{ model: Model }} props
 */
function Searching({ model }) {
  const hash = model.readTo.value;
  if (!model.isReading.value || hash === null || Object.keys(model.filter).length === 0)
    return null;
  const seconds = Number.parseInt(hash.slice(0, secondsInHash), 16);
  if (Number.isNaN(seconds)) return null;
  const day = dayText(new Date(seconds * 1_000).toISOString(), timeOf(clock.value?.now ?? ""));
  return html`<span class="looking">${t("list.searching", { day })}</span>`;
}

/** A hash begins with the second of its payment's creation, in hex. */
const secondsInHash = 8;

/** @param {{ model: Model, columns: typeof columns }} props */
function Rows({ model, columns: shownColumns }) {
  const payments = model.payments.value;
  const hasMore = model.hasMore.value;
  const now = timeOf(clock.value?.now ?? "");
  if (payments.length === 0)
    return html`<div><${None} model=${model} /><${More} model=${model} /></div>`;
  return html`
    <div>
      <div class="wide" onKeyDown=${walk}>
        <table
          role="table"
          class="one-line-rows"
          aria-rowcount=${hasMore ? -1 : payments.length + 1}
        >
          <caption class="unseen">
            ${t("list.caption")}
          </caption>
          <${Heads} columns=${shownColumns} />
          <${NearRows}
            count=${payments.length}
            more=${model.more}
            row=${(/** @type {number} */ index) => {
              const payment = /** @type {Listed} */ (payments[index]);
              return html`<${Row}
                key=${payment.hash}
                payment=${payment}
                columns=${shownColumns}
                selected=${model.selected}
                now=${now}
                place=${index + 2}
              />`;
            }}
          />
        </table>
      </div>
      <${More} model=${model} />
      <${Selection} selected=${model.selected} />
    </div>
  `;
}

/**
 * @param {{ payment: Listed, columns: typeof columns, selected: Model["selected"], now: number,
 * place: number }} props
 */
function Row({ payment, columns: shownColumns, selected, now, place }) {
  const [first, ...others] = shownColumns.map(({ cell }) => cell(payment, now));
  return html`
    <tr role="row" data-row aria-rowindex=${place} onClick=${opens(`#/payment/${payment.hash}`)}>
      <${Cells}
        columns=${shownColumns}
        cells=${[[html`<${Pick} payment=${payment} selected=${selected} />`, first], ...others]}
      />
    </tr>
  `;
}

/** @param {{ model: Model }} props */
function None({ model }) {
  if (model.phase.value !== "read" || model.hasMore.value) return null;
  if (Object.keys(model.filter).length > 0)
    return html`<p class="nothing">${t("no_match")} <a href="#/payments">${t("show_all")}</a></p>`;
  return mayDo("operator") && isSandbox()
    ? html`<p class="nothing">
        ${parts("list.none_new", { link: html`<a href="#/new">${t("view.new")}</a>` })}
      </p>`
    : html`<p class="nothing">${t("list.none")}</p>`;
}

/** @param {{ model: Model }} props */
function More({ model }) {
  const trouble = model.trouble.value;
  return html`
    <div>
      ${model.hasMore.value && html`<button type="button" onClick=${model.more}>${t("show_more")}</button>`}
      ${trouble !== "" && html`<p class="problem" role="alert">${trouble}</p>`}
    </div>
  `;
}

/** @param {{ amount: string, currency: string }} props */
function Amount({ amount, currency }) {
  return html`<span class="amount"
    ><b>${amountText(amount, currency)}</b> <small>${shown(currency)}</small></span
  >`;
}

/** @param {NonNullable<Listed["notified"]>} notified */
function notifiedText({ delivered, receivers }) {
  return t("list.notified", { delivered: countText(delivered), receivers: countText(receivers) });
}

/**
 * How many receivers have all notifications, with a mark when one failed for good or is late.
 * @param {{ notified: Listed["notified"] }} props
 */
function NotifiedCell({ notified }) {
  if (notified === undefined) return html`<span class="soft">–</span>`;
  const { failed, late } = notified;
  const [colour, mark, why] =
    failed > 0
      ? ["bad", "✕", t("list.notified_failed", { count: failed })]
      : late
        ? ["waiting", "◷", t("list.notified_late")]
        : ["", "", ""];
  return html`<span class=${`word ${colour}`} title=${why}>
    ${notifiedText(notified)}
    ${mark !== "" && html` <span aria-hidden="true">${mark}</span><span class="unseen">${why}</span>`}
  </span>`;
}

/**
 * The state as a dot and words, with what explains it.
 * @param {{ payment: Listed, now: number }} props
 */
export function StateCell({ payment, now }) {
  const { text, colour } = wordsOf(payment);
  const why = reasonOf(payment, now);
  return html`
    <span class="state">
      <span class=${`dot ${colour}`}></span><span class=${`word ${colour}`}>${shown(text)}</span>
      ${
        (why !== "" || payment.needs_review) &&
        html` <span class="detail">
          ${why !== "" && html`<span class="soft"><span class="between">· </span>${why}</span>`}
          ${payment.needs_review && html` <span class="word bad">${t("state.needs_review")}</span>`}
        </span>`
      }
    </span>
  `;
}

/** @param {Listed} payment */
function wordsOf({ state, captured, refunded, charged_back: isChargedBack }) {
  return state === "captured"
    ? moneyWords(minorOf(captured), minorOf(refunded), isChargedBack)
    : stateWords(state);
}

/**
 * Why a payment was declined, how much was refunded, until when it can be captured.
 * @param {Listed} payment
 * @param {number} now
 */
export function reasonOf(payment, now) {
  const { decline_reason: reason, capture_by: until, captured, refunded, currency_ext } = payment;
  if (reason !== undefined) return shown(reasonWords(reason));
  if (until !== undefined) return t("state.until", { day: dayText(until, now) });
  if (payment.disputed && !payment.charged_back) return t("state.dispute_won");
  if (minorOf(refunded) > 0n && refunded !== captured)
    return `−${amountText(refunded, currency_ext)}`;
  return "";
}

/**
 * Reads the whole list and saves it as a file.
 * @param {(page: Readonly<Record<string, unknown>>) => Promise<Page>} read
 * @param {AbortSignal} abort
 */
async function exportAll(read, abort) {
  /** @type {Listed[]} */
  const payments = [];
  /** @type {string | null | undefined} */
  let next;
  try {
    do {
      say(t("list.exporting", { count: payments.length }));
      const page = await read({
        limit: largestPage,
        ...(next === undefined ? {} : { before: next }),
      });
      if (abort.aborted) return;
      payments.push(...page.payments);
      next = page.next;
    } while (next !== null && payments.length < mostExported);
  } catch (error) {
    say(problemText(error));
    return;
  }
  const rows = payments.map((payment) => columns.map(({ text }) => text(payment)));
  const heads = columns.map(({ id, head }) => (id === "opened" ? `${head} (${zone})` : head));
  download("payments.csv", csvOf([heads, ...rows]));
  const words = t("list.exported", { count: payments.length });
  say(next === null ? words : `${words} ${t("list.exported_newest")}`);
}

/** @param {Readonly<Record<string, string>>} filter */
function addressOf(filter) {
  const chosen = Object.entries(filter).filter(([, value]) => value !== "");
  const text = new URLSearchParams(chosen).toString();
  return text === "" ? "#/payments" : `#/payments?${text}`;
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

/** A range of amounts, without a number of as many digits on either side. */
const amountRange = /(?<!\S)(amount:\d{1,9}(?:[.,]\d{1,2})?\.\.\d{1,9}(?:[.,]\d{1,2})?)(?!\S)/iu;

/** A possible card number, with any separators between its digits, including an adjacent date. */
const numberLike = /\p{Nd}(?:[^\p{L}\p{N}]{0,6}\p{Nd}){11,}/gu;

/**
 * A URL never contains a whole card number: the search is for its mask. A payment's whole hash may
 * have as many digits, and is kept.
 * @param {string} text
 */
export function withoutNumber(text) {
  if (isHash(text)) return text;
  const masked = (/** @type {string} */ part) =>
    part.replaceAll(numberLike, (run) => {
      const digits = run.match(/\p{Nd}/gu) ?? [];
      return [...digits.slice(0, 6), "x".repeat(digits.length - 10), ...digits.slice(-4)].join("");
    });
  return text
    .split(amountRange)
    .map((part, place) => (place % 2 === 1 ? part : masked(part)))
    .join("");
}
