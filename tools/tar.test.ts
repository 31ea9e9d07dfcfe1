import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { tar } from "./tar.ts";

/** What the program `tar` does with the archive. */
function read(context: TestContext, archive: Buffer, ...args: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), "cofre-tar-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "archive.tar");
  writeFileSync(file, archive);
  return execFileSync("tar", [...args, "-f", file], {
    encoding: "utf8",
    env: { ...process.env, TZ: "UTC" },
  });
}

describe("archives", () => {
  const entries = [
    { path: "data", mode: 0o700, owner: 65_532 },
    { path: "data/note", mode: 0o640, content: Buffer.from("hello") },
    { path: "full", mode: 0o644, content: Buffer.alloc(512, "x") },
    { path: "link", mode: 0o777, link: "/data/note" },
  ];

  test(
    "are listed by tar with kinds, permissions, owners, sizes and targets",
    { skip: process.platform !== "linux" },
    (context) => {
      const lines = read(context, tar(entries, 86_400), "--verbose", "--numeric-owner", "--list");
      assert.deepEqual(
        lines
          .trimEnd()
          .split("\n")
          .map((line) => line.replaceAll(/ +/g, " ")),
        [
          "drwx------ 65532/65532 0 1970-01-02 00:00 data/",
          "-rw-r----- 0/0 5 1970-01-02 00:00 data/note",
          "-rw-r--r-- 0/0 512 1970-01-02 00:00 full",
          "lrwxrwxrwx 0/0 0 1970-01-02 00:00 link -> /data/note",
        ],
      );
    },
  );

  test("contain the bytes of their files", (context) => {
    const archive = tar(entries, 0);
    assert.equal(read(context, archive, "--extract", "--to-stdout"), `hello${"x".repeat(512)}`);
    assert.equal(archive.length % 512, 0);
  });

  test("have no name that would be cut", () => {
    assert.throws(() => tar([{ path: "x".repeat(101), mode: 0o644 }], 0), /longer than 100 bytes/);
  });
});
