import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { commentsOf, scan, textsOf } from "../packages/server/test/source-scan.ts";
import { proseOf, proseOfComments, proseOfTexts, translations } from "./dialect.ts";
import { pathOf } from "./generated-docs.ts";
import { findMisspellings } from "./spelling.ts";

const pages = globSync(["*.md", "{docs,examples,packages/*}/**/*.md"], {
  cwd: pathOf(""),
  exclude: ["**/node_modules/**"],
});

const sources = globSync(["{packages,tools,bench,examples}/**/*.{ts,js}"], {
  cwd: pathOf(""),
  exclude: ["**/node_modules/**"],
});

/** Sources whose texts and names users and new maintainers read most. */
const program = globSync(["packages/{console,fields}/src/**/*.js", "packages/server/src/**/*.ts"], {
  cwd: pathOf(""),
  exclude: ["**/*.test.ts", "**/migrations/**", ...translations],
});

/** Literals of three words or more that are neither SQL nor a pattern nor markup. */
function isSentence(text: string): boolean {
  return (
    /[A-Za-z,]+ [a-z]+ [a-z]+/.test(text) &&
    !/\b(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|FROM|WHERE|VALUES|PRAGMA|END)\b/.test(
      text,
    ) &&
    !/[\\{}<>=]/.test(text)
  );
}

function read(file: string): string {
  return readFileSync(pathOf(file), "utf8");
}

/** What to do about a failure. */
const advice = "correct the word, or add it to tools/words.txt if it is a name or a term";

describe("spelling", () => {
  test("of the pages", () => {
    assert.ok(pages.length > 40);
    const found = pages.flatMap((file) =>
      findMisspellings(proseOf(read(file))).map((where) => `${file}:${where}`),
    );
    assert.deepEqual(found, [], advice);
  });

  test("of the comments of the program, its tests and tools", () => {
    assert.ok(sources.length > 900);
    const found = sources.flatMap((file) =>
      findMisspellings(proseOfComments(commentsOf(read(file)))).map((where) => `${file}:${where}`),
    );
    assert.deepEqual(found, [], advice);
  });

  test("of the texts of the console and the server", () => {
    assert.ok(program.length > 400);
    const found = program.flatMap((file) =>
      textsOf(read(file))
        .filter(({ text }) => isSentence(text))
        .flatMap(({ line, text }) =>
          findMisspellings(proseOfTexts(text)).map((where) => `${file}:${line}, ${where}`),
        ),
    );
    assert.deepEqual(found, [], advice);
  });

  test("of the names in their code", () => {
    const found = program.flatMap((file) =>
      findMisspellings(scan(read(file)).code).map((where) => `${file}:${where}`),
    );
    assert.deepEqual(found, [], advice);
  });

  test("control: a misspelling in a page, a comment, a text and a name is found", () => {
    const source = 'const paymnetState = "The paymnet was not founnd.";\n// It is receivd.';
    assert.deepEqual(findMisspellings(proseOf("# A\n`paymnet`, a paymnet")), ["2: paymnet"]);
    assert.deepEqual(findMisspellings(proseOfComments(commentsOf(source))), ["2: receivd"]);
    assert.deepEqual(
      textsOf(source).flatMap(({ text }) => (isSentence(text) ? findMisspellings(text) : [])),
      ["1: paymnet", "1: founnd"],
    );
    assert.deepEqual(findMisspellings(scan(source).code), ["1: paymnet"]);
  });

  test("control: one spelling of each word, British with -ize", () => {
    assert.deepEqual(
      findMisspellings("authorise recognised normalisation catalog canceled honor licence"),
      ["authorise", "recognised", "normalisation", "catalog", "canceled", "honor"].map(
        (word) => `1: ${word}`,
      ),
    );
    assert.deepEqual(
      findMisspellings("authorize recognized normalization behaviour raised promises otherwise"),
      [],
    );
  });
});
