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
/** What belongs to one database. */
const parts = ["", "-wal", "-shm"] as const;

/**
 * Copies the database into `directory` while a server may have it, with SQLite's own backup: all
 * pages as of one moment. The copy gets its name when it is complete, checked and on the disk, so a
 * run that is killed leaves only a file that ends in `.part`. `unique` keeps two runs apart. Throws
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
 * Puts a copy that `backUpFile` made in place of the database. Holds the lock that a server holds.
 * A database that is there is refused, or kept under another name with `replace`; with it goes its
 * log, which would damage the copy.
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
      // The database goes before its log: without one the next start is refused, without its log it
      // would be an older one.
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

/** Has the next start take the file, which no server may hold, for one that was put back. */
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
  // Made here, for SQLite would make it readable for others.
  closeSync(openSync(partial, "wx", 0o600));
  const source = opened(file, () => readable(file));
  try {
    // In one step: between steps a server's commits would have it begin again.
    await backup(source, partial, { rate: allPages });
  } catch (error) {
    opened(partial, () => translated(() => raise(error)));
  } finally {
    source.close();
  }
}

/** Node takes no negative number, by which SQLite means all. */
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

/**
 * Makes the copy a file that stands alone, and reads it to its end; undefined when it is damaged.
 */
function settle(partial: string): Pick<BackedUp, "payments" | "cards"> | undefined {
  return opened(partial, () =>
    translated(() => {
      const database = new DatabaseSync(partial);
      try {
        database.exec("PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL");
        // A file of an earlier version has no such table.
        if (numberOf(database, "SELECT count(*) FROM sqlite_schema WHERE name = 'identity'") > 0)
          database.exec(markAsCopy);
      } finally {
        database.close();
      }
      return checked(partial);
    }),
  );
}

/** Undefined when the file is damaged, or not what `settle` makes. */
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

/** Gives the file its name, unless there is one of that name. */
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
 * The same where the file system has no hard links (exFAT, most SMB shares and FUSE mounts), which
 * each reports with a code of its own. A rename replaces what has the name, so the name is taken
 * first, by an empty file that no other program can have made.
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

/** Also what the file system says while the work is done, as a refusal that may be shown. */
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
