import assert from "node:assert/strict";

/**
 * One replacement in the source. The text that it replaces must occur exactly once, and the private
 * members that it uses must be declared, or the list is out of date. Line breaks, indentation and commas before a closing bracket are ignored, so that
 * the formatter may change the layout.
 */
export interface PlantedEdit {
  /** Relative to packages/server/src. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** A plausible mistake in the source. */
export interface PlantedBug extends PlantedEdit {
  readonly name: string;
  /**
   * Further places. If two guards enforce one rule, each is tested beside its file, and only a
   * mistake in both changes the behaviour.
   */
  readonly also?: readonly PlantedEdit[];
}

/**
 * The source of each file with the mistake in it, by `file`. `read` returns the source without it.
 */
export function sourcesWith(
  bug: PlantedBug,
  read: (file: string) => string,
): ReadonlyMap<string, string> {
  const sources = new Map<string, string>();
  for (const { file, find, replace } of [bug, ...(bug.also ?? [])]) {
    const source = sources.get(file) ?? read(file);
    const pattern = patternOf(find);
    assert.equal(
      source.split(pattern).length,
      2,
      `${bug.name}: what the mistake replaces is in ${file} exactly once`,
    );
    const planted = source.replace(pattern, () => replace);
    for (const [member] of replace.matchAll(/#\w+/g))
      assert.match(
        planted,
        new RegExp(String.raw`(?<![.\w])${member}\b`),
        `${bug.name}: ${file} declares ${member}`,
      );
    sources.set(file, planted);
  }
  return sources;
}

/** Matches `text` in any layout: words and signs in the same order. */
function patternOf(text: string): RegExp {
  let pattern = "";
  let before = "";
  for (const [part] of text.replaceAll(/,(?=\s*[)\]}])/g, "").matchAll(/\w+|[^\w\s]/g)) {
    if (/^\w/.test(before) && /^\w/.test(part)) pattern += String.raw`\s+`;
    else if (before !== "") pattern += String.raw`\s*`;
    if (/^[)\]}]$/.test(part)) pattern += String.raw`,?\s*`;
    pattern += part.replaceAll(/[.*+?^${}()|[\]\\/-]/g, String.raw`\$&`);
    before = part;
  }
  return new RegExp(pattern);
}
