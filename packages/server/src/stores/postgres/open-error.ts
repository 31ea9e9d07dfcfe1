/**
 * Why the database was refused. The process should stop and show the message; it quotes no text of
 * the server or the driver.
 */
export class PostgresOpenError extends Error {
  override readonly name = "PostgresOpenError";
  readonly code: PostgresRefusal;

  /** `failure`: which step failed, and how, in Cofre's own words. */
  constructor(code: PostgresRefusal, failure?: string) {
    super(`PostgreSQL: ${postgresRefusals[code]}${failure === undefined ? "" : `: ${failure}`}`);
    this.code = code;
  }
}

/** Shown unchanged; docs/operate/postgres.md explains what to do about each. */
export const postgresRefusals = {
  unreachable: "the server that COFRE_DATABASE_URL names cannot be reached, or rejects this user",
  too_old: "the server is older than PostgreSQL 15",
  not_utf8: "the database's encoding must be UTF8",
  standby: "the server is a standby: changes need the primary",
  fsync_off: "fsync is off: a crash of the machine would lose acknowledged payments",
  full_page_writes_off:
    "full_page_writes is off: a crash of the machine could tear pages of the database",
  synchronous_commit_off:
    "synchronous_commit is not on (or remote_apply): acknowledged payments might not be on disk yet",
  no_synchronous_standby:
    "there is no synchronous standby, so the loss of the server's disk would lose acknowledged payments; connect one, or accept that with COFRE_DATABASE_ALLOW_NO_STANDBY=true",
  logs_parameters:
    "the server may write statements' parameters to its log: set log_parameter_max_length and log_parameter_max_length_on_error to 0, and leave auto_explain.log_min_duration and pgaudit.log_parameter off",
  no_audit:
    "the database has never been used by a version of Cofre whose audit log this version reads; start this version once",
  missing:
    "the database is empty, but there are keys of an installation in COFRE_DATA_DIR: name the database that belongs to them or restore it from its backup, move a cofre.db there with cofre migrate-store, or start a new installation with these keys with COFRE_DATABASE_ALLOW_EMPTY=true",
  other_keys:
    "the database belongs to other keys than those in COFRE_DATA_DIR, which cannot decrypt its cards: restore the keys that belong to it, or name the right database",
  returned:
    "the data of this database was given back to its file (cofre migrate-store --rollback): use the file, or an empty database",
  moving: "cofre migrate-store is running on this database: start again when it has ended",
  clock: "the server's clock and this machine's differ by more than 2 seconds",
  changed: "a migration of this database differs from the one of this version of Cofre",
  migrating:
    "another node is migrating the tables and has not ended in time: check what it waits for, and start again when it listens",
  migration: "the tables could not be created or migrated",
  not_prepared:
    "the tables are not those of this version, and the login of COFRE_DATABASE_URL may not change them: run cofre init with COFRE_DATABASE_OWNER_URL_FILE",
  login_roles:
    "the login of COFRE_DATABASE_URL is not a member of the roles cofre_gateway, cofre_vault, cofre_jobs and cofre_people: grant them to it",
} as const;
export type PostgresRefusal = keyof typeof postgresRefusals;

/** By SQLSTATE or its class, the more specific first. */
const stepFailures: readonly (readonly [state: string, what: string])[] = [
  [
    "55P03",
    "another session holds a table that the step changes: find it in pg_stat_activity, end it or wait until it has ended, and start again",
  ],
  ["40", "it was in conflict with another session: start again"],
  [
    "42501",
    "the user must own the schema and its tables and, at the first start, be allowed to create roles",
  ],
  ["42", "the tables are not those of the earlier versions: undo manual changes, and start again"],
  [
    "23",
    "rows break a rule of the tables: find the program that wrote them before you start again",
  ],
  ["53", "the server is short of disk space, memory or connections: free some, and start again"],
  ["57", "the server ended the statement: start again, at a quieter time if it is ended again"],
  ["25006", "the server accepts no changes: the address must be that of the primary"],
  ["", "the server refused the step: read its log of that time"],
];

/**
 * Instructions for a failed migration; `no` is undefined before the first one, `state` if the
 * server did not report the result.
 */
export function migrationFailure(no: number | undefined, state: string | undefined): string {
  const step = no === undefined ? "the table of migrations" : `migration ${no}`;
  if (state === undefined)
    return `${step}, no answer from the server, which has stopped or closed the session: start again when it is back`;
  const what = stepFailures.find(([start]) => state.startsWith(start))?.[1];
  return `${step}, SQLSTATE ${state}: ${what}`;
}
