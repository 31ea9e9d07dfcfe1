/** Primary result codes (sqlite.org/rescode.html) that Cofre distinguishes. */
const codes: Readonly<Record<number, SqliteCode>> = {
  5: "busy",
  11: "corrupt",
  13: "full",
  14: "cannot_open",
  19: "constraint",
  26: "not_a_database",
};

export type SqliteCode =
  | "busy"
  | "corrupt"
  | "full"
  | "cannot_open"
  | "constraint"
  | "not_a_database"
  | "other";

/** The code of an SQLite error; any other error is rethrown. */
export function sqliteCode(error: unknown): SqliteCode {
  if (!(error instanceof Error && "errcode" in error && typeof error.errcode === "number"))
    throw error;
  return codes[error.errcode & 0xff] ?? "other";
}
