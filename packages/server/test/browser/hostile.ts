/**
 * Breaks out of whatever it is put into, if anything lets it; turns the writing around; is longer
 * than any column.
 */
export const hostile = `"'><img src=x onerror="document.title='hit'"><script>document.title='hit'</script>\u202E\u2066abc${"W".repeat(40)}`;

/**
 * The same answer with something hostile at the end of each text, but for amounts and the names by
 * which the page asks again.
 */
export function poisoned(value: unknown, name = ""): unknown {
  if (typeof value === "string") return isNeeded(value, name) ? value : value + hostile;
  if (Array.isArray(value)) return value.map((member) => poisoned(member, name));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, poisoned(member, key)]),
  );
}

function isNeeded(value: string, name: string): boolean {
  return /^\d+(?:\.\d+)?$/.test(value) || name === "hash" || name === "next" || value === "SUCCESS";
}
