/**
 * Returns the options unless a given value is empty or `null`, such as that of an unset variable:
 * on the wire both count as omitted (interface 1.2), and the effect would not be the intended one.
 * Throws a TypeError.
 */
export function optional<Options extends object>(options: Options): Options {
  for (const [name, value] of entriesOf(options)) {
    const what = value === undefined ? undefined : problemOf(value);
    if (what !== undefined)
      throw new TypeError(`${name} is ${what}: give it a value, or leave it out.`);
  }
  return options;
}

/** The same for options that are required. */
export function required<Options extends object>(options: Options): Options {
  for (const [name, value] of entriesOf(options)) {
    const what = problemOf(value);
    if (what !== undefined) throw new TypeError(`${name} is ${what}.`);
  }
  return options;
}

function entriesOf(options: object): readonly (readonly [string, unknown])[] {
  return Object.entries(options);
}

function problemOf(value: unknown): string | undefined {
  if (value === undefined) return "missing";
  if (value === null) return "null";
  return value === "" ? "empty" : undefined;
}
