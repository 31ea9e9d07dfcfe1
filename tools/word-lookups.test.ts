import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { findWordLookups } from "./word-lookups.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const projects = [
  "tsconfig.json",
  "packages/console/src/tsconfig.json",
  "packages/fields/src/tsconfig.json",
];

/** Lookups whose keys are always the program's own: a loop over the same table. */
const ownWords: readonly string[] = [
  "packages/server/src/logging/log.ts: kinds[name]",
  "packages/server/src/logging/log.ts: values[name]",
];

test("no word from outside is looked up in a plain object", () => {
  const isProgram = (file: string): boolean =>
    /^packages\/[^/]+\/src\//.test(file) && !file.endsWith(".test.ts");
  const found = findWordLookups(root, projects, isProgram);
  const unexpected = found.filter(
    ({ file, expression }) => !ownWords.includes(`${file}: ${expression}`),
  );
  assert.deepEqual(
    unexpected.map(
      ({ file, line, expression }) =>
        `${file}:${line}: ${expression}: use a Map, or ownValue of kernel/own.ts`,
    ),
    [],
  );
  // Each exception still exists.
  for (const row of ownWords)
    assert.ok(
      found.some(({ file, expression }) => `${file}: ${expression}` === row),
      row,
    );
});

describe("controls: the search", () => {
  const lines: readonly (readonly [source: string, isFound: boolean])[] = [
    ["table[word];", true],
    ["table[word as keyof typeof table];", true],
    ["word in table;", true],
    ["table[`prefix-${word}`];", true],
    ["record[word];", true],
    ['record[word] = "new";', true],
    [
      "one(word);\nfunction one<Word extends string>(name: Word) {\n  return record[name];\n}",
      true,
    ],
    ["list[anything];", true],
    ["record[other === undefined ? word : other];", true],
    ["Object.hasOwn(table, other) ? record[word] : undefined;", true],
    ["table[name];", false],
    ['table["one"];', false],
    ["list[0];", false],
    ["list[word.length];", false],
    ["word[0];", false],
    ["map.get(word);", false],
    ['"one" in table;', false],
    ["Object.hasOwn(record, word) ? record[word] : undefined;", false],
    [
      "two(name);\nfunction two<Name extends keyof typeof table>(key: Name) {\n  return table[key];\n}",
      false,
    ],
  ];
  const head = [
    'const table = { one: "1", two: "2" };',
    'const record: Record<string, string> = { one: "1" };',
    'const list = ["1"];',
    "const map = new Map<string, string>();",
    "declare const word: string;",
    "declare const anything: any;",
    "declare const other: string | undefined;",
    "declare const name: keyof typeof table;",
  ];

  test("finds each kind of look-up by a word, and none by a name of the table", (context) => {
    const folder = mkdtempSync(join(tmpdir(), "cofre-lookups-"));
    context.after(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(
      join(folder, "tsconfig.json"),
      '{"compilerOptions":{"strict":true,"types":[]},"include":["*.ts"]}',
    );
    for (const [index, [source]] of lines.entries())
      writeFileSync(
        join(folder, `line-${index}.ts`),
        `${head.join("\n")}\n${source}\nexport {};\n`,
      );
    const found = new Set(
      findWordLookups(folder, ["tsconfig.json"], (file) => file.startsWith("line-")).map(
        ({ file }) => file,
      ),
    );
    for (const [index, [source, isFound]] of lines.entries())
      assert.equal(found.has(`line-${index}.ts`), isFound, source);
  });
});
