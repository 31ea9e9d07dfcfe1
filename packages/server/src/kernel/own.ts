/**
 * What a table has under a word from outside; undefined for one that it does not have. Every plain
 * object also has `constructor`, `toString` and `__proto__` of its own accord: `table[word]` finds
 * them (tools/word-lookups.test.ts rejects it). A table that is made for look-ups is a `Map`.
 */
export function ownValue<Value>(
  table: Readonly<Record<string, Value>>,
  word: string,
): Value | undefined {
  return Object.hasOwn(table, word) ? table[word] : undefined;
}
