/**
 * Passes on what a caller gives and might have left out. Empty or `null` is a mistake, such as a
 * variable that is not set: on the wire both count as left out (interface 1.2), and something else
 * would happen than what was asked for. Throws a TypeError.
 */
export function given<Options extends object>(options: Options): Options {
  for (const [name, value] of entriesOf(options)) {
    const what = value === undefined ? undefined : lackOf(value);
    if (what !== undefined)
      throw new TypeError(`${name} is ${what}: give it a value, or leave it out.`);
  }
  return options;
}

/** The same of what cannot be left out. */
export function needed<Options extends object>(options: Options): Options {
  for (const [name, value] of entriesOf(options)) {
    const what = lackOf(value);
    if (what !== undefined) throw new TypeError(`${name} is ${what}.`);
  }
  return options;
}

function entriesOf(options: object): readonly (readonly [string, unknown])[] {
  return Object.entries(options);
}

function lackOf(value: unknown): string | undefined {
  if (value === undefined) return "missing";
  if (value === null) return "null";
  return value === "" ? "empty" : undefined;
}
