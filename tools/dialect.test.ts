import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { openApiDocument } from "../packages/server/src/api-docs/document.ts";
import { instant } from "../packages/server/src/kernel/instant.ts";
import { sandboxEndpoints } from "../packages/server/test/keyed-endpoints.ts";
import { commentsOf, scan, textsOf } from "../packages/server/test/source-scan.ts";
import {
  dialectRules,
  findDialect,
  findDialectNames,
  proseOf,
  proseOfComments,
  proseOfTexts,
  translations,
} from "./dialect.ts";
import { pathOf } from "./generated-docs.ts";

const pages = [
  "README.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "packages/server/README.md",
  "examples/README.md",
].concat(
  globSync(["docs/**/*.md", "packages/proof/**/*.md"], {
    cwd: pathOf(""),
    exclude: ["**/node_modules/**"],
  }),
);

const sources = globSync(["{packages,tools,examples}/**/*.{ts,js}"], {
  cwd: pathOf(""),
  exclude: ["**/node_modules/**"],
});

/** Sources whose texts are shown to users: labels, messages, help, errors. */
const withTexts = globSync(
  ["packages/{console,fields}/src/**/*.js", "packages/server/src/**/*.ts"],
  {
    cwd: pathOf(""),
    exclude: ["**/*.test.ts", "**/migrations/**", ...translations],
  },
);

/** Literals that are not shown as sentences. */
const notProse: ReadonlyMap<string, string> = new Map([
  ["nobody", "the stored kind of an actor who is not signed in"],
]);

describe("plain English", () => {
  test("no page uses a word or pattern of tools/dialect.ts", () => {
    assert.ok(pages.length > 30);
    const found = pages.flatMap((file) =>
      findDialect(proseOf(readFileSync(pathOf(file), "utf8"))).map((where) => `${file}:${where}`),
    );
    assert.deepEqual(found, []);
  });

  test("no comment of the program, its tests and tools does", () => {
    assert.ok(sources.length > 900);
    const found = sources.flatMap((file) =>
      findDialect(proseOfComments(commentsOf(readFileSync(pathOf(file), "utf8")))).map(
        (where) => `${file}:${where}`,
      ),
    );
    assert.deepEqual(found, []);
  });

  test("no text of /openapi.json uses one either, except for error messages", () => {
    const endpoints = sandboxEndpoints().filter((endpoint) => endpoint.key !== "session");
    const texts = textsIn(openApiDocument(endpoints, instant(0)));
    assert.ok(texts.length > 200);
    assert.deepEqual(texts.flatMap(findDialect), []);
  });

  test("no text of the console and the server does", () => {
    assert.ok(withTexts.length > 400);
    const found = withTexts.flatMap((file) =>
      textsOf(readFileSync(pathOf(file), "utf8"))
        .filter(({ text }) => !notProse.has(text))
        .flatMap(({ line, text }) =>
          findDialect(proseOfTexts(text)).map((where) => `${file}:${line}, ${where}`),
        ),
    );
    assert.deepEqual(found, []);
  });

  test("no title of a test does", () => {
    const titles = sources.flatMap((file) =>
      titlesIn(readFileSync(pathOf(file), "utf8")).map((title) => ({ file, title })),
    );
    assert.ok(titles.length > 2_500);
    const found = titles.flatMap(({ file, title }) =>
      findDialect(title).map((where) => `${file}, "${title}": ${where}`),
    );
    assert.deepEqual(found, []);
  });

  test("no identifier has a part that tools/dialect.ts rejects", () => {
    assert.ok(sources.length > 900);
    const found = sources.flatMap((file) =>
      findDialectNames(scan(readFileSync(pathOf(file), "utf8")).code).map(
        (where) => `${file}:${where}`,
      ),
    );
    assert.deepEqual(found, []);
  });

  test("control: parts of identifiers are found in code, and not in comments, literals and other words", () => {
    const source =
      'const toldAt = unfolded; // heardAt\nx.untold(#isHeard, "whoeverReads", { asked_nobody: 1 });\nconst { herald, toldos } = shard;';
    assert.deepEqual(
      findDialectNames(scan(source).code).map((found) => found.replace(/ \(.*/, "")),
      ["1: toldAt", "2: untold", "2: isHeard", "2: asked_nobody"],
    );
  });

  for (const { pattern, wrong, right } of dialectRules)
    test(`control: ${pattern.source} is found in "${wrong}" and not in "${right}"`, () => {
      assert.equal(findDialect(wrong).length > 0, true);
      assert.deepEqual(
        findDialect(right).filter((found) => pattern.test(found.replace(/ \(write .*/, ""))),
        [],
      );
    });

  test("control: texts are found in literals, without code and specifiers", () => {
    const source =
      'import x from "./told.ts";\n// told\nconst told = `It told ${told("not told")}, \\`told\\` too`;\n/nobody/.test("");\nawait import("./heard.ts");';
    assert.deepEqual(
      textsOf(source).flatMap(({ line, text }) =>
        findDialect(proseOfTexts(text)).map((where) => `${line}: ${where.split(" ")[1]}`),
      ),
      ["3: told", "3: told", "4: nobody"],
    );
  });

  test("control: code, links and generated parts are not prose, and lines keep their numbers", () => {
    const page =
      "one\n```sh\ntold\n```\n`told` [x](told.md)\n<!-- made from the program, npm run docs: x -->\ntold\n<!-- end of x -->\nIt told.";
    assert.deepEqual(findDialect(proseOf(page)), [
      "9: told (write reported, notified, returned, shown)",
    ]);
  });
});

/** The sentences of an OpenAPI document. The error table has its own. */
function textsIn(value: unknown, name = ""): readonly string[] {
  if (typeof value === "string")
    return ["summary", "description", "x-required"].includes(name) ? [value] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === "x-errors" || key === "example"
      ? []
      : textsIn(inner, Array.isArray(value) ? name : key),
  );
}

/** The titles of tests and groups of tests, with X for a value that is filled in. */
function titlesIn(source: string): readonly string[] {
  const calls =
    /\b(?:test|describe)\(\s*(?:"(?<plain>(?:[^"\\]|\\.)*)"|`(?<filled>(?:[^`\\]|\\.)*)`)/g;
  return [...source.matchAll(calls)].map(({ groups }) =>
    (groups?.["plain"] ?? groups?.["filled"] ?? "").replaceAll(/\$\{[^}]*\}/g, "X"),
  );
}
