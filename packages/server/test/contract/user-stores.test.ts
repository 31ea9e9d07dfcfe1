import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, describe, test, type TestContext } from "node:test";
import { BrokenInvariant } from "../../src/kernel/assert.ts";
import { openEmbeddedStore } from "../../src/stores/embedded/embedded-store.ts";
import { migrations } from "../../src/stores/embedded/migrations/index.ts";
import { ourApplicationId } from "../../src/stores/embedded/open-database.ts";
import type { RunningStore } from "../../src/stores/store.ts";
import { holdRows, openStoreOn, query, TestDatabases, testUrl } from "../postgres/databases.ts";
import {
  action,
  assertChain,
  begin,
  hexDigest,
  newUser,
  userChange,
  userId,
  sessionOf,
  start,
} from "./user-store.contract.ts";
import * as given from "./store-fixtures.ts";
import { until } from "../until.ts";

function newFile(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "cofre-people-"));
  context.after(() => rmSync(folder, { recursive: true }));
  return join(folder, "cofre.db");
}

/**
 * Changes that must not be stored when their audit entry cannot be written: disabling a user,
 * ending a session, starting one.
 */
async function assertNothingWithoutItsAct({ users }: RunningStore): Promise<void> {
  const change = userChange(newUser(1, { version: 2, state: "disabled" }), {
    ends: { of: userId(1), except: undefined },
    begins: sessionOf(2, 1),
  });
  await assert.rejects(users.commit(change), BrokenInvariant);
  assert.deepEqual(await users.user(userId(1)), newUser(1));
  assert.ok((await users.session(hexDigest(1))) !== undefined);
  assert.equal(await users.session(hexDigest(2)), undefined);
  assert.equal(await assertChain(users), 2);
}

describe("people in the embedded store", () => {
  test("entries are neither altered, removed nor replaced, and the end of the log does not go back", async (context) => {
    const file = newFile(context);
    const store = await openEmbeddedStore({ file });
    await store.users.commit({ at: start, events: [action(), action()] });
    await store.close();
    const database = new DatabaseSync(file);
    const attempts = [
      "UPDATE audit_entry SET body = '{}'",
      "DELETE FROM audit_entry",
      "REPLACE INTO audit_entry (no, digest, body) VALUES (1, zeroblob(32), '{}')",
      "UPDATE audit_head SET no = 1",
      "UPDATE audit_head SET digest = zeroblob(32)",
      "DELETE FROM audit_head",
    ];
    for (const text of attempts) assert.throws(() => database.exec(text), /append-only/, text);
    database.close();
  });

  test("an act that cannot be written takes its change with it", async (context) => {
    const file = newFile(context);
    const first = await openEmbeddedStore({ file });
    await first.users.commit(userChange(newUser(1)));
    await first.users.commit(begin(sessionOf(1, 1)));
    await first.close();
    const database = new DatabaseSync(file);
    // Fails at the second audit entry: everything else of the change has been written by then.
    database.exec(
      "CREATE TRIGGER planted BEFORE INSERT ON audit_entry WHEN NEW.no >= 3 BEGIN SELECT RAISE (ABORT, 'planted'); END",
    );
    database.close();
    const store = await openEmbeddedStore({ file });
    context.after(() => store.close());
    await assertNothingWithoutItsAct(store);
  });

  test("on a disk that is full changes are refused whole, and what was acknowledged is there", async (context) => {
    const file = newFile(context);
    const store = await openEmbeddedStore({ file, maxFileBytes: 400_000 });
    let [written, refused] = [0, 0];
    for (let number = 1; number <= 2_000; number += 1) {
      const change = userChange(newUser(number), { events: [action({ detail: "x".repeat(500) })] });
      const isWritten = await store.users.commit(change).then(
        () => true,
        (error: unknown) => {
          assert.ok(error instanceof Error && "code" in error && error.code === "unavailable");
          return false;
        },
      );
      if (isWritten) written += 1;
      else refused += 1;
      if (refused === 3) break;
    }
    assert.ok(refused === 3 && written > 50, `${written} written`);
    assert.equal(await assertChain(store.users), written);
    assert.equal((await store.users.users()).length, written);
    await store.close();
    const again = await openEmbeddedStore({ file });
    context.after(() => again.close());
    assert.equal(await assertChain(again.users), written);
    await again.users.commit(userChange(newUser(5_000)));
  });

  test("a file of the version before gets its tables and keeps what it has", async (context) => {
    const file = newFile(context);
    const old = new DatabaseSync(file);
    old.exec(`${migrations.slice(0, 2).join(";")};
      INSERT INTO account (id, version, name, settings) VALUES (unhex('0000000a'), 1, 'Old', '{}');
      PRAGMA application_id = ${ourApplicationId}; PRAGMA user_version = 2`);
    old.close();
    const store = await openEmbeddedStore({ file });
    context.after(() => store.close());
    assert.deepEqual(
      (await store.accounts()).map(({ name }) => name),
      ["Old"],
    );
    await store.users.commit(userChange(newUser(1)));
    assert.equal(await assertChain(store.users), 1);
  });

  test("a committed change is there when the file is opened again, and the chain continues", async (context) => {
    const file = newFile(context);
    const first = await openEmbeddedStore({ file });
    await first.users.commit(userChange(newUser(1)));
    await first.users.commit(begin(sessionOf(1, 1)));
    await first.close();
    await assert.rejects(first.users.users(), { name: "StoreError", code: "closed" });
    await assert.rejects(first.users.commit(userChange(newUser(2))), {
      name: "StoreError",
      code: "closed",
    });
    const second = await openEmbeddedStore({ file });
    context.after(() => second.close());
    assert.deepEqual(await second.users.session(hexDigest(1)), {
      session: sessionOf(1, 1),
      user: newUser(1),
    });
    await second.users.commit({ at: start, events: [action()] });
    assert.equal(await assertChain(second.users), 3);
  });
});

if (testUrl === undefined) {
  test(
    "people in PostgreSQL",
    { skip: "COFRE_TEST_POSTGRES_URL names no server" },
    () => undefined,
  );
} else {
  const databases = new TestDatabases(testUrl);
  after(() => databases.drop());
  describe("people in PostgreSQL", () => describePostgres(databases));
}

function describePostgres(databases: TestDatabases): void {
  test("entries are neither altered nor removed, and the end of the log does not go back, for the owner too", async () => {
    const url = await databases.copy();
    const store = await openStoreOn(url);
    await store.users.commit({ at: start, events: [action(), action()] });
    await store.close();
    const attempts = [
      "UPDATE audit_entry SET body = '{}'",
      "DELETE FROM audit_entry",
      "TRUNCATE audit_entry",
      "UPDATE audit_head SET no = 1",
      "UPDATE audit_head SET digest = digest",
      "DELETE FROM audit_head",
      "TRUNCATE audit_head",
    ];
    for (const text of attempts) await assert.rejects(query(url, text), { code: "23001" }, text);
  });

  test("an act that cannot be written takes its change with it", async (context) => {
    const url = await databases.copy();
    const store = await openStoreOn(url);
    context.after(() => store.close());
    await store.users.commit(userChange(newUser(1)));
    await store.users.commit(begin(sessionOf(1, 1)));
    await query(url, "ALTER TABLE audit_entry ADD CONSTRAINT planted CHECK (no < 3)");
    await assertNothingWithoutItsAct(store);
  });

  test("a role of its own reads people, sessions and the log; no other does, and none writes them but through its function", async () => {
    const url = await databases.copy();
    const as = (role: string, text: string) =>
      query(url, `SET ROLE ${role}; SET cofre.merchant = '${given.merchantA}'; ${text}`).then(
        () => "allowed",
        (error: unknown) => (error instanceof Error && "code" in error ? error.code : error),
      );
    const denied = "42501";
    const tables = ["person", "person_session", "audit_entry", "audit_head"];
    for (const table of tables) {
      assert.equal(await as("cofre_people", `SELECT * FROM ${table}`), "allowed", table);
      for (const role of ["cofre_gateway", "cofre_vault", "cofre_jobs", "cofre_reader"]) {
        assert.equal(await as(role, `SELECT 1 FROM ${table}`), denied, `${role} ${table}`);
      }
      for (const role of [
        "cofre_people",
        "cofre_gateway",
        "cofre_vault",
        "cofre_jobs",
        "cofre_reader",
      ]) {
        assert.equal(await as(role, `DELETE FROM ${table}`), denied, `${role} ${table}`);
      }
    }
    for (const role of ["cofre_gateway", "cofre_vault", "cofre_jobs", "cofre_reader"]) {
      assert.equal(await as(role, "SELECT write_people_1('{}')"), denied, role);
      assert.equal(await as(role, "SELECT use_person_session_1('', 0)"), denied, role);
    }
    for (const table of ["payment", "card", "account", "account_key"]) {
      assert.equal(await as("cofre_people", `SELECT 1 FROM ${table}`), denied, table);
    }
    for (const writer of ["write_batch_1", "write_batch_2"])
      assert.equal(await as("cofre_people", `SELECT ${writer}('{}')`), denied);
  });

  test("two nodes write at once: the log has no gap, each digest follows the one before, and each change is there once", async (context) => {
    const url = await databases.copy();
    const nodes = await Promise.all([openStoreOn(url), openStoreOn(url)]);
    context.after(() => Promise.all(nodes.map((node) => node.close())));
    const numbers = Array.from({ length: 100 }, (_, number) => number + 1);
    // Both nodes change the same users: one change of each pair is written.
    const results = await Promise.all(
      nodes.map((node) =>
        Promise.all(
          numbers.map((number) =>
            node.users.commit(userChange(newUser(number), { events: [action(), action()] })),
          ),
        ),
      ),
    );
    const outcomes = results.flat().map(({ outcome }) => outcome);
    assert.equal(outcomes.filter((outcome) => outcome === "committed").length, 100);
    assert.equal(outcomes.filter((outcome) => outcome === "stale").length, 100);
    const firsts = results
      .flat()
      .flatMap((result) => (result.outcome === "committed" ? [result.number] : []));
    assert.deepEqual(
      firsts.toSorted((one, other) => one - other),
      numbers.map((number) => 2 * number - 1),
    );
    for (const node of nodes) assert.equal(await assertChain(node.users), 200);
  });

  test("while the end of the log is locked, user changes are refused as not written and payments continue", async (context) => {
    const url = await databases.copy();
    const store = await openStoreOn(url);
    context.after(() => store.close());
    await store.users.commit(userChange(newUser(1)));
    const held = await holdRows(url, "audit_head");
    context.after(() => held.letGo());
    const refused = assert.rejects(store.users.commit({ at: start, events: [action()] }), {
      name: "StoreError",
      code: "unavailable",
    });
    assert.deepEqual(await store.commit(given.paymentChange(given.newPayment(1))), {
      outcome: "committed",
    });
    assert.deepEqual(await store.users.user(userId(1)), newUser(1), "and so does reading");
    await refused;
    await held.letGo();
    assert.equal(
      (await store.users.commit({ at: start, events: [action()] })).outcome,
      "committed",
    );
    assert.equal(await assertChain(store.users), 2);
  });

  test("when the session ends before the answer the change is commit_unknown, and the next one has a new session", async (context) => {
    const url = await databases.copy();
    const store = await openStoreOn(url);
    context.after(() => store.close());
    await store.users.commit(userChange(newUser(1)));
    const held = await holdRows(url, "audit_head");
    context.after(() => held.letGo());
    const unknown = assert.rejects(store.users.commit({ at: start, events: [action()] }), {
      name: "StoreError",
      code: "commit_unknown",
    });
    const waits =
      "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'cofre cofre_people' AND wait_event_type = 'Lock'";
    await until("a session waits for a lock", async () => (await query(url, waits)).length > 0);
    await query(url, `SELECT pg_terminate_backend(pid) FROM (${waits}) AS waiting`);
    await unknown;
    await held.letGo();
    assert.equal(
      (await store.users.commit({ at: start, events: [action()] })).outcome,
      "committed",
    );
    assert.equal(await assertChain(store.users), 2);
  });

  test("a store that is closed says so", async () => {
    const url = await databases.copy();
    const store = await openStoreOn(url);
    await store.users.commit(userChange(newUser(1)));
    await store.close();
    await assert.rejects(store.users.users(), { name: "StoreError", code: "closed" });
    await assert.rejects(store.users.commit(userChange(newUser(2))), {
      name: "StoreError",
      code: "closed",
    });
  });
}
