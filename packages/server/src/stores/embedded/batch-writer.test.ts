import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import type { TestContext } from "node:test";
import * as given from "../../../test/contract/store-fixtures.ts";
import type { PaymentId } from "../../payment/payment-id.ts";
import type { Change } from "../change.ts";
import { BatchWriter } from "./batch-writer.ts";
import { sql } from "./embedded-store.ts";
import { messageOf } from "../change-message.ts";
import { openForWriting } from "./open-database.ts";
import { temporaryFile } from "./temporary-file.ts";

function newDatabase(context: TestContext): DatabaseSync {
  const { file, remove } = temporaryFile();
  const database = openForWriting({ file, durable: false, maxFileBytes: undefined });
  context.after(() => {
    database.close();
    remove();
  });
  return database;
}

function count(database: DatabaseSync, table: string): number {
  return Number(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.["n"]);
}

/**
 * Changes that the rules of every store would have refused: the constraints of the database are the
 * last check.
 */
const broken: Readonly<Record<string, Change>> = {
  "captured above authorized": given.paymentChange(
    given.newPayment(7, { authorized: 1n, captured: 2n }),
  ),
  "captured below zero": given.paymentChange(
    given.newPayment(7, { authorized: 1n, captured: -1n }),
  ),
  "refunded above captured": given.paymentChange(
    given.newPayment(7, { authorized: 2n, captured: 1n, refunded: 2n, review: "waiting" }),
  ),
  "refunded below zero": given.paymentChange(
    given.newPayment(7, { authorized: 1n, captured: 1n, refunded: -1n, review: "waiting" }),
  ),
  "a refund's id beyond 31 bits": given.paymentChange(
    given.newPayment(7, { refunds: [given.newRefund(2 ** 31)] }),
  ),
  "a short payment id": given.paymentChange(
    given.newPayment(7, { id: given.paymentId(7).slice(2) as PaymentId }),
  ),
  "a version of zero": given.paymentChange(given.newPayment(7), {
    payment: { next: given.newPayment(7, { version: 0 }), replaces: undefined },
  }),
};

for (const [name, change] of Object.entries(broken)) {
  test(`the database refuses ${name}, and the neighbours in the batch are written`, (context) => {
    const database = newDatabase(context);
    const writer = new BatchWriter(database);
    const batch = [
      given.paymentChange(given.newPayment(1)),
      change,
      given.paymentChange(given.newPayment(1)),
      given.paidChange(given.newPayment(1)),
    ];

    const { outcomes, commits } = writer.write(batch.map(messageOf));

    assert.deepEqual(outcomes, ["committed", "broken", "payment_code", "committed"]);
    assert.equal(commits, 2, "each change had a transaction of its own");
    assert.equal(count(database, "payment"), 1);
    assert.equal(count(database, "history"), 2);
    assert.deepEqual(writer.write([messageOf(given.paymentChange(given.newPayment(2)))]), {
      outcomes: ["committed"],
      commits: 1,
    });
  });
}

test("a batch without a failure is one commit, and one without an effect is none", (context) => {
  const writer = new BatchWriter(newDatabase(context));
  const change = messageOf(given.paymentChange(given.newPayment(1)));

  assert.deepEqual(writer.write([change, change]), {
    outcomes: ["committed", "payment_code"],
    commits: 1,
  });
  assert.deepEqual(writer.write([change, change]), {
    outcomes: ["payment_code", "payment_code"],
    commits: 0,
  });
});

test("an attempt that would never be due again is refused by the database", (context) => {
  const database = newDatabase(context);
  new BatchWriter(database).write([messageOf(given.paymentChange(given.newPayment(1)))]);

  assert.throws(() => database.exec("UPDATE payment SET due_at = NULL"), /CHECK/);
  assert.throws(() => database.exec("UPDATE payment SET needs_review = 1"), /CHECK/);
  database.exec("UPDATE payment SET needs_review = 1, due_at = NULL");
});

test("what is due, in flight, to be delivered, or named by a refund or mandate is found in an index alone", (context) => {
  const database = newDatabase(context);
  database.function("slot_of", (_merchant) => 0);
  const plan = (name: keyof typeof sql): string =>
    database
      .prepare(`EXPLAIN QUERY PLAN ${sql[name]}`)
      .all()
      .map((row) => String(row["detail"]))
      .join("; ");

  assert.match(
    plan("paymentsDue"),
    /^SEARCH payment USING INDEX payment_due \(due_at>\? AND due_at<\?\)/,
  );
  assert.match(
    plan("nextDue"),
    /^SEARCH payment USING COVERING INDEX payment_due \(due_at>\? AND due_at<\?\)/,
  );
  assert.match(
    plan("paymentsDueAt"),
    /^SEARCH payment USING INDEX payment_due \(due_at=\? AND <expr>=\? AND rowid>\?\)/,
  );
  assert.doesNotMatch(plan("paymentsDueAt"), /TEMP B-TREE/);
  assert.match(plan("paymentsInFlight"), /; SEARCH payment USING COVERING INDEX payment_due /);
  assert.match(
    plan("paymentByMandate"),
    /^SEARCH payment USING INDEX payment_mandate \(merchant=\? AND mandate=\?\)$/,
  );
  assert.match(plan("paymentByRefundId"), /SEARCH refund USING INTEGER PRIMARY KEY/);
  assert.match(
    plan("merchantsDue"),
    /^SEARCH due_merchant USING (COVERING )?INDEX due_merchant_due \(\(due_at,merchant\)>/,
  );
  assert.match(
    plan("queuesDue"),
    /^SEARCH due_queue USING (COVERING )?INDEX due_queue_due \(merchant=\? AND \(due_at,queue\)>/,
  );
  assert.match(
    plan("deliveriesDue"),
    /^SEARCH due_delivery USING PRIMARY KEY \(queue=\? AND due_at<\?\); SEARCH delivery USING PRIMARY KEY/,
  );
  assert.doesNotMatch(plan("deliveriesDue"), /TEMP B-TREE/);
  assert.match(
    plan("paymentByRefundCode"),
    /SEARCH refund USING (COVERING )?INDEX refund_code \(merchant=\? AND code=\?\)/,
  );
  assert.match(
    plan("deliveriesWaiting"),
    /^SEARCH delivery USING INDEX delivery_waiting \(<expr>=\? AND number>\?\)/,
  );
  assert.match(
    plan("deliveriesFailed"),
    /^SEARCH delivery USING INDEX delivery_failed \(<expr>=\? AND number>\?\)/,
  );
  assert.match(
    plan("deliveriesOfMessage"),
    /^SEARCH delivery USING INDEX delivery_message \(lane=\? AND message=\?\)/,
  );
  const names = Object.keys(sql) as (keyof typeof sql)[];
  assert.deepEqual(
    names.filter((name) => plan(name).includes("TEMP B-TREE")),
    // Payments that are due at one moment, the states of a piece of the payments, the notifications
    // of one payment, and the deliveries about a page of payments.
    ["paymentsDue", "paymentsCounted", "notificationsOfPayment", "deliverySums"],
  );
  assert.deepEqual(
    names.filter((name) => plan(name).includes("SCAN")),
    // All rows of small tables, of a piece of the payments that an index has found, and the given ids
    // of a page of payments.
    ["identity", "accountKeys", "accounts", "paymentsCounted", "deliverySums"],
  );
  assert.match(
    plan("paymentsCounted"),
    /SEARCH payment USING INDEX sqlite_autoindex_payment_\d \(merchant=\? AND id<\?\)/,
  );
});

test("a page of a merchant's deliveries costs the page, however many wait, have failed or went to the same endpoint", (context) => {
  const database = newDatabase(context);
  const { merchantA } = given;
  new BatchWriter(database).write([messageOf(given.paymentChange(given.newPayment(1)))]);
  const many = 3_000;
  database.exec(`WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < ${many})
    INSERT INTO delivery (lane, number, payment, kind, version, state, asked_at, due_at, attempts, in_order, message)
    SELECT '${merchantA} shop' || (n % 2), n, 1, 'update', 1, CASE n % 3 WHEN 0 THEN 'waiting' WHEN 1 THEN 'failed' ELSE 'delivered' END,
      1000, 9000 - n, 0, 0, CASE WHEN n % 2 = 0 AND n > ${many} / 2 THEN n END FROM series`);
  let rows = 0;
  // Each row that is read names its payment, including rows that are only sorted and not returned.
  database.function("hex", (value) => {
    rows += 1;
    return Buffer.from(value as Uint8Array).toString("hex");
  });
  const pages: readonly (readonly [keyof typeof sql, readonly (string | number)[], number])[] = [
    ["deliveriesWaiting", [merchantA, 0, 10], 10],
    ["deliveriesWaiting", [merchantA, many / 2, 10], 10],
    ["deliveriesFailed", [merchantA, many / 2, 10], 10],
    ["deliveriesOfMessage", [`${merchantA} shop0`, many], 1],
  ];
  for (const [name, values, expected] of pages) {
    rows = 0;
    assert.equal(database.prepare(sql[name]).all(...values).length, expected, name);
    assert.ok(rows <= expected + 1, `${name} read ${rows} rows for ${expected}`);
  }
});

test("history can neither be changed nor deleted", (context) => {
  const database = newDatabase(context);
  new BatchWriter(database).write([messageOf(given.paymentChange(given.newPayment(1)))]);

  assert.throws(() => database.exec("UPDATE history SET at = 0"), /append-only/);
  assert.throws(() => database.exec("DELETE FROM history"), /append-only/);
  assert.equal(count(database, "history"), 1);
});

test("the journal view shows each posting as a row", (context) => {
  const database = newDatabase(context);
  const writer = new BatchWriter(database);
  writer.write([
    messageOf(given.paymentChange(given.newPayment(1))),
    messageOf(given.paidChange(given.newPayment(1))),
  ]);

  const rows = database
    .prepare("SELECT version, entry, account, currency, minor FROM journal")
    .all();

  const expected = given.saleEntries.flatMap(({ postings }, index) =>
    postings.map(({ account, currency, minor }) => ({
      version: 2,
      entry: index + 1,
      account,
      currency,
      minor: Number(minor),
    })),
  );
  assert.deepEqual(
    rows.map((row) => ({ ...row })),
    expected,
  );
});

/**
 * A connection whose COMMIT fails on demand, with the transaction still open, as SQLite leaves it.
 */
class FailingDatabase extends DatabaseSync {
  /** SQLite's result codes of the next COMMITs, one for each. */
  readonly failures: number[] = [];

  override exec(sql: string): void {
    const errcode = sql.endsWith("COMMIT") ? this.failures.shift() : undefined;
    if (errcode === undefined) return super.exec(sql);
    if (sql !== "COMMIT") super.exec(sql.slice(0, -"COMMIT".length));
    throw Object.assign(new Error("as SQLite says it"), { errcode });
  }
}

const fullDisk = 13;
const failedSync = 1034;

function newFailingDatabase(context: TestContext): FailingDatabase {
  const { file, remove } = temporaryFile();
  openForWriting({ file, durable: false, maxFileBytes: undefined }).close();
  const database = new FailingDatabase(file);
  context.after(() => {
    database.close();
    remove();
  });
  return database;
}

const [first, second, third] = [1, 2, 3].map((number) =>
  messageOf(given.paymentChange(given.newPayment(number))),
);
assert.ok(first !== undefined && second !== undefined && third !== undefined);

test("a batch that finds the disk full at its commit was not applied, once its remains could be overwritten", (context) => {
  const database = newFailingDatabase(context);
  const writer = new BatchWriter(database);
  database.failures.push(fullDisk);

  assert.deepEqual(writer.write([first, first]), {
    outcomes: ["unavailable", "unavailable"],
    commits: 0,
  });
  assert.deepEqual(writer.write([first]), { outcomes: ["committed"], commits: 1 });
});

test("while its remains cannot be overwritten its outcome is unknown, and nothing more is accepted", (context) => {
  const database = newFailingDatabase(context);
  const writer = new BatchWriter(database);
  database.failures.push(fullDisk, fullDisk, fullDisk, fullDisk);

  assert.deepEqual(writer.write([first]).outcomes, ["commit_unknown"]);
  assert.deepEqual(
    writer.write([second]).outcomes,
    ["unavailable"],
    "still full: it is not even tried",
  );
  assert.deepEqual(writer.write([second]).outcomes, ["unavailable"]);
  assert.deepEqual(writer.write([third]).outcomes, ["committed"], "there is room again");
  assert.equal(count(database, "payment"), 1);
});

test("after a failed sync the outcome is unknown and the writer stops for good", (context) => {
  const database = newFailingDatabase(context);
  const writer = new BatchWriter(database);
  database.failures.push(failedSync);

  assert.deepEqual(writer.write([first, second, first]).outcomes, [
    "commit_unknown",
    "commit_unknown",
    "unavailable",
  ]);
  assert.deepEqual(writer.write([third]).outcomes, ["unavailable"]);
  assert.equal(count(database, "payment"), 0);
});

test("a full disk is found to be full by a try, and to have room again by a later one", (context) => {
  const { file, remove } = temporaryFile();
  openForWriting({ file, durable: false, maxFileBytes: undefined }).close();
  const database = new FailingDatabase(file);
  context.after(() => {
    database.close();
    remove();
  });
  const writer = new BatchWriter(database);
  assert.equal(writer.testWrite(), true);
  // The test write's own commit, then the commits that would settle it.
  database.failures.push(fullDisk, fullDisk, fullDisk);
  assert.equal(writer.testWrite(), false);
  assert.equal(writer.testWrite(), false);
  assert.equal(writer.testWrite(), true);
  assert.equal(count(database, "named_request"), 0);

  database.failures.push(failedSync);
  assert.equal(writer.testWrite(), false);
  assert.equal(writer.testWrite(), false, "what a failed sync left behind is not trusted again");
});
