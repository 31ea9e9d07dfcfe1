import { assert } from "../../kernel/assert.ts";
import { sha256Hex } from "../../kernel/digest.ts";
import { systemScheduler } from "../../kernel/system-scheduler.ts";
import { type Connection, lockTimeout, StatementError } from "./connection.ts";
import { migrations } from "./migrations/index.ts";
import { PostgresOpenError } from "./open-error.ts";

/** Held while the tables are looked at and changed, but not while indexes are built. Nodes of the version before take it too. An arbitrary number. */
const migrationLock = 7_266_373;

/**
 * Held from the first migration to the last: any number of nodes may start at once. The version before does not know it, so it starts and serves while
 * indexes are built. Another arbitrary number.
 */
const turnLock = 7_266_376;
const turnPauseMs = 100;
const turnTries = 100;

/**
 * Brings the tables up to what this version needs. Forward only: each migration leaves the tables so that the version before goes
 * on working beside this one, and so a database with more migrations than this version knows is none to refuse. A migration that waits
 * for a lock longer than the session allows gives up, whole, instead of stopping everybody who queues behind it.
 */
export async function migrate(connection: Connection): Promise<void> {
  await takeTurn(connection);
  try {
    await lock(connection);
    await connection.run("CREATE TABLE IF NOT EXISTS migration (no integer PRIMARY KEY, checksum text NOT NULL, at timestamptz NOT NULL)");
    const done = await connection.rows<{ readonly no: number; readonly checksum: string }>("done", "SELECT no, checksum FROM migration");
    const checksums = new Map(done.map(({ no, checksum }) => [no, checksum]));
    for (const [index, text] of migrations.entries()) {
      const [no, checksum] = [index + 1, sha256Hex(text)];
      const found = checksums.get(no);
      if (found === checksum) continue;
      if (found !== undefined) throw new PostgresOpenError("changed");
      const note = `INSERT INTO migration VALUES (${no}, '${checksum}', now());`;
      // A procedure commits as it goes, which it can't within a transaction; it takes as long as it takes.
      if (text.startsWith("CALL ")) await withoutLimits(connection, () => connection.run(text), note);
      else if (text.startsWith(concurrently)) await withoutLimits(connection, () => buildIndexes(connection, text), note);
      else await connection.run(`BEGIN; ${text} ${note} COMMIT`);
    }
  } finally {
    await connection.rows("unlock", "SELECT pg_advisory_unlock_all()").catch(() => undefined);
  }
}

/** Asks again and again: a statement that waits for a lock has a snapshot, and an index is not ready while an older snapshot is held. */
async function takeTurn(connection: Connection): Promise<void> {
  for (let tries = 0; tries < turnTries; tries += 1) {
    const [row] = await connection.rows<{ readonly taken: boolean }>("turn", "SELECT pg_try_advisory_lock($1) AS taken", [turnLock]);
    if (row?.taken === true) return;
    await systemScheduler.sleep(turnPauseMs);
  }
  throw new StatementError(lockTimeout);
}

async function lock(connection: Connection): Promise<void> {
  await connection.rows("lock", "SELECT pg_advisory_lock($1)", [migrationLock]);
}

async function withoutLimits(connection: Connection, work: () => Promise<void>, note: string): Promise<void> {
  const [limit] = await connection.rows<{ readonly statement: string; readonly lock: string }>(
    "limit",
    "SELECT current_setting('statement_timeout') AS statement, current_setting('lock_timeout') AS lock",
  );
  assert(limit !== undefined, "a session has its limits");
  await connection.run("SET statement_timeout = 0; SET lock_timeout = 0");
  await work();
  await connection.run(`SET statement_timeout = '${limit.statement}'; SET lock_timeout = '${limit.lock}'; ${note}`);
}

const concurrently = "CREATE INDEX CONCURRENTLY ";

/**
 * Each index by a statement of its own, outside of a transaction, while others write: each waits for transactions that began before it, and keeps
 * none of the following waiting. A start that ended in the middle left an index that is not valid, or the first ones: it goes on from there.
 */
async function buildIndexes(connection: Connection, text: string): Promise<void> {
  await connection.rows("unlock", "SELECT pg_advisory_unlock($1)", [migrationLock]);
  for (const statement of text.split("\n")) {
    const [name = ""] = statement.slice(concurrently.length).split(" ");
    const [index] = await connection.rows<{ readonly valid: boolean }>("index", indexNamed, [name]);
    if (index?.valid === true) continue;
    if (index !== undefined) await connection.run(`DROP INDEX CONCURRENTLY ${name}`);
    await connection.run(statement);
  }
  await lock(connection);
}

const indexNamed = `SELECT indisvalid AS valid FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
  WHERE relname = $1 AND relnamespace = current_schema()::regnamespace`;
