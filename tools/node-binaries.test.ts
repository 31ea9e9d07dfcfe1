import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { originOf } from "../packages/server/src/cli/doctor.ts";
import { nodeBinaries } from "../packages/server/src/cli/node-binaries.ts";

const repository = fileURLToPath(new URL("..", import.meta.url));
const sha256Of = (path: string): string =>
  createHash("sha256").update(readFileSync(path)).digest("hex");

describe("the Node executables that come with the repository", () => {
  const { optionalDependencies } = JSON.parse(
    readFileSync(join(repository, "package.json"), "utf8"),
  ) as {
    readonly optionalDependencies: Readonly<Record<string, string>>;
  };

  test("each has a checksum in the table", () => {
    for (const [packageName, version] of Object.entries(optionalDependencies)) {
      assert.ok(
        nodeBinaries.some(
          (binary) => binary.packageName === packageName && binary.version === version,
        ),
        `${packageName} ${version}`,
      );
    }
  });

  test("the installed one has the checksum of the table", () => {
    const installed = Object.keys(optionalDependencies).flatMap((packageName) => {
      const path = join(
        repository,
        "node_modules",
        packageName,
        "bin",
        packageName.includes("win") ? "node.exe" : "node",
      );
      return existsSync(path) ? [{ packageName, sha256: sha256Of(path) }] : [];
    });
    assert.ok(installed.length > 0, "control: npm installed one");
    for (const { packageName, sha256 } of installed)
      assert.match(originOf(sha256), new RegExp(`^npm package ${packageName} `));
  });

  test(
    "the Node that executes this test is one of them",
    { skip: process.env["CI"] !== "true" },
    () => {
      assert.match(originOf(sha256Of(process.execPath)), /^npm package node-/);
    },
  );

  test("an unknown executable is not said to come from them", () => {
    assert.match(originOf("0".repeat(64)), /^not one of the executables/);
  });
});
