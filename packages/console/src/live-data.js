// The data of a list, newest first, read page by page and refreshed. Independent of the document.
import { gone, newest } from "./newest.js";

/** Calls that one search makes before it asks the user whether to continue. */
const usualCalls = 5;
const pageSize = 50;

/**
 * `keyOf` grows with each new item. `callsAtOnce`: the most calls of one `more`.
 * @template Item
 * @typedef {object} Source
 * @property {boolean} isFiltered
 * @property {(before: string | undefined) => Promise<{ items: Item[], next: string | null }>} page
 * @property {(item: Item) => string} keyOf
 * @property {number} [callsAtOnce]
 */
/**
 * What was read; enough to continue the list later.
 * @template Item
 * @typedef {{ rows: ReadonlyMap<string, Item>, next: string | null, lookedTo: string | null }} Read
 */
/**
 * `rows`: the items by key, in no order. `next()`: where the list continues; null: it is complete.
 * @template Item
 * @typedef {object} LiveData
 * @property {Map<string, Item>} rows
 * @property {() => string | null} next
 * @property {() => Read<Item>} read
 * @property {(earlier: Read<Item>) => void} resume shows what was read earlier
 * @property {() => Promise<void>} more reads another page
 * @property {() => Promise<void>} refresh reads the newest items
 */

/**
 * @template Item
 * @param {Source<Item>} source
 * @param {AbortSignal} signal
 * @param {() => void} changed called when the rows or `next` have changed
 * @returns {LiveData<Item>}
 */
export function liveData(
  { isFiltered, page: pageOf, keyOf, callsAtOnce = usualCalls },
  signal,
  changed,
) {
  /** @type {Map<string, Item>} */
  const rows = new Map();
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
      // An unchanged item keeps its identity.
      if (known === undefined || JSON.stringify(known) !== JSON.stringify(item))
        rows.set(key, item);
    }
    changed();
  };

  let turns = 0;
  return {
    rows,
    next: () => next,
    read: () => ({ rows: new Map(rows), next, lookedTo }),
    resume(earlier) {
      next = earlier.next;
      lookedTo = earlier.lookedTo;
      put(Array.from(earlier.rows, ([key, item]) => ({ key, item })));
    },
    // Until there are more rows to show, or the limit of calls is reached.
    async more() {
      const before = rows.size;
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
    },
    async refresh() {
      const turn = (turns += 1);
      const known = [...rows.keys()].reduce(
        (left, right) => (left > right ? left : right),
        lookedTo ?? "",
      );
      // Without a filter, a gap means more than a page of new items: they are loaded as a new list.
      const look = await newest(page, known, isFiltered ? usualCalls : 1);
      // The result of an overtaken refresh is out of date.
      if (signal.aborted || turn !== turns) return;
      lookedTo = look.first;
      if (!look.joins || look.following === null) next = look.following;
      for (const key of gone(rows.keys(), look)) rows.delete(key);
      put(look.items);
    },
  };
}
