import { assert } from "../../kernel/assert.ts";
import { sha256Hex } from "../../kernel/digest.ts";
import { systemScheduler } from "../../kernel/system-scheduler.ts";
import { type Connection, lockTimeout, StatementError } from "./connection.ts";
import { firstChecksums, migrations } from "./migrations/index.ts";
import { migrationFailure, PostgresOpenError } from "./open-error.ts";

/**
 * Held while the tables are read and changed, but not while indexes are built. Nodes of the
 * previous version take it too. An arbitrary number.
 */
const migrationLock = 7_266_373;

/**
 * Held from the first migration to the last, so that any number of nodes may start at once. The
 * previous version does not know it, so it starts and serves while indexes are built. Another
 * arbitrary number.
 */
const turnLock = 7_266_376;

/**
 * How often a start that waits for another node retries, and how long it waits: a migration may
 * build an index of hundreds of millions of rows.
 */
const turnPauseMs = 100;
const longestTurnMs = 3_600_000;
/** Limit for a command, which does not report progress. */
export const commandTurnMs = 10_000;
/**
 * When the wait is first reported, and how often after that. Nodes that start together on current
 * tables wait for less.
 */
const firstTurnReportMs = 1_000;
const turnReportMs = 30_000;

/**
 * How long a step in a transaction waits for each lock. Requests of serving nodes queue behind it
 * for at most that time.
 */
const stepLockMs = 300;
/**
 * How long a repeated step first waits for a vacuum, with a lock that stops neither reads nor
 * writes. An autovacuum yields to a session that has waited for a second (`deadlock_timeout`),
 * unless it prevents a wraparound; 300 ms would never be enough.
 */
const vacuumLockMs = 5_000;
/**
 * The pause after the first timeout; each further one is a second longer, up to five. Queued
 * requests are served during it.
 */
const pauseMs = 1_000;
const longestPauseMs = 5_000;
/** About five minutes in total. */
const maxAttempts = 60;

/**
 * SQLSTATEs of a step in a transaction that met a lock of another session. The step has left no
 * trace, and may be repeated.
 */
const isRepeated: ReadonlySet<string | undefined> = new Set([lockTimeout, "40P01"]);

/** What a migration is doing, for the log. */
export type MigrationReport =
  | { readonly kind: "began"; readonly no: number }
  /** It waited for a table without success, `tries` times, and is repeated after a pause. */
  | { readonly kind: "waits"; readonly no: number; readonly tries: number }
  /**
   * Another node migrates: `session` is its process on the server, undefined if it has just ended,
   * `no` the last completed migration.
   */
  | {
      readonly kind: "waits_for_node";
      readonly session: number | undefined;
      readonly no: number;
      readonly waitedMs: number;
    };

export interface MigrateOptions {
  /** Called for a database of an earlier version, and while another node migrates. */
  readonly report?: (report: MigrationReport) => void;
  /**
   * Maximum number of attempts of a step in a transaction while another session holds a table.
   * Default 60.
   */
  readonly tries?: number;
  /** How long a start waits for another node that migrates, in milliseconds. Default one hour. */
  readonly turnMs?: number;
}

/**
 * Migrates the tables to this version. Forward only: each migration keeps the tables usable for the
 * previous version, which may serve beside this one, and a database with more migrations than this
 * version knows is accepted.
 *
 * The text of a migration determines which of two kinds of steps it is. The previous version serves
 * during both.
 *
 * - In a transaction: only changes of the catalogue, which take milliseconds whatever the tables
 *   hold. Each lock is waited for 300 ms at most. After a timeout the whole step is repeated, with
 *   pauses, for about five minutes.
 * - Outside a transaction: statements that read a whole table but stop neither reads nor writes
 *   (`outsideForms`). Each runs by itself, without a time limit. If a start ends in the middle, the
 *   next one repeats the step and skips indexes that are ready.
 *
 * test/contract/migration-rules.ts defines what is allowed, and refuses other texts.
 */
export async function migrate(connection: Connection, options: MigrateOptions = {}): Promise<void> {
  await take(connection, turnLock, options);
  // Makes the server abort the work of a killed start and release its locks. Not every operating
  // system supports this.
  await connection.run("SET client_connection_check_interval = 1000").catch(ignoreRefusal);
  let at: number | undefined;
  try {
    await take(connection, migrationLock, options);
    await connection.run(
      "CREATE TABLE IF NOT EXISTS migration (no integer PRIMARY KEY, checksum text NOT NULL, at timestamptz NOT NULL)",
    );
    const done = await connection.rows<{ readonly no: number; readonly checksum: string }>(
      "done",
      "SELECT no, checksum FROM migration",
    );
    const checksums = new Map(done.map(({ no, checksum }) => [no, checksum]));
    for (const [index, text] of migrations.entries()) {
      const no = index + 1;
      const checksum = firstChecksums.get(no) ?? sha256Hex(text);
      const found = checksums.get(no);
      if (found === checksum) continue;
      if (found !== undefined) throw new PostgresOpenError("changed");
      at = no;
      if (done.length > 0) options.report?.({ kind: "began", no });
      const note = `INSERT INTO migration VALUES (${no}, '${checksum}', now());`;
      const statements = outsideStatements(text);
      if (statements === undefined)
        await runInTransaction(connection, no, `${text} ${note}`, options);
      else await runOutside(connection, statements, note, options);
    }
  } catch (error) {
    throw error instanceof StatementError
      ? new PostgresOpenError("migration", migrationFailure(at, error.refusal))
      : error;
  } finally {
    await connection.rows("unlock", "SELECT pg_advisory_unlock_all()").catch(() => undefined);
  }
}

/**
 * Whether the tables are those of this version, or of a later one. Rejects with PostgresOpenError
 * if they differ from them.
 */
export async function isMigrated(connection: Connection): Promise<boolean> {
  const done = await connection.rows<{ readonly no: number; readonly checksum: string }>(
    "done",
    "SELECT no, checksum FROM migration",
  );
  const checksums = new Map(done.map(({ no, checksum }) => [no, checksum]));
  return migrations.every((text, index) => {
    const found = checksums.get(index + 1);
    if (found === undefined) return false;
    if (found === (firstChecksums.get(index + 1) ?? sha256Hex(text))) return true;
    throw new PostgresOpenError("changed");
  });
}

function ignoreRefusal(error: unknown): void {
  if (!(error instanceof StatementError) || error.refusal === undefined) throw error;
}

/**
 * Takes one of the two locks, and waits for another node that holds it. Polls, because a statement
 * that waits for a lock has a snapshot, and an index is not ready while an older snapshot is held.
 * The server releases the lock of a node that has ended.
 */
async function take(
  connection: Connection,
  key: number,
  { report, turnMs = longestTurnMs }: MigrateOptions,
): Promise<void> {
  let reportAtMs = firstTurnReportMs;
  for (let waitedMs = 0; ; waitedMs += turnPauseMs) {
    const [row] = await connection.rows<{ readonly taken: boolean }>(
      "take",
      "SELECT pg_try_advisory_lock($1) AS taken",
      [key],
    );
    if (row?.taken === true) return;
    if (waitedMs >= turnMs) throw new PostgresOpenError("migrating");
    if (waitedMs >= reportAtMs) {
      reportAtMs = waitedMs + turnReportMs;
      report?.({
        kind: "waits_for_node",
        session: await holderOf(connection, key),
        no: await lastMigration(connection),
        waitedMs,
      });
    }
    await systemScheduler.sleep(turnPauseMs);
  }
}

async function holderOf(connection: Connection, key: number): Promise<number | undefined> {
  const [row] = await connection.rows<{ readonly pid: number }>("holder", lockHolder, [key]);
  return row?.pid;
}

const lockHolder = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = 0 AND objid = $1
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

async function lastMigration(connection: Connection): Promise<number> {
  const [table] = await connection.rows<{ readonly made: boolean }>(
    "made",
    "SELECT to_regclass('migration') IS NOT NULL AS made",
  );
  if (table?.made !== true) return 0;
  const [row] = await connection.rows<{ readonly no: number }>(
    "last",
    "SELECT coalesce(max(no), 0) AS no FROM migration",
  );
  return row?.no ?? 0;
}

/** Nodes of the previous version can start while `work` runs. */
async function withoutLock(
  connection: Connection,
  options: MigrateOptions,
  work: () => Promise<void>,
): Promise<void> {
  await connection.rows("unlock", "SELECT pg_advisory_unlock($1)", [migrationLock]);
  await work();
  await take(connection, migrationLock, options);
}

async function runInTransaction(
  connection: Connection,
  no: number,
  text: string,
  options: MigrateOptions,
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      const ended = tries === 1 ? "" : await endingVacuums(connection);
      await connection.run(
        `BEGIN; ${ended} SET LOCAL lock_timeout = ${stepLockMs}; ${text} COMMIT`,
      );
      return;
    } catch (error) {
      if (
        !(error instanceof StatementError) ||
        !isRepeated.has(error.refusal) ||
        tries >= (options.tries ?? maxAttempts)
      )
        throw error;
    }
    await connection.run("ROLLBACK");
    options.report?.({ kind: "waits", no, tries });
    await withoutLock(connection, options, () =>
      systemScheduler.sleep(Math.min(tries * pauseMs, longestPauseMs)),
    );
  }
}

/**
 * A statement that takes the tables being vacuumed away from the vacuum until the end of the
 * transaction.
 */
async function endingVacuums(connection: Connection): Promise<string> {
  const tables = await connection.rows<{ readonly name: string }>("vacuumed", vacuumedTables);
  if (tables.length === 0) return "";
  return `SET LOCAL lock_timeout = ${vacuumLockMs}; LOCK TABLE ${tables.map(({ name }) => name).join(", ")} IN SHARE UPDATE EXCLUSIVE MODE;`;
}

const vacuumedTables = `SELECT DISTINCT quote_ident(relname) AS name FROM pg_locks JOIN pg_class ON pg_class.oid = relation
  WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND relkind = 'r' AND relnamespace = current_schema()::regnamespace
    AND mode = 'ShareUpdateExclusiveLock' AND granted AND pid <> pg_backend_pid()`;

const indexForm = /^CREATE (?:UNIQUE )?INDEX CONCURRENTLY (\w+) ON /;

/**
 * None of them stops reads or writes of its table, however long it takes. A procedure commits in
 * pieces, and may be called again.
 */
const outsideForms = [
  indexForm,
  /^DROP INDEX CONCURRENTLY IF EXISTS \w+$/,
  /^ALTER TABLE \w+ VALIDATE CONSTRAINT \w+$/,
  /^ALTER TABLE \w+ SET \((?:(?:, )?(?:fillfactor|autovacuum_\w+) = [\d.]+)+\)$/,
  /^CALL \w+\(\)$/,
];

/**
 * The statements of a step outside a transaction, one per line; undefined if the text is a step in
 * a transaction.
 */
export function outsideStatements(text: string): readonly string[] | undefined {
  const statements = text.split("\n").map((line) => line.replace(/;$/, ""));
  return statements.every((statement) => outsideForms.some((form) => form.test(statement)))
    ? statements
    : undefined;
}

/**
 * The previous version may start while indexes are built and rows are read: only a change of the
 * tables excludes it.
 */
async function runOutside(
  connection: Connection,
  statements: readonly string[],
  note: string,
  options: MigrateOptions,
): Promise<void> {
  const [limit] = await connection.rows<{ readonly statement: string; readonly lock: string }>(
    "limit",
    "SELECT current_setting('statement_timeout') AS statement, current_setting('lock_timeout') AS lock",
  );
  assert(limit !== undefined, "a session has its limits");
  await connection.run("SET statement_timeout = 0; SET lock_timeout = 0");
  await withoutLock(connection, options, async () => {
    for (const statement of statements) await runStatement(connection, statement);
  });
  await connection.run(
    `SET statement_timeout = '${limit.statement}'; SET lock_timeout = '${limit.lock}'; ${note}`,
  );
}

/** A start that ended in the middle may have left an invalid index, or one that is ready. */
async function runStatement(connection: Connection, statement: string): Promise<void> {
  const name = indexForm.exec(statement)?.[1];
  if (name !== undefined) {
    const [index] = await connection.rows<{ readonly valid: boolean }>("index", indexNamed, [name]);
    if (index?.valid === true) return;
    if (index !== undefined) await connection.run(`DROP INDEX CONCURRENTLY ${name}`);
  }
  await connection.run(statement);
}

const indexNamed = `SELECT indisvalid AS valid FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
  WHERE relname = $1 AND relnamespace = current_schema()::regnamespace`;
