import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { pathOf, renewed, sections } from "./generated-docs.ts";

describe("the documentation", () => {
  for (const section of sections) {
    test(`${section.file} shows the program's own ${section.name}`, () => {
      const text = readFileSync(pathOf(section.file), "utf8");
      assert.ok(renewed(text, section) === text, "run `npm run docs`");
    });
  }

  test("control: a section that is out of date is renewed", () => {
    const section = { file: "x.md", name: "numbers", make: () => "new" };
    const text = "before\n<!-- made from the program, npm run docs: numbers -->\n\nold\n\n<!-- end of numbers -->\nafter\n";
    assert.equal(renewed(text, section), text.replace("old", "new"));
    assert.throws(() => renewed("no marks", section), /has no marks for numbers/);
  });
});
