// The steps of two payments side by side. Independent of the document.
import { own } from "./words.js";

/** @import { Entry } from "./api.js" */
/** @import { Step } from "./story.js" */

/**
 * A row: what both payments have, or only one of them.
 * @typedef {{ left: Step | undefined, right: Step | undefined }} Pair
 */

/** Most steps of a payment that are compared, because the time grows with the square. */
export const mostCompared = 300;

/**
 * Pairs the steps that are of the same kind with the same result, in their order, as many as
 * possible.
 * @param {readonly Step[]} left
 * @param {readonly Step[]} right
 * @returns {readonly Pair[]}
 */
export function aligned(left, right) {
  const [lefts, rights] = [left, right].map((steps) => steps.map(signatureOf));
  /** @type {(place: number, other: number) => boolean} */
  const isSame = (place, other) => lefts?.[place] === rights?.[other];
  // The number of pairs of the steps from these places on.
  const counts = Array.from({ length: left.length + 1 }, () =>
    Array.from({ length: right.length + 1 }, () => 0),
  );
  const count = (/** @type {number} */ place, /** @type {number} */ other) =>
    counts[place]?.[other] ?? 0;
  for (let place = left.length - 1; place >= 0; place -= 1)
    for (let other = right.length - 1; other >= 0; other -= 1) {
      const row = counts[place];
      if (row === undefined) continue;
      row[other] = isSame(place, other)
        ? count(place + 1, other + 1) + 1
        : Math.max(count(place + 1, other), count(place, other + 1));
    }
  /** @type {Pair[]} */
  const pairs = [];
  let [place, other] = [0, 0];
  while (place < left.length || other < right.length) {
    if (place < left.length && other < right.length && isSame(place, other)) {
      pairs.push({ left: left[place], right: right[other] });
      place += 1;
      other += 1;
    } else if (
      other >= right.length ||
      (place < left.length && count(place + 1, other) >= count(place, other + 1))
    ) {
      pairs.push({ left: left[place], right: undefined });
      place += 1;
    } else {
      pairs.push({ left: undefined, right: right[other] });
      other += 1;
    }
  }
  return pairs;
}

/**
 * Of the data of an entry: what makes two steps the same. Times, amounts and names do not.
 * @type {Readonly<Record<string, readonly string[]>>}
 */
const compared = {
  request: ["path", "http_status", "status_code"],
  fact: ["fact", "by"],
  call: ["connector", "kind"],
  notification: ["notification_type"],
  attempt: ["verdict", "outcome"],
};

/** @param {Step} step */
function signatureOf({ entry, calls }) {
  return JSON.stringify([entry, ...calls].map(partOf));
}

/** @param {Entry} entry */
function partOf({ kind, data }) {
  const { kind: result, reason } = /** @type {Readonly<Record<string, unknown>>} */ (
    kind === "call" ? (data["outcome"] ?? {}) : {}
  );
  return [kind, result, reason, ...(own(compared, kind) ?? []).map((name) => own(data, name))];
}
