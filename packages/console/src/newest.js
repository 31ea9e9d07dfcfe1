// A fresh look at the newest of a list, and what it says of those that are shown. Knows no
// document.

/**
 * What was seen: all that passes the filter from the newest on down to `following` (null: of all).
 * `first` is where the first call ended. It `joins` what was known unless some between the two were
 * not looked at.
 * @template {{ key: string }} Item
 * @typedef {{ items: Item[], first: string | null, following: string | null, joins: boolean }} Look
 */

/**
 * Looks from the newest one on until it reaches `known`, in some calls at most.
 * @template {{ key: string }} Item
 * @param {(before: string | undefined) => Promise<{ items: Item[], next: string | null }>} page
 * @param {string} known the newest key that was certainly looked at before; empty: none
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
 * Those that are shown no longer. What was looked at and is not there passes the filter no more;
 * what is older was not looked at and stays, unless there is a gap before it.
 * @param {Iterable<string>} keys those that are shown
 * @param {Look<{ key: string }>} look
 */
export function gone(keys, { items, following, joins }) {
  const present = new Set(items.map(({ key }) => key));
  const wasLookedAt = (/** @type {string} */ key) => following === null || key >= following;
  return [...keys].filter((key) => !present.has(key) && (!joins || wasLookedAt(key)));
}
