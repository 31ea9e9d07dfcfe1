// A list, newest first, as a table that is read page by page and refreshed.
import { signal } from "@preact/signals";
import { html } from "./html.js";
import { t } from "./language.js";
import { liveData } from "./live-data.js";
import { comeBack, walk } from "./live-list.js";
import { Problem, Table, Wide } from "./pieces.js";
import { keepFresh } from "./poll.js";

/**
 * @template Item
 * @typedef {object} TableOf
 * @property {string} caption
 * @property {readonly string[]} heads
 * @property {(count: number) => string} counted the number of items, with their name
 * @property {(before: string | undefined) => Promise<{ items: Item[], next: string | null }>} page
 * @property {(item: Item) => string} keyOf grows with each new item
 * @property {(item: Item) => readonly unknown[]} cells
 * @property {unknown} [whenNone] shown when the list is empty
 */
/**
 * @typedef {{ View: () => import("preact").VNode, load: () => Promise<void>, refresh: () =>
 * Promise<void> }} LiveTable
 */

/**
 * `load` reads the first page, and rejects when it could not; `refresh` reads the newest at once.
 * @template Item
 * @param {AbortSignal} abort
 * @param {TableOf<Item>} of
 * @returns {LiveTable}
 */
export function liveTable(abort, { caption, heads, counted, page, keyOf, cells, whenNone }) {
  const items = signal(/** @type {readonly (readonly [string, Item])[]} */ ([]));
  const phase = signal(/** @type {"loading" | "read" | "failed"} */ ("loading"));
  const hasMore = signal(false);
  const trouble = signal(/** @type {unknown} */ (undefined));
  const data = liveData({ isFiltered: false, page, keyOf }, abort, () => {
    items.value = [...data.rows].toSorted(([left], [right]) => (left < right ? 1 : -1));
    hasMore.value = data.next() !== null;
    phase.value = "read";
  });
  const more = async () => {
    try {
      await data.more();
      trouble.value = undefined;
    } catch (error) {
      if (!abort.aborted) trouble.value = error;
    }
  };

  function View() {
    const found = counted(items.value.length);
    const count = hasMore.value ? t("so_far", { found }) : found;
    const isNone = phase.value === "read" && items.value.length === 0 && !hasMore.value;
    return html`
      <div>
        ${
          phase.value === "loading"
            ? html`<p class="soft looking" role="status">${t("loading")}</p>`
            : html`<p class="soft" role="status">${phase.value === "read" ? count : ""}</p>`
        }
        ${isNone && whenNone !== undefined && html`<p class="nothing">${whenNone}</p>`}
        ${
          items.value.length > 0 &&
          html`
            <${Wide} label=${caption} onKeyDown=${walk}>
              <${Table}
                caption=${caption}
                heads=${heads}
                rows=${items.value.map(([key, item]) => ({ key, cells: cells(item) }))}
              />
            <//>
          `
        }
        ${hasMore.value && html`<button type="button" onClick=${() => void more()}>${t("show_more")}</button>`}
        <${Problem} error=${trouble.value} />
      </div>
    `;
  }

  return {
    View,
    async load() {
      try {
        await comeBack(abort, data.rows, async () => {
          await data.more();
          return data.next() !== null && !abort.aborted;
        });
      } catch (error) {
        // The router reports it.
        phase.value = "failed";
        throw error;
      }
      void keepFresh(abort, data.refresh);
    },
    refresh: data.refresh,
  };
}
