import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { Client } from "pg";
import { instant } from "../../src/kernel/instant.ts";
import { type EndpointId, newDelivery } from "../../src/outbox/events.ts";
import type { Change } from "../../src/stores/change.ts";
import { messageOf } from "../../src/stores/change-message.ts";
import { batchMessageOf, batchOf } from "../../src/stores/postgres/batch-message.ts";
import { Connection, type Role } from "../../src/stores/postgres/connection.ts";
import { sql, type StatementName } from "../../src/stores/postgres/sql.ts";
import { TestDatabases, testUrl } from "../postgres/databases.ts";
import * as given from "./store-fixtures.ts";

/**
 * Plans are made on a new installation's first day and kept, so they must be right on empty tables of which nothing is known. Each statement,
 * who reads by it, and the indexes that find its rows: whatever there is of other payments and other merchants is not looked at.
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
  paymentsDue: ["cofre_jobs", "payment_due"],
  paymentsDueAfter: ["cofre_jobs", "payment_due", "payment_pkey"],
  paymentsInFlight: ["cofre_jobs", "payment_due"],
  paymentsListed: ["cofre_gateway", "payment_pkey"],
  paymentFigures: ["cofre_gateway", "payment_pkey"],
  cardsListed: ["cofre_vault", "card_pkey"],
  cardsByToken: ["cofre_vault", "card_pkey"],
  cardsWithoutMac: ["cofre_vault", "card_pkey"],
  cardsAfter: ["cofre_jobs", "card_no"],
  namedRequest: ["cofre_gateway", "named_request_pkey"],
  notificationsAfter: ["cofre_jobs", "outbox_sequence"],
  notificationsOf: ["cofre_gateway", "outbox_pkey"],
  notificationsOfPayment: ["cofre_gateway", "outbox_payment"],
  deliveriesOf: ["cofre_gateway", "delivery_number"],
  deliveriesWaiting: ["cofre_gateway", "delivery_number"],
  deliveriesFailed: ["cofre_gateway", "delivery_failed"],
  merchantsDue: ["cofre_jobs", "due_merchant_due"],
  queuesDue: ["cofre_jobs", "due_queue_due"],
  // By all columns of a delivery's key, which are also those of its primary key.
  deliveriesDue: ["cofre_jobs", "delivery_number", "due_delivery_pkey"],
  deliveriesOfMessage: ["cofre_jobs", "delivery_message"],
  // Functions over two small tables, of nodes and of slots.
  holdSlots: ["cofre_jobs"],
  hasOlderNodes: ["cofre_jobs"],
  dropTokenDigests: ["cofre_jobs"],
  leaveSlots: ["cofre_jobs"],
  noteClock: ["cofre_jobs"],
  clockReadings: ["cofre_jobs"],
  // Functions over the same nodes and the keys of worlds.
  keepWorlds: ["cofre_jobs"],
  placeWorld: ["cofre_jobs"],
  removeWorld: ["cofre_jobs"],
  leaveWorlds: ["cofre_jobs"],
  worldsOf: ["cofre_jobs", "world_key_node"],
  placeOf: ["cofre_jobs", "node_pkey", "world_key_pkey"],
  placeOfWorld: ["cofre_jobs", "node_pkey", "world_key_node"],
  reachableNodes: ["cofre_jobs", "node_pkey"],
  time: ["cofre_jobs"],
  // One row.
  identity: ["cofre_jobs", "whole identity"],
  raiseIdentity: ["cofre_jobs"],
  presentServer: ["cofre_jobs", "pg_database_datname_index"],
  person: ["cofre_people", "person_pkey"],
  personByName: ["cofre_people", "person_name"],
  personByInvitation: ["cofre_people", "person_invitation"],
  people: ["cofre_people", "person_name"],
  personSession: ["cofre_people", "person_pkey", "person_session_pkey"],
  auditBefore: ["cofre_people", "audit_entry_pkey"],
  auditAfter: ["cofre_people", "audit_entry_pkey"],
  // One row.
  auditHead: ["cofre_people", "whole audit_head"],
} as const satisfies Readonly<Record<StatementName, readonly [Role, ...string[]]>>;

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

/** Indexes by their names, and `whole TABLE` for each table that is read from end to end. */
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
        { length: Math.max(0, ...Array.from(text.matchAll(/\$(\d)/g), ([, digit]) => Number(digit))) },
        () => "NULL",
      );
      await connection.run(`SET plan_cache_mode = force_generic_plan; PREPARE planned AS ${text}`);
      const execution = values.length === 0 ? "planned" : `planned (${values.join(", ")})`;
      const [row] = await connection.rows<{ readonly "QUERY PLAN": readonly [{ readonly Plan: PlanNode }] }>(
        "explain",
        `EXPLAIN (FORMAT JSON) EXECUTE ${execution}`,
      );
      assert.ok(row !== undefined);
      assert.deepEqual(pathsOf([row["QUERY PLAN"][0].Plan]), indexes);
    });
  }

  test("what is due is found in a few pages beside 20,000 deliveries that wait, each at an address of its own", async (context) => {
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
    ] as const) {
      await connection.run(`DEALLOCATE ALL; SET plan_cache_mode = force_generic_plan; PREPARE planned AS ${sql[name]}`);
      const [row] = await connection.rows<{ readonly "QUERY PLAN": readonly [{ readonly Plan: BufferNode }] }>(
        `explain ${name} ${values.slice(0, 10)}`,
        `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE planned (${values})`,
      );
      const plan = row?.["QUERY PLAN"][0].Plan;
      assert.equal(plan?.["Actual Rows"], rows, name);
      const pages = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
      assert.ok(pages <= 20, `${name} read ${pages} pages`);
    }
  });

  test("control: a statement that finds its rows by nothing is seen", async (context) => {
    const connection = await Connection.open(await databases.copy(), "cofre_jobs");
    context.after(() => connection.close());
    const [row] = await connection.rows<{ readonly "QUERY PLAN": readonly [{ readonly Plan: PlanNode }] }>(
      "explain",
      "EXPLAIN (FORMAT JSON) SELECT 1 FROM payment WHERE state = 'captured'",
    );
    assert.deepEqual(pathsOf(row === undefined ? [] : [row["QUERY PLAN"][0].Plan]), ["whole payment"]);
  });

  test("the writer's function finds everything by its indexes", async (context) => {
    const client = new Client({ connectionString: await databases.copy() });
    await client.connect();
    context.after(() => client.end());
    const plans: { readonly text: string; readonly plan: PlanNode }[] = [];
    client.on("notice", ({ message = "" }) => {
      const at = message.indexOf("{");
      if (!message.startsWith("duration:") || at < 0) return;
      const explained = JSON.parse(message.slice(at)) as { readonly "Query Text": string; readonly Plan: PlanNode };
      plans.push({ text: explained["Query Text"], plan: explained.Plan });
    });
    await client.query(`LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_nested_statements = on;
      SET auto_explain.log_level = notice; SET auto_explain.log_format = json; SET plan_cache_mode = force_generic_plan`);
    for (const batch of batches()) {
      const { rows } = await client.query<{ readonly answer: string }>("SELECT write_batch_1($1) AS answer", [
        batchOf(batch.map((change) => batchMessageOf(messageOf(change)))),
      ]);
      assert.match(rows[0]?.answer ?? "", /^committed( committed)*$/);
    }
    const wrong = plans.filter(({ plan }) => pathsOf([plan]).some((path) => path.startsWith("whole ")));
    assert.deepEqual(wrong, []);
    // All columns of a delivery's key are also those of another index, and either is as good.
    const paths = pathsOf(plans.map(({ plan }) => plan)).map((path) => (path === "delivery_number" ? "delivery_pkey" : path));
    assert.deepEqual([...new Set(paths)].toSorted(), [
      "account_pkey",
      "card_pkey",
      "delivery_payment",
      "delivery_pkey",
      "due_delivery_pkey",
      "due_queue_due",
      "merchant_pkey",
      "named_request_pkey",
      "outbox_pkey",
      "payment_pkey",
    ]);
  });
}

/** Between them, all that a change can be: alone and in runs. */
function* batches(): Generator<readonly Change[]> {
  const { merchantA, start } = given;
  const use = (ms: number) => ({ cardUse: { tokenDigest: given.tokenDigest(1), at: instant(start + ms) } });
  const told = { notifications: [{ kind: "update", paymentId: given.paymentId(3) }], deliverTo: ["shop" as EndpointId] } as const;
  yield [given.accountChange(given.newAccount(merchantA), [1, 2])];
  yield [given.accountChange(given.newAccount(merchantA, { version: 2 }), [3])];
  yield [given.cardChange(given.newCard(1))];
  yield [given.cardChange(given.newCard(1, { version: 2 }))];
  yield [given.paymentChange(given.newPayment(1), use(1)), given.paymentChange(given.newPayment(2), use(2))];
  yield [given.paidChange(given.newPayment(1), use(3)), given.paidChange(given.newPayment(2), use(4))];
  yield [given.paymentChange(given.newPayment(3))];
  yield [given.paymentChange({ ...given.newPayment(3), version: 2 }, told)];
  const delivery = newDelivery(
    { merchantId: merchantA, endpoint: "shop" as EndpointId, number: 3, paymentId: given.paymentId(3), kind: "update" },
    start,
  );
  const moved = { next: { ...delivery, version: 2, attempts: 1 }, replaces: 1 };
  const bare = { merchantId: merchantA, at: start, facts: [], entries: [], notifications: [] };
  yield [{ ...bare, deliveries: [moved] }];
  const request = { key: "key-1", digest: "0".repeat(64), claimedAt: start, answer: undefined };
  yield [{ ...bare, request: { next: request, replaces: "nothing" } }];
  yield [{ ...bare, request: { next: { ...request, answer: { status: 200, body: "{}" } }, replaces: "claim" } }];
  for (const change of given.lifeOf(7)) yield [change];
  yield [{ ...bare, cardErasure: { tokenDigest: given.tokenDigest(1), unusedSince: instant(start + 900_000) } }];
}

if (testUrl === undefined) {
  test("the PostgreSQL store's statements use their indexes", { skip: "COFRE_TEST_POSTGRES_URL names no server" }, () => undefined);
} else {
  const databases = new TestDatabases(testUrl);
  after(() => databases.drop());
  describe("the PostgreSQL store's statements use their indexes", () => describePlans(databases));
}
