// A fresh look at the newest payments, and what it says of those that are shown. Knows no document.

/**
 * What was seen: all that passes the filter from the newest on down to `following` (null: of all payments). `first` is where the first call
 * ended. It `joins` what was known unless payments between the two were not looked at.
 * @template {{ hash: string }} Payment
 * @typedef {{ payments: Payment[], first: string | null, following: string | null, joins: boolean }} Look
 */

/**
 * Looks from the newest payment on until it reaches `known`, in some calls at most.
 * @template {{ hash: string }} Payment
 * @param {(before: string | undefined) => Promise<{ payments: Payment[], next: string | null }>} page
 * @param {string} known the newest hash that was certainly looked at before; empty: none
 * @param {number} mostCalls
 * @returns {Promise<Look<Payment>>}
 */
export async function newest(page, known, mostCalls) {
  const begun = await page(undefined);
  const payments = [...begun.payments];
  let following = begun.next;
  for (let calls = 1; calls < mostCalls && following !== null && following > known; calls += 1) {
    const answer = await page(following);
    payments.push(...answer.payments);
    following = answer.next;
  }
  return { payments, first: begun.next, following, joins: following === null || following <= known };
}

/**
 * Those that are shown no longer. What was looked at and is not there passes the filter no more; what is older was not looked at and stays,
 * unless there is a gap before it.
 * @param {Iterable<string>} hashes those that are shown
 * @param {Look<{ hash: string }>} look
 */
export function gone(hashes, { payments, following, joins }) {
  const present = new Set(payments.map(({ hash }) => hash));
  const wasLookedAt = (/** @type {string} */ hash) => following === null || hash >= following;
  return [...hashes].filter((hash) => !present.has(hash) && (!joins || wasLookedAt(hash)));
}
