/**
 * Why the file was not opened. The process should stop and show the message: none of these
 * conditions ends by itself.
 */
export class StoreOpenError extends Error {
  override readonly name = "StoreOpenError";
  readonly code: OpenRefusal;

  constructor(code: OpenRefusal, file: string) {
    super(`${file}: ${openRefusals[code]}`);
    this.code = code;
  }
}

const openRefusals = {
  locked: "another process, or another store of this one, has the database open",
  newer: "the database was written by a newer version of Cofre; use that version or a newer one",
  foreign: "the file is not a Cofre database",
  damaged: "the database is damaged; restore it from a backup",
  no_directory: "this is not a directory",
  nothing: "there is no database here",
  no_audit:
    "the database was last used by a version of Cofre whose audit log this one does not read; start this one once",
  missing:
    "the database is missing, empty or without its tables (a copy of cofre.db that was made without cofre.db-wal looks like this), but there are keys beside it: restore it from a copy that cofre backup made, or together with its -wal, or remove root.key, keys.*.json and *.sealed to begin a new installation",
  other_keys:
    "the database belongs to other keys than those beside it, and none of its cards would open: restore the keys that belong to it, or name the right directory with COFRE_DATA_DIR",
  foreign_log:
    "this is a copy that cofre backup made, but there is the -wal file of another database beside it, which would damage it: remove cofre.db-wal and cofre.db-shm, or restore with cofre restore",
  moved:
    "what was in this file was moved to PostgreSQL, or is on its way there: start with the COFRE_DATABASE_URL of that database; cofre migrate-store ends a move that broke off, and cofre migrate-store --back takes one back",
  cannot_open: "the file cannot be opened or created here",
  full: "the disk is full",
  no_room:
    "the first start of this version writes the database again, without what was deleted from it, and there is no room for a second file beside it: free as much space as it has, and start again; nothing was changed",
  failed: "the database could not be opened",
  not_durable: "SQLite did not accept the settings that make commits durable",
  keeps_deleted: "SQLite did not accept the settings that overwrite what is deleted",
  sqlite_too_old:
    "this Node.js brings a SQLite older than 3.51.3, which can corrupt a write-ahead log; use a newer Node.js",
} as const;
export type OpenRefusal = keyof typeof openRefusals;
