import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { text } from "node:stream/consumers";

const root = join(import.meta.dirname, "..", "..", "..", "..");
const folder = join(root, "examples", "twin");
const scripts = readdirSync(folder).filter((name) => name.endsWith(".ts") && name !== "shop.ts");

describe("the scripts of examples/twin", () => {
  for (const name of scripts) {
    test(name, async () => {
      const child = spawn(process.execPath, [join(folder, name)], { stdio: ["ignore", "pipe", "pipe"], env: {} });
      const [said, wrong] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
      assert.equal(child.exitCode, 0, said + wrong);
      // It tells what happened, and each starts with what it is about.
      assert.notEqual(said, "");
      assert.equal(wrong, "");
      assert.match(readFileSync(join(folder, name), "utf8"), /^\/\*\*\n \* \w/);
    });
  }

  test("are all described in docs/twin.md, and no others", () => {
    const described = [...readFileSync(join(root, "docs", "twin.md"), "utf8").matchAll(/examples\/twin\/([\w-]+\.ts)/g)].map(
      ([, name]) => name,
    );
    assert.deepEqual(new Set(described), new Set(scripts));
    assert.ok(scripts.length >= 20);
  });
});
