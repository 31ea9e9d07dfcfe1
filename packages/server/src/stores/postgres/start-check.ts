import { aheadOf, type Clock, clockToleranceMs } from "../../kernel/clock.ts";
import type { Connection } from "./connection.ts";
import { PostgresOpenError, type PostgresRefusal } from "./open-error.ts";

/** Facts about the server. Settings have their values from before the session set its own. */
interface ServerFacts {
  readonly version: number;
  readonly encoding: string;
  readonly standby: boolean;
  readonly now: number;
  readonly fsync: string;
  readonly full_page_writes: string;
  readonly synchronous_commit: string;
  readonly synchronous_standby_names: string;
  readonly logs_statements: boolean;
  readonly log_parameter_max_length: string;
  readonly log_parameter_max_length_on_error: string;
  readonly explains: boolean;
  readonly audits_parameters: boolean;
}

const settings = [
  "fsync",
  "full_page_writes",
  "synchronous_commit",
  "synchronous_standby_names",
  "log_parameter_max_length",
  "log_parameter_max_length_on_error",
];

/** The settings are read once, because the server builds the whole list for each read. */
const factsQuery = `SELECT current_setting('server_version_num')::integer AS version, current_setting('server_encoding') AS encoding,
  pg_is_in_recovery() AS standby, (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now,
  ${settings.map((name) => `max(reset_val) FILTER (WHERE name = '${name}') AS ${name}`).join(", ")},
  current_setting('log_statement') IN ('mod', 'all') OR current_setting('log_duration') = 'on'
    OR bool_or(setting::numeric >= 0) FILTER (WHERE name IN ('log_min_duration_statement', 'log_min_duration_sample'))
    OR current_setting('log_transaction_sample_rate')::numeric > 0 AS logs_statements,
  coalesce(current_setting('auto_explain.log_min_duration', true), '-1') <> '-1' AS explains,
  coalesce(current_setting('pgaudit.log_parameter', true), 'off') <> 'off' AS audits_parameters
  FROM pg_settings`;

/**
 * Rejects with PostgresOpenError if the server would not keep what it acknowledges, could write
 * card or customer data to its log, or if its clock and `clock` differ.
 */
export async function checkServer(
  connection: Connection,
  clock: Clock,
  waiveStandby: boolean,
): Promise<void> {
  // Sent once before, so that the next round trip measures only the network.
  await connection.rows("now", "SELECT 1");
  const before = clock.now();
  const [facts] = await connection.rows<ServerFacts>("facts", factsQuery);
  const after = clock.now();
  if (facts === undefined) throw new PostgresOpenError("unreachable");
  const isNear = Math.abs(aheadOf(facts.now, before, after)) <= clockToleranceMs;
  refuse(refusalOf(facts, waiveStandby) ?? (isNear ? undefined : "clock"));
}

/**
 * The same for a further session of a serving node, without the clock: clocks are then compared
 * continuously (recovery/slot-lease-keeper.ts), and the database's clock alone stops no node.
 */
export async function checkServerAgain(
  connection: Connection,
  waiveStandby: boolean,
): Promise<void> {
  const [facts] = await connection.rows<ServerFacts>("facts", factsQuery);
  if (facts === undefined) throw new PostgresOpenError("unreachable");
  refuse(refusalOf(facts, waiveStandby));
}

function refuse(refusal: PostgresRefusal | undefined): void {
  if (refusal !== undefined) throw new PostgresOpenError(refusal);
}

function refusalOf(facts: ServerFacts, waiveStandby: boolean): PostgresRefusal | undefined {
  if (facts.version < 150_000) return "too_old";
  if (facts.encoding !== "UTF8") return "not_utf8";
  if (facts.standby) return "standby";
  if (facts.fsync !== "on") return "fsync_off";
  if (facts.full_page_writes !== "on") return "full_page_writes_off";
  if (facts.synchronous_commit !== "on" && facts.synchronous_commit !== "remote_apply")
    return "synchronous_commit_off";
  if (facts.synchronous_standby_names === "" && !waiveStandby) return "no_synchronous_standby";
  const logged = facts.logs_statements && facts.log_parameter_max_length !== "0";
  if (
    logged ||
    facts.log_parameter_max_length_on_error !== "0" ||
    facts.explains ||
    facts.audits_parameters
  )
    return "logs_parameters";
  return undefined;
}
