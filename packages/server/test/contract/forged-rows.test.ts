import assert from "node:assert/strict";
import { createSecretKey } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, describe, test, type TestContext } from "node:test";
import { laterBy } from "../../src/kernel/instant.ts";
import { CheckedUsers } from "../../src/sign-in/checked-users.ts";
import { openEmbeddedStore } from "../../src/stores/embedded/embedded-store.ts";
import type { RunningStore } from "../../src/stores/store.ts";
import { noEarlierRows, RowMacs } from "../../src/vault/row-mac.ts";
import { openStoreOn, query, TestDatabases, testUrl } from "../postgres/databases.ts";
import {
  begin,
  hexDigest,
  newUser,
  sessionOf,
  start,
  userChange,
  userId,
} from "./user-store.contract.ts";

/*
 * An attacker who writes the database without the keys changes one column of a user or of a
 * session: role, state, password, invitation or any other. Every column of both tables is either
 * altered here or named with the reason why it has no MAC.
 */

interface Opened {
  readonly store: RunningStore;
  /** Runs it as a program that writes the database beside the server. */
  readonly run: (text: string) => Promise<void>;
  readonly columnsOf: (table: string) => Promise<readonly string[]>;
  /** Bytes in the store's SQL. */
  readonly bytes: (hex: string) => string;
}

/** Columns of `person`, with what an attacker writes into them. */
const userColumns: Readonly<Record<string, (bytes: Opened["bytes"], number: number) => string>> = {
  id: (bytes, number) => bytes(userId(1_000 + number)),
  version: () => "version + 1",
  name: () => "'Mallory'",
  role: () => "'admin'",
  state: () => "'active'",
  created_at: () => "created_at + 1",
  last_signed_in_at: () => "last_signed_in_at + 1",
  passwords: () => `'["$argon2id$mallory"]'`,
  totp: (bytes) => bytes("00"),
  totp_step: () => "0",
  failures: () => "0",
  locked_until: () => "NULL",
  invitation: (bytes, number) => bytes(hexDigest(1_000 + number)),
  invitation_ends_at: () => "invitation_ends_at + 1",
  mac: (bytes) => bytes("00".repeat(32)),
};

const sessionColumns: Readonly<Record<string, (bytes: Opened["bytes"]) => string>> = {
  digest: (bytes) => bytes(hexDigest(1_001)),
  person: (bytes) => bytes(userId(1)),
  started_at: () => "started_at + 1",
  ends_at: () => "ends_at + 1",
  mac: (bytes) => bytes("00".repeat(32)),
};

/** Columns without a MAC. */
const uncovered: ReadonlyMap<string, string> = new Map([
  ["no", "orders the rows of the embedded store's file, and nothing reads it"],
  ["name_key", "made of the name, and compared with it when a user is found by it"],
  ["last_used_at", "written at each use, without the key; a session ends at ends_at in any case"],
]);

function checkedUsers({ store }: Opened) {
  const macs = new RowMacs(() => createSecretKey(Buffer.alloc(32, 7)), noEarlierRows);
  const refused: string[] = [];
  const users = new CheckedUsers({
    store: store.users,
    macs,
    lastUnkeyedEntry: () => 0,
    refused: (kind, id) => refused.push(`${kind} ${id}`),
  });
  return { users, refused };
}

/** A locked viewer with an open invitation, who has a value in every column. */
function viewer(number: number) {
  return newUser(number, {
    role: "viewer",
    state: "invited",
    lastSignedInAt: start,
    failures: 10,
    lockedUntil: laterBy(start, 1_000),
    invitation: { digest: hexDigest(number), endsAt: laterBy(start, 1_000) },
  });
}

function describeForgedRows(name: string, open: (context: TestContext) => Promise<Opened>): void {
  const eachTest = (title: string, check: (opened: Opened) => Promise<void>): void => {
    test(title, async (context) => check(await open(context)));
  };

  describe(`rows of users that a program without the keys wrote: ${name}`, () => {
    eachTest("each altered column of a user hides the user, with an alarm", async (opened) => {
      const { store, run, bytes } = opened;
      const { users, refused } = checkedUsers(opened);
      const altered = Object.entries(userColumns);
      for (const number of altered.keys()) await users.commit(userChange(viewer(number + 1)));
      assert.equal((await users.users()).length, altered.length, "control: all are genuine");

      for (const [index, [column, value]] of altered.entries()) {
        const id = userId(index + 1);
        const isId = column === "id";
        await run(
          `UPDATE person SET ${column} = ${value(bytes, index + 1)} WHERE id = ${bytes(id)}`,
        );
        const changedId = isId ? userId(1_000 + index + 1) : id;
        const digest = hexDigest(column === "invitation" ? 1_000 + index + 1 : index + 1);
        assert.ok((await store.users.user(changedId)) !== undefined, `control: ${column}`);
        assert.equal(await users.user(changedId), undefined, column);
        assert.equal(await users.userByName(`person-${index + 1}`), undefined, column);
        assert.ok((await store.users.userByInvitation(digest)) !== undefined, `control: ${column}`);
        assert.equal(await users.userByInvitation(digest), undefined, column);
        assert.equal(refused.at(-1), `person ${changedId}`, column);
      }
      assert.deepEqual(await users.users(), []);
      assert.equal((await store.users.users()).length, altered.length);
    });

    eachTest(
      "a MAC that was taken away hides the user and ends the session too",
      async (opened) => {
        const { users, refused } = checkedUsers(opened);
        for (const number of [1, 2]) {
          await users.commit(userChange(viewer(number)));
          await users.commit(begin(sessionOf(number, number)));
        }
        await opened.run(`UPDATE person SET mac = NULL WHERE id = ${opened.bytes(userId(1))}`);
        await opened.run(
          `UPDATE person_session SET mac = NULL WHERE digest = ${opened.bytes(hexDigest(2))}`,
        );
        assert.equal(await users.user(userId(1)), undefined);
        assert.equal(await users.session(hexDigest(1)), undefined);
        assert.equal(await users.session(hexDigest(2)), undefined);
        assert.deepEqual(refused, [`person ${userId(1)}`, `person_session ${userId(2)}`]);
      },
    );

    eachTest("each altered column of a session ends it, with an alarm", async (opened) => {
      const { store, run, bytes } = opened;
      const { users, refused } = checkedUsers(opened);
      const altered = Object.entries(sessionColumns);
      await users.commit(userChange(newUser(1)));
      for (const number of altered.keys()) {
        const user = number + 2;
        await users.commit(userChange(viewer(user)));
        await users.commit(begin(sessionOf(number + 1, user)));
        assert.ok((await users.session(hexDigest(number + 1))) !== undefined, "control");
      }
      for (const [index, [column, value]] of altered.entries()) {
        const digest = hexDigest(index + 1);
        await run(
          `UPDATE person_session SET ${column} = ${value(bytes)} WHERE digest = ${bytes(digest)}`,
        );
        const changed = column === "digest" ? hexDigest(1_001) : digest;
        assert.ok((await store.users.session(changed)) !== undefined, `control: ${column}`);
        assert.equal(await users.session(changed), undefined, column);
        const owner = userId(column === "person" ? 1 : index + 2);
        assert.equal(refused.at(-1), `person_session ${owner}`, column);
      }
    });

    eachTest("a user is not found by the name of another one", async (opened) => {
      const { users, refused } = checkedUsers(opened);
      await users.commit(userChange(viewer(1)));
      await opened.run("UPDATE person SET name_key = 'admin'");
      assert.ok((await opened.store.users.userByName("admin")) !== undefined, "control");
      assert.equal(await users.userByName("admin"), undefined);
      assert.deepEqual(refused, [`person ${userId(1)}`]);
    });

    eachTest("every column is altered above, or has a reason not to be", async (opened) => {
      for (const [table, altered] of [
        ["person", userColumns],
        ["person_session", sessionColumns],
      ] as const)
        assert.deepEqual(
          new Set((await opened.columnsOf(table)).filter((column) => !uncovered.has(column))),
          new Set(Object.keys(altered)),
          table,
        );
    });
  });
}

describeForgedRows("the embedded store", async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "cofre-forged-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "cofre.db");
  const store = await openEmbeddedStore({ file });
  context.after(() => store.close());
  const database = new DatabaseSync(file, { timeout: 1_000 });
  context.after(() => database.close());
  return {
    store,
    run: async (text) => database.exec(text),
    columnsOf: async (table) =>
      database
        .prepare("SELECT name FROM pragma_table_info(?)")
        .all(table)
        .map(({ name }) => String(name)),
    bytes: (hex) => `x'${hex}'`,
  };
});

if (testUrl === undefined) {
  test(
    "rows of users that a program without the keys wrote: the PostgreSQL store",
    { skip: "COFRE_TEST_POSTGRES_URL names no server" },
    () => undefined,
  );
} else {
  const databases = new TestDatabases(testUrl);
  after(() => databases.drop());
  describeForgedRows("the PostgreSQL store", async (context) => {
    const url = await databases.copy();
    const store = await openStoreOn(url);
    context.after(() => store.close());
    return {
      store,
      run: async (text) => void (await query(url, text)),
      columnsOf: async (table) =>
        (
          await query<{ readonly name: string }>(
            url,
            "SELECT attname AS name FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped",
            [table],
          )
        ).map(({ name }) => name),
      bytes: (hex) => `decode('${hex}', 'hex')`,
    };
  });
}
