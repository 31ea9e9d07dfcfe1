import { chmodSync, closeSync, fsyncSync, mkdirSync, openSync, readSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { StoreOpenError } from "./open-error.ts";

/**
 * The folder that holds the database, and what keeps other users of the machine away from the files
 * in it.
 */

const filesBesideIt = ["", "-wal", "-shm", "-lock"] as const;
/** Windows has no bits that tell owner from others. */
const isPosix = process.platform !== "win32";

/**
 * Makes the folder of a file when it is not there, readable by its owner alone. One level after the
 * other: Node's own recursive way never returns where nothing can be made, as below /proc.
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
    // Somebody else was faster, or it cannot be made here.
    if (kindOf(folder) !== "folder") throw new StoreOpenError("cannot_open", file);
  }
}

function kindOf(path: string): "folder" | "other" | "nothing" {
  try {
    const facts = statSync(path, { throwIfNoEntry: false });
    if (facts === undefined) return "nothing";
    return facts.isDirectory() ? "folder" : "other";
  } catch {
    // Below a plain file, or where this user may not look: making it will say so.
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
 * Whether a database that was never served, such as a copy that `cofre backup` made, lies beside a
 * write-ahead log. The log belongs to another database then, and SQLite would apply it. To be
 * called with the lock of the file, because closing a file lets go of all locks that this process
 * has on it.
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
    // Opening the database says why.
    return false;
  }
}

/** Whether there is a database with something in it. */
export function hasDatabase(file: string): boolean {
  return sizeOf(file) > 0;
}

/** In bytes; 0 without a file, and when this user may not look at it. */
export function sizeOf(file: string): number {
  try {
    return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  } catch {
    return 0;
  }
}

/**
 * Makes the files that SQLite opens with mode 0600, and gives it to those that are there from
 * before; SQLite gives the log the mode of the database. A file that is there is never opened for
 * this: closing it would let go of the locks that another store of this process holds.
 */
export function makeFilesPrivate(file: string): void {
  for (const end of filesBesideIt) {
    const path = file + end;
    try {
      if (end === "" || end === "-lock") closeSync(openSync(path, "wx", 0o600));
    } catch {
      // It is there, or cannot be made: then SQLite says why.
    }
    try {
      if (isPosix && ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0)
        chmodSync(path, 0o600);
    } catch {
      // Another user's file: whether it can be used shows when it is opened.
    }
  }
}

/**
 * The mode of a folder that others than its owner may enter or read, such as `0755`; undefined when
 * they may not.
 */
export function modeOpenToOthers(folder: string): string | undefined {
  if (!isPosix) return undefined;
  const mode = (statSync(folder, { throwIfNoEntry: false })?.mode ?? 0) & 0o777;
  return (mode & 0o077) === 0 ? undefined : mode.toString(8).padStart(4, "0");
}

/** Of a file, or of a directory where that can be done. */
export function syncPath(path: string): void {
  const isFolder = statSync(path).isDirectory();
  if (isFolder && process.platform === "win32") return;
  const descriptor = openSync(path, isFolder ? "r" : "r+");
  try {
    fsyncSync(descriptor);
  } catch (error) {
    // A network or FUSE file system may have no such call for directories.
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
