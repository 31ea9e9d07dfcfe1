import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

const root = join(import.meta.dirname, "..", "..", "..", "..");
const folder = join(root, "examples", "twin");
const scripts = readdirSync(folder).filter((name) => name.endsWith(".ts") && name !== "shop.ts");

/** Precedes the output of each script, on both streams. */
const mark = "\u0000";
/**
 * Runs one script after the other. The process ends by itself only if every script has closed what
 * it opened.
 */
const runner = `
  for (const file of process.argv.slice(1)) {
    for (const stream of [process.stdout, process.stderr]) stream.write(${JSON.stringify(mark)});
    await import(file).catch((error) => void process.stderr.write(String(error.stack)));
  }
`;

interface Output {
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * The outputs of the scripts, in order. They run in one process, because a start takes longer than
 * most scripts.
 */
async function outputs(): Promise<readonly Output[]> {
  const files = scripts.map((name) => pathToFileURL(join(folder, name)).href);
  const child = spawn(process.execPath, ["--input-type=module", "--eval", runner, ...files], {
    stdio: ["ignore", "pipe", "pipe"],
    env: {},
  });
  const [stdout, stderr] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  assert.equal(child.exitCode, 0, stdout + stderr);
  const parts = (all: string): string[] => all.split(mark).slice(1);
  const wrong = parts(stderr);
  return parts(stdout).map((each, place) => ({ stdout: each, stderr: wrong[place] ?? "" }));
}

describe("the scripts of examples/twin", () => {
  let printed: readonly Output[] = [];
  before(async () => {
    printed = await outputs();
  });

  for (const [place, name] of scripts.entries()) {
    test(name, () => {
      const { stdout, stderr } = printed[place] ?? { stdout: "", stderr: "did not run" };
      assert.equal(stderr, "", stdout);
      // A script prints what happened, and begins with a comment about its subject.
      assert.notEqual(stdout, "");
      assert.match(readFileSync(join(folder, name), "utf8"), /^\/\*\*\n \* \w/);
    });
  }

  test("one alone, in a process of its own", async () => {
    const child = spawn(process.execPath, [join(folder, "same-seed.ts")], {
      stdio: ["ignore", "pipe", "inherit"],
      env: {},
    });
    const [stdout] = await Promise.all([text(child.stdout), once(child, "close")]);
    assert.deepEqual(
      [child.exitCode, stdout],
      [0, printed[scripts.indexOf("same-seed.ts")]?.stdout],
    );
  });

  test("are all described in docs/test-worlds.md, and no others", () => {
    const described = [
      ...readFileSync(join(root, "docs", "test-worlds.md"), "utf8").matchAll(
        /examples\/twin\/([\w-]+\.ts)/g,
      ),
    ].map(([, name]) => name);
    assert.deepEqual(new Set(described), new Set(scripts));
    assert.ok(scripts.length >= 20);
  });
});
