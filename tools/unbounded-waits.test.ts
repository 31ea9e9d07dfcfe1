import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { findUnboundedWaits } from "./unbounded-waits.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Loops that end for another reason: file, condition, and the reason. */
const ended: readonly (readonly [file: string, condition: string, reason: string])[] = [
  ["packages/server/src/main.test.ts", "", "the log of a process has an end"],
  ["packages/server/test/command.ts", "", "a process that has ended is an error"],
  ["packages/server/test/contract/connector-harness.ts", "", "tasks that are due become fewer"],
  ["packages/server/test/e2e/recording.test.ts", "", "a list has a last page"],
  ["packages/proof/lanes/support/kill-load.ts", "!this.#stopped", "the test stops the load"],
  ["packages/proof/simulation/shop-client.ts", "", "five sendings at most"],
  ["packages/server/test/upstream/fault-run.ts", "this.#timePasses", "the run stops its time"],
];

test("no test waits for a fact without a bound", () => {
  const isTest = (file: string): boolean =>
    /^(?:packages|tools)\//.test(file) &&
    (file.endsWith(".test.ts") || /^packages\/(?:[^/]+\/test|proof)\//.test(file));
  const found = findUnboundedWaits(root, "tsconfig.json", isTest);
  const unexpected = found.filter(
    (wait) =>
      !ended.some(([file, condition]) => file === wait.file && condition === wait.condition),
  );
  assert.deepEqual(
    unexpected.map(
      ({ file, line, condition }) =>
        `${file}:${line}: ${condition}: use until of packages/server/test/until.ts`,
    ),
    [],
  );
  // Each exception still exists.
  for (const [file, condition] of ended)
    assert.ok(
      found.filter((wait) => file === wait.file && condition === wait.condition).length === 1,
      file,
    );
});

describe("controls: the search", () => {
  const lines: readonly (readonly [source: string, isFound: boolean])[] = [
    ["while (!(await holds())) count();", true],
    ["while (!isSo()) await sleep(5);", true],
    ["while (!isSo()) await new Promise((resolve) => void setTimeout(resolve, 5));", true],
    ["while (!isSo()) await new Promise((resolve) => void setImmediate(resolve));", true],
    ["do await timers.sleep(5);\nwhile (!isSo());", true],
    ["do count();\nwhile (!(await holds()));", true],
    ["for (;;) if (await holds()) break;", true],
    ["while (true) if (await holds()) break;", true],
    ["for (let tries = 0; ; tries += 1) if (await holds()) break;", true],
    ["for (let tries = 0; !(await holds());) tries += 1;", true],
    ["const poll = async () => {\n  while (!isSo()) await sleep(5);\n};\nvoid poll();", true],
    ["for (let tries = 0; tries < 9; tries += 1) await sleep(5);", false],
    ["const end = Date.now() + 9;\nwhile (!isSo() && Date.now() < end) await sleep(5);", false],
    ["while (!isSo()) await work();", false],
    ["while (!isSo()) count();", false],
    ["for (;;) {\n  void (async () => holds())();\n  break;\n}", false],
    ["for await (const each of list()) count(each);", false],
  ];
  const head = [
    "declare const holds: () => Promise<boolean>;",
    "declare const isSo: () => boolean;",
    "declare const work: () => Promise<void>;",
    "declare const count: (each?: number) => void;",
    "declare const list: () => AsyncIterable<number>;",
    "declare const sleep: (ms: number) => Promise<void>;",
    "declare const timers: { sleep(ms: number): Promise<void> };",
  ];

  test("finds each kind of wait without a bound, and no loop that has one", (context) => {
    const folder = mkdtempSync(join(tmpdir(), "cofre-waits-"));
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
      findUnboundedWaits(folder, "tsconfig.json", (file) => file.startsWith("line-")).map(
        ({ file }) => file,
      ),
    );
    for (const [index, [source, isFound]] of lines.entries())
      assert.equal(found.has(`line-${index}.ts`), isFound, source);
  });
});
