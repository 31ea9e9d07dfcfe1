import {
  chownSync,
  closeSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { syncPath } from "./data-folder.ts";

/**
 * A rewrite of the database file in progress: the path of the new file until it is complete, and
 * its maximum size in bytes.
 */
export interface Rewriting {
  readonly kind: "rewriting";
  readonly copy: string;
  readonly bytes: number;
}

/** Suffix of the new file's name until it is complete. */
const partEnd = ".rewrite";

/**
 * Rewrites the file of this open database without the remains of deleted rows, and closes the
 * database. The new file is written beside the old one, so that only the data's own volume needs
 * space. It takes the old name once it is complete and synced: if the process ends before that, the
 * old file is unchanged, and the next call removes the partial new one. Throws the errors of SQLite
 * and the system.
 */
export function rewriteFile(
  database: DatabaseSync,
  file: string,
  began: (rewriting: Rewriting) => void,
): void {
  const target = realpathSync(file);
  const copy = target + partEnd;
  const remove = (): void => ["", "-journal"].forEach((end) => rmSync(copy + end, { force: true }));
  remove();
  try {
    // Fails while another program has the database open. There is no write-ahead log from here on:
    // a remaining log would be applied to the new file. The lock is kept until the new file is in
    // place.
    database.exec(
      "PRAGMA journal_mode = DELETE; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT",
    );
    makeEmpty(copy, target);
    began({
      kind: "rewriting",
      copy,
      bytes:
        (numberOf(database, "page_count") - numberOf(database, "freelist_count")) *
        numberOf(database, "page_size"),
    });
    database.prepare("VACUUM INTO ?").run(copy);
    syncPath(copy);
    // Windows does not replace open files.
    if (process.platform === "win32") database.close();
    renameSync(copy, target);
    syncPath(dirname(target));
  } catch (error) {
    remove();
    throw error;
  } finally {
    if (database.isOpen) database.close();
  }
}

/**
 * Creates the file for the database's owner only: a start by root must not take it from its user.
 */
function makeEmpty(copy: string, target: string): void {
  closeSync(openSync(copy, "wx", 0o600));
  const { uid, gid } = statSync(target);
  if (process.platform !== "win32" && uid !== statSync(copy).uid) chownSync(copy, uid, gid);
}

function numberOf(database: DatabaseSync, pragma: string): number {
  return Number(Object.values(database.prepare(`PRAGMA ${pragma}`).get() ?? {})[0]);
}
