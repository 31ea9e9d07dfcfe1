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
  locked: "the database is in use by another process, or by another store of this one",
  newer: "the database was written by a newer version of Cofre; use that version or a newer one",
  foreign: "the file is not a Cofre database",
  damaged: "the database is damaged; restore it from a backup",
  no_directory: "this is not a directory; name one with COFRE_DATA_DIR",
  nothing: "there is no database here; name a directory in which Cofre has made one",
  no_audit:
    "the database was last used by a version of Cofre whose audit log this version does not read; start this version once",
  missing:
    "the database is missing, empty or without its tables (a copy of cofre.db that was made without cofre.db-wal looks like this), but its directory has keys: restore it from a copy that cofre backup made, or together with its -wal, or remove root.key, keys.*.json and *.sealed to begin a new installation",
  other_keys:
    "the database belongs to other keys than those in its directory, which cannot decrypt its cards: restore the keys that belong to it, or name the right directory with COFRE_DATA_DIR",
  foreign_log:
    "this is a copy that cofre backup made, but its directory has the -wal file of another database, which would damage it: remove cofre.db-wal and cofre.db-shm, or restore with cofre restore",
  moved:
    "the data of this file was moved to PostgreSQL, or the move is not complete: start with the COFRE_DATABASE_URL of that database; cofre migrate-store completes an interrupted move, and cofre migrate-store --rollback reverts a move",
  cannot_open:
    "the file cannot be opened or created here; name a directory that this user may write, or change its permissions",
  full: "the disk is full; free space and try again",
  no_room:
    "the first start of this version rewrites the database without its deleted data, and there is no space for a second file: free as much space as the database uses, and start again; nothing was changed",
  failed: "the database could not be opened",
  not_durable: "SQLite did not accept the settings that make commits durable",
  keeps_deleted: "SQLite did not accept the settings that overwrite what is deleted",
  sqlite_too_old:
    "this Node.js brings a SQLite older than 3.51.3, which can corrupt a write-ahead log; use a newer Node.js",
} as const;
export type OpenRefusal = keyof typeof openRefusals;
