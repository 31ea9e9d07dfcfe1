import { refundInSql } from "../rows.ts";
import { orderIndex } from "../order-row.ts";
import type { Condition, Narrowed } from "../payment-list.ts";
import type { OpenDeliveryState } from "../store.ts";

const hexOf = (column: string, name: string): string => `encode(${column}, 'hex') AS "${name}"`;

/**
 * The columns from which rows.ts reads a payment. Amounts are text, because a number cannot hold 64
 * bits.
 */
const payment = `${hexOf("payment.merchant", "merchant")}, ${hexOf("payment.id", "id")}, payment.code, payment.created_at, payment.version,
  payment.state, payment.status_at, payment.captured_at, payment.capture_by, payment.authorized::text, payment.captured::text,
  payment.refunded::text, payment.refunds, payment.chargeback, payment.review, payment.rerouted, payment.attempts, payment.attempt, payment.verdict,
  payment.needs_review, payment.order_json`;

const notification = `sequence, kind, ${hexOf("payment", "paymentId")}, ${hexOf("merchant", "merchantId")}, number, version, at FROM outbox`;

const delivery = `${hexOf("merchant", "merchantId")}, endpoint, number, ${hexOf("payment", "paymentId")}, kind, version, state,
  asked_at AS "requestedAt", due_at AS "dueAt", attempts, outcome, in_order AS "inOrder", message`;

const account = `${hexOf("account.merchant", "id")}, version, name, settings`;

const user = `${hexOf("person.id", "id")}, version, name, role, state, created_at, last_signed_in_at, passwords, ${hexOf("totp", "totp")}, totp_step,
  failures, locked_until, ${hexOf("invitation", "invitation")}, invitation_ends_at, ${hexOf("person.mac", "mac")}`;

const auditEntry = `no AS number, body, ${hexOf("digest", "digest")}, ${hexOf("mac", "mac")} FROM audit_entry`;

const keyRecord = `${hexOf("key_record.merchant", "merchant")}, purpose, version, state, sequence, epoch, ${hexOf("check_value", "check_value")}, wraps,
  created_at, changed_at, ${hexOf("mac", "mac")} FROM key_record`;

const merchant = "decode($1, 'hex')";

/**
 * Whether the merchant is in one of the slots set as bits of the parameter: the last byte of the id
 * determines the slot (kernel/slot.ts).
 */
const inSlots = (column: string, parameter: string): string =>
  `(${parameter}::bigint >> (get_byte(${column}, 3) & 31)) & 1 = 1`;

/**
 * The state is part of the text, because only then its index is used. All numbers are above 0:
 * 017-indexes-of-reads.ts.
 */
const deliveriesIn = (state: OpenDeliveryState): string =>
  `SELECT ${delivery} FROM delivery WHERE merchant = ${merchant} AND state = '${state}' AND number > 0 AND number >= $2 ORDER BY number, endpoint LIMIT $3`;

/** A row that differs from its payment is ignored: `cofre audit due` reports it. */
const fromDue = `FROM due_payment AS due
    JOIN payment ON payment.merchant = due.merchant AND payment.id = due.payment AND payment.due_at = due.due_at AND payment.no = due.no`;

/**
 * Due payments, in flight and others: the index has each part in order, and the limit bounds the
 * rows read of each.
 */
function dueBy(condition: string, limit: string): string {
  const part = (inFlight: number): string =>
    `(SELECT ${payment}, due.due_at, due.no ${fromDue} WHERE due.in_flight = ${inFlight} AND ${condition} ORDER BY due.due_at, due.no LIMIT ${limit})`;
  return `${part(1)} UNION ALL ${part(0)} ORDER BY due_at, no LIMIT ${limit}`;
}

/** A member of the sixth parameter of `paymentsNarrowed`: read once, not for each payment. */
const needed = (name: keyof Needs): string => `(SELECT $6::json ->> '${name}')`;
const neededTexts = (name: keyof Needs): string =>
  `ARRAY(SELECT json_array_elements_text($6::json -> '${name}'))`;

const hasOtherCharacters = (text: string): string => `octet_length(${text}) <> length(${text})`;

/** The order is parsed as JSON once, and only if it has such characters at all. */
const isSearchedByCharacter = `${hasOtherCharacters("payment.code")} OR ${hasOtherCharacters("payment.order_json")} AND (
  SELECT ${hasOtherCharacters("text")} FROM (
    SELECT concat(packed ->> ${orderIndex.name}, packed ->> ${orderIndex.email}) AS text FROM (SELECT payment.order_json::json AS packed OFFSET 0) AS whole OFFSET 0
  ) AS searched)`;

/**
 * Whether a payment meets the conditions of `Needs`. `lower` is that of ASCII alone; the texts that
 * are searched for are ASCII.
 */
const meetsNeeds = `(${needed("states")} IS NULL OR payment.state = ANY (${neededTexts("states")})
    OR payment.refunded > 0 AND ${needed("orRefunded")} = 'true' OR payment.chargeback IS NOT NULL AND ${needed("orDisputed")} = 'true')
  AND payment.order_json LIKE ALL (${neededTexts("members")})
  AND (${needed("reasons")} = '[]' OR payment.state = 'declined' AND payment.verdict LIKE ALL (${neededTexts("reasons")}))
  AND (${needed("texts")} = '[]'
    OR lower(concat_ws(' ', payment.state, payment.code, encode(payment.id, 'hex'), payment.order_json) COLLATE "C") LIKE ALL (${neededTexts("texts")})
    OR ${isSearchedByCharacter})
  AND (${needed("amounts")} = '[]'
    OR concat_ws(' ', payment.code, encode(payment.id, 'hex'), payment.order_json) ~ ALL (${neededTexts("amounts")}))`;

/**
 * Every reading statement, and the other statements of the jobs' role; each name is also the name
 * of the prepared statement.
 */
export const sql = {
  accountByKey: `SELECT ${account}, grants, mac FROM account_key JOIN account ON account.merchant = account_key.merchant
    WHERE digest = decode($1, 'hex')`,
  accountKeys: `SELECT ${hexOf("digest", "digest")}, ${hexOf("merchant", "merchantId")}, grants, mac FROM account_key ORDER BY account_key.digest`,
  accountById: `SELECT ${account} FROM account WHERE merchant = ${merchant}`,
  accounts: `SELECT ${account} FROM account ORDER BY merchant`,
  paymentsById: `SELECT ${payment} FROM payment WHERE merchant = ${merchant} AND id = ANY ($2::bytea[])`,
  paymentByCode: `SELECT ${payment} FROM payment WHERE merchant = ${merchant} AND code = $2 AND code >= ''`,
  history: `SELECT version, at, facts, detail, entries FROM history
    WHERE merchant = ${merchant} AND payment = decode($2, 'hex') ORDER BY version`,
  paymentByRefundId: `SELECT ${payment} FROM refund JOIN payment ON payment.merchant = refund.merchant AND payment.id = refund.payment
    WHERE refund.merchant = ${merchant} AND refund.id = $2`,
  paymentByRefundCode: `SELECT ${payment} FROM refund JOIN payment ON payment.merchant = refund.merchant AND payment.id = refund.payment
    WHERE refund.merchant = ${merchant} AND refund.code = $2`,
  paymentByMandate: `SELECT ${payment} FROM payment WHERE merchant = ${merchant} AND mandate = $2 ORDER BY no DESC LIMIT 1`,
  paymentsDue: dueBy(`due.due_at <= $1 AND ${inSlots("due.merchant", "$2")}`, "$3"),
  paymentsDueAfter: `WITH known AS MATERIALIZED (SELECT no FROM payment WHERE merchant = decode($2, 'hex') AND id = decode($3, 'hex'))
    ${dueBy(`(due.due_at, due.no) > ($1, (SELECT no FROM known)) AND due.due_at <= $4 AND ${inSlots("due.merchant", "$5")}`, "$6")}`,
  paymentsInFlight: `SELECT ${payment} ${fromDue} WHERE due.in_flight = 1 ORDER BY due.due_at, due.no LIMIT $1`,
  paymentsDiffering: `SELECT ${hexOf("merchant", "merchantId")}, ${hexOf("id", "paymentId")}, differs FROM (
      SELECT merchant, id, lead(id) OVER () IS NULL AS is_last, due_at IS NOT NULL AND (
        SELECT 1 FROM due_payment AS due WHERE due.in_flight = num_nonnulls(piece.attempt) AND due.due_at = piece.due_at AND due.no = piece.no
          AND due.merchant = piece.merchant AND due.payment = piece.id
      ) IS NULL AS differs FROM (
        SELECT merchant, id, due_at, no, attempt FROM payment WHERE (merchant, id) > (decode($1, 'hex'), decode($2, 'hex'))
        ORDER BY merchant, id LIMIT $3
      ) AS piece
    ) AS compared WHERE differs OR is_last`,
  paymentsListed: `SELECT ${payment} FROM payment WHERE merchant = ${merchant} AND id < decode($2, 'hex') ORDER BY payment.id DESC LIMIT $3`,
  // Of at most $4 payments, the first $5 that meet the conditions, and the last one in any case.
  paymentsNarrowed: `SELECT ${payment}, payment.place, payment.is_last AS "isLast" FROM (
      SELECT tested.*, (row_number() OVER down)::int AS place, lead(id) OVER down IS NULL AS is_last FROM (
        SELECT * FROM payment WHERE merchant = ${merchant} AND id < decode($2, 'hex') AND id >= decode($3, 'hex') ORDER BY payment.id DESC LIMIT $4
      ) AS tested WINDOW down AS (ORDER BY id DESC)
    ) AS payment WHERE payment.is_last OR ${meetsNeeds} ORDER BY payment.id DESC LIMIT $5`,
  paymentTexts: `SELECT ${hexOf("id", "id")}, code, state, order_json AS "order" FROM payment
    WHERE merchant = ${merchant} AND id < decode($2, 'hex') AND id >= decode($3, 'hex') ORDER BY payment.id DESC LIMIT $4`,
  paymentsBetween: `SELECT count(*)::int AS payments FROM payment WHERE merchant = ${merchant} AND id < decode($2, 'hex') AND id >= decode($3, 'hex')`,
  // The order is parsed as JSON once for its three members.
  paymentFigures: `SELECT ${hexOf("id", "id")}, created_at, state, authorized::text, captured::text, refunded::text, disputed,
      packed ->> ${orderIndex.currency} AS currency, packed ->> ${orderIndex.country} AS country, packed ->> ${orderIndex.brand} AS brand, reason FROM (
      SELECT id, created_at, state, authorized, captured, refunded, (chargeback IS NOT NULL)::int AS disputed, order_json::json AS packed,
        CASE state WHEN 'declined' THEN verdict::json ->> 1 END AS reason
      FROM payment WHERE merchant = ${merchant} AND id < decode($2, 'hex') ORDER BY payment.id DESC LIMIT $3
    ) AS piece ORDER BY piece.id DESC`,
  // PostgreSQL 15 has no minimum of binary values; ids have one length, so that their hex forms sort in the same way.
  paymentsCounted: `SELECT state, ${refundInSql} AS refund, (chargeback IS NOT NULL)::int AS disputed, count(*)::int AS payments, min(encode(id, 'hex')) AS oldest FROM (
      SELECT id, state, captured, refunded, chargeback FROM payment WHERE merchant = ${merchant} AND id < decode($2, 'hex') ORDER BY payment.id DESC LIMIT $3
    ) AS piece GROUP BY 1, 2, 3 ORDER BY oldest DESC`,
  cardsListed: `SELECT no AS position, ${hexOf("token_digest", "tokenDigest")}, brand, masked_pan AS "maskedPan", created_at AS "createdAt",
    last_used_at AS "lastUsedAt" FROM card WHERE merchant = ${merchant} AND token_digest > decode($2, 'hex') ORDER BY token_digest LIMIT $3`,
  cardsByToken: `SELECT ${hexOf("token_digest", "tokenDigest")}, version, ref, fingerprint, brand, masked_pan AS "maskedPan",
    created_at AS "createdAt", last_used_at AS "lastUsedAt", mac FROM card WHERE merchant = ${merchant} AND token_digest = ANY ($2::bytea[])`,
  cardsWithoutMac: `SELECT ${hexOf("token_digest", "tokenDigest")}, version, ref, fingerprint, brand, masked_pan AS "maskedPan",
    created_at AS "createdAt", last_used_at AS "lastUsedAt", mac FROM card
    WHERE merchant = ${merchant} AND token_digest > decode($2, 'hex') AND mac IS NULL ORDER BY token_digest LIMIT $3`,
  cardsOf: `SELECT ${hexOf("token_digest", "tokenDigest")}, version, ref, fingerprint, brand, masked_pan AS "maskedPan",
    created_at AS "createdAt", last_used_at AS "lastUsedAt", mac FROM card
    WHERE merchant = ${merchant} AND token_digest > decode($2, 'hex') ORDER BY token_digest LIMIT $3`,
  cardsAfter: `SELECT no AS position, ${hexOf("merchant", "merchantId")}, ${hexOf("token_digest", "tokenDigest")},
    last_used_at AS "lastUsedAt" FROM card WHERE no > $1 ORDER BY no LIMIT $2`,
  namedRequest: `SELECT ${hexOf("digest", "digest")}, claimed_at AS "claimedAt", status, body FROM named_request
    WHERE merchant = ${merchant} AND key = $2`,
  answeredRequests: `SELECT ${hexOf("merchant", "merchantId")}, key FROM named_request WHERE status IS NOT NULL AND claimed_at < $1
    ORDER BY claimed_at LIMIT $2`,
  notificationsOf: `SELECT ${notification} WHERE merchant = ${merchant} AND number > $2 ORDER BY number LIMIT $3`,
  notificationsOfPayment: `SELECT ${notification} WHERE merchant = ${merchant} AND payment = decode($2, 'hex') ORDER BY number DESC LIMIT $3`,
  deliveriesOf: `SELECT ${delivery} FROM delivery WHERE merchant = ${merchant} AND number >= $2 ORDER BY number, endpoint LIMIT $3`,
  deliveriesBetween: `SELECT ${delivery} FROM delivery WHERE merchant = ${merchant} AND number >= $2 AND number <= $3 ORDER BY number, endpoint LIMIT $4`,
  // By the payments' notifications: only waiting deliveries have an index by payment.
  deliverySums: `SELECT ${hexOf("payment", "paymentId")}, count(*) AS receivers, count(*) FILTER (WHERE undelivered = 0) AS notified,
      count(*) FILTER (WHERE failed > 0) AS failed, min(since) AS "waitingSince" FROM (
      SELECT outbox.payment, count(*) FILTER (WHERE state <> 'delivered') AS undelivered, count(*) FILTER (WHERE state = 'failed') AS failed,
        min(asked_at) FILTER (WHERE state = 'waiting') AS since
      FROM outbox JOIN delivery ON delivery.merchant = outbox.merchant AND delivery.number = outbox.number
      WHERE outbox.merchant = ${merchant} AND outbox.payment = ANY ($2::bytea[]) GROUP BY outbox.payment, endpoint
    ) AS receiver GROUP BY payment`,
  endedDeliveries: `SELECT ${hexOf("merchant", "merchantId")}, endpoint, number FROM delivery WHERE state <> 'waiting' AND due_at < $1
    ORDER BY due_at LIMIT $2`,
  deliveriesWaiting: deliveriesIn("waiting"),
  deliveriesFailed: deliveriesIn("failed"),
  merchantsDue: `SELECT ${hexOf("merchant", "merchantId")}, due_at AS "dueAt" FROM due_merchant
    WHERE (due_at, merchant) > ($1, decode($2, 'hex')) AND due_at <= $3 AND ${inSlots("merchant", "$4")} ORDER BY due_at, merchant LIMIT $5`,
  queuesDue: `SELECT queue, due_at AS "dueAt" FROM due_queue
    WHERE merchant = ${merchant} AND (due_at, queue) > ($2, $3) AND due_at <= $4 ORDER BY due_at, queue LIMIT $5`,
  deliveriesDue: `SELECT ${delivery} FROM (
      SELECT merchant, endpoint, number, due_at AS from_at FROM due_delivery WHERE merchant = ${merchant} AND queue = $2 AND due_at <= $3
    ) AS due JOIN delivery USING (merchant, endpoint, number)
    WHERE message IS NULL OR message IN (0, number) OR (
      SELECT first.state FROM delivery AS first WHERE first.merchant = delivery.merchant AND first.endpoint = delivery.endpoint
        AND first.number = delivery.message
    ) IS DISTINCT FROM 'waiting' ORDER BY from_at, number, endpoint LIMIT $4`,
  deliveriesOfMessage: `SELECT ${delivery} FROM delivery WHERE merchant = ${merchant} AND endpoint = $2 AND message = $3 AND message > 0
    ORDER BY number`,
  // The functions behind the views, because the views join catalogue tables that are not needed
  // here.
  databaseFigures: `SELECT ${[
    ["payment", "paymentBytes"],
    ["history", "historyBytes"],
    ["outbox", "outboxBytes"],
    ["delivery", "deliveryBytes"],
    ["named_request", "requestBytes"],
    ["card", "cardBytes"],
  ]
    .map(([table, name]) => `pg_total_relation_size('${table}') AS "${name}"`)
    .join(", ")},
    (SELECT age(datfrozenxid) FROM pg_database WHERE datname = current_database()) AS "frozenAge",
    coalesce(greatest((SELECT max(age(backend_xmin)) FROM pg_stat_get_activity(NULL)),
      (SELECT max(greatest(age(xmin), age(catalog_xmin))) FROM pg_get_replication_slots()),
      (SELECT max(age(transaction)) FROM pg_prepared_xact())), 0) AS "snapshotAge"`,
  time: "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now",
  renewSlots: "SELECT share, nodes, slots FROM hold_slots_3($1, $2, $3, $4)",
  hasOlderNodes: "SELECT has_older_nodes_1() AS older",
  dropTokenDigests: "SELECT drop_token_digests_1($1, $2, $3) AS last",
  identity: "SELECT keys, epoch, beat, is_copy, server FROM identity",
  raiseIdentity: "SELECT keys, epoch, beat, is_copy, server FROM raise_identity_1($1, $2, $3, $4)",
  // The cluster, its timeline (each promotion and each point-in-time recovery starts a new one),
  // and the database in it.
  presentServer: `SELECT (SELECT system_identifier FROM pg_control_system())::text || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8)
    || '/' || (SELECT oid FROM pg_database WHERE datname = current_database()) AS server`,
  releaseSlots: "SELECT leave_slots_1($1)",
  noteClock: "SELECT note_clock_1($1, $2)",
  clockReadings: "SELECT others, latest FROM clock_readings_1($1, $2)",
  user: `SELECT ${user} FROM person WHERE person.id = decode($1, 'hex')`,
  userByName: `SELECT ${user} FROM person WHERE name_key = $1`,
  userByInvitation: `SELECT ${user} FROM person WHERE person.invitation = decode($1, 'hex')`,
  users: `SELECT ${user} FROM person ORDER BY name_key`,
  userSession: `SELECT ${user}, started_at, last_used_at, ends_at, ${hexOf("person_session.mac", "session_mac")} FROM person_session JOIN person ON person.id = person_session.person
    WHERE digest = decode($1, 'hex')`,
  auditBefore: `SELECT ${auditEntry} WHERE no < $1 ORDER BY no DESC LIMIT $2`,
  auditAfter: `SELECT ${auditEntry} WHERE no > $1 ORDER BY no LIMIT $2`,
  auditHead: `SELECT no AS number, ${hexOf("digest", "digest")} FROM audit_head`,
  keyRecords: `SELECT ${keyRecord} WHERE merchant = '' AND (purpose, version) > ($1, $2) ORDER BY purpose, version LIMIT $3`,
  merchantKeyRecords: `SELECT ${keyRecord} WHERE merchant = ${merchant} AND purpose = 'merchant' AND version > $2 ORDER BY version LIMIT $3`,
  keyOrders: `SELECT no AS number, at, body, ${hexOf("mac", "mac")} FROM key_order WHERE no > $1 ORDER BY no LIMIT $2`,
  newMerchantKeys: `SELECT ${hexOf("merchant", "merchantId")}, made_entry AS number FROM key_record
    WHERE purpose = 'merchant' AND version > 1 AND made_entry > $1 ORDER BY made_entry LIMIT $2`,
  noteKeys:
    "SELECT epoch_everywhere AS epoch, entry_everywhere AS number, noted FROM note_keys_1($1, $2, $3)",
  noteRootKeys: "SELECT roots FROM note_root_keys_1($1, $2)",
  keyRecordsUnder: `SELECT ${keyRecord} WHERE epoch = $1 AND state <> 'destroyed'
    AND (key_record.merchant, purpose, version) > (decode($2, 'hex'), $3, $4) ORDER BY key_record.merchant, purpose, version LIMIT $5`,
  keysUnder:
    "SELECT count(*)::integer AS keys FROM key_record WHERE epoch = $1 AND state <> 'destroyed'",
  oldMerchantKeys: `SELECT ${keyRecord} WHERE purpose = 'merchant' AND state IN ('retired', 'compromised')
    AND (key_record.merchant, version) > (decode($1, 'hex'), $2) ORDER BY key_record.merchant, version LIMIT $3`,
} as const;
export type StatementName = keyof typeof sql;
export type UserStatement = Extract<StatementName, `user${string}` | `audit${string}`>;

/**
 * Conditions of a list (payment-list.ts) as the parameter of `paymentsNarrowed`. Texts are patterns
 * of LIKE, all of which must match.
 */
interface Needs {
  /** null: any state. */
  readonly states: readonly string[] | null;
  readonly orRefunded: boolean;
  readonly orDisputed: boolean;
  /** Of the order. */
  readonly members: readonly string[];
  /** Of a declined payment's verdict. */
  readonly reasons: readonly string[];
  /** In lower case; of the state, the code, the id or the order. */
  readonly texts: readonly string[];
  /** Regular expressions: digits as typed, or the minor units of one of the order's amounts. */
  readonly amounts: readonly string[];
}

/**
 * The conditions as JSON. Fewer than all of them: a second condition about the state is left out,
 * and so are texts that PostgreSQL does not accept or an order contains in another form.
 */
export function needsOf({ conditions }: Pick<Narrowed, "conditions">): string {
  const of = <Kind extends Condition["kind"]>(kind: Kind) =>
    conditions.filter((each): each is Condition & { readonly kind: Kind } => each.kind === kind);
  const [state] = of("state");
  const texts = of("text").filter(({ text }) => /^[ !#-[\]-~]+$/.test(text));
  const needs: Needs = {
    states: state?.states ?? null,
    orRefunded: state?.orRefunded ?? false,
    orDisputed: state?.orDisputed ?? false,
    members: of("member").map(({ text }) => pattern(JSON.stringify(text))),
    reasons: of("reason")
      .filter(({ text }) => /^[ -~]*$/.test(text))
      .map(({ text }) => pattern(text)),
    texts: texts.filter(({ orMinor }) => orMinor === undefined).map(({ text }) => pattern(text)),
    amounts: texts.flatMap(({ text, orMinor }) =>
      orMinor === undefined ? [] : [`${text.replaceAll(".", String.raw`\.`)}|"${orMinor}"`],
    ),
  };
  return JSON.stringify(needs);
}

/** `%` and `_` of the text match themselves only. */
function pattern(text: string): string {
  return `%${text.replaceAll(/[%_\\]/g, "\\$&")}%`;
}
