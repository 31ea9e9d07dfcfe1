import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { Client } from "pg";
import { sha256Hex } from "../../src/kernel/digest.ts";
import { Connection } from "../../src/stores/postgres/connection.ts";
import { migrate, type MigrationReport } from "../../src/stores/postgres/migrate.ts";
import { firstChecksums, migrations } from "../../src/stores/postgres/migrations/index.ts";
import { migrationFailure } from "../../src/stores/postgres/open-error.ts";
import { openStoreOn, query, TestDatabases, testUrl } from "../postgres/databases.ts";
import { runFirstMigrations } from "../postgres/earlier-database.ts";
import { until } from "../until.ts";

/**
 * Where `find` is in a migration's text, the original text, which existing databases have run, had
 * `first`.
 */
const differences: ReadonlyMap<number, { readonly find: string; readonly first: string }> = new Map(
  [
    [
      6,
      {
        find: "\nCREATE TABLE origin (",
        first: `
-- A large table takes longer than a session allows a statement; who writes waits meanwhile.
SET LOCAL statement_timeout = '1h';
DROP INDEX outbox_payment;
CREATE INDEX outbox_payment ON outbox (merchant, payment, number);

CREATE TABLE origin (`,
      },
    ],
    [
      9,
      {
        find: `ALTER TABLE delivery ADD COLUMN message bigint;
ALTER TABLE delivery ADD CONSTRAINT delivery_message_check CHECK (message >= 0) NOT VALID;
`,
        first: `ALTER TABLE delivery ADD COLUMN message bigint CHECK (message >= 0);
CREATE INDEX delivery_message ON delivery (merchant, endpoint, message, number) WHERE message > 0;
`,
      },
    ],
  ],
);

const firstTexts: ReadonlyMap<number, string> = new Map(
  [...differences].map(([no, { find, first }]) => [
    no,
    (migrations[no - 1] ?? "").replace(find, () => first),
  ]),
);

test("a migration that was written again keeps the checksum of its first text", () => {
  assert.deepEqual(
    new Map([...firstTexts].map(([no, text]) => [no, sha256Hex(text)])),
    firstChecksums,
  );
});

test("a failed migration is named with its SQLSTATE and what to do, and without the server's words", () => {
  const said: readonly (readonly [number | undefined, string | undefined, RegExp])[] = [
    [9, "55P03", /^migration 9, SQLSTATE 55P03: another session holds a table/],
    [9, "40P01", /^migration 9, SQLSTATE 40P01: it was in conflict with another session/],
    [undefined, "42501", /^the table of migrations, SQLSTATE 42501: the user must own the schema/],
    [6, "42P07", /^migration 6, SQLSTATE 42P07: the tables are not those/],
    [18, "23514", /^migration 18, SQLSTATE 23514: rows break a rule/],
    [17, "53100", /^migration 17, SQLSTATE 53100: the server is short of disk space/],
    [17, "57014", /^migration 17, SQLSTATE 57014: the server ended the statement/],
    [1, "25006", /^migration 1, SQLSTATE 25006: the server accepts no changes/],
    [1, "0A000", /^migration 1, SQLSTATE 0A000: the server refused the step/],
    [1, undefined, /^migration 1, no answer from the server/],
  ];
  for (const [no, state, words] of said) assert.match(migrationFailure(no, state), words);
});

/** Columns, constraints, indexes and functions of the database, as text. */
async function catalogueOf(url: string): Promise<readonly string[]> {
  const rows = await query<{ readonly line: string }>(
    url,
    `SELECT concat_ws(' ', table_name, column_name, data_type, is_nullable, column_default) AS line
       FROM information_schema.columns WHERE table_schema = 'public'
     UNION ALL SELECT concat_ws(' ', conrelid::regclass, conname, convalidated, pg_get_constraintdef(oid))
       FROM pg_constraint WHERE connamespace = 'public'::regnamespace
     UNION ALL SELECT concat_ws(' ', pg_get_indexdef(indexrelid), indisvalid)
       FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid AND relnamespace = 'public'::regnamespace
     UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
     UNION ALL SELECT concat_ws(' ', 'migration', no, checksum) FROM migration
     ORDER BY 1`,
  );
  return rows.map(({ line }) => line);
}

/** An open transaction that has read the table. */
async function readerOf(url: string, table: string): Promise<{ end(): Promise<void> }> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`BEGIN; LOCK TABLE ${table} IN ACCESS SHARE MODE`);
  return { end: () => client.end() };
}

function describeMigrations(databases: TestDatabases): void {
  test("a database that had the first texts becomes the same as a new one", async () => {
    const [url, fresh] = [await databases.create(), await databases.copy()];
    await runFirstMigrations(url, 17, firstTexts);
    await (await openStoreOn(url)).close();
    assert.deepEqual(await catalogueOf(url), await catalogueOf(fresh));
  });

  test("a step that waits for a table lets others through, says so, and continues when the table is free", async () => {
    const url = await databases.create();
    await runFirstMigrations(url, 8);
    const reader = await readerOf(url, "delivery");
    const reports: MigrationReport[] = [];
    const opened = openStoreOn(url, { onMigration: (report) => void reports.push(report) });
    await until("it has waited in vain", async () => reports.some(({ kind }) => kind === "waits"));
    // Fails if the step waits in the lock queue for more than a second; it waits for 300 ms.
    await query(
      url,
      `SET lock_timeout = '1s'; INSERT INTO delivery (merchant, endpoint, number, payment, kind, version, state, asked_at, due_at, attempts, in_order)
        VALUES (decode('0000000a', 'hex'), 'shop', 1, decode(repeat('0', 48), 'hex'), 'update', 1, 'delivered', 1, 1, 1, 0)`,
    );
    const take = "SELECT pg_try_advisory_lock(7266373) AS free";
    await until(
      "the version before may start",
      async () => (await query<{ readonly free: boolean }>(url, take))[0]?.free === true,
    );
    await reader.end();
    await (await opened).close();
    assert.deepEqual(reports.slice(0, 2), [
      { kind: "began", no: 9 },
      { kind: "waits", no: 9, tries: 1 },
    ]);
    assert.equal((await query(url, "SELECT 1 FROM migration")).length, migrations.length);
  });

  test("a step that waits in vain for too long is named, leaves nothing, and is run by the next start", async () => {
    const url = await databases.create();
    await runFirstMigrations(url, 8);
    const reader = await readerOf(url, "delivery");
    const owner = await Connection.open(url, "owner");
    await assert.rejects(migrate(owner, { tries: 2 }), {
      name: "PostgresOpenError",
      code: "migration",
      message:
        /^PostgreSQL: the tables could not be created or migrated: migration 9, SQLSTATE 55P03: another session holds a table/,
    });
    await owner.close();
    await reader.end();
    assert.equal((await query(url, "SELECT 1 FROM migration")).length, 8);
    await (await openStoreOn(url)).close();
    assert.equal((await query(url, "SELECT 1 FROM migration")).length, migrations.length);
  });

  test("a step that the server refuses is named", async () => {
    const url = await databases.create();
    await runFirstMigrations(url, 5);
    await query(url, "CREATE TABLE origin (planted integer)");
    await assert.rejects(openStoreOn(url), {
      code: "migration",
      message: /: migration 6, SQLSTATE 42P07: the tables are not those/,
    });
  });

  test("a start beside a node that migrates waits, says for which, and continues when the other has ended", async () => {
    const url = await databases.copy();
    const other = new Client({ connectionString: url });
    await other.connect();
    const [held] = (
      await other.query<{ readonly pid: number }>(
        "SELECT pg_backend_pid() AS pid, pg_advisory_lock(7266376)",
      )
    ).rows;
    const reports: MigrationReport[] = [];
    const opened = openStoreOn(url, { onMigration: (report) => void reports.push(report) });
    await until("it has said what it waits for", async () => reports.length > 0);
    assert.deepEqual(reports, [
      { kind: "waits_for_node", session: held?.pid, no: migrations.length, waitedMs: 1_000 },
    ]);
    await other.end();
    await (await opened).close();
  });

  for (const [whose, key] of [
    ["of the version before", 7_266_373],
    ["of this version", 7_266_376],
  ] as const) {
    test(`a start that has waited too long for a node ${whose} is refused`, async () => {
      const url = await databases.copy();
      const other = new Client({ connectionString: url });
      await other.connect();
      await other.query(`SELECT pg_advisory_lock(${key})`);
      const owner = await Connection.open(url, "owner");
      await assert.rejects(migrate(owner, { turnMs: 200 }), {
        name: "PostgresOpenError",
        code: "migrating",
      });
      await owner.close();
      await other.end();
    });
  }
}

if (testUrl === undefined) {
  test(
    "migrations beside nodes that serve",
    { skip: "COFRE_TEST_POSTGRES_URL names no server" },
    () => undefined,
  );
} else {
  const databases = new TestDatabases(testUrl);
  after(() => databases.drop());
  describe("migrations beside nodes that serve", { concurrency: 3 }, () =>
    describeMigrations(databases),
  );
}
