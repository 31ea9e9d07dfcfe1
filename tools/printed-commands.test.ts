import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import {
  printedBlocks,
  printedCommands,
  ways,
} from "../packages/proof/lanes/support/printed-commands.ts";
import { pathOf } from "./generated-docs.ts";

describe("the commands that the pages print", () => {
  test("each block has an entry that says how it is executed, or why it is not", () => {
    const missing = printedCommands().filter(({ way }) => way === undefined);
    assert.deepEqual(
      missing.map(({ page, text }) => `${page}: ${text}`),
      [],
      "add an entry to packages/proof/lanes/support/printed-commands.ts",
    );
    const blocks = Object.groupBy(printedBlocks(), ({ page }) => page);
    for (const [page, entries] of Object.entries(ways))
      assert.equal(blocks[page]?.length, entries.length, `${page} has as many blocks as entries`);
  });

  test("an entry for each line is for a block with as many lines", () => {
    const blocks = printedBlocks();
    for (const [page, entries] of Object.entries(ways)) {
      const texts = blocks.filter((block) => block.page === page).map(({ text }) => text);
      for (const [index, entry] of entries.entries())
        if (Array.isArray(entry))
          assert.equal(texts[index]?.split("\n").length, entry.length, `${page}: ${texts[index]}`);
    }
  });

  test("the test that executes a command exists, and names the page or the program", () => {
    for (const { page, text, way } of printedCommands()) {
      if (way === undefined || !("by" in way)) continue;
      assert.ok(existsSync(pathOf(way.by)), way.by);
      const source = readFileSync(pathOf(way.by), "utf8");
      const [program = page] = /examples\/\S+\.ts/.exec(text) ?? [];
      assert.ok(source.includes(page) || source.includes(program), `${way.by} names ${page}`);
    }
  });

  test("a text that an entry replaces is in the command", () => {
    for (const { page, text, way } of printedCommands())
      if (way !== undefined && "run" in way)
        for (const replaced of Object.keys(way.run.replace ?? {}))
          assert.ok(text.includes(replaced), `${page}: ${text} has ${replaced}`);
  });
});
