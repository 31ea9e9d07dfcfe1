import { DatabaseSync } from "node:sqlite";
import type { MerchantId } from "../../kernel/ids.ts";
import { slotOf } from "../../kernel/slot.ts";
import { withoutTokenDigest } from "../order-row.ts";
import { migrations } from "./migrations/index.ts";
import { codeOf, hasForeignLog, isSystemError } from "./data-folder.ts";
import type { OpenRefusal } from "./open-error.ts";
import { rewriteFile, type Rewriting } from "./rewritten-file.ts";
import { sqliteCode } from "./sqlite-error.ts";
import type { SqliteCode } from "./sqlite-error.ts";

export interface DatabaseOptions {
  readonly file: string;
  /** false for a file that is never opened again: commits are not synced to the disk. */
  readonly durable: boolean;
  readonly maxFileBytes: number | undefined;
  /** true: a file that was moved to another store is opened too. */
  readonly alsoMoved?: boolean;
  /**
   * true: the installation exists, so a file without tables is what remains of its database and is
   * refused.
   */
  readonly expectTables?: boolean;
}

/** `Cofr`, in the file header: identifies a Cofre database. */
export const ourApplicationId = 0x436f6672;
/**
 * `Cofm`: the file was moved to another store and must not be served beside it. A version that does
 * not know this value treats the file as foreign.
 */
export const movedApplicationId = 0x436f666d;
const pageBytes = 4096;
/**
 * Checkpoints when the log has 8,000 pages, 32 MB: fewer and larger checkpoints are cheaper (with
 * 1,000 pages: 20 % slower, twice the p99).
 */
const checkpointPages = 8_000;
/**
 * How long the writer waits while another program holds the database, in milliseconds. Backup tools
 * and the sqlite3 shell hold it for less. Cofre itself never does, because only one process has the
 * file.
 */
const writerWaitMs = 2_000;
const writerCacheKib = 32 * 1024;
const readerCacheKib = 16 * 1024;

/** Carries only a code, because it crosses a thread; StoreOpenError has the texts. */
export class Refused extends Error {
  readonly code: OpenRefusal;
  constructor(code: OpenRefusal) {
    super(code);
    this.code = code;
  }
}

/**
 * Takes the lock that excludes other processes. SQLite's own locks let several processes write in
 * turn, but Cofre's reads and batches rely on a single process. The lock is a lock on an empty
 * database beside the file: the system releases it when the process dies.
 */
export function lockFile(file: string): DatabaseSync {
  return translated(() => {
    const lock = new DatabaseSync(`${file}-lock`, { timeout: 0 });
    lock.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
    return lock;
  });
}

/**
 * Upgrade steps of the first start of a version on the file of an earlier one. Each takes up to
 * half a minute per gigabyte.
 */
export type Upgrading =
  | Rewriting
  | { readonly kind: "migrating"; readonly from: number; readonly to: number };

/**
 * Opens the file for writing, migrates its tables and checks that commits will be durable. The
 * caller holds the lock. `began` is called before each long step of an upgrade.
 */
export function openForWriting(
  { file, durable, maxFileBytes, alsoMoved = false, expectTables = false }: DatabaseOptions,
  began: (upgrading: Upgrading) => void = () => undefined,
): DatabaseSync {
  if (!isSafeVersion(process.versions["sqlite"] ?? "0")) throw new Refused("sqlite_too_old");
  return translated(() => {
    if (hasForeignLog(file)) throw new Refused("foreign_log");
    let database = new DatabaseSync(file, { timeout: writerWaitMs });
    try {
      refuseForeign(database, alsoMoved);
      if (expectTables && readNumber(database, "PRAGMA user_version") === 0)
        throw new Refused("missing");
      if (mayHoldDeleted(database)) {
        dropDeleted(database, file, began);
        database = new DatabaseSync(file, { timeout: writerWaitMs });
      }
      // fullfsync, because plain fsync on macOS leaves data in the drive's cache.
      database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${durable ? "FULL" : "OFF"}; PRAGMA fullfsync = ON;
        PRAGMA wal_autocheckpoint = ${checkpointPages}; PRAGMA journal_size_limit = ${4 * checkpointPages * pageBytes};
        PRAGMA cache_size = -${writerCacheKib}; PRAGMA temp_store = MEMORY; PRAGMA secure_delete = ON`);
      if (maxFileBytes !== undefined)
        database.exec(`PRAGMA max_page_count = ${Math.ceil(maxFileBytes / pageBytes)}`);
      const durability = {
        journal_mode: "wal",
        synchronous: durable ? 2 : 0,
        fullfsync: 1,
        wal_autocheckpoint: checkpointPages,
      };
      if (!holds(database, durability)) throw new Refused("not_durable");
      // Overwrites deleted rows with zeros: otherwise deleted data stays readable in free pages
      // until they are reused.
      if (!holds(database, { secure_delete: 1, temp_store: 2 })) throw new Refused("keeps_deleted");
      migrate(database, began);
      return database;
    } catch (error) {
      if (database.isOpen) database.close();
      throw error;
    }
  });
}

/** A connection that sees committed data, for point reads. The writer's connection must be open. */
export function openForReading(file: string): DatabaseSync {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 100 });
  database.exec(`PRAGMA cache_size = -${readerCacheKib}; PRAGMA query_only = ON`);
  database.function("slot_of", { deterministic: true }, (merchant) =>
    merchant === null ? null : slotOf(merchant as MerchantId),
  );
  return database;
}

/**
 * SQLite 3.51.3 fixed the race between a checkpoint and a commit that can corrupt a write-ahead
 * log.
 */
export function isSafeVersion(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  return major * 1_000_000 + minor * 1_000 + patch >= 3_051_003;
}

/**
 * Throws Refused for a file of another program, one that was moved unless `alsoMoved`, or one of a
 * newer version.
 */
export function refuseForeign(database: DatabaseSync, alsoMoved: boolean): void {
  const tables = readNumber(database, "SELECT count(*) FROM sqlite_schema");
  const id = readNumber(database, "PRAGMA application_id");
  if (id === movedApplicationId && !alsoMoved) throw new Refused("moved");
  if (tables > 0 && id !== ourApplicationId && id !== movedApplicationId)
    throw new Refused("foreign");
  if (readNumber(database, "PRAGMA user_version") > migrations.length) throw new Refused("newer");
}

function holds(database: DatabaseSync, expected: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(expected).every(
    ([name, value]) => Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0] === value,
  );
}

/**
 * Empties the write-ahead log into the file and truncates it, because the log holds pages from
 * before rows on them were deleted. Returns false while another connection reads from the log.
 */
export function truncateLog(database: DatabaseSync): boolean {
  // Commits would wait for as long as this waits for a reader, such as a backup.
  database.exec("PRAGMA busy_timeout = 0");
  try {
    return database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.["busy"] === 0;
  } finally {
    database.exec(`PRAGMA busy_timeout = ${writerWaitMs}`);
  }
}

/** The first version of the tables that was always written with `secure_delete`. */
const securelyDeletingVersion = 5;

/** Whether a file of an earlier version may hold deleted cards in free pages. */
function mayHoldDeleted(database: DatabaseSync): boolean {
  const version = readNumber(database, "PRAGMA user_version");
  return version > 0 && version < securelyDeletingVersion;
}

/**
 * Rewrites the file and closes the database. The version of the tables changes only afterwards, so
 * if this fails or the process ends, the next start repeats it.
 */
function dropDeleted(
  database: DatabaseSync,
  file: string,
  began: (rewriting: Rewriting) => void,
): void {
  try {
    rewriteFile(database, file, began);
  } catch (error) {
    if (codeOf(error) === "ENOSPC" || (!isSystemError(error) && sqliteCode(error) === "full"))
      throw new Refused("no_room");
    throw isSystemError(error) ? new Refused("cannot_open") : error;
  }
}

function migrate(database: DatabaseSync, began: (upgrading: Upgrading) => void): void {
  database.function("without_token_digest", { deterministic: true }, (order) =>
    withoutTokenDigest(String(order)),
  );
  const id =
    readNumber(database, "PRAGMA application_id") === movedApplicationId
      ? movedApplicationId
      : ourApplicationId;
  const from = readNumber(database, "PRAGMA user_version");
  if (0 < from && from < migrations.length)
    began({ kind: "migrating", from, to: migrations.length });
  for (let version = from; version < migrations.length; version += 1) {
    database.exec(`BEGIN IMMEDIATE; ${migrations[version]};
      PRAGMA application_id = ${id}; PRAGMA user_version = ${version + 1}; COMMIT`);
  }
}

function readNumber(database: DatabaseSync, sql: string): number {
  return Number(Object.values(database.prepare(sql).get() ?? {})[0]);
}

const refusalOf: Readonly<Record<SqliteCode, OpenRefusal>> = {
  busy: "locked",
  corrupt: "damaged",
  not_a_database: "foreign",
  cannot_open: "cannot_open",
  full: "full",
  constraint: "failed",
  other: "failed",
};

/** Runs `open` and throws SQLite's errors as Refused. */
export function translated<T>(open: () => T): T {
  try {
    return open();
  } catch (error) {
    throw error instanceof Refused ? error : new Refused(refusalOf[sqliteCode(error)]);
  }
}
