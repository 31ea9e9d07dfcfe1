import { assert } from "../../../kernel/assert.ts";
import { writer } from "./002-writer.ts";

/** A function of 002, which never changes, with these places of it replaced. */
export function withReplaced(name: string, changes: readonly (readonly [find: string, replace: string])[]): string {
  const from = writer.indexOf(`CREATE FUNCTION ${name}(`);
  let text = writer.slice(from, writer.indexOf("$$;\n", from) + 4).replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION");
  for (const [find, replace] of changes) {
    const [before, after, ...more] = text.split(find);
    assert(before !== undefined && after !== undefined && more.length === 0, "the place that is replaced is there once");
    text = before + replace + after;
  }
  return text;
}
