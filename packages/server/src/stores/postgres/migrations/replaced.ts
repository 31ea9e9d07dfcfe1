import { assert } from "../../../kernel/assert.ts";
import { writer } from "./002-writer.ts";

/**
 * The text of a function that a migration creates or replaces, with these places replaced. The
 * original text never changes.
 */
export function withReplaced(
  name: string,
  changes: readonly (readonly [find: string, replace: string])[],
  migration = writer,
): string {
  const from = migration.search(new RegExp(`CREATE (OR REPLACE )?FUNCTION ${name}\\(`));
  let text = migration
    .slice(from, migration.indexOf("$$;\n", from) + 4)
    .replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION");
  for (const [find, replace] of changes) {
    const [before, after, ...more] = text.split(find);
    assert(
      before !== undefined && after !== undefined && more.length === 0,
      "the place that is replaced is there once",
    );
    text = before + replace + after;
  }
  return text;
}
