export const logLevels = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof logLevels)[number];

/**
 * What a field may hold. `text` is words of our own (names, codes, addresses, never a request's content): runs of digits as
 * long as a card number are struck out of it whatever they mean. `id` is one of our identifiers in hex, written as it is.
 * With `?` the field may be undefined, and is left out then.
 */
interface FieldTypes {
  readonly text: string;
  readonly id: string;
  readonly number: number;
  readonly flag: boolean;
  readonly "text?": string | undefined;
  readonly "id?": string | undefined;
  readonly "number?": number | undefined;
}
export type FieldKind = keyof FieldTypes;

interface LogEventRow {
  readonly level: LogLevel;
  /** For people who read the log or alert on it. */
  readonly doc: string;
  readonly fields: Readonly<Record<string, FieldKind>>;
}

/**
 * Everything that can be logged: an event is a row, its fields are declared here, and nothing else is ever written. No field
 * holds a query, a body, a header or the text of an error.
 */
export const logEvents = {
  starting: {
    level: "info",
    doc: "The process has read its configuration and begins to open the store.",
    fields: { version: "text", node: "text", environment: "text", dataDirectory: "text" },
  },
  setting_unknown: {
    level: "warn",
    doc: "An environment variable begins with COFRE_ and is no setting: it means nothing to this version.",
    fields: { name: "text" },
  },
  setting_empty: {
    level: "info",
    doc: "An environment variable of a setting is there and holds nothing: it counts as unset. A secret that did not arrive looks like this.",
    fields: { name: "text" },
  },
  core_dumps_unlimited: {
    level: "warn",
    doc: "Memory cannot be left out of this process's core dumps: set their size limit to 0 ([core dumps](running.md#core-dumps)).",
    fields: {},
  },
  data_directory_open: {
    level: "warn",
    doc: "The data directory can be entered or read by other users of this machine; chmod 700 makes it private.",
    fields: { dataDirectory: "text", mode: "text" },
  },
  listening: { level: "info", doc: "Requests are answered from now on, at this address.", fields: { host: "text", port: "number" } },
  listening_tls: {
    level: "info",
    doc: "The same with TLS, under the authority in this file.",
    fields: { host: "text", port: "number", authority: "text" },
  },
  stopping: {
    level: "info",
    doc: "No new connections; requests under way are finished. `parent_gone`: npm, or the shell it started this with, has ended.",
    fields: { signal: "text", graceMs: "number" },
  },
  stopped: { level: "info", doc: "Everything accepted has been written; the process ends.", fields: {} },
  stop_forced: {
    level: "warn",
    doc: "The process ends with requests under way; recovery takes them up at the next start.",
    fields: { reason: "text" },
  },
  start_failed: { level: "error", doc: "The process could not start.", fields: { errorName: "text", errorCode: "text?", where: "text?" } },
  process_failed: {
    level: "error",
    doc: "An error that nothing handled; the process ends. Its text is withheld, for it could quote a request.",
    fields: { origin: "text", errorName: "text", errorCode: "text?", where: "text?" },
  },
  request: {
    level: "info",
    doc: "One answered request. `path` is the route's own name, never what the client wrote; `code` is the wire's status_code of an error.",
    fields: { method: "text", path: "text", status: "number", code: "text?", merchantId: "id?", durationMs: "number" },
  },
  request_failed: {
    level: "error",
    doc: "A request ended in an error that is no refusal.",
    fields: { path: "text", errorName: "text", errorCode: "text?", where: "text?", merchantId: "id?" },
  },
  audit_failed: {
    level: "error",
    doc: "Something that a person asked for was refused, for it could not be written into the audit log, and not because of the disk or the database alone.",
    fields: { errorName: "text", errorCode: "text?", where: "text?" },
  },
  audit_end_missing: {
    level: "error",
    doc: "What became of something that a person did could not be written into the audit log, where it stands as asked for.",
    fields: { errorName: "text", errorCode: "text?", where: "text?" },
  },
  fault_met: {
    level: "info",
    doc: "In the sandbox, a fault that somebody had asked for met a request. Where it cut the connection the request's status is 444.",
    fields: { fault: "text", kind: "text", path: "text", merchantId: "id" },
  },
  overloaded: {
    level: "warn",
    doc: "Requests are refused because a limit is reached; told once a second at most.",
    fields: { limit: "text", refused: "number" },
  },
  alarm: {
    level: "error",
    doc: "An invariant broke, or something else that should not happen did: somebody must look.",
    fields: { kind: "text", what: "text", where: "text?", merchantId: "id?", paymentId: "id?" },
  },
  clock_set_back: {
    level: "warn",
    doc: "The clock shows an earlier time than before. `payments` without an answer and `deliveries` of notifications waited for a time that the clock had shown by mistake, and are due again.",
    fields: { byMs: "number", payments: "number", deliveries: "number" },
  },
  clock_right: {
    level: "info",
    doc: "This machine's clock is right again, and the node does its share of the work.",
    fields: {},
  },
  database_clock_right: {
    level: "info",
    doc: "The database server's clock is near this machine's again.",
    fields: {},
  },
  database_rewriting: {
    level: "info",
    doc: "The first start of this version writes `cofre.db` again, without what was deleted from it, before the server listens. `written` of at most `bytes` are in the new file, `cofre.db.rewrite`; every five seconds.",
    fields: { bytes: "number", written: "number" },
  },
  database_migrating: {
    level: "info",
    doc: "The first start of this version changes the tables of `cofre.db` from an earlier version, before the server listens. A file of an earlier version was written again before, and nothing that was deleted from it is in it.",
    fields: { from: "number", to: "number", bytes: "number" },
  },
  migration_began: {
    level: "info",
    doc: "The first start of this version on PostgreSQL runs a migration, before the server listens. Nodes of the earlier version serve meanwhile. See [migrations](postgres.md#migrations).",
    fields: { migration: "number" },
  },
  migration_waits: {
    level: "warn",
    doc: "Another session holds a table that a migration changes. The migration has been tried `tries` times and is tried again after a pause, for about five minutes. See [migrations](postgres.md#migrations).",
    fields: { migration: "number", tries: "number" },
  },
  migration_elsewhere: {
    level: "info",
    doc: "Another node brings the tables up to date, and this one waits for it before it listens: after the first second and then every 30 seconds, for an hour at most. `migration` is the last one that is complete, `session` the other node's process on the server (`pid` in `pg_stat_activity`). See [migrations](postgres.md#migrations).",
    fields: { migration: "number", session: "number", waitedMs: "number" },
  },
  writing_fails: {
    level: "error",
    doc: "What was written last could not be kept (a full disk?): requests that change something are refused, and /readyz says so.",
    fields: {},
  },
  database_refused: {
    level: "error",
    doc: "COFRE_DATABASE_URL leads to a server now that a start would refuse: nothing is written to it. See [PostgreSQL](postgres.md).",
    fields: { code: "text" },
  },
  writing_works: { level: "info", doc: "Writing works again, after it had failed.", fields: {} },
  cards_forgotten: {
    level: "info",
    doc: "Stored cards that nobody had used for 14 months were forgotten.",
    fields: { forgotten: "number", seen: "number" },
  },
  records_deleted: {
    level: "info",
    doc: "Old records were deleted: `requests` are Idempotency-Keys (COFRE_KEEP_KEYS_DAYS), `deliveries` those that were delivered or have failed (COFRE_KEEP_DELIVERIES_DAYS). See [what is kept, and for how long](running.md#what-is-kept-and-for-how-long).",
    fields: { requests: "number", deliveries: "number" },
  },
  database_figures: {
    level: "info",
    doc: "On PostgreSQL, at the start and once an hour: the sizes of the large tables with their indexes in bytes (`requestBytes`: Idempotency-Keys), and two ages in transactions. See [figures](postgres.md#figures).",
    fields: {
      paymentBytes: "number",
      historyBytes: "number",
      outboxBytes: "number",
      deliveryBytes: "number",
      requestBytes: "number",
      cardBytes: "number",
      frozenAge: "number",
      snapshotAge: "number",
    },
  },
  database_ages: {
    level: "warn",
    doc: "On PostgreSQL, once an hour while the oldest row that is not frozen is older than 1,500 million transactions, or the oldest snapshot than 10 million. See [figures](postgres.md#figures).",
    fields: { frozenAge: "number", snapshotAge: "number" },
  },
  row_refused: {
    level: "error",
    doc: "A row of a person or of a session was written by a program without the keys of this installation, or assembled from other rows: it is treated as missing. See [the audit log](audit.md).",
    fields: { kind: "text", id: "id" },
  },
  audit_head: {
    level: "info",
    doc: "The number and digest of the newest entry of the audit log, at the start and once an hour. A copy in another place shows later whether the audit log was cut or rewritten.",
    fields: { number: "number", digest: "text" },
  },
  rows_upgraded: {
    level: "info",
    doc: "Rows of an earlier version now have keyed token digests and MACs. From here on rows without a MAC are refused, and the earlier version does not find the cards.",
    fields: { cards: "number" },
  },
  notification_delivered: {
    level: "debug",
    doc: "A receiver took a notification.",
    fields: { kind: "text", merchantId: "id", endpoint: "text", paymentId: "id", number: "number", attempts: "number", outcome: "text?" },
  },
  notification_failed: {
    level: "warn",
    doc: "A receiver did not take a notification: again later, given_up, gone (it answered 410 and is switched off) or resting after failures in a row.",
    fields: { kind: "text", merchantId: "id", endpoint: "text", paymentId: "id", number: "number", attempts: "number", outcome: "text?" },
  },
  job_read_failed: {
    level: "error",
    doc: "A job (recovery, notifications, card_expiry, retention, clock_set_back, row_upgrade) could not read what it works on, `failed` times since the last such event. `read` names the statement that failed last. The first failure is logged at once, later ones at most once a minute. After three failures of one statement in a row /readyz names the job in `failing`, until that statement works.",
    fields: { job: "text", read: "text", failed: "number" },
  },
  acquirer_rests: {
    level: "warn",
    doc: "An acquirer gave no answer 20 times in a row: it is left alone for a while, and payments go elsewhere or are refused at once.",
    fields: { connector: "text" },
  },
  acquirer_is_back: { level: "info", doc: "An acquirer that rested has answered.", fields: { connector: "text" } },
  acquirer_value_dropped: {
    level: "warn",
    doc: "A value in an acquirer's answer is not kept. `cause` is `shape` (it does not have the form of its field) or `card_data` (it repeats the card). The outcome does not change. Logged at most once a minute for each field, with the number `dropped` since.",
    fields: { connector: "text", call: "text", field: "text", cause: "text", dropped: "number" },
  },
  share_changed: {
    level: "info",
    doc: "Other processes on the same database came or went: how many live, and how many of the 32 slots of work this one does.",
    fields: { nodes: "number", slots: "number" },
  },
  share_lost: {
    level: "warn",
    doc: "The database was not told in time that this process lives: it begins no recovery and sends no notification until it is; others do.",
    fields: {},
  },
  recovery_settled: {
    level: "info",
    doc: "Recovery found out what became of a payment whose outcome was unknown.",
    fields: { merchantId: "id", paymentId: "id", state: "text", checks: "number" },
  },
  recovery_overdue: {
    level: "warn",
    doc: "A payment's outcome is still unknown after more than an hour of asking.",
    fields: { merchantId: "id", paymentId: "id", state: "text", checks: "number" },
  },
} as const satisfies Record<string, LogEventRow>;

export type LogEventName = keyof typeof logEvents;

/** One event with its declared fields, such as `{ event: "listening", host, port }`. */
export type LogEvent = {
  readonly [Name in LogEventName]: { readonly event: Name } & {
    readonly [Field in keyof (typeof logEvents)[Name]["fields"]]: FieldTypes[(typeof logEvents)[Name]["fields"][Field] & FieldKind];
  };
}[LogEventName];

/** Where events go. Never throws and never waits. */
export interface Log {
  write(event: LogEvent): void;
}
