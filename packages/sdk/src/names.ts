/**
 * Names of members: camelCase in the SDK, snake_case on the wire. The rule turns every name of the
 * generated types into its name on the wire and back.
 */
type Members = Readonly<Record<string, unknown>>;

/** The members under their names on the wire. Undefined members are left out. */
export function toWire(members: object): Members {
  return Object.fromEntries(
    Object.entries(members)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [
        name.replaceAll(/[A-Z]|\d+/g, (part) => `_${part.toLowerCase()}`),
        isMembers(value) ? toWire(value) : (value as unknown),
      ]),
  );
}

/** An answer with the names of the SDK. */
export function fromWire(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fromWire);
  if (!isMembers(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name.replaceAll(/_([a-z\d])/g, (_, letter: string) => letter.toUpperCase()),
      fromWire(member),
    ]),
  );
}

function isMembers(value: unknown): value is Members {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Uint8Array)
  );
}
