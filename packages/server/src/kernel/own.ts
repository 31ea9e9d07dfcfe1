/**
 * The value of a table under an external word; undefined if the table does not have it.
 * `table[word]` would also find the inherited `constructor`, `toString` and `__proto__` of every
 * plain object (tools/word-lookups.test.ts rejects it). A table that is made for look-ups is a
 * `Map`.
 */
export function ownValue<Value>(
  table: Readonly<Record<string, Value>>,
  word: string,
): Value | undefined {
  return Object.hasOwn(table, word) ? table[word] : undefined;
}
