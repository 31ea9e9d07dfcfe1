import assert from "node:assert/strict";
import { test } from "node:test";
import { withoutComments } from "./page-script.ts";

test("casts and comments with lines of their own are left out, and all lines keep their numbers", () => {
  const script = [
    "// The first line.",
    'import { h } from "preact"; // Behind code.',
    "/**",
    " * A function. // Not a comment of its own.",
    " */",
    "export function one() {",
    "  // Why.",
    "  const link = `// text` + /\\/\\/.*/;",
    "  return /** @type {string} */ (link);",
    "  /** @type {string} */ (link); /** the end */",
    "  /** One line. */",
    "}",
  ].join("\n");
  assert.deepEqual(withoutComments(script).split("\n"), [
    "",
    'import { h } from "preact"; // Behind code.',
    "",
    "",
    "",
    "export function one() {",
    "",
    "  const link = `// text` + /\\/\\/.*/;",
    "  return  (link);",
    "   (link); /** the end */",
    "",
    "}",
  ]);
});
