// A list, newest first, shown page by page and refreshed.
import { h, problem, table, tableRow } from "./dom.js";
import { t } from "./language.js";
import { liveData } from "./live-data.js";
import { keepFresh } from "./poll.js";

/**
 * @template Item
 * @typedef {object} ListOf
 * @property {string} caption
 * @property {readonly string[]} heads
 * @property {(count: number) => string} counted the number of items, with their name
 * @property {boolean} isFiltered
 * @property {(before: string | undefined) => Promise<{ items: Item[], next: string | null }>} page
 * @property {(item: Item) => string} keyOf grows with each new item
 * @property {(item: Item) => readonly import("./dom.js").Child[]} cells
 * @property {readonly import("./dom.js").Child[]} [whenNone] shown when the unfiltered list is
 * empty
 * @property {string} [all] URL of the unfiltered list
 */

/**
 * Adds the list to `main`; rejects when it could not be loaded.
 * @template Item
 * @param {HTMLElement} main
 * @param {AbortSignal} signal
 * @param {ListOf<Item>} of
 * @returns {Promise<() => Promise<void>>} refreshes the list at once
 */
export async function liveList(
  main,
  signal,
  { caption, heads, counted, isFiltered, page, keyOf, cells, whenNone, all },
) {
  /** @type {Map<string, { item: Item, row: HTMLElement }>} */
  const made = new Map();
  const list = table(caption, heads, []);
  const body = /** @type {HTMLElement} */ (list.tBodies[0]);
  const count = h("p", { class: "soft looking", role: "status" }, t("loading"));
  const more = h(
    "button",
    { type: "button", hidden: true, onclick: () => void goOn() },
    t("show_more"),
  );
  const none = nothing(isFiltered, whenNone, all);
  const trouble = h("div");

  const show = () => {
    for (const [key, { row }] of made) {
      if (data.rows.has(key)) continue;
      row.remove();
      made.delete(key);
    }
    for (const [key, item] of data.rows) {
      const known = made.get(key);
      if (known?.item === item) continue;
      const row = tableRow(heads, cells(item));
      const place =
        known === undefined
          ? -1
          : stops(known.row).findIndex((stop) => stop === document.activeElement);
      known?.row.replaceWith(row);
      if (place >= 0) (stops(row)[place] ?? stops(row)[0])?.focus();
      made.set(key, { item, row });
    }
    arrange(
      body,
      [...made].toSorted(([left], [right]) => (left < right ? 1 : -1)).map(([, { row }]) => row),
    );
    const isAll = data.next() === null;
    const all = counted(made.size);
    const found = isAll ? all : t("so_far", { found: all });
    count.classList.remove("looking");
    if (count.textContent !== found) count.textContent = found;
    list.hidden = made.size === 0;
    none.hidden = made.size > 0 || !isAll;
    more.hidden = isAll;
  };
  const data = liveData({ isFiltered, page, keyOf }, signal, show);

  const goOn = async () => {
    more.disabled = true;
    try {
      await data.more();
      trouble.replaceChildren();
    } catch (error) {
      if (made.size === 0) count.textContent = "";
      trouble.replaceChildren(problem(error));
      throw error;
    } finally {
      more.disabled = false;
    }
  };

  main.append(count, none, h("div", { class: "wide", onkeydown: walk }, list), more, trouble);
  await comeBack(signal, data.rows, async () => {
    await goOn();
    return data.next() !== null && !signal.aborted;
  });
  void keepFresh(signal, data.refresh);
  return data.refresh;
}

/** Most rows that are loaded again when the user returns to a list. */
const mostRowsAgain = 1_000;

/**
 * Loads a list: its first page, or, for a URL that the browser's Back returns to, as many rows as
 * were shown, at the previous scroll position. Both are stored in the browser's history, with the
 * URL.
 * @param {AbortSignal} signal
 * @param {ReadonlyMap<string, unknown>} rows
 * @param {() => Promise<boolean>} load one more page; true: there are more
 */
export async function comeBack(signal, rows, load) {
  const place = placeIn(history.state);
  let hasMore = await load();
  while (hasMore && rows.size < Math.min(place.rows, mostRowsAgain)) hasMore = await load();
  if (signal.aborted) return;
  if (place.y > 0) scrollTo({ top: place.y, behavior: "instant" });
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting;
  const keep = () => {
    waiting = undefined;
    if (!signal.aborted) history.replaceState({ rows: rows.size, y: Math.round(scrollY) }, "");
  };
  addEventListener("scroll", () => (waiting ??= setTimeout(keep, keepAfterMs)), {
    signal,
    passive: true,
  });
}

/** Whether this list was reached by the browser's Back or Forward. */
export function isReturn() {
  return placeIn(history.state).rows > 0;
}

/** Browsers refuse more than a hundred changes of the history in half a minute. */
const keepAfterMs = 350;

/**
 * @param {unknown} state
 * @returns {{ rows: number, y: number }}
 */
function placeIn(state) {
  const { rows, y } = /** @type {{ rows?: unknown, y?: unknown }} */ (
    typeof state === "object" && state !== null ? state : {}
  );
  return { rows: typeof rows === "number" ? rows : 0, y: typeof y === "number" ? y : 0 };
}

/**
 * Shown in place of rows when there are none: how they are created, or a link to the unfiltered
 * list.
 * @param {boolean} isFiltered
 * @param {readonly import("./dom.js").Child[]} [whenNone]
 * @param {string} [all]
 */
export function nothing(isFiltered, whenNone = [], all = "") {
  const words =
    isFiltered && all !== ""
      ? [t("no_match"), " ", h("a", { href: all }, t("show_all"))]
      : whenNone;
  return h("p", { class: "nothing", hidden: true }, ...words);
}

/**
 * The elements of a row that can have the focus.
 * @param {HTMLElement} row
 * @returns {HTMLElement[]}
 */
function stops(row) {
  return [...row.querySelectorAll("a, button")].filter((stop) => stop instanceof HTMLElement);
}

/**
 * Sorts the rows without moving those in the right place, so that the focus stays.
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

/**
 * Arrow keys move the focus from row to row.
 * @param {Event} event
 */
export function walk(event) {
  if (!(event instanceof KeyboardEvent) || (event.key !== "ArrowDown" && event.key !== "ArrowUp"))
    return;
  const row = event.target instanceof Element ? event.target.closest("tr") : null;
  const to = event.key === "ArrowDown" ? row?.nextElementSibling : row?.previousElementSibling;
  const link = to?.querySelector("a");
  if (link === null || link === undefined) return;
  event.preventDefault();
  link.focus();
}
