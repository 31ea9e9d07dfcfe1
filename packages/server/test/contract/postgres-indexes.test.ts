import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { openStoreOn, query, TestDatabases, testUrl } from "../postgres/databases.ts";

const names = ["delivery_waiting"];

/** Marks the migration that builds the indexes as not done. */
const notDone = "DELETE FROM migration WHERE no = 17";

interface Index {
  readonly name: string;
  readonly oid: number;
  readonly valid: boolean;
}

const indexes = (url: string): Promise<readonly Index[]> =>
  query<Index>(
    url,
    `SELECT relname AS name, indexrelid::integer AS oid, indisvalid AS valid FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
      WHERE relname = 'delivery_waiting' ORDER BY relname`,
  );

function describeIndexes(databases: TestDatabases): void {
  test("indexes of large tables are built while others write and the version before starts", async (context) => {
    const url = await databases.copy();
    await query(url, `DROP INDEX delivery_waiting; ${notDone}`);
    const writer = new Client({ connectionString: url });
    await writer.connect();
    context.after(() => writer.end());
    // A transaction that began before keeps the index from becoming ready.
    await writer.query("BEGIN; LOCK TABLE payment IN ROW EXCLUSIVE MODE");
    const starts = [openStoreOn(url), openStoreOn(url)];
    const building = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'CREATE INDEX CONCURRENTLY%'
      AND wait_event = 'virtualxid'`;
    for (let tries = 0; tries < 400 && (await query(url, building)).length === 0; tries += 1)
      await sleep(10);
    assert.equal((await query(url, building)).length, 1, "one of two nodes builds the index");
    // Fails after a second if anything blocks it.
    await query(
      url,
      `SET lock_timeout = '1s'; INSERT INTO payment (merchant, id, code, created_at, version, state, authorized, captured, refunded, attempts, needs_review, order_json)
        VALUES (decode('0000000a', 'hex'), decode(repeat('0', 48), 'hex'), 'code', 1, 1, 'open', 1, 0, 0, 0, 0, '[]')`,
    );
    const [before] = await query<{ readonly free: boolean }>(
      url,
      "SELECT pg_try_advisory_lock(7266373) AS free",
    );
    assert.equal(before?.free, true, "what the version before waits for at its start is free");
    assert.equal((await query(url, building)).length, 1, "the index is still being built");
    await writer.query("COMMIT");
    for (const store of await Promise.all(starts)) await store.close();
    assert.deepEqual(
      (await indexes(url)).map(({ name, valid }) => [name, valid]),
      names.map((name) => [name, true]),
    );
    assert.equal((await query(url, "SELECT 1 FROM migration WHERE no = 17")).length, 1);
  });

  test("a start continues where an earlier one ended: an invalid index is built again, a valid one remains", async () => {
    const url = await databases.copy();
    await query(
      url,
      "CREATE INDEX payment_in_flight ON payment (no) WHERE attempt IS NOT NULL AND needs_review = 0",
    );
    // A node of the earlier version reads by it.
    await query(
      url,
      `INSERT INTO node (id, until) VALUES ('${"0".repeat(16)}', ${Date.now() + 50_000})`,
    );
    const inFlight = await query(url, "SELECT 'payment_in_flight'::regclass::oid::integer AS oid");
    const [waiting] = await indexes(url);
    await query(
      url,
      `UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'delivery_waiting'::regclass; ${notDone}`,
    );
    await (await openStoreOn(url)).close();
    const [waitingNow] = await indexes(url);
    assert.equal(waitingNow?.valid, true);
    assert.notEqual(waitingNow?.oid, waiting?.oid);
    assert.deepEqual(
      await query(url, "SELECT 'payment_in_flight'::regclass::oid::integer AS oid"),
      inFlight,
    );
  });
}

if (testUrl === undefined) {
  test(
    "indexes that are built while others write",
    { skip: "COFRE_TEST_POSTGRES_URL names no server" },
    () => undefined,
  );
} else {
  const databases = new TestDatabases(testUrl);
  after(() => databases.drop());
  describe("indexes that are built while others write", { concurrency: 2 }, () =>
    describeIndexes(databases),
  );
}
