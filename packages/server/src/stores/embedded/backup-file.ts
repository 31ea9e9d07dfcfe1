import { closeSync, copyFileSync, linkSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import type { BackedUp, Restored } from "../backup.ts";
import {
  codeOf,
  hasDatabase,
  isSystemError,
  makeFilesPrivate,
  makeFolderOf,
  syncPath,
} from "./data-folder.ts";
import {
  isSafeVersion,
  lockFile,
  openForReading,
  openForWriting,
  Refused,
  refuseForeign,
  translated,
} from "./open-database.ts";
import { StoreOpenError } from "./open-error.ts";

/** Why no copy was made or restored. The message may be shown. */
export class BackupError extends Error {
  override readonly name = "BackupError";
  readonly code: BackupRefusal;

  constructor(code: BackupRefusal, file: string) {
    super(`${file}: ${backupRefusals[code]}`);
    this.code = code;
  }
}

const backupRefusals = {
  exists:
    "a file of this name exists, and a backup overwrites nothing: name another directory for each backup",
  damaged_copy:
    "the copy did not pass SQLite's integrity check and was removed: the database or the disk is damaged",
  not_a_copy: "this is not a copy that cofre backup made",
  occupied:
    "there is a database in the data directory: with --replace it is kept under another name, and the copy takes its place",
} as const;
export type BackupRefusal = keyof typeof backupRefusals;

const name = "cofre.db";
/** Suffixes of the files of one database. */
const parts = ["", "-wal", "-shm"] as const;

/**
 * Copies the database into `directory`, even while a server has it open, with SQLite's own backup:
 * all pages as of one moment. The copy gets its name once it is complete, checked and synced, so a
 * killed run leaves only a file that ends in `.part`. `unique` keeps two runs apart. Throws
 * StoreOpenError and BackupError.
 */
export async function backUpFile(
  file: string,
  directory: string,
  unique: string,
): Promise<BackedUp> {
  if (!hasDatabase(file)) throw new StoreOpenError("nothing", file);
  const target = join(directory, name);
  const partial = `${target}.${unique}.part`;
  makeFolderOf(target);
  if (exists(target)) throw new BackupError("exists", target);
  return removingAtFailure(partial, async () => {
    await copyPages(file, partial);
    const counts = settle(partial);
    if (counts === undefined) throw new BackupError("damaged_copy", target);
    keep(partial, target);
    return { file: target, bytes: statSync(target).size, ...counts };
  });
}

/**
 * Replaces the database with a copy that `backUpFile` made. Takes the lock that a server holds. An
 * existing database is refused, or with `replace` kept under another name, together with its log,
 * which would damage the copy.
 */
export function restoreFile(
  directory: string,
  file: string,
  unique: string,
  replace: boolean,
): Restored {
  const copy = join(directory, name);
  if (!hasDatabase(copy)) throw new StoreOpenError("nothing", copy);
  makeFolderOf(file);
  const partial = `${file}.${unique}.part`;
  const lock = opened(file, () => lockFile(file));
  try {
    const isOccupied = parts.some((end) => exists(file + end));
    if (isOccupied && !replace) throw new BackupError("occupied", file);
    const replaced = isOccupied ? `${file}.replaced-${unique}` : undefined;
    return removingAtFailure(partial, () => {
      copyFileSync(copy, partial);
      const counts = opened(copy, () => checked(partial));
      if (counts === undefined) throw new BackupError("not_a_copy", copy);
      syncPath(partial);
      // The database is renamed before its log: without a database the next start is refused, but a
      // database without its log would be an older state.
      if (replaced !== undefined)
        for (const end of parts) if (exists(file + end)) renameSync(file + end, replaced + end);
      renameSync(partial, file);
      syncPath(dirname(file));
      makeFilesPrivate(file);
      return { file, bytes: statSync(file).size, ...counts, replaced };
    });
  } finally {
    lock.close();
  }
}

/** Makes the next start treat the file as a restored copy. No server may have it open. */
export function markAsPutBack(file: string): void {
  if (!hasDatabase(file)) throw new StoreOpenError("nothing", file);
  opened(file, () => {
    const lock = lockFile(file);
    try {
      const database = openForWriting({
        file,
        durable: true,
        maxFileBytes: undefined,
        expectTables: true,
      });
      database.exec(markAsCopy);
      database.close();
    } finally {
      lock.close();
    }
  });
}

const markAsCopy =
  "INSERT INTO identity VALUES (1, NULL, 0, 0, 1, NULL) ON CONFLICT (one) DO UPDATE SET is_copy = 1";

async function copyPages(file: string, partial: string): Promise<void> {
  // Created here, because SQLite would create it readable by others.
  closeSync(openSync(partial, "wx", 0o600));
  const source = opened(file, () => readable(file));
  try {
    // In one step: between steps, commits of the server would restart the backup.
    await backup(source, partial, { rate: allPages });
  } catch (error) {
    opened(partial, () => translated(() => raise(error)));
  } finally {
    source.close();
  }
}

/** Node does not accept a negative number, which SQLite uses for all pages. */
const allPages = 2 ** 31 - 1;

function readable(file: string): DatabaseSync {
  if (!isSafeVersion(process.versions["sqlite"] ?? "0")) throw new Refused("sqlite_too_old");
  return translated(() => {
    const source = openForReading(file);
    try {
      refuseForeign(source, false);
      if (numberOf(source, "PRAGMA user_version") === 0) throw new Refused("missing");
      return source;
    } catch (error) {
      source.close();
      throw error;
    }
  });
}

/** Makes the copy independent of a log file and reads all of it; undefined if it is damaged. */
function settle(partial: string): Pick<BackedUp, "payments" | "cards"> | undefined {
  return opened(partial, () =>
    translated(() => {
      const database = new DatabaseSync(partial);
      try {
        database.exec("PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL");
        // A file of an earlier version does not have this table.
        if (numberOf(database, "SELECT count(*) FROM sqlite_schema WHERE name = 'identity'") > 0)
          database.exec(markAsCopy);
      } finally {
        database.close();
      }
      return checked(partial);
    }),
  );
}

/** Undefined if the file is damaged, or is not a file that `settle` made. */
function checked(path: string): Pick<BackedUp, "payments" | "cards"> | undefined {
  return translated(() => {
    const database = new DatabaseSync(path, { readOnly: true });
    try {
      refuseForeign(database, false);
      if (numberOf(database, "PRAGMA user_version") === 0) return undefined;
      if (
        textOf(database, "PRAGMA journal_mode") !== "delete" ||
        textOf(database, "PRAGMA integrity_check") !== "ok"
      )
        return undefined;
      return {
        payments: numberOf(database, "SELECT count(*) FROM payment"),
        cards: numberOf(database, "SELECT count(*) FROM card"),
      };
    } finally {
      database.close();
    }
  });
}

/** Gives the file its final name, unless a file of that name exists. */
function keep(partial: string, target: string): void {
  syncPath(partial);
  try {
    linkSync(partial, target);
  } catch (error) {
    if (codeOf(error) === "EEXIST") throw new BackupError("exists", target);
    keepWithoutLinks(partial, target);
  }
  rmSync(partial, { force: true });
  syncPath(dirname(target));
}

/**
 * The same on file systems without hard links (exFAT, most SMB shares and FUSE mounts), each of
 * which reports this with its own code. A rename replaces an existing file, so the name is reserved
 * first by an empty file created exclusively.
 */
function keepWithoutLinks(partial: string, target: string): void {
  try {
    closeSync(openSync(target, "wx", 0o600));
  } catch (error) {
    throw codeOf(error) === "EEXIST" ? new BackupError("exists", target) : error;
  }
  try {
    renameSync(partial, target);
  } catch (error) {
    rmSync(target, { force: true });
    throw error;
  }
}

/**
 * Removes the partial file if `work` fails. Errors of the file system become refusals that may be
 * shown.
 */
function removingAtFailure<T>(partial: string, work: () => T): T {
  const remove = (): void => {
    for (const end of ["", "-journal", "-wal", "-shm"]) rmSync(partial + end, { force: true });
  };
  const failed = (error: unknown): never => {
    remove();
    throw isSystemError(error)
      ? new StoreOpenError(error.code === "ENOSPC" ? "full" : "cannot_open", partial)
      : error;
  };
  try {
    const result = work();
    return result instanceof Promise ? (result.catch(failed) as T) : result;
  } catch (error) {
    return failed(error);
  }
}

function opened<T>(file: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    throw error instanceof Refused ? new StoreOpenError(error.code, file) : error;
  }
}

function raise(error: unknown): never {
  throw error;
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

function numberOf(database: DatabaseSync, sql: string): number {
  return Number(Object.values(database.prepare(sql).get() ?? {})[0]);
}

function textOf(database: DatabaseSync, sql: string): unknown {
  return Object.values(database.prepare(sql).get() ?? {})[0];
}
