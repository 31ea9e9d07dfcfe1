/**
 * A deep copy of plain data whose objects and arrays are frozen, so that neither side can change
 * what the other holds. Bytes cannot be frozen: they are copied.
 */
export function frozenCopy<T>(value: T): T {
  return copyOf(value) as T;
}

function copyOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Uint8Array) return Uint8Array.from(value);
  if (Array.isArray(value)) return Object.freeze(value.map((item: unknown) => copyOf(item)));
  return Object.freeze(
    Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copyOf(item)])),
  );
}
