export const logLevels = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof logLevels)[number];

/**
 * Types of fields. `text` is our own words (names, codes, addresses, never a request's content):
 * runs of digits as long as a card number are replaced in it, whatever they mean. `id` is one of
 * our identifiers in hex, logged unchanged. With `?` the field may be undefined, and is omitted
 * then.
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
  /** For operators who read the log or alert on it. */
  readonly doc: string;
  readonly fields: Readonly<Record<string, FieldKind>>;
}

/**
 * All log events: an event is a row, its fields are declared here, and nothing else is ever logged.
 * No field contains a query, a body, a header or the text of an error.
 */
export const logEvents = {
  starting: {
    level: "info",
    doc: "The configuration was read; the store is being opened.",
    fields: {
      version: "text",
      node: "text",
      environment: "text",
      installation: "text",
      dataDirectory: "text",
    },
  },
  setting_unknown: {
    level: "warn",
    doc: "An environment variable begins with COFRE_ but is not a setting of this version; it is ignored.",
    fields: { name: "text" },
  },
  setting_empty: {
    level: "info",
    doc: "A setting is empty and counts as unset. Check whether a secret is missing.",
    fields: { name: "text" },
  },
  core_dumps_unlimited: {
    level: "warn",
    doc: "Core dumps of this process would contain its memory: set their size limit to 0 ([core dumps](running.md#core-dumps)).",
    fields: {},
  },
  data_directory_permissions: {
    level: "warn",
    doc: "Other users of this machine can enter or read the data directory; chmod 700 makes it private.",
    fields: { dataDirectory: "text", mode: "text" },
  },
  listening: {
    level: "info",
    doc: "The server answers requests at this address.",
    fields: { host: "text", port: "number" },
  },
  listening_tls: {
    level: "info",
    doc: "The server answers TLS requests at this port. `authority`: the file with the authority, or with the certificate.",
    fields: { host: "text", port: "number", authority: "text" },
  },
  certificate_renewed: {
    level: "info",
    doc: "The files of COFRE_TLS_CERTIFICATE_FILE have changed: new connections get the new certificate, which ends at this time.",
    fields: { endsAt: "text" },
  },
  certificate_unusable: {
    level: "error",
    doc: "The changed files of COFRE_TLS_CERTIFICATE_FILE cannot be used; the previous certificate stays in use.",
    fields: {},
  },
  stopping: {
    level: "info",
    doc: "New connections are refused; requests in progress are finished. `parent_gone`: npm or its shell has ended.",
    fields: { signal: "text", graceMs: "number" },
  },
  stopped: {
    level: "info",
    doc: "All accepted changes are written; the process exits.",
    fields: {},
  },
  shutdown_forced: {
    level: "warn",
    doc: "The process exits with requests in progress; recovery resumes them at the next start.",
    fields: { reason: "text" },
  },
  start_failed: {
    level: "error",
    doc: "The process could not start.",
    fields: { errorName: "text", errorCode: "text?", where: "text?" },
  },
  process_failed: {
    level: "error",
    doc: "Unhandled error; the process exits. Its text is withheld, because it could quote a request.",
    fields: { origin: "text", errorName: "text", errorCode: "text?", where: "text?" },
  },
  request: {
    level: "info",
    doc: "One answered request. `path` is the route's name, not the client's text; `code` is the status_code of an error.",
    fields: {
      method: "text",
      path: "text",
      status: "number",
      code: "text?",
      merchantId: "id?",
      durationMs: "number",
    },
  },
  request_failed: {
    level: "error",
    doc: "A request ended in an unexpected error.",
    fields: {
      path: "text",
      errorName: "text",
      errorCode: "text?",
      where: "text?",
      merchantId: "id?",
    },
  },
  audit_failed: {
    level: "error",
    doc: "A user's action was refused because its audit entry could not be written, for a reason other than the disk or the database.",
    fields: { errorName: "text", errorCode: "text?", where: "text?" },
  },
  audit_completion_failed: {
    level: "error",
    doc: "The result of a user's action could not be written into the audit log, which has its beginning.",
    fields: { errorName: "text", errorCode: "text?", where: "text?" },
  },
  fault_injected: {
    level: "info",
    doc: "A configured fault was injected into a request (sandbox). If it cut the connection, the request's status is 444.",
    fields: { fault: "text", kind: "text", path: "text", merchantId: "id" },
  },
  overloaded: {
    level: "warn",
    doc: "Requests are refused because a limit is reached; logged at most once a second.",
    fields: { limit: "text", refused: "number" },
  },
  public_key_limited: {
    level: "warn",
    doc: "Requests with a public key are refused: one network, or all together, made too many `requests`, tried too many different `cards` or had too many `failures`. At most once a minute for an account.",
    fields: { limit: "text", refused: "number", merchantId: "id" },
  },
  fields_changed: {
    level: "warn",
    doc: "A browser refused something in the [card fields or the hosted page](../checkout.md) that does not belong there: a script, a request to another server, or text that was to become HTML. A browser extension of the customer does this too; many reports with one `blocked` origin need investigation. At most ten a minute.",
    fields: { directive: "text", blocked: "text" },
  },
  alarm: {
    level: "error",
    doc: "Invariant violated or unexpected state; needs investigation.",
    fields: { kind: "text", what: "text", where: "text?", merchantId: "id?", paymentId: "id?" },
  },
  production_alarm: {
    level: "error",
    doc: "A [check of production](production.md#alarms) fails that refuses nothing. Logged when it begins and once a day.",
    fields: { check: "text", fault: "text", remedy: "text" },
  },
  production_alarm_ended: {
    level: "info",
    doc: "The check passes again.",
    fields: { check: "text" },
  },
  clock_set_back: {
    level: "warn",
    doc: "The clock was set back. `payments` without an answer and `deliveries` that waited for a future time are due again.",
    fields: { byMs: "number", payments: "number", deliveries: "number" },
  },
  clock_right: {
    level: "info",
    doc: "This machine's clock is right again; the node resumes its share of the work.",
    fields: {},
  },
  database_clock_right: {
    level: "info",
    doc: "The database server's clock is near this machine's again.",
    fields: {},
  },
  database_rewriting: {
    level: "info",
    doc: "The first start of this version rewrites `cofre.db` without deleted data before the server listens. `written` of at most `bytes` are done; every five seconds.",
    fields: { bytes: "number", written: "number" },
  },
  database_migrating: {
    level: "info",
    doc: "The first start of this version migrates the tables of `cofre.db` before the server listens.",
    fields: { from: "number", to: "number", bytes: "number" },
  },
  migration_began: {
    level: "info",
    doc: "The first start of this version runs a PostgreSQL [migration](postgres.md#migrations) before the server listens.",
    fields: { migration: "number" },
  },
  migration_waits: {
    level: "warn",
    doc: "Another session locks a table that a [migration](postgres.md#migrations) changes. It has been tried `tries` times and is retried for about five minutes.",
    fields: { migration: "number", tries: "number" },
  },
  migration_elsewhere: {
    level: "info",
    doc: "Another node [migrates](postgres.md#migrations) the tables, and this one waits before it listens; every 30 seconds. `migration` is the last completed one, `session` the other node's `pid` in `pg_stat_activity`.",
    fields: { migration: "number", session: "number", waitedMs: "number" },
  },
  store_unavailable: {
    level: "error",
    doc: "The last write failed (disk full?): changes are refused and /readyz answers 503.",
    fields: {},
  },
  database_rejected: {
    level: "error",
    doc: "COFRE_DATABASE_URL leads to a server that a start [would refuse](postgres.md#what-is-refused-and-why): nothing is written to it.",
    fields: { code: "text" },
  },
  store_recovered: { level: "info", doc: "Writes work again after a failure.", fields: {} },
  cards_expired: {
    level: "info",
    doc: "Stored cards that were unused for 14 months were deleted.",
    fields: { forgotten: "number", seen: "number" },
  },
  records_deleted: {
    level: "info",
    doc: "Old Idempotency-Keys (`requests`) and ended `deliveries` [were deleted](running.md#what-is-kept-and-for-how-long).",
    fields: { requests: "number", deliveries: "number" },
  },
  database_figures: {
    level: "info",
    doc: "On PostgreSQL, at the start and once an hour: [sizes](postgres.md#figures) of the large tables with their indexes (`requestBytes`: Idempotency-Keys), and two ages in transactions.",
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
    doc: "On PostgreSQL, once an hour while one of the two [ages](postgres.md#figures) is too high.",
    fields: { frozenAge: "number", snapshotAge: "number" },
  },
  cards_stopped: {
    level: "error",
    doc: "Card operations are [stopped](keys.md#stop): no card is stored or opened. `cause`: `order` of an admin, whom the audit log names with the reason, or `root_denied`, a [root key that is disabled or deleted](keys.md#root-key-denied).",
    fields: { cause: "text", since: "text" },
  },
  cards_resumed: {
    level: "info",
    doc: "Card operations are no longer stopped, and the root key has opened the keys of cards.",
    fields: {},
  },
  root_key_unusable: {
    level: "error",
    doc: "The [key service](key-services.md#when-the-service-does-not-answer) does not unwrap with the root key. The server runs on with the keys in its memory, but cannot be started again. `failure`: unavailable, unauthorized, denied or wrong.",
    fields: { keyId: "text", failure: "text" },
  },
  root_key_usable: {
    level: "info",
    doc: "The key service unwraps with the root key again.",
    fields: { keyId: "text" },
  },
  root_keys: {
    level: "info",
    doc: "The keys of this installation are wrapped by [these root keys](key-services.md#the-set-of-root-keys) and by no other; at each start. Another fingerprint than the last one is an alarm, unless you changed the set.",
    fields: {
      fingerprint: "text",
      version: "number",
      roots: "text",
      recoveryKey: "text",
    },
  },
  root_keys_changed: {
    level: "warn",
    doc: "The same, when the [set of root keys](key-services.md#the-set-of-root-keys) was changed or stored for the first time. An alarm, unless you changed it.",
    fields: {
      fingerprint: "text",
      version: "number",
      roots: "text",
      recoveryKey: "text",
    },
  },
  recovery_key: {
    level: "info",
    doc: "Every key is sealed for this [recovery key](recovery.md#sealing-keys). `made`: number of keys that were not before this start. A fingerprint that you do not know, or did not expect, is an alarm.",
    fields: { recoveryKey: "text", made: "number" },
  },
  recovery_wraps_altered: {
    level: "error",
    doc: "What was stored for the recovery key did not open this number of keys: it was altered or damaged. It has been replaced. Determine what wrote to the key files.",
    fields: { recoveryKey: "text", altered: "number" },
  },
  row_refused: {
    level: "error",
    doc: "A row of a user or session was written [without this installation's keys](audit.md#users-and-sessions): it is treated as missing.",
    fields: { kind: "text", id: "id" },
  },
  audit_head: {
    level: "info",
    doc: "Number and digest of the newest audit entry, at the start and once an hour. A copy kept elsewhere shows whether the log was cut or rewritten.",
    fields: { number: "number", digest: "text" },
  },
  rows_upgraded: {
    level: "info",
    doc: "All rows now have keyed token digests and MACs. Rows without a MAC are refused.",
    fields: { cards: "number" },
  },
  keys_rotated: {
    level: "info",
    doc: "A rotation made progress: an epoch key became the current one, keys were wrapped again by it, merchants were given new keys, or keys were destroyed.",
    fields: {
      epoch: "number",
      rewrapped: "number",
      merchants: "number",
      destroyed: "number",
    },
  },
  epoch_not_made: {
    level: "error",
    doc: "An ordered epoch key could not be made, usually because the root key did not answer. It is tried again every three seconds.",
    fields: { reason: "text" },
  },
  key_not_rotated: {
    level: "error",
    doc: "A key record was altered by another program, so it stays as it is. The log has one line for each key.",
    fields: { key: "text" },
  },
  cards_resealed: {
    level: "info",
    doc: "Stored cards of a merchant were encrypted again under its current key. `unreadable` do not open with any key of the installation and stay as they are.",
    fields: { merchant: "id", keyVersion: "number", cards: "number", unreadable: "number" },
  },
  notification_delivered: {
    level: "debug",
    doc: "A receiver accepted a notification.",
    fields: {
      kind: "text",
      merchantId: "id",
      endpoint: "text",
      paymentId: "id",
      number: "number",
      attempts: "number",
      outcome: "text?",
    },
  },
  notification_failed: {
    level: "warn",
    doc: "A receiver did not accept a notification: `kind` is retry, failed (not tried again), gone (it answered 410 and is switched off) or resting (paused after consecutive failures).",
    fields: {
      kind: "text",
      merchantId: "id",
      endpoint: "text",
      paymentId: "id",
      number: "number",
      attempts: "number",
      outcome: "text?",
    },
  },
  job_read_failed: {
    level: "error",
    doc: "A job could not read what it works on, `failed` times since the last such event; at most once a minute. `read` names the statement that failed last. See [health](running.md#health).",
    fields: { job: "text", read: "text", failed: "number" },
  },
  acquirer_circuit_opened: {
    level: "warn",
    doc: "Circuit opened after 20 consecutive messages without an answer: payments go to another acquirer or are refused at once.",
    fields: { connector: "text" },
  },
  acquirer_circuit_closed: {
    level: "info",
    doc: "Circuit closed: the acquirer has answered.",
    fields: { connector: "text" },
  },
  acquirer_value_dropped: {
    level: "warn",
    doc: "A value in an acquirer's answer was dropped: `shape` (wrong form) or `card_data` (it repeats the card). The outcome does not change. At most once a minute per field, with the number `dropped` since.",
    fields: { connector: "text", call: "text", field: "text", cause: "text", dropped: "number" },
  },
  slots_changed: {
    level: "info",
    doc: "Processes on the same database started or stopped: `nodes` are alive, and this one works on `slots` of 32.",
    fields: { nodes: "number", slots: "number" },
  },
  lease_lost: {
    level: "warn",
    doc: "This process could not renew its lease in time: other processes take over its recovery and notifications.",
    fields: {},
  },
  recovery_settled: {
    level: "info",
    doc: "Recovery resolved a payment with an unknown outcome.",
    fields: { merchantId: "id", paymentId: "id", state: "text", checks: "number" },
  },
  recovery_overdue: {
    level: "warn",
    doc: "A payment's outcome is still unknown after more than an hour of recovery.",
    fields: { merchantId: "id", paymentId: "id", state: "text", checks: "number" },
  },
} as const satisfies Record<string, LogEventRow>;

export type LogEventName = keyof typeof logEvents;

/** One event with its declared fields, such as `{ event: "listening", host, port }`. */
export type LogEvent = {
  readonly [Name in LogEventName]: { readonly event: Name } & {
    readonly [
      Field in keyof (typeof logEvents)[Name]["fields"]
    ]: FieldTypes[(typeof logEvents)[Name]["fields"][Field] & FieldKind];
  };
}[LogEventName];

/** Destination of events. Never throws and never waits. */
export interface Log {
  write(event: LogEvent): void;
}
