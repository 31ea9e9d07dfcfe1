// Loads the newest items of a list, and decides which shown items are outdated. Independent of the
// document.

/**
 * The result: all items that pass the filter, from the newest down to `following` (null: all).
 * `first` is where the first call ended. It `joins` the known items unless some between the two
 * were not read.
 * @template {{ key: string }} Item
 * @typedef {{ items: Item[], first: string | null, following: string | null, joins: boolean }} Look
 */

/**
 * Reads from the newest item until it reaches `known`, with a limited number of calls.
 * @template {{ key: string }} Item
 * @param {(before: string | undefined) => Promise<{ items: Item[], next: string | null }>} page
 * @param {string} known the newest key that was certainly read before; empty: none
 * @param {number} mostCalls
 * @returns {Promise<Look<Item>>}
 */
export async function newest(page, known, mostCalls) {
  const begun = await page(undefined);
  const items = [...begun.items];
  let following = begun.next;
  for (let calls = 1; calls < mostCalls && following !== null && following > known; calls += 1) {
    const answer = await page(following);
    items.push(...answer.items);
    following = answer.next;
  }
  return { items, first: begun.next, following, joins: following === null || following <= known };
}

/**
 * Keys to remove. An item in the range read that is missing no longer passes the filter; older
 * items were not read and stay, unless there is a gap before them.
 * @param {Iterable<string>} keys of the shown items
 * @param {Look<{ key: string }>} look
 */
export function gone(keys, { items, following, joins }) {
  const present = new Set(items.map(({ key }) => key));
  const wasLookedAt = (/** @type {string} */ key) => following === null || key >= following;
  return [...keys].filter((key) => !present.has(key) && (!joins || wasLookedAt(key)));
}
