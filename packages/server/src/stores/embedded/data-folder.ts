import { chmodSync, closeSync, fsyncSync, mkdirSync, openSync, readSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { StoreOpenError } from "./open-error.ts";

/**
 * The folder that holds the database, and the permissions that keep other users of the machine away
 * from its files.
 */

const filesBesideIt = ["", "-wal", "-shm", "-lock"] as const;
/** Windows has no mode bits for owner and others. */
const isPosix = process.platform !== "win32";

/**
 * Creates the folder of a file if it is missing, accessible to its owner only. Creates one level
 * after another, because Node's recursive mode never returns where nothing can be created, as below
 * /proc.
 */
export function makeFolderOf(file: string): void {
  makeFolder(dirname(file), file);
}

function makeFolder(folder: string, file: string): void {
  const found = kindOf(folder);
  if (found === "folder") return;
  if (found === "other") throw new StoreOpenError("no_directory", folder);
  if (dirname(folder) === folder) throw new StoreOpenError("cannot_open", file);
  makeFolder(dirname(folder), file);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch {
    // Another process was faster, or the folder cannot be created here.
    if (kindOf(folder) !== "folder") throw new StoreOpenError("cannot_open", file);
  }
}

function kindOf(path: string): "folder" | "other" | "nothing" {
  try {
    const facts = statSync(path, { throwIfNoEntry: false });
    if (facts === undefined) return "nothing";
    return facts.isDirectory() ? "folder" : "other";
  } catch {
    // Below a plain file, or not accessible to this user: creating it will report why.
    return "nothing";
  }
}

const walHeaderBytes = 32;
/**
 * Offset of the file format's write version: 1 without a write-ahead log, 2 with one
 * (sqlite.org/fileformat.html, 1.3).
 */
const writeVersionAt = 18;

/**
 * Whether a database that was never served, such as a copy that `cofre backup` made, is beside a
 * write-ahead log. That log belongs to another database, and SQLite would apply it. The caller must
 * hold the file's lock, because closing a file releases all locks that this process has on it.
 */
export function hasForeignLog(file: string): boolean {
  try {
    if ((statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) <= walHeaderBytes)
      return false;
    const header = Buffer.alloc(writeVersionAt + 1);
    const descriptor = openSync(file, "r");
    try {
      return (
        readSync(descriptor, header, 0, header.length, 0) === header.length &&
        header[writeVersionAt] === 1
      );
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // Opening the database reports the error.
    return false;
  }
}

/** Whether there is a non-empty database file. */
export function hasDatabase(file: string): boolean {
  return sizeOf(file) > 0;
}

/** In bytes; 0 without a file, or if this user cannot access it. */
export function sizeOf(file: string): number {
  try {
    return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  } catch {
    return 0;
  }
}

/**
 * Creates the files that SQLite opens with mode 0600, and sets this mode on existing ones; SQLite
 * gives the log the mode of the database. An existing file is never opened for this, because
 * closing it would release the locks of another store of this process.
 */
export function makeFilesPrivate(file: string): void {
  for (const end of filesBesideIt) {
    const path = file + end;
    try {
      if (end === "" || end === "-lock") closeSync(openSync(path, "wx", 0o600));
    } catch {
      // It exists, or cannot be created: then SQLite reports why.
    }
    try {
      if (isPosix && ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0)
        chmodSync(path, 0o600);
    } catch {
      // Another user's file: opening it will show whether it can be used.
    }
  }
}

/**
 * The mode of a folder that users other than its owner may enter or read, such as `0755`; undefined
 * if they may not.
 */
export function modeOpenToOthers(folder: string): string | undefined {
  if (!isPosix) return undefined;
  const mode = (statSync(folder, { throwIfNoEntry: false })?.mode ?? 0) & 0o777;
  return (mode & 0o077) === 0 ? undefined : mode.toString(8).padStart(4, "0");
}

/** Syncs a file, or a directory where the system supports it. */
export function syncPath(path: string): void {
  const isFolder = statSync(path).isDirectory();
  if (isFolder && process.platform === "win32") return;
  const descriptor = openSync(path, isFolder ? "r" : "r+");
  try {
    fsyncSync(descriptor);
  } catch (error) {
    // A network or FUSE file system may not support this call for directories.
    if (!isFolder || !notSupported.has(codeOf(error))) throw error;
  } finally {
    closeSync(descriptor);
  }
}

const notSupported: ReadonlySet<unknown> = new Set(["EINVAL", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);

export function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

export function isSystemError(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && "syscall" in error && "code" in error;
}
