import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { Client } from "pg";
import { instant } from "../../src/kernel/instant.ts";
import { type Delivery, type EndpointId, newDelivery } from "../../src/notification/events.ts";
import type { Change } from "../../src/stores/change.ts";
import { messageOf } from "../../src/stores/change-message.ts";
import { narrowedBy } from "../../src/stores/payment-list.ts";
import { batchMessageOf, batchOf } from "../../src/stores/postgres/batch-message.ts";
import { Connection, type Role } from "../../src/stores/postgres/connection.ts";
import { needsOf, sql, type StatementName } from "../../src/stores/postgres/sql.ts";
import { TestDatabases, testUrl } from "../postgres/databases.ts";
import * as given from "./store-fixtures.ts";

/**
 * Plans are made on a new installation's first day and kept, so they must be right for empty tables
 * without statistics. For each statement: its database role, and the indexes that find its rows
 * without reading rows of other payments and other merchants.
 */
const statements = {
  accountByKey: ["cofre_gateway", "account_key_pkey", "account_pkey"],
  accountById: ["cofre_gateway", "account_pkey"],
  accounts: ["cofre_jobs", "account_pkey"],
  accountKeys: ["cofre_gateway", "account_key_pkey"],
  paymentsById: ["cofre_gateway", "payment_pkey"],
  paymentByCode: ["cofre_gateway", "payment_code"],
  history: ["cofre_gateway", "history_pkey"],
  paymentByRefundId: ["cofre_gateway", "payment_pkey", "refund_pkey"],
  paymentByRefundCode: ["cofre_gateway", "payment_pkey", "refund_code"],
  paymentByMandate: ["cofre_gateway", "payment_mandate"],
  paymentsDue: ["cofre_jobs", "due_payment_pkey", "payment_pkey"],
  paymentsDueAfter: ["cofre_jobs", "due_payment_pkey", "payment_pkey"],
  paymentsInFlight: ["cofre_jobs", "due_payment_pkey", "payment_pkey"],
  paymentsDiffering: ["cofre_jobs", "due_payment_pkey", "payment_pkey"],
  paymentsListed: ["cofre_gateway", "payment_pkey"],
  paymentsNarrowed: ["cofre_gateway", "payment_pkey"],
  paymentTexts: ["cofre_gateway", "payment_pkey"],
  paymentsBetween: ["cofre_gateway", "payment_pkey"],
  paymentFigures: ["cofre_gateway", "payment_pkey"],
  paymentsCounted: ["cofre_gateway", "payment_pkey"],
  cardsListed: ["cofre_vault", "card_pkey"],
  cardsByToken: ["cofre_vault", "card_pkey"],
  cardsWithoutMac: ["cofre_vault", "card_pkey"],
  cardsOf: ["cofre_vault", "card_pkey"],
  cardsAfter: ["cofre_jobs", "card_no"],
  namedRequest: ["cofre_gateway", "named_request_pkey"],
  answeredRequests: ["cofre_jobs", "named_request_answered"],
  notificationsOf: ["cofre_gateway", "outbox_pkey"],
  notificationsOfPayment: ["cofre_gateway", "outbox_payment_number"],
  deliveriesOf: ["cofre_gateway", "delivery_number"],
  deliveriesBetween: ["cofre_gateway", "delivery_number"],
  deliverySums: ["cofre_gateway", "delivery_number", "outbox_payment_number"],
  endedDeliveries: ["cofre_jobs", "delivery_ended"],
  deliveriesWaiting: ["cofre_gateway", "delivery_waiting"],
  deliveriesFailed: ["cofre_gateway", "delivery_failed"],
  merchantsDue: ["cofre_jobs", "due_merchant_due"],
  queuesDue: ["cofre_jobs", "due_queue_due"],
  // By all columns of a delivery's key, which are also those of its primary key.
  deliveriesDue: ["cofre_jobs", "delivery_number", "due_delivery_pkey"],
  deliveriesOfMessage: ["cofre_jobs", "delivery_message"],
  // Functions over two small tables, of nodes and of slots.
  renewSlots: ["cofre_jobs"],
  hasOlderNodes: ["cofre_jobs"],
  dropTokenDigests: ["cofre_jobs"],
  releaseSlots: ["cofre_jobs"],
  noteClock: ["cofre_jobs"],
  clockReadings: ["cofre_jobs"],
  time: ["cofre_jobs"],
  // One row.
  identity: ["cofre_jobs", "whole identity"],
  raiseIdentity: ["cofre_jobs"],
  databaseFigures: ["cofre_jobs", "pg_database_datname_index"],
  presentServer: ["cofre_jobs", "pg_database_datname_index"],
  user: ["cofre_people", "person_pkey"],
  userByName: ["cofre_people", "person_name"],
  userByInvitation: ["cofre_people", "person_invitation"],
  users: ["cofre_people", "person_name"],
  userSession: ["cofre_people", "person_pkey", "person_session_pkey"],
  auditBefore: ["cofre_people", "audit_entry_pkey"],
  auditAfter: ["cofre_people", "audit_entry_pkey"],
  keyRecords: ["cofre_vault", "key_record_pkey"],
  merchantKeyRecords: ["cofre_vault", "key_record_pkey"],
  keyOrders: ["cofre_vault", "key_order_pkey"],
  keyRecordsUnder: ["cofre_jobs", "key_record_epoch"],
  keysUnder: ["cofre_jobs", "key_record_epoch"],
  newMerchantKeys: ["cofre_jobs", "key_record_entry"],
  noteKeys: ["cofre_jobs"],
  noteRootKeys: ["cofre_jobs"],
  oldMerchantKeys: ["cofre_jobs", "key_record_old"],
  // One row.
  auditHead: ["cofre_people", "whole audit_head"],
} as const satisfies Readonly<Record<StatementName, readonly [Role, ...string[]]>>;

/** Rows that the statements must not read: of another merchant, and of this one in other states. */
const foreign = 100_000;
const hexOf = (length: number, prefix: string): string =>
  `decode('${prefix}' || lpad(to_hex(n), ${length - prefix.length}, '0'), 'hex')`;
const [foreignPayment, foreignDigest, foreignMerchant] = [
  hexOf(48, "ff"),
  hexOf(64, "ff"),
  "decode('0000000b', 'hex')",
];
const foreignRows = [
  `INSERT INTO payment (merchant, id, code, created_at, version, state, authorized, captured, refunded, attempts, due_at, mandate, needs_review, order_json)
    SELECT ${foreignMerchant}, ${foreignPayment}, 'code-' || n, 1000, 2, 'authorized', 100, 0, 0, 1, 4000000000000 + n, 'mandate-' || n, 0, '[]'`,
  `INSERT INTO history (merchant, payment, version, at, facts, entries) SELECT ${foreignMerchant}, ${foreignPayment}, 1, 1000, '[]', ''`,
  `INSERT INTO refund (id, merchant, code, payment) SELECT 1000000 + n, ${foreignMerchant}, 'refund-' || n, ${foreignPayment}`,
  `INSERT INTO outbox (merchant, number, payment, version, kind, at) SELECT ${foreignMerchant}, n, ${foreignPayment}, 1, 'update', 1000`,
  // Of this merchant, and sorted before the requested rows.
  `INSERT INTO delivery (merchant, endpoint, number, payment, kind, version, state, asked_at, due_at, attempts, in_order)
    SELECT decode('0000000a', 'hex'), 'shop', n, ${foreignPayment}, 'update', 2, 'delivered', 1000, 1000, 1, 1`,
  `INSERT INTO card (merchant, token_digest, version, created_at, last_used_at, brand, masked_pan, fingerprint, ref, mac)
    SELECT ${foreignMerchant}, ${foreignDigest}, 1, 1000, 1000, 'visa', '4111xxxxxxxx1111', '', '', ${foreignDigest}`,
  `INSERT INTO named_request (merchant, key, digest, claimed_at) SELECT ${foreignMerchant}, 'key-' || n, ${foreignDigest}, 1000`,
  `INSERT INTO account_key (digest, merchant, grants) SELECT ${foreignDigest}, ${foreignMerchant}, 'secret'`,
  `INSERT INTO key_record (merchant, purpose, version, state, sequence, epoch, check_value, wraps, created_at, changed_at, mac)
    SELECT ${hexOf(8, "ff")}, 'merchant', 1, 'current', 1, 1, '\\x00', '[["epoch:1", "00"]]', 1000, 1000, ${foreignDigest}`,
  `INSERT INTO audit_entry (no, digest, body) SELECT n, ${foreignDigest}, '{}'`,
  `INSERT INTO key_order (no, at, body, mac) SELECT n, 1000, '{}', ${foreignDigest}`,
];

/**
 * Rows of this merchant: two payments in flight, one captured and refunded, one waiting delivery
 * and one failed.
 */
const ownRows = [
  `INSERT INTO account (merchant, version, name, settings) SELECT decode('0000000a', 'hex'), 1, 'shop', '{}'`,
  `INSERT INTO account_key (digest, merchant, grants) SELECT decode(repeat('0a', 32), 'hex'), decode('0000000a', 'hex'), 'secret'`,
  `INSERT INTO payment (merchant, id, code, created_at, version, state, authorized, captured, refunded, attempts, attempt, due_at, mandate, needs_review, order_json)
    SELECT decode('0000000a', 'hex'), decode(lpad(to_hex(n), 48, '0'), 'hex'), 'code-' || n, 1000, 2, 'authorizing', 100, 0, 0, 1, '[]', 1000 + n,
      'mandate-' || n, 0, '[]' FROM generate_series(1, 3) AS n`,
  `INSERT INTO history (merchant, payment, version, at, facts, entries)
    SELECT decode('0000000a', 'hex'), decode(lpad('1', 48, '0'), 'hex'), n, 1000, '[]', '' FROM generate_series(1, 3) AS n`,
  `INSERT INTO refund (id, merchant, code, payment) SELECT 1, decode('0000000a', 'hex'), 'refund-1', decode(lpad('1', 48, '0'), 'hex')`,
  `INSERT INTO outbox (merchant, number, payment, version, kind, at)
    SELECT decode('0000000a', 'hex'), n, decode(lpad('1', 48, '0'), 'hex'), 1, 'update', 1000 FROM generate_series(1, 3) AS n`,
  `INSERT INTO delivery (merchant, endpoint, number, payment, kind, version, state, asked_at, due_at, attempts, in_order, message)
    SELECT decode('0000000a', 'hex'), 'shop', ${foreign} + n, decode(lpad('1', 48, '0'), 'hex'), 'update', 1, CASE n WHEN 1 THEN 'failed' ELSE 'waiting' END,
      1000, 1000, 0, 0, ${foreign} + 1 FROM generate_series(1, 3) AS n`,
  `INSERT INTO card (merchant, token_digest, version, created_at, last_used_at, brand, masked_pan, fingerprint, ref)
    SELECT decode('0000000a', 'hex'), decode(repeat('0a', 32), 'hex'), 1, 1000, 1000, 'visa', '4111xxxxxxxx1111', '', ''`,
  `INSERT INTO named_request (merchant, key, digest, claimed_at) SELECT decode('0000000a', 'hex'), 'key-1', decode(repeat('0a', 32), 'hex'), 1000`,
  `INSERT INTO key_record (merchant, purpose, version, state, sequence, epoch, check_value, wraps, created_at, changed_at, mac)
    SELECT decode('0000000a', 'hex'), 'merchant', n, 'made', 1, 1, '\\x00', '[["epoch:1", "00"]]', 1000, 1000, decode(repeat('0a', 32), 'hex')
    FROM generate_series(1, 3) AS n`,
  `INSERT INTO key_record (merchant, purpose, version, state, sequence, epoch, check_value, wraps, created_at, changed_at, mac)
    SELECT '', 'tokens', n, 'made', 1, 1, '\\x00', '[["epoch:1", "00"]]', 1000, 1000, decode(repeat('0a', 32), 'hex') FROM generate_series(1, 3) AS n`,
  `INSERT INTO key_record (merchant, purpose, version, state, sequence, epoch, check_value, wraps, created_at, changed_at, mac, made_entry)
    SELECT decode('0000000c', 'hex'), 'merchant', 10 + n, CASE n WHEN 1 THEN 'made' WHEN 2 THEN 'retired' ELSE 'compromised' END, 1, 2, '\\x00', '[["epoch:2", "00"]]',
      1000, 1000, decode(repeat('0a', 32), 'hex'), 7 + n FROM generate_series(1, 3) AS n`,
  // The other merchant's rows have no answer and are as old.
  `INSERT INTO named_request (merchant, key, digest, claimed_at, status, body)
    SELECT decode('0000000a', 'hex'), 'key-1' || n, decode(repeat('0a', 32), 'hex'), 1000, 200, '{}' FROM generate_series(1, 3) AS n`,
];

const everySlots = 2 ** 32 - 1;
const needs = needsOf(narrowedBy({ states: ["authorizing"], text: "code" }));
const [merchantA, paymentOne, digestOne] = [
  "'0000000a'",
  `'${"1".padStart(48, "0")}'`,
  `'${"0a".repeat(32)}'`,
];

/**
 * Parameters of each statement, and the number of rows that it finds. Statements that are not here
 * are in `unbounded`, with the reason.
 */
const bounded: Readonly<Partial<Record<StatementName, readonly [values: string, rows: number]>>> = {
  accountByKey: [digestOne, 1],
  accountById: [merchantA, 1],
  paymentsById: [`${merchantA}, ARRAY[decode(${paymentOne}, 'hex')]`, 1],
  paymentByCode: [`${merchantA}, 'code-1'`, 1],
  history: [`${merchantA}, ${paymentOne}`, 3],
  paymentByRefundId: [`${merchantA}, 1`, 1],
  paymentByRefundCode: [`${merchantA}, 'refund-1'`, 1],
  paymentByMandate: [`${merchantA}, 'mandate-1'`, 1],
  paymentsDue: [`2000, ${everySlots}, 50`, 3],
  paymentsDueAfter: [`1001, ${merchantA}, ${paymentOne}, 2000, ${everySlots}, 50`, 2],
  paymentsInFlight: ["50", 3],
  paymentsListed: [`${merchantA}, '${"f".repeat(48)}', 50`, 3],
  paymentsNarrowed: [`${merchantA}, '${"f".repeat(48)}', '', 500, 25, '${needs}'`, 3],
  paymentTexts: [`${merchantA}, '${"f".repeat(48)}', '', 1000`, 3],
  paymentsBetween: [`${merchantA}, '${"f".repeat(48)}', ''`, 1],
  paymentFigures: [`${merchantA}, '${"f".repeat(48)}', 50`, 3],
  paymentsCounted: [`${merchantA}, '${"f".repeat(48)}', 50`, 1],
  cardsListed: [`${merchantA}, '', 50`, 1],
  cardsByToken: [`${merchantA}, ARRAY[decode(${digestOne}, 'hex')]`, 1],
  cardsWithoutMac: [`${merchantA}, '', 50`, 1],
  cardsOf: [`${merchantA}, '', 50`, 1],
  cardsAfter: ["0, 50", 50],
  namedRequest: [`${merchantA}, 'key-1'`, 1],
  answeredRequests: ["2000, 50", 3],
  notificationsOf: [`${merchantA}, 0, 50`, 3],
  notificationsOfPayment: [`${merchantA}, ${paymentOne}, 50`, 3],
  deliveriesOf: [`${merchantA}, ${foreign - 5}, 50`, 9],
  deliveriesBetween: [`${merchantA}, ${foreign + 1}, ${foreign + 2}, 50`, 2],
  deliverySums: [`${merchantA}, ARRAY[decode(${paymentOne}, 'hex')]`, 1],
  endedDeliveries: ["2000, 50", 50],
  deliveriesWaiting: [`${merchantA}, 0, 50`, 2],
  deliveriesFailed: [`${merchantA}, 0, 50`, 1],
  merchantsDue: [`-1, '', 2000, ${everySlots}, 50`, 1],
  queuesDue: [`${merchantA}, -1, '', 2000, 50`, 1],
  deliveriesDue: [`${merchantA}, 'shop', 2000, 50`, 2],
  deliveriesOfMessage: [`${merchantA}, 'shop', ${foreign + 1}`, 3],
  auditBefore: [`${foreign}, 50`, 50],
  auditAfter: ["0, 50", 50],
  auditHead: ["", 0],
  keyRecords: ["'epoch', 5, 2", 2],
  merchantKeyRecords: [`${merchantA}, 1, 50`, 2],
  keyOrders: [`${foreign - 2}, 50`, 2],
  keyRecordsUnder: [`2, '', 'tokens', 1, 50`, 3],
  newMerchantKeys: ["7, 50", 3],
  oldMerchantKeys: ["'00000009', 7, 50", 2],
};

const unbounded: ReadonlyMap<string, readonly StatementName[]> = new Map<
  string,
  readonly StatementName[]
>([
  ["all of few rows", ["accounts", "accountKeys", "users"]],
  [
    "tables of nodes and slots, which are few",
    [
      "renewSlots",
      "hasOlderNodes",
      "releaseSlots",
      "noteClock",
      "clockReadings",
      "noteKeys",
      "noteRootKeys",
    ],
  ],
  [
    "no table, or one row",
    ["time", "identity", "raiseIdentity", "presentServer", "databaseFigures"],
  ],
  ["writes, a piece at a time", ["dropTokenDigests"]],
  [
    "counts the keys under an epoch in the index, for a person or at the end of a rotation",
    ["keysUnder"],
  ],
  ["compares all payments, a piece at a time", ["paymentsDiffering"]],
  [
    "users and their sessions, which are few; each by a unique index",
    ["user", "userByName", "userByInvitation", "userSession"],
  ],
]);

/** Down an index and its table, twice. */
const pagesOfLookUp = 12;
/** Pages of the index, of the table, and of rows that the row refers to. */
const pagesOfRow = 5;

interface PlanNode {
  readonly "Node Type": string;
  readonly "Index Name"?: string;
  readonly "Relation Name"?: string;
  readonly Plans?: readonly PlanNode[];
}

interface BufferNode extends PlanNode {
  readonly "Actual Rows": number;
  readonly "Shared Hit Blocks": number;
  readonly "Shared Read Blocks": number;
}

function nodesOf(plan: PlanNode): readonly PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

/** Index names, and `whole TABLE` for each table that is scanned completely. */
function pathsOf(plans: readonly PlanNode[]): readonly string[] {
  const paths = new Set<string>();
  for (const node of plans.flatMap(nodesOf)) {
    if (node["Index Name"] !== undefined) paths.add(node["Index Name"]);
    if (node["Node Type"] === "Seq Scan") paths.add(`whole ${node["Relation Name"]}`);
  }
  return [...paths].toSorted();
}

function describePlans(databases: TestDatabases): void {
  for (const [name, [role, ...indexes]] of Object.entries(statements)) {
    test(`${name}: ${indexes.join(", ")}`, async (context) => {
      const connection = await Connection.open(await databases.copy(), role);
      context.after(() => connection.close());
      const text = sql[name as StatementName];
      const values = Array.from(
        {
          length: Math.max(
            0,
            ...Array.from(text.matchAll(/\$(\d)/g), ([, digit]) => Number(digit)),
          ),
        },
        () => "NULL",
      );
      await connection.run(`SET plan_cache_mode = force_generic_plan; PREPARE planned AS ${text}`);
      const execution = values.length === 0 ? "planned" : `planned (${values.join(", ")})`;
      const [row] = await connection.rows<{
        readonly "QUERY PLAN": readonly [{ readonly Plan: PlanNode }];
      }>("explain", `EXPLAIN (FORMAT JSON) EXECUTE ${execution}`);
      assert.ok(row !== undefined);
      assert.deepEqual(pathsOf([row["QUERY PLAN"][0].Plan]), indexes);
    });
  }

  test("what is due, and a page of what waits, is found in a few pages beside 20,000 deliveries that wait, each at an address of its own", async (context) => {
    const url = await databases.copy();
    const owner = await Connection.open(url, "owner");
    context.after(() => owner.close());
    await owner.run(`INSERT INTO delivery (merchant, endpoint, number, payment, kind, version, state, asked_at, due_at, attempts, in_order)
      SELECT decode('0000000a', 'hex'), 'url-' || lpad(to_hex(n), 16, '0') || '-' || lpad(to_hex(n), 32, '0'), n,
        decode(lpad(to_hex(n), 48, '0'), 'hex'), 'update', 2, 'waiting', 1000, 900000 + n, 1, 1 FROM generate_series(1, 20000) AS n`);
    await owner.run(`INSERT INTO delivery (merchant, endpoint, number, payment, kind, version, state, asked_at, due_at, attempts, in_order)
      VALUES (decode('0000000b', 'hex'), 'shop', 1, decode(lpad('1', 48, '0'), 'hex'), 'update', 1, 'waiting', 1000, 1000, 0, 1)`);
    const connection = await Connection.open(url, "cofre_jobs");
    context.after(() => connection.close());
    for (const [name, values, rows] of [
      ["merchantsDue", `-1, '', 2000, ${2 ** 32 - 1}, 64`, 1],
      ["queuesDue", "'0000000b', -1, '', 2000, 32", 1],
      ["queuesDue", "'0000000a', -1, '', 2000, 32", 0],
      ["deliveriesDue", "'0000000b', 'shop', 2000, 64", 1],
      ["deliveriesWaiting", "'0000000a', 10000, 50", 50],
      ["deliveriesOf", "'0000000a', 10000, 50", 50],
    ] as const) {
      await connection.run(
        `DEALLOCATE ALL; SET plan_cache_mode = force_generic_plan; PREPARE planned AS ${sql[name]}`,
      );
      const [row] = await connection.rows<{
        readonly "QUERY PLAN": readonly [{ readonly Plan: BufferNode }];
      }>(
        `explain ${name} ${values.slice(0, 10)}`,
        `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE planned (${values})`,
      );
      const plan = row?.["QUERY PLAN"][0].Plan;
      assert.equal(plan?.["Actual Rows"], rows, name);
      const pages = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
      assert.ok(pages <= 20 + rows, `${name} read ${pages} pages for ${rows} rows`);
    }
  });

  test("every statement has a bound of pages or a reason why not", () => {
    const named = [...Object.keys(bounded), ...[...unbounded.values()].flat()];
    assert.deepEqual(named.toSorted(), Object.keys(sql).toSorted());
  });

  test(`each statement reads a few pages for each row that it finds, beside ${foreign} rows of each table that are not asked for`, async (context) => {
    const url = await databases.copy();
    const owner = new Client({ connectionString: url });
    await owner.connect();
    context.after(() => owner.end());
    // The plans are those of the first day: there are no statistics.
    await owner.query("ALTER TABLE payment SET (autovacuum_enabled = off)");
    for (const text of foreignRows)
      await owner.query(`${text} FROM generate_series(1, ${foreign}) AS n`);
    for (const text of ownRows) await owner.query(text);
    for (const isAnalyzed of [false, true]) {
      if (isAnalyzed) await owner.query("ANALYZE");
      for (const [name, [values, rows]] of Object.entries(bounded) as [
        StatementName,
        readonly [string, number],
      ][]) {
        const connection = await Connection.open(url, statements[name][0]);
        try {
          await connection.run(
            `SELECT set_config('cofre.merchant', '0000000a', false); PREPARE planned AS ${sql[name]}`,
          );
          const [row] = await connection.rows<{
            readonly "QUERY PLAN": readonly [{ readonly Plan: BufferNode }];
          }>(
            "explain",
            `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE planned ${values === "" ? "" : `(${values})`}`,
          );
          const plan = row?.["QUERY PLAN"][0].Plan;
          assert.equal(plan?.["Actual Rows"], rows, name);
          const pages = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
          assert.ok(
            pages <= pagesOfLookUp + pagesOfRow * rows,
            `${name} read ${pages} pages for ${rows} rows, ${isAnalyzed ? "after" : "before"} ANALYZE`,
          );
          context.diagnostic(`${name}: ${pages} pages for ${rows} rows`);
        } finally {
          await connection.close();
        }
      }
    }
  });

  // Each commit of the dispatcher read all deliveries of its merchant, until the tables had been
  // analysed.
  test(`what is written of notifications reads a few pages, beside ${foreign} deliveries of the same merchant`, async (context) => {
    const url = await databases.copy();
    const client = new Client({ connectionString: url });
    await client.connect();
    context.after(() => client.end());
    await client.query(
      "ALTER TABLE delivery SET (autovacuum_enabled = off); ALTER TABLE due_delivery SET (autovacuum_enabled = off)",
    );
    const { merchantA, start } = given;
    const numbers = [1, 2, 3, 4];
    // The latest rows of the merchant are written.
    const last = foreign + 1_000;
    const write = async (changes: readonly Change[], apart = false): Promise<number> => {
      const messages = changes.map((change) => batchMessageOf(messageOf(change)));
      const batch = apart
        ? `{"merchants":["${merchantA}"],"parts":[${messages.map(({ json }) => json).join(",")}]}`
        : batchOf(messages);
      const { rows } = await client.query<{
        readonly "QUERY PLAN": readonly [{ readonly Plan: BufferNode }];
      }>(
        `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT write_batch_2('${batch.replaceAll("'", "''")}')`,
      );
      const plan = rows[0]?.["QUERY PLAN"][0].Plan;
      return (plan?.["Shared Hit Blocks"] ?? 0) + (plan?.["Shared Read Blocks"] ?? 0);
    };
    const delivery = (number: number, version: number, state: Delivery["state"]): Delivery => ({
      ...newDelivery(
        {
          merchantId: merchantA,
          endpoint: "shop" as EndpointId,
          number: last + number,
          paymentId: given.paymentId(number),
          kind: "update",
        },
        start,
      ),
      version,
      state,
    });
    const moved = (version: number, state: Delivery["state"]): Change => ({
      merchantId: merchantA,
      at: start,
      facts: [],
      entries: [],
      notifications: [],
      deliveries: numbers.map((number) => ({
        next: delivery(number, version, state),
        replaces: version - 1,
      })),
    });
    const notified = (number: number): Change =>
      given.paymentChange(
        { ...given.newPayment(number), version: 2 },
        {
          notifications: [{ kind: "update", paymentId: given.paymentId(number) }],
          endpoints: ["shop" as EndpointId],
        },
      );
    const others = `INSERT INTO delivery (merchant, endpoint, number, payment, kind, version, state, asked_at, due_at, attempts, in_order)
      SELECT decode('${merchantA}', 'hex'), 'shop', n, ${foreignPayment}, 'update', 1, CASE n % 5 WHEN 0 THEN 'waiting' ELSE 'delivered' END,
        1000, 1000 + n, 0, 1`;
    const undo = `DELETE FROM delivery WHERE number > ${last}; DELETE FROM due_delivery WHERE number > ${last}; DELETE FROM outbox WHERE number > ${last}; UPDATE payment SET version = 1;
      ALTER TABLE history DISABLE TRIGGER USER; DELETE FROM history WHERE version = 2`;
    await client.query("SET plan_cache_mode = force_generic_plan");
    await write(numbers.map((number) => given.paymentChange(given.newPayment(number))));
    await client.query(`INSERT INTO outbox (merchant, number, payment, version, kind, at)
      SELECT decode('${merchantA}', 'hex'), ${last}, decode('${given.paymentId(1)}', 'hex'), 1, 'update', 1000`);
    // Plans of an early day are kept: with few rows the planner reads all rows of a merchant unless
    // the statement forces a lookup of each.
    await client.query(`${others} FROM generate_series(1, 1500) AS n`);
    for (const isFirst of [true, false]) {
      for (const [what, pages] of [
        ["a run of four payments with a delivery each", await write(numbers.map(notified))],
        ["four deliveries moved", await write([moved(2, "waiting")])],
        ["the same, change by change", await write([moved(3, "delivered")], true)],
      ] as const) {
        if (!isFirst) assert.ok(pages <= 100 * numbers.length, `${what} read ${pages} pages`);
        context.diagnostic(`${what}: ${pages} pages`);
      }
      const { rows } = await client.query(
        `SELECT 1 FROM delivery WHERE number > ${last} AND version = 3 AND state = 'delivered'`,
      );
      assert.equal(rows.length, 4, "control: all were written");
      if (isFirst) await client.query(undo);
      if (isFirst) await client.query(`${others} FROM generate_series(1501, ${foreign}) AS n`);
    }
  });

  test("control: a statement that finds its rows by nothing is seen", async (context) => {
    const connection = await Connection.open(await databases.copy(), "cofre_jobs");
    context.after(() => connection.close());
    const [row] = await connection.rows<{
      readonly "QUERY PLAN": readonly [{ readonly Plan: PlanNode }];
    }>("explain", "EXPLAIN (FORMAT JSON) SELECT 1 FROM payment WHERE state = 'captured'");
    assert.deepEqual(pathsOf(row === undefined ? [] : [row["QUERY PLAN"][0].Plan]), [
      "whole payment",
    ]);
  });

  test("the writer's function finds everything by its indexes", async (context) => {
    const client = new Client({ connectionString: await databases.copy() });
    await client.connect();
    context.after(() => client.end());
    const plans: { readonly text: string; readonly plan: PlanNode }[] = [];
    client.on("notice", ({ message = "" }) => {
      const at = message.indexOf("{");
      if (!message.startsWith("duration:") || at < 0) return;
      const explained = JSON.parse(message.slice(at)) as {
        readonly "Query Text": string;
        readonly Plan: PlanNode;
      };
      plans.push({ text: explained["Query Text"], plan: explained.Plan });
    });
    await client.query(`LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_nested_statements = on;
      SET auto_explain.log_level = notice; SET auto_explain.log_format = json; SET plan_cache_mode = force_generic_plan`);
    for (const batch of batches()) {
      const { rows } = await client.query<{ readonly answer: string }>(
        "SELECT write_batch_2($1) AS answer",
        [batchOf(batch.map((change) => batchMessageOf(messageOf(change))))],
      );
      assert.match(rows[0]?.answer ?? "", /^committed( committed)*$/);
    }
    const wrong = plans.filter(({ plan }) =>
      pathsOf([plan]).some((path) => path.startsWith("whole ")),
    );
    assert.deepEqual(wrong, []);
    // All columns of a delivery's key are also those of another index, and either is as good.
    const paths = pathsOf(plans.map(({ plan }) => plan)).map((path) =>
      path === "delivery_number" ? "delivery_pkey" : path,
    );
    assert.deepEqual([...new Set(paths)].toSorted(), [
      "account_pkey",
      "card_pkey",
      "delivery_payment",
      "delivery_pkey",
      "due_delivery_pkey",
      "due_merchant_pkey",
      "due_payment_pkey",
      "due_queue_due",
      "due_queue_pkey",
      "merchant_pkey",
      "named_request_pkey",
      "outbox_pkey",
      "payment_pkey",
    ]);
  });
}

/** Together these contain every kind of change, single and in runs. */
function* batches(): Generator<readonly Change[]> {
  const { merchantA, start } = given;
  const use = (ms: number) => ({
    cardUse: { tokenDigest: given.tokenDigest(1), at: instant(start + ms) },
  });
  const notified = {
    notifications: [{ kind: "update", paymentId: given.paymentId(3) }],
    endpoints: ["shop" as EndpointId],
  } as const;
  yield [given.accountChange(given.newAccount(merchantA), [1, 2])];
  yield [given.accountChange(given.newAccount(merchantA, { version: 2 }), [3])];
  yield [given.cardChange(given.newCard(1))];
  yield [given.cardChange(given.newCard(1, { version: 2 }))];
  yield [
    given.paymentChange(given.newPayment(1), use(1)),
    given.paymentChange(given.newPayment(2), use(2)),
  ];
  yield [
    given.paidChange(given.newPayment(1), use(3)),
    given.paidChange(given.newPayment(2), use(4)),
  ];
  yield [given.paymentChange(given.newPayment(3))];
  yield [given.paymentChange({ ...given.newPayment(3), version: 2 }, notified)];
  const delivery = newDelivery(
    {
      merchantId: merchantA,
      endpoint: "shop" as EndpointId,
      number: 3,
      paymentId: given.paymentId(3),
      kind: "update",
    },
    start,
  );
  const moved = { next: { ...delivery, version: 2, attempts: 1 }, replaces: 1 };
  const bare = { merchantId: merchantA, at: start, facts: [], entries: [], notifications: [] };
  yield [{ ...bare, deliveries: [moved] }];
  yield [
    { ...bare, deliveries: [{ next: { ...moved.next, version: 3 }, replaces: 2 }] },
    given.paymentChange(given.newPayment(4)),
    given.paymentChange(given.newPayment(5)),
  ];
  yield [4, 5].map((number) => {
    const payment = { ...given.newPayment(number), version: 2 };
    return given.paymentChange(payment, {
      ...notified,
      notifications: [{ kind: "update", paymentId: payment.id }],
    });
  });
  const request = { key: "key-1", digest: "0".repeat(64), claimedAt: start, answer: undefined };
  yield [{ ...bare, request: { next: request, replaces: "nothing" } }];
  yield [
    {
      ...bare,
      request: { next: { ...request, answer: { status: 200, body: "{}" } }, replaces: "claim" },
    },
  ];
  yield [
    { ...bare, requestDeletion: { keys: ["key-1", "key-2"], claimedBefore: instant(start + 1) } },
  ];
  const deleted = [3, 4].map((number) => ({ endpoint: "shop" as EndpointId, number }));
  yield [{ ...bare, deliveryDeletion: { deliveries: deleted, endedBefore: instant(start + 1) } }];
  for (const change of given.lifeOf(7)) yield [change];
  yield [
    {
      ...bare,
      cardErasure: { tokenDigest: given.tokenDigest(1), unusedSince: instant(start + 900_000) },
    },
  ];
}

if (testUrl === undefined) {
  test(
    "the PostgreSQL store's statements use their indexes",
    { skip: "COFRE_TEST_POSTGRES_URL names no server" },
    () => undefined,
  );
} else {
  const databases = new TestDatabases(testUrl);
  after(() => databases.drop());
  describe("the PostgreSQL store's statements use their indexes", () => describePlans(databases));
}
