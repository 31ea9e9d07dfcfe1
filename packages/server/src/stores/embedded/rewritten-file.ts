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
 * A file that is being written again: where the new one is until it is complete, and how large it
 * will be at most.
 */
export interface Rewriting {
  readonly kind: "rewriting";
  readonly copy: string;
  readonly bytes: number;
}

/** The new file before it is complete has the name of the database and this. */
const partEnd = ".rewrite";

/**
 * Writes the file of this open database again without what was deleted from it, and closes the
 * database. The new file is written beside the old one, so that it needs space only where the data
 * is, and takes its name when it is complete and on the disk: whatever ends the process in between
 * leaves the old file as it was, and the next call removes what is left of the new one. Throws what
 * SQLite and the system say.
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
    // one that stayed would be applied to the new file. The lock is kept until the new file has its
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
    // Windows replaces no file that is open.
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

/** For the owner of the database alone: a start by root must not take the file from its user. */
function makeEmpty(copy: string, target: string): void {
  closeSync(openSync(copy, "wx", 0o600));
  const { uid, gid } = statSync(target);
  if (process.platform !== "win32" && uid !== statSync(copy).uid) chownSync(copy, uid, gid);
}

function numberOf(database: DatabaseSync, pragma: string): number {
  return Number(Object.values(database.prepare(`PRAGMA ${pragma}`).get() ?? {})[0]);
}
