import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { readFileSync } from "node:fs";
import { newPaymentId } from "../../src/payment/payment-id.ts";
import { SeededRandom } from "../../src/kernel/seeded-random.ts";
import { instant } from "../../src/kernel/instant.ts";
import { balancesOf, isBalanced } from "../../src/ledger/balances.ts";
import type { JournalEntry } from "../../src/ledger/journal.ts";
import { accountCodes, entryKindCodes } from "../../src/stores/codes.ts";
import { transferKinds, transferTables } from "../../src/stores/transfer.ts";
import { openStoreOn, query, TestDatabases, testUrl } from "../postgres/databases.ts";
import * as given from "./store-fixtures.ts";

const { merchantA, merchantB, start } = given;

interface Line {
  readonly merchant: string;
  readonly payment: string;
  readonly version: number;
  readonly at: Date;
  readonly entry: number;
  readonly kind: string;
  readonly account: string;
  readonly currency: string;
  readonly minor: string;
}

/** The statement of docs/operate/postgres.md that copies the year 2026. */
function archiveStatement(): string {
  const page = readFileSync(
    new URL("../../../../docs/operate/postgres.md", import.meta.url),
    "utf8",
  );
  const section = page.slice(page.indexOf("\n## Archive\n"));
  const [, statement] = /```sql\n(.*?)```/s.exec(section) ?? [];
  assert.ok(statement !== undefined);
  return statement;
}

function describeReports(databases: TestDatabases): void {
  test("the statement for an archive finds the history of all payments of its year, and no other", async () => {
    const url = await databases.copy();
    const store = await openStoreOn(url);
    const year = Date.UTC(2026, 0, 1);
    const end = Date.UTC(2027, 0, 1);
    const times = [year - 1, year, end - 1, end];
    for (const merchantId of [merchantA, merchantB]) {
      for (const [index, at] of times.entries()) {
        const payment = given.newPayment(index + 1, {
          merchantId,
          id: newPaymentId(instant(at), new SeededRandom(`${merchantId} ${at}`)),
        });
        await store.commit(given.paymentChange(payment));
        await store.commit(given.paidChange(payment));
      }
    }
    await store.close();
    const found = await query<{
      readonly merchant: Buffer;
      readonly payment: Buffer;
      readonly version: number;
    }>(url, archiveStatement());
    const expected = [merchantA, merchantB].flatMap((merchantId) =>
      [year, end - 1].flatMap((at) => {
        const id = newPaymentId(instant(at), new SeededRandom(`${merchantId} ${at}`));
        return [1, 2].map((version) => `${merchantId} ${id} ${version}`);
      }),
    );
    assert.deepEqual(
      found.map(
        ({ merchant, payment, version }) =>
          `${merchant.toString("hex")} ${payment.toString("hex")} ${version}`,
      ),
      expected,
    );
  });

  test("the view `journal` is the ledger, line by line, and its sums are the ledger's balances", async () => {
    const url = await databases.copy();
    const store = await openStoreOn(url);
    const every = everyEntry();
    for (const merchantId of [merchantA, merchantB]) {
      for (let number = 1; number <= 3; number += 1) {
        const payment = given.newPayment(number, { merchantId });
        await store.commit(given.paymentChange(payment));
        await store.commit(given.paidChange(payment));
      }
    }
    const last = { ...given.paidNext(given.newPayment(1)), version: 3 };
    await store.commit(given.paymentChange(last, { at: instant(start + 1_001), entries: every }));

    const lines = await readJournal(url, "cofre_reader");
    for (const merchantId of [merchantA, merchantB]) {
      const entries: JournalEntry[] = [];
      for (let number = 1; number <= 3; number += 1) {
        for (const row of await store.history(merchantId, given.paymentId(number))) {
          const shown = lines.filter(
            ({ merchant, payment, version }) =>
              merchant === merchantId &&
              payment === given.paymentId(number) &&
              version === row.version,
          );
          const written = row.entries.flatMap(({ kind, postings }, index) =>
            postings.map(({ account, currency, minor }) => ({
              at: new Date(row.at),
              entry: index + 1,
              kind,
              account,
              currency,
              minor: String(minor),
            })),
          );
          assert.deepEqual(
            shown.map(({ at, entry, kind, account, currency, minor }) => ({
              at,
              entry,
              kind,
              account,
              currency,
              minor,
            })),
            written,
          );
          entries.push(...row.entries);
        }
      }
      const sums = await query<{
        readonly account: string;
        readonly currency: string;
        readonly minor: string;
      }>(
        url,
        `SELECT account, currency, sum(minor)::text AS minor FROM journal WHERE merchant = decode($1, 'hex') GROUP BY 1, 2`,
        [merchantId],
      );
      const balances = balancesOf(entries).map(({ account, currency, minor }) => ({
        account,
        currency,
        minor: String(minor),
      }));
      assert.deepEqual(
        new Set(sums.map((row) => JSON.stringify(row))),
        new Set(balances.map((row) => JSON.stringify(row))),
      );
    }
    assert.equal(
      new Set(lines.map(({ kind }) => kind)).size,
      Object.keys(entryKindCodes.codeOf).length,
      "every kind of entry has its name",
    );
    assert.equal(
      new Set(lines.map(({ account }) => account)).size,
      Object.keys(accountCodes.codeOf).length,
      "and every account",
    );
    await store.close();
  });

  test("a role that may not read the history may not read the journal, and one merchant's session sees its own", async () => {
    const url = await databases.copy();
    const store = await openStoreOn(url);
    for (const merchantId of [merchantA, merchantB]) {
      await store.commit(given.paymentChange(given.newPayment(1, { merchantId })));
      await store.commit(given.paidChange(given.newPayment(1, { merchantId })));
    }
    await store.close();
    for (const role of ["cofre_gateway", "cofre_vault", "cofre_jobs"])
      await assert.rejects(readJournal(url, role), { code: "42501" }, role);
    assert.equal(
      new Set((await readJournal(url, "cofre_reader")).map(({ merchant }) => merchant)).size,
      2,
      "control: the reader sees both",
    );
  });

  test("all that is kept is moved: each column of each table is one of a move's, or named here with its reason", async () => {
    const rows = await query<{ readonly name: string }>(
      await databases.copy(),
      `SELECT relname || '.' || attname AS name FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid AND relkind IN ('r', 'p')
         JOIN pg_namespace ON pg_namespace.oid = relnamespace AND nspname = 'public' WHERE attnum > 0 AND NOT attisdropped`,
    );
    const moved = transferKinds.flatMap((kind) =>
      Object.keys(transferTables[kind].columns).map((column) => `${kind}.${column}`),
    );
    const left = rows
      .map(({ name }) => name)
      .filter((name) => !notMoved.has(name) && !notMoved.has(name.split(".")[0] ?? ""));
    assert.deepEqual(left.toSorted(), moved.toSorted());
  });

  test("no table holds rows of a merchant without naming it, nor finds them by a key that holds it null", async () => {
    const rows = await query<{ readonly name: string; readonly named: boolean }>(
      await databases.copy(),
      `SELECT relname AS name, EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = 'merchant' AND attnotnull
           AND format_type(atttypid, atttypmod) = 'bytea') AS named
       FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace AND nspname = 'public' WHERE relkind IN ('r', 'p')`,
    );
    assert.deepEqual(
      rows
        .filter(({ named }) => !named)
        .map(({ name }) => name)
        .toSorted(),
      [
        "audit_entry",
        "audit_head",
        "identity",
        "key_order",
        "migration",
        "node",
        "node_clock",
        "origin",
        "person",
        "person_session",
        "slot",
        "world_key",
      ],
    );
  });
}

/** Tables that belong to the database and not to the installation in it. */
const notMoved: ReadonlyMap<string, string> = new Map([
  ["migration", "says what the schema is"],
  ["origin", "says where the rows came from: the move writes it itself"],
  ["person_session", "who is signed in: people sign in again"],
  ["node", "processes that live"],
  ["node_clock", "what their clocks showed"],
  ["slot", "which of them does what"],
  ["world_key", "which of them has which world of the sandbox, in memory"],
  ["due_payment", "when the jobs look at a payment: triggers make it of the payments"],
  ["due_delivery", "what may be tried now: triggers make it of the deliveries"],
  ["due_queue", "the same, a row for each queue"],
  ["due_merchant", "the same, a row for each merchant"],
  ["identity.server", "which server the database is on: the move's target notes its own"],
  ["key_record.made_entry", "what running nodes read next: after a move each reads its keys anew"],
  ["merchant", "a lock for each merchant, made when it is first needed"],
]);

/** Entries of every kind, which together touch every account; each sums to zero. */
function everyEntry(): readonly JournalEntry[] {
  const kinds = Object.keys(entryKindCodes.codeOf) as readonly JournalEntry["kind"][];
  const accounts = Object.keys(
    accountCodes.codeOf,
  ) as readonly JournalEntry["postings"][number]["account"][];
  const entries = kinds.map((kind, index) => ({
    kind,
    postings: accounts.map((account, place) => ({
      account,
      currency: "BRL",
      minor: place === 0 ? -4n * BigInt(index + 1) : BigInt(index + 1),
    })),
  }));
  assert.ok(entries.every(({ postings }) => isBalanced(postings)));
  return entries;
}

function readJournal(url: string, role: string): Promise<readonly Line[]> {
  return query<Line>(
    url,
    "SELECT set_config('role', $1, false)",
    [role],
    `SELECT encode(merchant, 'hex') AS merchant, encode(payment, 'hex') AS payment, version, at, entry, kind, account, currency, minor::text AS minor
     FROM journal`,
  );
}

if (testUrl === undefined) {
  test(
    "reports read the ledger of PostgreSQL",
    { skip: "COFRE_TEST_POSTGRES_URL names no server" },
    () => undefined,
  );
} else {
  const databases = new TestDatabases(testUrl);
  after(() => databases.drop());
  describe("reports read the ledger of PostgreSQL", () => describeReports(databases));
}
