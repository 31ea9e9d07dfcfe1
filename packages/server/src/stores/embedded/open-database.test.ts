import assert from "node:assert/strict";
import type { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { migrations } from "./migrations/index.ts";
import { isSafeVersion, openForReading, openForWriting } from "./open-database.ts";
import { temporaryFile } from "./temporary-file.ts";

function pragma(database: DatabaseSync, name: string): unknown {
  return Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];
}

test("a durable database syncs each commit, and an empty file gets all tables and our mark", (context) => {
  const { file, remove } = temporaryFile();
  context.after(remove);
  const database = openForWriting({ file, durable: true, maxFileBytes: undefined });
  context.after(() => database.close());

  assert.equal(pragma(database, "journal_mode"), "wal");
  assert.equal(pragma(database, "synchronous"), 2);
  assert.equal(pragma(database, "wal_autocheckpoint"), 8_000);
  assert.equal(pragma(database, "secure_delete"), 1);
  assert.equal(pragma(database, "temp_store"), 2);
  assert.equal(pragma(database, "user_version"), migrations.length);
  assert.equal(pragma(database, "application_id"), 0x436f6672);
  assert.equal(pragma(database, "integrity_check"), "ok");
});

test("a database where the settings of durability do not hold is refused", () => {
  // A database in memory cannot have a write-ahead log: SQLite's answer is checked, not assumed.
  assert.throws(
    () => openForWriting({ file: ":memory:", durable: true, maxFileBytes: undefined }),
    { code: "not_durable" },
  );
});

test("the reading connection cannot write", (context) => {
  const { file, remove } = temporaryFile();
  context.after(remove);
  const writer = openForWriting({ file, durable: false, maxFileBytes: undefined });
  const reader = openForReading(file);
  context.after(() => {
    reader.close();
    writer.close();
  });

  assert.throws(() => reader.exec("DELETE FROM payment"), /readonly/);
});

test("a SQLite with the write-ahead log race is not safe", () => {
  for (const version of ["3.51.2", "3.50.99", "3.9.0", "2.99.99", "0", ""])
    assert.equal(isSafeVersion(version), false, version);
  for (const version of ["3.51.3", "3.52.0", "3.53.4", "4.0.0"])
    assert.equal(isSafeVersion(version), true, version);
});
