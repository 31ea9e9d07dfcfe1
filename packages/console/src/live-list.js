// Returning to a place in a list, and walking through its rows by keyboard.

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

/** The scroll position to which the browser's Back or Forward returns; 0: the top, or none. */
export function placeOfReturn() {
  return placeIn(history.state).y;
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
