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
  unreachable:
    "the server that COFRE_DATABASE_URL names cannot be reached, or does not let this user in",
  too_old: "the server is older than PostgreSQL 15",
  not_utf8: "the database's encoding must be UTF8",
  standby: "the server is a standby: changes need the primary",
  fsync_off: "fsync is off: a crash of the machine would lose payments that were answered",
  full_page_writes_off:
    "full_page_writes is off: a crash of the machine could tear pages of the database",
  synchronous_commit_off:
    "synchronous_commit is not on (or remote_apply): what was answered might not be on disk yet",
  no_synchronous_standby:
    "there is no synchronous standby, so the loss of the server's disk would lose payments that were answered; connect one, or accept that with COFRE_DATABASE_ALLOW_NO_STANDBY=true",
  logs_parameters:
    "the server may write statements' parameters to its log: set log_parameter_max_length and log_parameter_max_length_on_error to 0, and leave auto_explain.log_min_duration and pgaudit.log_parameter off",
  no_audit:
    "the database has had no version of Cofre yet whose audit log this one reads; start this one once",
  missing:
    "the database is empty, but there are keys of an installation in COFRE_DATA_DIR: name the database that belongs to them or restore it from its backup, move a cofre.db there with cofre migrate-store, or begin anew with these keys with COFRE_DATABASE_ALLOW_EMPTY=true",
  other_keys:
    "the database belongs to other keys than those in COFRE_DATA_DIR, and none of its cards would open: restore the keys that belong to it, or name the right database",
  returned:
    "what was moved into this database was taken back into its file since (cofre migrate-store --back): use the file, or an empty database",
  moving: "cofre migrate-store is at work on this database: start again when it is over",
  clock: "the server's clock and this machine's differ by more than 2 seconds",
  changed: "a migration that this database had is not the one that this version of Cofre has",
  migrating:
    "another node is bringing the tables up to date and has not ended in time: look at what it waits for, and start again when it listens",
  migration: "the tables could not be made or brought up to date",
} as const;
export type PostgresRefusal = keyof typeof postgresRefusals;

/**
 * By SQLSTATE or its class, the more specific first. The instructions have the same wording in
 * docs/operate/postgres.md.
 */
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
  [
    "42",
    "the tables are not those that the earlier versions made: restore what was changed by hand, and start again",
  ],
  [
    "23",
    "rows break a rule of the tables: find out which program wrote them before you start again",
  ],
  ["53", "the server is short of disk space, memory or connections: free some, and start again"],
  ["57", "the server ended the statement: start again, at a quieter time if it is ended again"],
  ["25006", "the server accepts no changes: the address must lead to the primary"],
  ["", "the server refused the step: look at its log at that time"],
];

/**
 * Instructions for a failed migration; `no` is undefined before the first one, `state` if the
 * server did not report the result.
 */
export function migrationFailure(no: number | undefined, state: string | undefined): string {
  const step = no === undefined ? "the table of migrations" : `migration ${no}`;
  if (state === undefined)
    return `${step}, no answer from the server: it is gone or has closed the session: start again when it is back`;
  const what = stepFailures.find(([start]) => state.startsWith(start))?.[1];
  return `${step}, SQLSTATE ${state}: ${what}`;
}
