/**
 * The most similar candidate, for suggestions: at most `maxEdits` edits and fewer than half of the
 * length of `word`; undefined if none is similar.
 */
export function suggestionFor(
  word: string,
  candidates: readonly string[],
  maxEdits = 3,
): string | undefined {
  const similar = candidates
    .map((candidate) => ({ candidate, edits: editDistance(word, candidate) }))
    .filter(({ edits }) => edits <= maxEdits && edits * 2 < word.length)
    .toSorted((a, b) => a.edits - b.edits);
  return similar[0]?.candidate;
}

/** Levenshtein distance in which swapping two adjacent characters is also one edit. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = swapped ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY;
      next.push(Math.min(change, swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? 0;
}
