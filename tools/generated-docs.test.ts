import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { folders, generatedFiles, pathOf, renewed, sections } from "./generated-docs.ts";

describe("the documentation", () => {
  for (const section of sections) {
    test(`${section.file} shows the program's own ${section.name}`, () => {
      const text = readFileSync(pathOf(section.file), "utf8");
      assert.ok(renewed(text, section) === text, "run `npm run docs`");
    });
  }

  for (const { folder, make } of folders) {
    test(`${folder} has the program's own requests and nothing else`, () => {
      const cwd = pathOf(folder);
      const there = globSync("**/*.*", { cwd }).map(
        (file) => [file.replaceAll("\\", "/"), readFileSync(join(cwd, file), "utf8")] as const,
      );
      const byName = (entries: Iterable<readonly [string, string]>): readonly unknown[] =>
        [...entries].toSorted(([one], [other]) => (one < other ? -1 : 1));
      assert.deepEqual(byName(there), byName(make()), "run `npm run docs`");
    });
  }

  for (const { file, make } of generatedFiles) {
    test(`${file} is the program's own`, () => {
      assert.ok(readFileSync(pathOf(file), "utf8") === make(), "run `npm run docs`");
    });
  }

  test("control: a section that is out of date is renewed", () => {
    const section = { file: "x.md", name: "numbers", make: () => "new" };
    const text =
      "before\n<!-- made from the program, npm run docs: numbers -->\n\nold\n\n<!-- end of numbers -->\nafter\n";
    assert.equal(renewed(text, section), text.replace("old", "new"));
    assert.throws(() => renewed("no marks", section), /has no marks for numbers/);
  });
});

/** Relative links of a Markdown file, without the part after `#`. */
function linksOf(text: string): string[] {
  return [...text.matchAll(/\]\(([^)#\s]+)/g)]
    .map(([, target]) => target ?? "")
    .filter((target) => !target.includes("://"));
}

describe("links", () => {
  const files = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "examples/README.md",
    ...globSync(["docs/**/*.md", "packages/proof/docs/**/*.md"], { cwd: pathOf("") }),
  ];

  test("every page links to what is there", () => {
    const broken = files.flatMap((file) =>
      linksOf(readFileSync(pathOf(file), "utf8"))
        .filter((target) => !existsSync(join(dirname(pathOf(file)), target)))
        .map((target) => `${file}: ${target}`),
    );
    assert.deepEqual(broken, []);
  });

  test("every page is linked from another", () => {
    const linked = new Set(
      files.flatMap((file) =>
        linksOf(readFileSync(pathOf(file), "utf8")).map((target) => join(dirname(file), target)),
      ),
    );
    const alone = files.filter((file) => file !== "README.md" && !linked.has(join(file)));
    assert.ok(alone.length === 0, `link these from docs/README.md: ${alone.join(", ")}`);
  });

  test("control: links are seen", () => {
    assert.deepEqual(linksOf("see [a](b/c.md#d) and [x](https://example.com) and [y](z.md)"), [
      "b/c.md",
      "z.md",
    ]);
    assert.ok(files.length > 10);
  });
});
