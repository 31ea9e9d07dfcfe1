// A list, newest first, shown page by page and refreshed.
import { h, problem, table, tableRow } from "./dom.js";
import { gone, newest } from "./newest.js";
import { keepFresh } from "./poll.js";

/** Calls that one search makes before it asks the user whether to continue. */
const callsAtOnce = 5;
const pageSize = 50;

/**
 * @template Item
 * @typedef {object} ListOf
 * @property {string} caption
 * @property {readonly string[]} heads
 * @property {readonly [one: string, many: string]} noun
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
  { caption, heads, noun: [one, many], isFiltered, page: pageOf, keyOf, cells, whenNone, all },
) {
  /** @type {Map<string, { item: Item, row: HTMLElement }>} */
  const rows = new Map();
  const list = table(caption, heads, []);
  const body = /** @type {HTMLElement} */ (list.tBodies[0]);
  const count = h("p", { class: "soft looking", role: "status" }, "Loading…");
  const more = h(
    "button",
    { type: "button", hidden: true, onclick: () => void goOn() },
    "Show more",
  );
  const none = nothing(isFiltered, whenNone, all);
  const trouble = h("div");
  /** @type {string | null} */
  let next = null;
  /**
   * Where the first call of the last refresh ended.
   * @type {string | null}
   */
  let lookedTo = null;

  /** @param {string | undefined} before */
  const page = async (before) => {
    const { items, next: following } = await pageOf(before);
    return { items: items.map((item) => ({ key: keyOf(item), item })), next: following };
  };

  /** @param {readonly { key: string, item: Item }[]} items */
  const put = (items) => {
    for (const { key, item } of items) {
      const known = rows.get(key);
      if (known !== undefined && JSON.stringify(known.item) === JSON.stringify(item)) continue;
      const row = tableRow(heads, cells(item));
      const place =
        known === undefined
          ? -1
          : stops(known.row).findIndex((stop) => stop === document.activeElement);
      known?.row.replaceWith(row);
      if (place >= 0) (stops(row)[place] ?? stops(row)[0])?.focus();
      rows.set(key, { item, row });
    }
    arrange(
      body,
      [...rows].toSorted(([left], [right]) => (left < right ? 1 : -1)).map(([, { row }]) => row),
    );
    const found = `${rows.size} ${rows.size === 1 ? one : many}${next === null ? "" : " so far"}`;
    count.classList.remove("looking");
    if (count.textContent !== found) count.textContent = found;
    list.hidden = rows.size === 0;
    none.hidden = rows.size > 0 || next !== null;
    more.hidden = next === null;
  };

  /** Until there are more rows to show, or the limit of calls is reached. */
  const goOn = async () => {
    const before = rows.size;
    more.disabled = true;
    try {
      for (
        let calls = 0;
        calls < callsAtOnce && (calls === 0 || (next !== null && rows.size - before < pageSize));
        calls += 1
      ) {
        const from = next;
        const { items, next: following } = await page(from ?? undefined);
        // A refresh may have restarted the list in the meantime.
        if (signal.aborted || next !== from) return;
        next = following;
        if (from === null) lookedTo = following;
        put(items);
      }
      trouble.replaceChildren();
    } catch (error) {
      if (rows.size === 0) count.textContent = "";
      trouble.replaceChildren(problem(error));
      throw error;
    } finally {
      more.disabled = false;
    }
  };

  let turns = 0;
  const refresh = async () => {
    const turn = (turns += 1);
    const known = [...rows.keys()].reduce(
      (left, right) => (left > right ? left : right),
      lookedTo ?? "",
    );
    // Without a filter, a gap means more than a page of new items: they are loaded as a new list.
    const look = await newest(page, known, isFiltered ? callsAtOnce : 1);
    // The result of an overtaken refresh is out of date.
    if (signal.aborted || turn !== turns) return;
    lookedTo = look.first;
    if (!look.joins || look.following === null) next = look.following;
    for (const key of gone(rows.keys(), look)) {
      rows.get(key)?.row.remove();
      rows.delete(key);
    }
    put(look.items);
  };

  main.append(count, none, h("div", { class: "wide", onkeydown: walk }, list), more, trouble);
  await comeBack(signal, rows, async () => {
    await goOn();
    return next !== null && !signal.aborted;
  });
  void keepFresh(signal, refresh);
  return refresh;
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
async function comeBack(signal, rows, load) {
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
    isFiltered && all !== "" ? ["No entries match. ", h("a", { href: all }, "Show all")] : whenNone;
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
function walk(event) {
  if (!(event instanceof KeyboardEvent) || (event.key !== "ArrowDown" && event.key !== "ArrowUp"))
    return;
  const row = event.target instanceof Element ? event.target.closest("tr") : null;
  const to = event.key === "ArrowDown" ? row?.nextElementSibling : row?.previousElementSibling;
  const link = to?.querySelector("a");
  if (link === null || link === undefined) return;
  event.preventDefault();
  link.focus();
}
