import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { Client } from "pg";
import { instant } from "../../src/kernel/instant.ts";
import { Secret } from "../../src/kernel/secret.ts";
import { openAuditDatabase } from "../../src/stores/postgres/audit-database.ts";
import { Connection } from "../../src/stores/postgres/connection.ts";
import { sql } from "../../src/stores/postgres/sql.ts";
import type { RunningStore } from "../../src/stores/store.ts";
import { openStoreOn, query, TestDatabases, testUrl } from "../postgres/databases.ts";
import { runFirstMigrations } from "../postgres/earlier-database.ts";
import { until } from "../until.ts";
import * as given from "./store-fixtures.ts";

const committed = { outcome: "committed" } as const;
/** The last migration before `due_payment`. */
const before = 18;

const sides = [
  "SELECT concat_ws(' ', merchant, payment, due_at, no, in_flight) AS line FROM due_payment ORDER BY 1",
  `SELECT concat_ws(' ', merchant, id, due_at, no, CASE WHEN attempt IS NULL THEN 0 ELSE 1 END) AS line
    FROM payment WHERE due_at IS NOT NULL ORDER BY 1`,
] as const;

/**
 * Compares the rows of `due_payment` with those derived from the payments; resolves with their
 * number.
 */
async function assertDueFits(url: string): Promise<number> {
  const [held, expected] = [await query(url, sides[0]), await query(url, sides[1])];
  assert.deepEqual(held, expected);
  return held.length;
}

/** A charge as two changes: sent to the acquirer, and captured. */
async function charge(store: RunningStore, number: number): Promise<void> {
  assert.deepEqual(await store.commit(given.paymentChange(given.newPayment(number))), committed);
  assert.deepEqual(await store.commit(given.paidChange(given.newPayment(number))), committed);
}

async function charges(
  store: RunningStore,
  from: number,
  to: number,
  outstanding: number,
): Promise<void> {
  let next = from;
  const one = async (): Promise<void> => {
    while (next < to) {
      const number = next;
      next += 1;
      await charge(store, number);
    }
  };
  await Promise.all(Array.from({ length: outstanding }, one));
}

const insertPayments = (from: number, to: number, dueAt: string): string =>
  `INSERT INTO payment (merchant, id, code, created_at, version, state, authorized, captured, refunded, attempts, attempt, due_at, needs_review, order_json)
    SELECT decode(lpad(to_hex(n % 5 + 20), 8, '0'), 'hex'), decode(lpad(to_hex(n), 48, '0'), 'hex'), 'code-' || n, 1000, 1, 'authorized', 100, 0, 0, 1,
      CASE WHEN n % 7 = 0 AND ${dueAt} IS NOT NULL THEN '[]' END, ${dueAt}, 0, '[]' FROM generate_series(${from}, ${to}) AS n`;

const olderIndexes = `SELECT relname AS name FROM pg_class WHERE relkind = 'i' AND relname IN ('payment_due', 'payment_in_flight') ORDER BY 1`;

function describeDuePayments(databases: TestDatabases): void {
  test("updates of payments are HOT: more than 90 % of the second commits of charges, 64 outstanding", async () => {
    const url = await databases.copy();
    const figures = async (): Promise<{ readonly updated: number; readonly hot: number }> => {
      const [row] = await query<{ readonly updated: number; readonly hot: number }>(
        url,
        `SELECT n_tup_upd::integer AS updated, n_tup_hot_upd::integer AS hot FROM pg_stat_user_tables WHERE relname = 'payment'`,
      );
      assert.ok(row !== undefined);
      return row;
    };
    const store = await openStoreOn(url);
    await charges(store, 1, 1_501, 64);
    // The server's statistics include all work of a session once it has ended.
    await store.close();
    await until("all updates are counted", async () => (await figures()).updated >= 1_500);
    const { updated, hot } = await figures();
    assert.equal(updated, 1_500);
    assert.ok(hot > 0.9 * updated, `${hot} of ${updated} updates were HOT`);
    assert.equal(await assertDueFits(url), 0);

    // Control: with an index on a column that the second commit changes, no update is HOT.
    await query(url, "CREATE INDEX planted ON payment (due_at) WHERE due_at IS NOT NULL");
    const other = await openStoreOn(url);
    await charges(other, 2_001, 2_101, 64);
    await other.close();
    await until("all updates are counted", async () => (await figures()).updated >= 1_600);
    assert.equal((await figures()).hot, hot);
  });

  test("a payment has its row while it is due, through all its changes", async (context) => {
    const url = await databases.copy();
    const store = await openStoreOn(url);
    context.after(() => store.close());
    await Promise.all(
      [1, 2, 3, 4].map((number) => store.commit(given.paymentChange(given.newPayment(number)))),
    );
    assert.equal(await assertDueFits(url), 4);
    const due = async (): Promise<readonly string[]> =>
      (await store.paymentsDue(instant(Number.MAX_SAFE_INTEGER), 100)).map(
        ({ order }) => order.code,
      );
    assert.equal((await due()).length, 4);
    await store.commit(given.paidChange(given.newPayment(2)));
    assert.equal(await assertDueFits(url), 3);
    assert.deepEqual((await due()).toSorted(), ["order-1", "order-3", "order-4"]);
    // For any kind of write: many rows in one statement, with and without a change of what is due.
    await query(url, insertPayments(1, 300, "(CASE WHEN n % 3 > 0 THEN 1000 + n END)"));
    await query(
      url,
      "UPDATE payment SET due_at = due_at + 7 WHERE code LIKE 'code-%' AND attempt IS NULL",
    );
    await query(url, "UPDATE payment SET due_at = NULL, attempt = NULL WHERE code LIKE 'code-1%'");
    await query(
      url,
      "UPDATE payment SET attempt = '[]' WHERE code LIKE 'code-2%' AND due_at IS NOT NULL",
    );
    await query(url, "UPDATE payment SET order_json = '[1]'");
    assert.ok((await assertDueFits(url)) > 50);
  });

  test("pages of what is due have those in flight and the others in one order", async (context) => {
    const url = await databases.copy();
    const store = await openStoreOn(url);
    context.after(() => store.close());
    await query(url, insertPayments(1, 200, "(1000 + n % 20)"));
    const connection = await Connection.open(url, "cofre_jobs");
    context.after(() => connection.close());
    const codes = async (
      values: readonly (string | number)[],
      name: "paymentsDue" | "paymentsDueAfter",
    ): Promise<readonly string[]> =>
      (await connection.rows<{ readonly code: string }>(name, sql[name], values)).map(
        ({ code }) => code,
      );
    const everySlots = 2 ** 32 - 1;
    const all = (
      await query<{ readonly code: string }>(url, "SELECT code FROM payment ORDER BY due_at, no")
    ).map(({ code }) => code);
    assert.deepEqual(await codes([2_000, everySlots, 1_000], "paymentsDue"), all);
    const seen: string[] = [...(await codes([2_000, everySlots, 30], "paymentsDue"))];
    for (let page = seen; page.length > 0;) {
      const [last] = await query<{
        readonly merchant: string;
        readonly id: string;
        readonly due: number;
      }>(
        url,
        "SELECT encode(merchant, 'hex') AS merchant, encode(id, 'hex') AS id, due_at::integer AS due FROM payment WHERE code = $1",
        [seen.at(-1)],
      );
      assert.ok(last !== undefined);
      page = [
        ...(await codes(
          [last.due, last.merchant, last.id, 2_000, everySlots, 30],
          "paymentsDueAfter",
        )),
      ];
      seen.push(...page);
    }
    assert.deepEqual(seen, all);
  });

  test("a row that differs from its payment is not used, keeps no other from being read, and is named by the audit", async (context) => {
    const url = await databases.copy();
    const store = await openStoreOn(url);
    context.after(() => store.close());
    for (const number of [1, 2, 3])
      await store.commit(given.paymentChange(given.newPayment(number)));
    const now = instant(Number.MAX_SAFE_INTEGER);
    const due = () =>
      store.paymentsDue(now, 2).then((payments) => payments.map(({ order }) => order.code));
    assert.deepEqual(await due(), ["order-1", "order-2"]);
    // Due for a long time, without a payment: more than a page of rows.
    await query(
      url,
      `INSERT INTO due_payment (merchant, payment, due_at, no, in_flight)
        SELECT merchant, id, n, 100000 + n, 1 FROM payment, generate_series(1, 100) AS n WHERE code = 'order-1'`,
    );
    assert.deepEqual(await due(), ["order-1", "order-2"]);
    await query(
      url,
      "UPDATE due_payment SET due_at = due_at - 1 WHERE no = (SELECT no FROM payment WHERE code = 'order-1')",
    );
    assert.deepEqual(await due(), ["order-2", "order-3"]);
    const audit = await openAuditDatabase(new Secret(url));
    context.after(() => audit.close());
    const named = async (): Promise<readonly string[]> => {
      const ids: string[] = [];
      for await (const { paymentId } of audit.duePayments()) ids.push(paymentId);
      return ids;
    };
    assert.deepEqual(await named(), [given.paymentId(1)]);
    await query(
      url,
      "DELETE FROM due_payment WHERE no = (SELECT no FROM payment WHERE code = 'order-3')",
    );
    assert.deepEqual(await named(), [given.paymentId(1), given.paymentId(3)]);
    // Any write of the payment repairs its row.
    await query(url, "UPDATE payment SET due_at = due_at WHERE code IN ('order-1', 'order-3')");
    assert.deepEqual(await due(), ["order-1", "order-2"]);
    assert.deepEqual(await named(), []);
  });

  test("what was due before is entered while the version before writes, a part of a merchant at a time", async (context) => {
    const url = await databases.create();
    await runFirstMigrations(url, before);
    await query(url, insertPayments(1, 3_000, "(CASE WHEN n % 10 > 0 THEN 1000 + n % 100 END)"));
    const writer = new Client({ connectionString: url });
    await writer.connect();
    context.after(() => writer.end());
    const opening = openStoreOn(url);
    const lock = "PERFORM lock_merchants_1(ARRAY(SELECT DISTINCT merchant FROM payment))";
    for (let round = 0; round < 40; round += 1) {
      // Writes like the earlier version: under the locks of its merchants.
      await writer.query(`DO $$ BEGIN ${lock};
        UPDATE payment SET due_at = due_at + 1000, version = version + 1 WHERE due_at IS NOT NULL AND no % 41 = ${round};
        UPDATE payment SET due_at = NULL, attempt = NULL WHERE no % 97 = ${round}; END $$`);
    }
    await (await opening).close();
    assert.ok((await assertDueFits(url)) > 1_000);
    const [most] = await query<{ readonly rows: number }>(
      url,
      "SELECT max(rows) AS rows FROM (SELECT count(*)::integer AS rows FROM due_payment WHERE due_at < 2000 GROUP BY xmin) AS pieces",
    );
    assert.ok((most?.rows ?? 0) <= 200, `${most?.rows} rows in one transaction`);
    // An interrupted fill starts again from the beginning.
    await query(url, "DELETE FROM due_payment WHERE no % 3 = 0");
    await query(url, "CALL fill_due_payments_1()");
    await assertDueFits(url);
  });

  test("the indexes of the version before remain while a node of it is present, and the next start drops them", async () => {
    const url = await databases.create();
    await runFirstMigrations(url, before);
    const lease = async (id: string): Promise<void> =>
      void (await query(url, "SELECT hold_slots_2($1, 50000, '')", [id]));
    await lease("a".repeat(16));
    const first = await openStoreOn(url);
    await first.renewSlots("b".repeat(16), 50_000, []);
    await first.close();
    assert.deepEqual(
      (await query<{ readonly name: string }>(url, olderIndexes)).map(({ name }) => name),
      ["payment_due", "payment_in_flight"],
    );
    await query(url, "SELECT leave_slots_1($1)", ["a".repeat(16)]);
    // The node of this version is still registered, and reads by the table.
    await (await openStoreOn(url)).close();
    assert.deepEqual(await query(url, olderIndexes), []);
  });

  test("a start does not wait for a long transaction to drop them", async (context) => {
    const url = await databases.copy();
    await query(url, "CREATE INDEX payment_due ON payment (due_at, no) WHERE due_at IS NOT NULL");
    const reader = new Client({ connectionString: url });
    await reader.connect();
    context.after(() => reader.end());
    await reader.query("BEGIN; LOCK TABLE payment IN ACCESS SHARE MODE");
    await (await openStoreOn(url)).close();
    assert.equal((await query(url, olderIndexes)).length, 1);
    await reader.query("COMMIT");
    await (await openStoreOn(url)).close();
    assert.deepEqual(await query(url, olderIndexes), []);
  });
}

if (testUrl === undefined) {
  test(
    "due payments of PostgreSQL",
    { skip: "COFRE_TEST_POSTGRES_URL names no server" },
    () => undefined,
  );
} else {
  const databases = new TestDatabases(testUrl);
  after(() => databases.drop());
  describe("due payments of PostgreSQL", { concurrency: 2 }, () => describeDuePayments(databases));
}
