import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { Client } from "pg";
import { BrokenInvariant } from "../../src/kernel/assert.ts";
import { instant } from "../../src/kernel/instant.ts";
import { type EndpointId, newDelivery } from "../../src/notification/events.ts";
import type { Change } from "../../src/stores/change.ts";
import { Connection } from "../../src/stores/postgres/connection.ts";
import { PostgresOpenError } from "../../src/stores/postgres/open-error.ts";
import { holdRows, openStoreOn, query, TestDatabases, testUrl } from "../postgres/databases.ts";
import * as given from "./store-fixtures.ts";
import { describeStoreContract } from "./store.contract.ts";
import { until } from "../until.ts";

const { merchantA, merchantB, start } = given;

if (testUrl === undefined) {
  test(
    "the PostgreSQL store keeps the store contract",
    { skip: "COFRE_TEST_POSTGRES_URL names no server" },
    () => undefined,
  );
} else {
  const databases = new TestDatabases(testUrl);
  after(() => databases.drop());
  describeStoreContract("the PostgreSQL store", () => databases.openStore());
  describe("the PostgreSQL store", () => describeStore(databases));
}

/**
 * Indexes that do not begin with the merchant, and why they do not prevent distributing merchants
 * over servers.
 */
const withoutMerchant: ReadonlyMap<string, string> = new Map([
  ["migration_pkey", "says what the schema is"],
  ["origin_pkey", "one row, about the whole database"],
  ["identity_pkey", "one row, about the whole database"],
  [
    "account_key_pkey",
    "a key's digest is what names the merchant; a small table that every server may have whole",
  ],
  ["refund_pkey", "the interface's refund ids are one for all merchants, and 31 bits long"],
  [
    "due_payment_pkey",
    "the jobs serve all merchants by time; it holds the merchant, so each server has its own part",
  ],
  ["due_merchant_due", "the jobs serve all merchants by time; not unique"],
  ["card_no", "the job that forgets unused cards looks at all; not unique"],
  ["delivery_ended", "the job that deletes old deliveries looks at all; not unique"],
  ["named_request_answered", "the job that deletes old keys looks at all; not unique"],
  [
    "person_pkey",
    "people who use the console are of the installation and of no merchant: few, and kept in one place",
  ],
  ["person_name", "the same"],
  ["person_invitation", "the same"],
  ["person_session_pkey", "the same"],
  ["person_session_person", "the same"],
  ["person_session_end", "the same"],
  [
    "audit_entry_pkey",
    "one chain for the whole installation, which is what makes a gap in it seen",
  ],
  ["audit_head_pkey", "one row, the end of that chain"],
  ["key_order_pkey", "one list for the whole installation"],
  ["key_record_entry", "the order of commits, in which nodes follow what other nodes made"],
  ["key_record_epoch", "an epoch key wraps keys of all merchants"],
  ["node_pkey", "names a process"],
  ["node_clock_pkey", "names a process"],
  ["slot_pkey", "which process does what, one table for all"],
  ["world_key_node", "names a process, and a world, which is no merchant of the store; not unique"],
  ["world_key_pkey", "a key's digest is what names the world; of living processes' worlds only"],
]);

/** Indexes whose first column is not the merchant, and sequences. */
async function spanningMerchants(url: string): Promise<readonly string[]> {
  const rows = await query<{ readonly name: string }>(
    url,
    `SELECT index.relname AS name FROM pg_index JOIN pg_class AS index ON index.oid = indexrelid
       JOIN pg_namespace ON pg_namespace.oid = index.relnamespace AND nspname = 'public'
       LEFT JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
     WHERE attname IS DISTINCT FROM 'merchant'
     UNION ALL SELECT sequencename FROM pg_sequences WHERE schemaname = 'public'
     UNION ALL SELECT conname FROM pg_constraint JOIN pg_namespace ON pg_namespace.oid = connamespace AND nspname = 'public'
       WHERE contype IN ('f', 'x')
     ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
}

function describeStore(databases: TestDatabases): void {
  test("every key and index leads with the merchant, but for those that are named with a reason", async () => {
    const url = await databases.copy();
    const allowed = [...withoutMerchant.keys(), "commit_order"].toSorted();
    assert.deepEqual(await spanningMerchants(url), allowed);

    await query(url, "CREATE TABLE planted (no bigserial PRIMARY KEY, merchant bytea)");
    assert.deepEqual(
      (await spanningMerchants(url)).filter((name) => !allowed.includes(name)),
      ["planted_no_seq", "planted_pkey"],
      "control: a key and a sequence that span merchants are found",
    );
  });

  test("figures are the sizes of the tables, and the age of a snapshot that another session holds", async (context) => {
    const url = await databases.copy();
    const store = await openStoreOn(url);
    context.after(() => store.close());
    const before = await store.figures?.();
    assert.ok(before !== undefined && before.frozenAge > 0);
    const holder = new Client({ connectionString: url });
    await holder.connect();
    context.after(() => holder.end());
    await holder.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM payment LIMIT 1");
    for (let number = 1; number <= 40; number += 1)
      await store.commit(given.paymentChange(given.newPayment(number)));
    const after = await store.figures?.();
    assert.ok(after !== undefined && after.snapshotAge >= 40, `${after?.snapshotAge} transactions`);
    assert.ok(after.paymentBytes > before.paymentBytes && after.historyBytes > before.historyBytes);
    const [size] = await query<{ readonly bytes: string }>(
      url,
      "SELECT pg_total_relation_size('payment')::text AS bytes",
    );
    assert.equal(after.paymentBytes, Number(size?.bytes));
  });

  test("no role but the vault's reads a card, and it reads one merchant's; no role writes a table", async () => {
    const url = await databases.copy();
    const store = await openStoreOn(url);
    await store.commit(given.cardChange(given.newCard(1)));
    await store.commit(given.cardChange(given.newCard(2, { merchantId: merchantB })));
    await store.close();
    const as = (role: string, text: string) =>
      query<{ readonly count: string }>(
        url,
        `SET ROLE ${role}; SET cofre.merchant = '${merchantA}'; ${text}`,
      ).catch((error: unknown) => (error instanceof Error && "code" in error ? error.code : error));
    const denied = "42501";
    for (const role of ["cofre_gateway", "cofre_jobs", "cofre_reader"])
      assert.equal(await as(role, "SELECT ref FROM card"), denied, role);
    for (const table of ["payment", "card", "history", "account", "account_key"]) {
      for (const role of ["cofre_gateway", "cofre_vault", "cofre_jobs", "cofre_reader"]) {
        assert.equal(await as(role, `DELETE FROM ${table}`), denied, `${role} ${table}`);
      }
    }
    for (const writer of ["write_batch_1", "write_batch_2"]) {
      for (const role of ["cofre_vault", "cofre_jobs", "cofre_reader"])
        assert.equal(await as(role, `SELECT ${writer}('{}')`), denied, role);
    }
    for (const part of [
      "write_run_2('[]')",
      "write_moves_1('[]')",
      "place_all_queues_1('{}', '{}')",
    ]) {
      assert.equal(await as("cofre_gateway", `SELECT ${part}`), denied, part);
    }
    assert.equal(await countAs(url, "cofre_vault", merchantA, "card"), 1);
    assert.equal(
      await countAs(url, "cofre_vault", "", "card"),
      0,
      "without a merchant nothing is seen",
    );
    assert.equal(
      await countAs(url, "cofre_jobs", "", "card", "token_digest"),
      2,
      "control: both are there",
    );
  });

  test("row-level security shows a statement that forgot its merchant nothing of another's", async () => {
    const url = await databases.copy();
    const store = await openStoreOn(url);
    await store.commit(given.paymentChange(given.newPayment(1)));
    await store.commit(given.paymentChange(given.newPayment(1, { merchantId: merchantB })));
    await store.close();
    for (const table of ["payment", "history"]) {
      assert.equal(await countAs(url, "cofre_gateway", merchantA, table), 1, table);
      assert.equal(await countAs(url, "cofre_jobs", "", "payment"), 2, "control: both are there");
    }
  });

  test("a session that could not be opened for a merchant reads nothing for it as if it were", async (context) => {
    const connection = await Connection.open(await databases.copy(), "cofre_gateway");
    context.after(() => connection.close());
    const merchantOf = async (merchant: string) =>
      (
        await connection.rowsOf<{ readonly merchant: string }>(
          merchant,
          "own",
          "SELECT current_setting('cofre.merchant') AS merchant",
          [],
        )
      )[0]?.merchant;
    assert.equal(await merchantOf(merchantA), merchantA);
    // A zero byte is not valid text for the server: it rejects the session's start, and other
    // sessions continue.
    for (let tries = 0; tries < 2; tries += 1)
      await assert.rejects(merchantOf(`${merchantB}\0`), { name: "StatementError" });
    assert.equal(await merchantOf(merchantB), merchantB);
    // The same for a concurrent request for this merchant before the rejection.
    const both = await Promise.allSettled([1, 2].map(() => merchantOf(`${merchantA}\0`)));
    assert.deepEqual(
      both.map(({ status }) => status),
      ["rejected", "rejected"],
    );
    assert.equal(await merchantOf(merchantA), merchantA);
  });

  test("history is append-only for the owner too", async () => {
    const url = await databases.copy();
    for (const text of ["UPDATE history SET at = 0", "DELETE FROM history", "TRUNCATE history"]) {
      await assert.rejects(query(url, text), { code: "23001" }, text);
    }
  });

  test("nodes that start at once on an empty database make the tables once, and a version with more migrations goes before", async () => {
    const url = await databases.create();
    const stores = await Promise.all([1, 2, 3].map(() => openStoreOn(url)));
    await Promise.all(stores.map((store) => store.close()));

    await query(url, "INSERT INTO migration VALUES (1000, 'of a newer version', now())");
    await (await openStoreOn(url)).close();

    await query(url, "UPDATE migration SET checksum = 'another' WHERE no = 1");
    await assert.rejects(openStoreOn(url), { name: "PostgresOpenError", code: "changed" });
  });

  test("a change that the database refuses fails alone, and its neighbours are written", async (context) => {
    const store = await databases.openStore();
    context.after(() => store.close());
    const of = {
      merchantId: merchantA,
      endpoint: "shop" as EndpointId,
      number: 1,
      paymentId: given.paymentId(99),
      kind: "update" as const,
    };
    const orphan: Change = {
      merchantId: merchantA,
      at: start,
      facts: [],
      entries: [],
      notifications: [],
      deliveries: [{ next: newDelivery(of, start), replaces: undefined }],
    };
    const results = await Promise.allSettled([
      store.commit(given.paymentChange(given.newPayment(1))),
      store.commit(orphan),
      store.commit(given.paymentChange(given.newPayment(2))),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ["fulfilled", "rejected", "fulfilled"],
    );
    assert.ok(results[1]?.status === "rejected" && results[1].reason instanceof BrokenInvariant);
    for (const number of [1, 2])
      assert.ok((await store.paymentById(merchantA, given.paymentId(number))) !== undefined);
  });

  test("of payments that are written together each has its own answer, and a refused one leaves nothing", async (context) => {
    const store = await databases.openStore();
    context.after(() => store.close());
    await store.commit(given.cardChange(given.newCard(1)));
    await store.commit(given.paymentChange(given.newPayment(9)));
    const use = (ms: number) => ({
      cardUse: { tokenDigest: given.tokenDigest(1), at: instant(start + ms) },
    });
    const taken = {
      ...given.newPayment(3),
      id: given.paymentId(33),
      order: { ...given.newPayment(3).order, code: "order-9" },
    };
    const results = await Promise.all([
      store.commit(given.paymentChange(given.newPayment(1), use(10))),
      store.commit(given.paymentChange(given.newPayment(2), use(30))),
      store.commit(given.paymentChange(taken, use(99))),
      store.commit(given.paidChange(given.newPayment(9), use(20))),
      store.commit(given.paidChange(given.newPayment(8), use(99))),
      store.commit(given.paymentChange(given.newPayment(4))),
    ]);
    assert.deepEqual(
      results.map((result) => (result.outcome === "duplicate" ? result.key : result.outcome)),
      ["committed", "committed", "payment_code", "committed", "stale", "committed"],
    );
    assert.equal(
      (await store.cardByToken(merchantA, given.tokenDigest(1)))?.lastUsedAt,
      start + 30,
    );
    assert.equal(await store.paymentById(merchantA, given.paymentId(33)), undefined);
    assert.deepEqual(await store.history(merchantA, given.paymentId(8)), []);
    assert.equal((await store.history(merchantA, given.paymentId(9))).length, 2);
    assert.equal((await store.notificationsOf(merchantA, 0, 10)).length, 1);
    assert.equal(store.stats().largestBatch, 6, "control: they were one batch");
  });

  test("a batch has at most 48 changes that are written in subtransactions", async (context) => {
    const store = await databases.openStore();
    context.after(() => store.close());
    const numbers = Array.from({ length: 120 }, (_, number) => number + 1);
    const withCard = (number: number) => ({
      card: { next: given.newCard(number), replaces: undefined },
    });
    const results = await Promise.all(
      numbers.map((number) =>
        store.commit(given.paymentChange(given.newPayment(number), withCard(number))),
      ),
    );
    assert.deepEqual([...new Set(results.map(({ outcome }) => outcome))], ["committed"]);
    assert.equal(store.stats().largestBatch, 48);
    await Promise.all(
      numbers.map((number) => store.commit(given.paymentChange(given.newPayment(number + 1_000)))),
    );
    assert.equal(
      store.stats().largestBatch,
      60,
      "control: half of what waits, where no subtransaction is needed",
    );
  });

  test("reads of one turn are answered each with its own row, whatever other reads there are", async (context) => {
    const store = await databases.openStore();
    context.after(() => store.close());
    for (const number of [1, 2]) {
      for (const merchantId of [merchantA, merchantB]) {
        await store.commit(
          given.cardChange(
            given.newCard(number, { merchantId, maskedPan: `411111xxxxxx000${number}` }),
          ),
        );
        await store.commit(given.paymentChange(given.newPayment(number, { merchantId })));
      }
    }
    const requested = [1, 2, 3, 2].flatMap((number) =>
      [merchantA, merchantB].map((merchantId) => ({ number, merchantId })),
    );
    const cards = await Promise.all(
      requested.map(({ number, merchantId }) =>
        store.cardByToken(merchantId, given.tokenDigest(number)),
      ),
    );
    assert.deepEqual(
      cards.map((card) =>
        card === undefined ? undefined : [card.merchantId, card.tokenDigest, card.maskedPan],
      ),
      requested.map(({ number, merchantId }) =>
        number === 3
          ? undefined
          : [merchantId, given.tokenDigest(number), `411111xxxxxx000${number}`],
      ),
    );
    const payments = await Promise.all(
      requested.map(({ number, merchantId }) =>
        store.paymentById(merchantId, given.paymentId(number)),
      ),
    );
    assert.deepEqual(
      payments.map((payment) =>
        payment === undefined ? undefined : [payment.merchantId, payment.id],
      ),
      requested.map(({ number, merchantId }) =>
        number === 3 ? undefined : [merchantId, given.paymentId(number)],
      ),
    );
    assert.equal(
      await store.paymentById(given.merchantId(0xc), given.paymentId(1)),
      undefined,
      "nobody else's",
    );

    const late = assert.rejects(store.paymentById(merchantA, given.paymentId(1)), {
      name: "StoreError",
      code: "closed",
    });
    await store.close();
    await late;
  });

  test("when the session ends before the answer, the change is commit_unknown; the next one has a new session", async (context) => {
    const url = await databases.copy();
    const store = await openStoreOn(url);
    context.after(() => store.close());
    await store.commit(given.paymentChange(given.newPayment(1)));
    // Another session's lock on the merchant's row keeps the batch in flight.
    const held = await holdRows(url, "merchant");
    context.after(() => held.letGo());
    const waits =
      "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'cofre cofre_gateway' AND wait_event_type = 'Lock'";
    const unknown = assert.rejects(store.commit(given.paymentChange(given.newPayment(2))), {
      name: "StoreError",
      code: "commit_unknown",
    });
    await until("a session waits for a lock", async () => (await query(url, waits)).length > 0);
    await query(url, `SELECT pg_terminate_backend(pid) FROM (${waits}) AS waiting`);
    await unknown;
    assert.equal(store.isWriting, false);
    await held.letGo();

    assert.equal(await store.testWrite(), true);
    assert.deepEqual(await store.commit(given.paymentChange(given.newPayment(3))), {
      outcome: "committed",
    });
    assert.equal(await store.paymentById(merchantA, given.paymentId(2)), undefined);
    assert.equal(store.isWriting, true);
  });

  test("two nodes write to one merchant at once: every change is written once, notifications are numbered without a gap", async (context) => {
    const url = await databases.copy();
    const nodes = await Promise.all([openStoreOn(url), openStoreOn(url)]);
    context.after(() => Promise.all(nodes.map((node) => node.close())));
    const numbers = Array.from({ length: 200 }, (_, number) => number + 1);
    // Both nodes write the same payments: one change of each pair is written.
    const requested = nodes.map((node) =>
      Promise.all(
        numbers.map((number) =>
          node.commit(
            given.paymentChange(given.newPayment(number, { merchantId: merchantOf(number) })),
          ),
        ),
      ),
    );
    const [one = [], other = []] = await Promise.all(requested);
    for (const [index, first] of one.entries()) {
      assert.deepEqual(
        new Set([first.outcome, other[index]?.outcome]),
        new Set(["committed", "duplicate"]),
        `payment ${index + 1}`,
      );
    }
    const paid = nodes.map((node) =>
      Promise.all(
        numbers.map((number) =>
          node.commit(
            given.paidChange(given.newPayment(number, { merchantId: merchantOf(number) })),
          ),
        ),
      ),
    );
    const outcomes = (await Promise.all(paid)).flat().map(({ outcome }) => outcome);
    assert.equal(outcomes.filter((outcome) => outcome === "committed").length, 200);
    assert.equal(outcomes.filter((outcome) => outcome === "stale").length, 200);
    for (const merchant of [merchantA, merchantB]) {
      const notified = await nodes[0]?.notificationsOf(merchant, 0, 1_000);
      assert.deepEqual(
        notified?.map(({ number }) => number),
        numbers.slice(0, 100),
      );
    }
    // The sum over both nodes: one of them may have written everything.
    const [commits, changes] = (["commits", "changes"] as const).map((of) =>
      nodes.reduce((sum, node) => sum + node.stats()[of], 0),
    );
    assert.ok(
      commits !== undefined && changes !== undefined && commits > 0 && commits < changes,
      "control: changes share commits",
    );
  });

  // Each node that lost its session after a step of the database server's clock could write nothing
  // any more.
  test("a step of the server's clock does not keep a node from a new session that writes", async (context) => {
    const url = await databases.copy();
    let off = 0;
    const store = await openStoreOn(url, { clock: { now: () => instant(Date.now() + off) } });
    context.after(() => store.close());
    await store.commit(given.paymentChange(given.newPayment(1)));
    off = 60_000;
    const sessions =
      "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'cofre %'";
    await query(url, `SELECT pg_terminate_backend(pid) FROM (${sessions}) AS open`);
    await until("the store writes again", async () => store.testWrite().catch(() => false));
    assert.deepEqual(await store.commit(given.paymentChange(given.newPayment(2))), {
      outcome: "committed",
    });
  });

  test("clocks that differ by more than two seconds are refused at the start", async () => {
    const url = await databases.copy();
    for (const off of [-2_600, 2_600]) {
      // The duration of the clock query is in the node's favour: a node that was delayed during it
      // may be accepted.
      const isLetIn = (): Promise<boolean> =>
        openStoreOn(url, { clock: { now: () => instant(Date.now() + off) } }).then(
          (store) => store.close().then(() => true),
          (error: unknown) => {
            assert.ok(error instanceof PostgresOpenError && error.code === "clock", String(error));
            return false;
          },
        );
      for (let tries = 0; await isLetIn(); tries += 1) assert.ok(tries < 5);
    }
    await (await openStoreOn(url, { clock: { now: () => instant(Date.now() + 1_000) } })).close();
  });
}

function merchantOf(number: number) {
  return number % 2 === 0 ? merchantA : merchantB;
}

async function countAs(
  url: string,
  role: string,
  merchant: string,
  table: string,
  column = "merchant",
): Promise<number> {
  const [row] = await query<{ readonly seen: number }>(
    url,
    "SELECT set_config('role', $1, false), set_config('cofre.merchant', $2, false), 0 AS seen",
    [role, merchant],
    `SELECT count(${column})::integer AS seen FROM ${table}`,
  );
  return row?.seen ?? -1;
}
