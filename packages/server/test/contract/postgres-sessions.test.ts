import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { instant } from "../../src/kernel/instant.ts";
import type { EndpointId } from "../../src/notification/events.ts";
import { Connection } from "../../src/stores/postgres/connection.ts";
import type { PaymentList, Store } from "../../src/stores/store.ts";
import { openStoreOn, query, TestDatabases, testUrl } from "../postgres/databases.ts";
import { until } from "../until.ts";
import * as given from "./store-fixtures.ts";

const { merchantA, start } = given;
const shop = "shop" as EndpointId;

/** The statements of each list that console users request, and the table that it reads. */
const lists: readonly (readonly [
  name: string,
  table: string,
  read: (store: Store) => Promise<readonly unknown[] | PaymentList>,
])[] = [
  [
    "a list of payments",
    "payment",
    (store) => store.paymentsListed(merchantA, {}, { limit: 10, maxExamined: 10 }),
  ],
  ["figures", "payment", (store) => store.paymentFigures(merchantA, undefined, 10)],
  ["counts", "payment", (store) => store.paymentsCounted(merchantA, undefined, 10)],
  ["a history", "history", (store) => store.history(merchantA, given.paymentId(1), "interactive")],
  ["notifications", "outbox", (store) => store.notificationsOf(merchantA, 0, 10)],
  [
    "notifications of a payment",
    "outbox",
    (store) => store.notificationsOfPayment(merchantA, given.paymentId(3), 10),
  ],
  ["deliveries", "delivery", (store) => store.deliveriesOf(merchantA, 0, 10)],
  ["deliveries that wait", "delivery", (store) => store.deliveriesOf(merchantA, 0, 10, "waiting")],
  ["a list of cards", "card", (store) => store.cardsListed(merchantA, undefined, 10)],
];

/** Statements of a charge, a query, a job and a dispatcher. */
const others: readonly (readonly [name: string, read: (store: Store) => Promise<unknown>])[] = [
  ["accountByKey", (store) => store.accountByKey(given.keyDigest(1))],
  ["accountById", (store) => store.accountById(merchantA)],
  ["paymentById", (store) => store.paymentById(merchantA, given.paymentId(1))],
  ["paymentByCode", (store) => store.paymentByCode(merchantA, given.newPayment(1).order.code)],
  ["cardByToken", (store) => store.cardByToken(merchantA, given.tokenDigest(1))],
  ["namedRequest", (store) => store.namedRequest(merchantA, "key-1")],
  ["history for a request", (store) => store.history(merchantA, given.paymentId(1))],
  [
    "notifications for a request",
    (store) => store.notificationsOfPayment(merchantA, given.paymentId(3), 1, "payment"),
  ],
  ["paymentsDue", (store) => store.paymentsDue(instant(start + 1), 10)],
  ["paymentsInFlight", (store) => store.paymentsInFlight(10)],
  ["merchantsDue", (store) => store.merchantsDue(instant(start + 1), undefined, 10)],
  ["deliveries for a job", (store) => store.deliveriesOf(merchantA, 0, 10, "waiting", "job")],
  [
    "deliveriesOfMessage",
    (store) => store.deliveriesOfMessage({ merchantId: merchantA, endpoint: shop }, 1),
  ],
];

function countOf(listed: readonly unknown[] | PaymentList): number {
  return "payments" in listed ? listed.payments.length : listed.length;
}

function describeSessions(databases: TestDatabases): void {
  /** A store with a row in each listed table. */
  async function filled() {
    const url = await databases.copy();
    const store = await openStoreOn(url);
    await store.commit(given.accountChange(given.newAccount(merchantA), [1]));
    await store.commit(given.cardChange(given.newCard(1)));
    await store.commit(given.paymentChange(given.newPayment(1)));
    const notified = {
      notifications: [{ kind: "update", paymentId: given.paymentId(3) }],
      endpoints: [shop],
    } as const;
    await store.commit(given.paymentChange(given.newPayment(3), notified));
    return { url, store };
  }

  /**
   * Makes the rows of these tables visible to console users' sessions only if the function `shown`
   * returns true.
   */
  async function showBy(url: string, body: string): Promise<void> {
    const tables = [...new Set(lists.map(([, table]) => table))];
    await query(
      url,
      `CREATE FUNCTION shown() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
        IF current_setting('application_name') LIKE '% lists' THEN ${body} END IF;
        RETURN true; END $$;
      ${tables.map((table) => `CREATE POLICY shown ON ${table} AS RESTRICTIVE FOR SELECT TO PUBLIC USING (shown());`).join("\n")}`,
    );
  }

  const running =
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE '% lists' AND state = 'active'";

  test("two slow lists run at a time, and no read of a payment, of a job or of the outbox waits for one", async (context) => {
    const { url, store } = await filled();
    const holder = new Client({ connectionString: url });
    await holder.connect();
    context.after(async () => {
      await holder.end();
      await store.close();
    });
    await holder.query("SELECT pg_advisory_lock(77)");
    // Returns when the server ends the statement: these lists take as long as the lock is held.
    await showBy(
      url,
      `LOOP
        BEGIN
          EXIT WHEN NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 77
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database()));
          PERFORM pg_sleep(0.02);
        EXCEPTION WHEN query_canceled THEN NULL;
        END;
      END LOOP;`,
    );
    const ended: string[] = [];
    const listed = lists.map(async ([name, , read]) => {
      const rows = await read(store);
      ended.push(name);
      return rows;
    });
    for (let tries = 0; tries < 400 && (await query(url, running)).length < 2; tries += 1)
      await sleep(10);
    assert.equal((await query(url, running)).length, 2, "two of eight lists run");
    await Promise.all(
      others.map(async ([name, read]) => void ended.push((await read(store), name))),
    );
    assert.deepEqual(await store.commit(given.paymentChange(given.newPayment(2))), {
      outcome: "committed",
    });
    assert.deepEqual(ended.toSorted(), others.map(([name]) => name).toSorted());
    assert.equal((await query(url, running)).length, 2, "both still run");
    await holder.query("SELECT pg_advisory_unlock(77)");
    for (const [index, rows] of (await Promise.all(listed)).entries())
      assert.ok(countOf(rows) > 0, `control: ${lists[index]?.[0]} reads a row`);
  });

  for (const [name, , read] of lists) {
    test(`${name}: ended after two seconds with a reason of its own, and the next one is read`, async (context) => {
      const { url, store } = await filled();
      context.after(() => store.close());
      await showBy(url, "PERFORM pg_sleep(60);");
      const ended: string[] = [];
      const refused = assert
        .rejects(read(store), { name: "StoreError", code: "timed_out" })
        .finally(() => void ended.push(name));
      let charges = 0;
      while (ended.length === 0) {
        charges += 1;
        assert.deepEqual(await store.commit(given.paymentChange(given.newPayment(charges + 10))), {
          outcome: "committed",
        });
        assert.ok(
          (await store.paymentById(merchantA, given.paymentId(charges + 10))) !== undefined,
        );
      }
      await refused;
      assert.ok(charges > 1, "payments went on");
      await query(
        url,
        "CREATE OR REPLACE FUNCTION shown() RETURNS boolean LANGUAGE sql AS 'SELECT true'",
      );
      assert.ok(countOf(await read(store)) > 0);
    });
  }

  test("a list beyond those that may wait is refused at once, and closing refuses those that wait", async () => {
    const { url, store } = await filled();
    await showBy(url, "PERFORM pg_sleep(60);");
    const list = () => store.deliveriesOf(merchantA, 0, 10);
    const started = Promise.allSettled([list(), list()]);
    // The second session starts when the first is slow.
    await until("both sessions run a list", async () => (await query(url, running)).length === 2);
    const waiting = Promise.allSettled(Array.from({ length: 1_024 }, list));
    await assert.rejects(list(), { name: "StoreError", code: "overloaded" });
    await store.close();
    const codes = (results: readonly PromiseSettledResult<unknown>[]) =>
      new Set(
        results.map((result) =>
          result.status === "rejected" ? (result.reason as { code?: string }).code : result.status,
        ),
      );
    assert.deepEqual(codes(await waiting), new Set(["closed"]));
    assert.ok(!codes(await started).has("fulfilled"));
  });

  test("the time in which a session answers others does not count: a statement that waits longer than the limit for silence is answered", async (context) => {
    const connection = await Connection.open(await databases.copy(), "cofre_gateway");
    context.after(() => connection.close());
    const slow = [1, 2, 3].map(() => connection.rows("slow", "SELECT pg_sleep(4)"));
    const [row] = await connection.rows<{ readonly one: number }>("one", "SELECT 1 AS one");
    assert.equal(row?.one, 1);
    await Promise.all(slow);
  });

  test("control: a session that is silent for as long is given up, and what waits on it fails", async () => {
    const url = await databases.copy();
    const connection = await Connection.open(url, "owner", undefined, "lists");
    // Without the server's own limit only the client's timeout ends it.
    await connection.run("SET statement_timeout = 0");
    const results = await Promise.allSettled([
      connection.rows("slow", "SELECT pg_sleep(60)"),
      connection.rows("one", "SELECT 1"),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ["rejected", "rejected"],
    );
    assert.equal(connection.isOpen, false);
    await connection.close();
  });
}

if (testUrl === undefined) {
  test(
    "the PostgreSQL store's sessions",
    { skip: "COFRE_TEST_POSTGRES_URL names no server" },
    () => undefined,
  );
} else {
  const databases = new TestDatabases(testUrl);
  after(() => databases.drop());
  describe("the PostgreSQL store's sessions", { concurrency: 4 }, () =>
    describeSessions(databases),
  );
}
