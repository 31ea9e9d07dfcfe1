import assert from "node:assert/strict";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { hasDatabase, makeFolderOf, modeOpenToOthers } from "./data-folder.ts";
import { openEmbeddedStore } from "./embedded-store.ts";

const noModes = process.platform === "win32" ? "there are no such modes here" : false;

function newFolder(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "cofre-folder-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function modesIn(folder: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folder).map((name) => [
      name,
      (statSync(join(folder, name)).mode & 0o777).toString(8),
    ]),
  );
}

function assertPrivate(modes: Record<string, string>): void {
  for (const name of ["cofre.db", "cofre.db-lock", "cofre.db-shm", "cofre.db-wal"])
    assert.ok(name in modes, `control: ${name} is there`);
  assert.deepEqual(new Set(Object.values(modes)), new Set(["600"]));
}

test(
  "a folder below /proc is refused at once",
  { skip: process.platform === "linux" ? false : "there is no /proc here" },
  () => {
    assert.throws(() => makeFolderOf("/proc/cofre/data/cofre.db"), { code: "cannot_open" });
  },
);

test("a plain file where the folder should be is named as what it is, also further up", (context) => {
  const file = join(newFolder(context), "data");
  writeFileSync(file, "x");
  assert.throws(() => makeFolderOf(join(file, "cofre.db")), {
    code: "no_directory",
    message: `${file}: this is not a directory; name one with COFRE_DATA_DIR`,
  });
  assert.throws(() => makeFolderOf(join(file, "deeper", "cofre.db")), { code: "no_directory" });
});

test("folders are made level by level, for their owner alone", { skip: noModes }, (context) => {
  const folder = newFolder(context);
  makeFolderOf(join(folder, "one", "two", "cofre.db"));
  assert.deepEqual(modesIn(folder), { one: "700" });
  assert.deepEqual(modesIn(join(folder, "one")), { two: "700" });
  assert.equal(modeOpenToOthers(join(folder, "one")), undefined);
  chmodSync(join(folder, "one"), 0o750);
  assert.equal(modeOpenToOthers(join(folder, "one")), "0750");
});

test(
  "every file of a database is for its owner alone, and becomes so where it was not",
  { skip: noModes },
  async (context) => {
    const folder = join(newFolder(context), "data");
    mkdirSync(folder, { mode: 0o755 });
    const file = join(folder, "cofre.db");
    const first = await openEmbeddedStore({ file });
    const made = modesIn(folder);
    await first.close();
    assertPrivate(made);

    for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o644);
    const second = await openEmbeddedStore({ file });
    const found = modesIn(folder);
    await second.close();
    assertPrivate(found);
  },
);

test("a database that is missing or empty is none", async (context) => {
  const file = join(newFolder(context), "cofre.db");
  assert.equal(hasDatabase(file), false);
  writeFileSync(file, "");
  assert.equal(hasDatabase(file), false);
  const store = await openEmbeddedStore({ file });
  // While it is open, as after a crash: the file is not empty, even if data is still in the log.
  const isThere = hasDatabase(file);
  await store.close();
  assert.equal(isThere, true);
});
