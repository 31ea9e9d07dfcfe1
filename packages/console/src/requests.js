// The account's requests, newest first, with search, filters and refresh.
import { signal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { call, offers, subjectOfTab } from "./api.js";
import { curlOf } from "./curl.js";
import { problemText, shown } from "./shown.js";
import { countText, exactText, secondText, timeOf, utcText } from "./format.js";
import { html, mount, mountIn } from "./html.js";
import { t } from "./language.js";
import { withoutNumber } from "./list.js";
import { liveData } from "./live-data.js";
import { comeBack, walk } from "./live-list.js";
import { NearRows } from "./near-rows.js";
import { Cells, Heads, opens } from "./pieces.js";
import { keepFresh } from "./poll.js";
import { clock } from "./state.js";
import { durationText, Outcome, PaymentLink } from "./request-parts.js";
import { own } from "./words.js";

/** @import { ReadonlySignal } from "@preact/signals" */
/** @import { ListedRequest, RequestPage } from "./request-parts.js" */

const filterNames = new Set(["search", "outcome", "path"]);
const pageSize = 50;
/** Numbers as zero-padded text, so that they sort numerically. */
const digits = 15;

/** @type {readonly { outcome: string, title: string }[]} */
const tabs = [
  { outcome: "", title: t("requests.all") },
  { outcome: "succeeded", title: t("requests.succeeded") },
  { outcome: "declined", title: t("requests.declined") },
  { outcome: "refused", title: t("requests.refused") },
  { outcome: "failed", title: t("requests.failed") },
];

/**
 * What the components show.
 * @typedef {object} Model
 * @property {ReadonlySignal<readonly ListedRequest[]>} rows newest first
 * @property {ReadonlySignal<Pick<RequestPage, "counts" | "paths" | "recording"> | undefined>} about
 * undefined: not read yet
 * @property {ReadonlySignal<boolean>} hasMore
 * @property {ReadonlySignal<string>} trouble
 * @property {Filter} filter
 * @property {() => void} more
 * @property {() => void} keepPlace scrolls so that the row that is read stays where it was
 */
/** @typedef {Readonly<Record<string, string>>} Filter */

/** @type {import("./main.js").View} */
export async function requestsView(main, _words, query, abort) {
  if (!(await offers("/__cofre/requests"))) {
    mountIn(main, html`<p>${t("requests.not_recorded")}</p>`, abort);
    return;
  }
  if (abort.aborted) return;
  const filter = requestFilterOf(query);
  // A URL that contains a whole card number is replaced at once.
  if (filter["search"] !== undefined && filter["search"] !== query.get("search"))
    history.replaceState(null, "", addressOf(filter));
  const rows = signal(/** @type {readonly ListedRequest[]} */ ([]));
  const about = signal(
    /** @type {Pick<RequestPage, "counts" | "paths" | "recording"> | undefined} */ (undefined),
  );
  const hasMore = signal(false);
  const trouble = signal("");
  // Every page is read from the account for which the list was opened.
  const subject = subjectOfTab();
  const place = document.createElement("div");
  /** @type {ReturnType<typeof placeOf>} */
  let read;
  const keepPlace = () => {
    if (read === undefined) return;
    // With more new rows than are rendered, it is not in the document any more.
    const moved = read.row.isConnected ? read.row.getBoundingClientRect().top - read.top : 0;
    read = undefined;
    if (moved !== 0) scrollBy({ top: moved, behavior: "instant" });
  };
  const data = liveData(
    {
      isFiltered: Object.keys(filter).length > 0,
      page: async (before) => {
        const asked = { ...filter, order: "newest", limit: pageSize };
        const page = /** @type {RequestPage} */ (
          await call(
            "/__cofre/requests",
            before === undefined ? asked : { ...asked, before: Number(before) },
            subject,
          )
        );
        about.value = page;
        return {
          items: page.requests,
          next: page.next === null ? null : keyOf(page.next),
        };
      },
      keyOf: ({ number }) => keyOf(number),
    },
    abort,
    () => {
      read = placeOf(place);
      rows.value = [...data.rows.values()].toSorted((left, right) => right.number - left.number);
      hasMore.value = data.next() !== null;
    },
  );
  let isReading = false;
  const more = async () => {
    if (isReading || !hasMore.value) return;
    isReading = true;
    try {
      await data.more();
      trouble.value = "";
    } catch (error) {
      if (!abort.aborted) trouble.value = problemText(error);
    } finally {
      isReading = false;
    }
  };
  main.append(place);
  const model = {
    rows,
    about,
    hasMore,
    trouble,
    filter,
    more: () => void more(),
    keepPlace,
  };
  mount(place, html`<${Requests} model=${model} />`, abort);
  await comeBack(abort, data.rows, async () => {
    await data.more();
    return data.next() !== null && !abort.aborted;
  });
  void keepFresh(abort, data.refresh);
}

/** @param {number} number */
function keyOf(number) {
  return String(number).padStart(digits, "0");
}

/**
 * The filter in a URL, without a whole card number.
 * @param {URLSearchParams} query
 * @returns {Filter}
 */
export function requestFilterOf(query) {
  const asked = [...query].filter(([name, value]) => filterNames.has(name) && value !== "");
  return Object.fromEntries(asked.map(([name, value]) => [name, withoutNumber(value)]));
}

/**
 * The URL of a list, or of one of its requests.
 * @param {Filter} filter
 * @param {number} [number]
 */
export function addressOf(filter, number) {
  const chosen = Object.entries(filter).filter(([, value]) => value !== "");
  const text = new URLSearchParams(chosen).toString();
  const view = number === undefined ? "requests" : `request/${number}`;
  return text === "" ? `#/${view}` : `#/${view}?${text}`;
}

/** @param {{ model: Model }} props */
function Requests({ model }) {
  return html`
    <div class="payments requests">
      <${Tabs} model=${model} />
      <${SearchBar} model=${model} />
      <${Count} model=${model} />
      <${Rows} model=${model} />
      <${More} model=${model} />
    </div>
  `;
}

/** @param {{ model: Model }} props */
function Tabs({ model: { filter, about } }) {
  const chosen = filter["outcome"] ?? "";
  const counts = about.value?.counts;
  /** @param {string} outcome */
  const countOf = (outcome) => {
    if (counts === undefined) return undefined;
    if (outcome !== "") return own(counts, outcome) ?? 0;
    return Object.values(counts).reduce((sum, count) => sum + count, 0);
  };
  return html`
    <nav class="tabs" aria-label=${t("requests.outcomes")}>
      ${tabs.map(({ outcome, title }) => {
        const count = countOf(outcome);
        return html`
          <a
            key=${outcome}
            name=${`tab-${title}`}
            href=${addressOf({ ...filter, outcome })}
            aria-current=${chosen === outcome ? "page" : undefined}
          >
            ${title}${count !== undefined && html` <span class="count">${countText(count)}</span>`}
          </a>
        `;
      })}
    </nav>
  `;
}

/** @param {{ model: Model }} props */
function SearchBar({ model: { filter, about } }) {
  const { search = "", outcome = "", path = "" } = filter;
  const paths = [...new Set([...(about.value?.paths ?? []), ...(path === "" ? [] : [path])])];
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
      outcome,
      path: text("path"),
    }).slice(1);
  };
  return html`
    <form role="search" class="search" onSubmit=${apply}>
      <input
        type="search"
        name="search"
        aria-label=${t("requests.search_by")}
        placeholder=${t("requests.search_by")}
        maxlength="160"
        autocomplete="off"
        spellcheck=${false}
        value=${search}
      />
      <select name="path" aria-label=${t("requests.path")} onChange=${apply}>
        <option value="" selected=${path === ""}>${t("requests.any_path")}</option>
        ${paths
          .toSorted()
          .map(
            (each) =>
              html`<option key=${each} value=${each} selected=${each === path}>
                ${shown(each)}
              </option>`,
          )}
      </select>
      <button type="submit">${t("search")}</button>
    </form>
  `;
}

/** @param {{ model: Model }} props */
function Count({ model: { rows, about, hasMore } }) {
  if (about.value === undefined)
    return html`<p class="soft looking" role="status">${t("loading")}</p>`;
  const { since, capacity } = about.value.recording;
  const counted = t("requests.count", { count: rows.value.length });
  return html`
    <div class="above">
      <p class="soft" role="status">${hasMore.value ? t("so_far", { found: counted }) : counted}</p>
      <p class="soft recording">
        ${
          since === null
            ? t("requests.kept", { capacity })
            : t("requests.kept_since", { capacity, at: exactText(since) })
        }
      </p>
    </div>
  `;
}

/** @param {{ model: Model }} props */
function Rows({ model }) {
  const { rows, about, hasMore, filter, more, keepPlace } = model;
  const requests = rows.value;
  useLayoutEffect(keepPlace, [requests]);
  if (requests.length === 0)
    return about.value === undefined || hasMore.value ? null : html`<${None} filter=${filter} />`;
  return html`
    <div class="wide" onKeyDown=${walk}>
      <table
        role="table"
        class="one-line-rows"
        aria-rowcount=${hasMore.value ? -1 : requests.length + 1}
      >
        <caption class="unseen">
          ${t("requests.caption")}
        </caption>
        <${Heads} columns=${columns} />
        <${NearRows}
          count=${requests.length}
          more=${more}
          row=${(/** @type {number} */ index) =>
            rowOf(filter, /** @type {ListedRequest} */ (requests[index]), index + 2)}
        />
      </table>
    </div>
  `;
}

/**
 * @type {readonly { id: string, head: string, isNumber?: true, cell: (request: ListedRequest,
 * filter: Filter) => unknown }[]}
 */
const columns = [
  {
    id: "request",
    head: t("requests.request"),
    cell: ({ number, method, path }, filter) =>
      html`<a href=${addressOf(filter, number)} class="code"
        ><span class="soft">${shown(method)}</span> ${shown(path)}</a
      >`,
  },
  {
    id: "state",
    head: t("head.state"),
    cell: (request) => html`<${Outcome} request=${request} />`,
  },
  {
    id: "payment",
    head: t("view.payment"),
    cell: (request) => html`<${PaymentLink} request=${request} />`,
  },
  {
    id: "duration",
    head: t("requests.duration"),
    isNumber: true,
    cell: ({ duration_ms: duration }) => durationText(duration),
  },
  {
    id: "at",
    head: t("head.when"),
    isNumber: true,
    cell: ({ at }) =>
      html`<time datetime=${at} title=${utcText(at)}
        >${secondText(at, timeOf(clock.value?.now ?? at))}</time
      >`,
  },
];

/**
 * @param {Filter} filter
 * @param {ListedRequest} request
 * @param {number} place
 */
function rowOf(filter, request, place) {
  return html`
    <tr
      role="row"
      key=${request.number}
      data-row=${request.number}
      aria-rowindex=${place}
      onClick=${opens(addressOf(filter, request.number).slice(1))}
    >
      <${Cells} columns=${columns} cells=${columns.map(({ cell }) => cell(request, filter))} />
    </tr>
  `;
}

/** @param {{ filter: Filter }} props */
function None({ filter }) {
  if (Object.keys(filter).length > 0)
    return html`<p class="nothing">${t("no_match")} <a href="#/requests">${t("show_all")}</a></p>`;
  return html`
    <div class="nothing">
      <p>${t("requests.none")}</p>
      <pre
        tabindex="0"
        role="region"
        aria-label=${t("requests.first")}
      ><code>${first()}</code></pre>
    </div>
  `;
}

/** A request that succeeds on every account. */
function first() {
  return curlOf("/ws/exchange", { currency_code: "USD" });
}

/** @param {{ model: Model }} props */
function More({ model: { hasMore, trouble, more } }) {
  return html`
    <div>
      ${hasMore.value && html`<button type="button" onClick=${more}>${t("show_more")}</button>`}
      ${trouble.value !== "" && html`<p class="problem" role="alert">${trouble.value}</p>`}
    </div>
  `;
}

/**
 * The row that the user reads, and its place in the window: the focused one, or the first in the
 * window of a list that was scrolled. At its top, new rows push the others down.
 * @param {Element} list
 */
function placeOf(list) {
  const focused = list.querySelector("tr[data-row]:focus-within");
  const read =
    focused ??
    (scrollY === 0
      ? undefined
      : [...list.querySelectorAll("tr[data-row]")].find(
          (row) => row.getBoundingClientRect().bottom > 0,
        ));
  return read instanceof HTMLElement
    ? { row: read, top: read.getBoundingClientRect().top }
    : undefined;
}
