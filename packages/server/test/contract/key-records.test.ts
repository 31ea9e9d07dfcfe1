import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, describe, test } from "node:test";
import * as fc from "fast-check";
import { BrokenInvariant } from "../../src/kernel/assert.ts";
import { openEmbeddedStore } from "../../src/stores/embedded/embedded-store.ts";
import type { KeyRecordStore } from "../../src/stores/key-record-store.ts";
import { rowOfKey } from "../../src/stores/key-rows.ts";
import { MemoryAudit } from "../../src/stores/memory/memory-audit.ts";
import { MemoryKeyRecords } from "../../src/stores/memory/memory-key-records.ts";
import { createMemoryUsers } from "../../src/stores/memory/memory-users.ts";
import type { RunningStore } from "../../src/stores/store.ts";
import type { UserStore } from "../../src/user/user-store.ts";
import { type KeyRecord, keyStates } from "../../src/vault/records/key-record.ts";
import { holdRows, openStoreOn, query, TestDatabases, testUrl } from "../postgres/databases.ts";
import {
  describeKeyRecordContract,
  keyChange,
  merchantKey,
  merchantOne,
  merchantTwo,
  newKey,
  orderChange,
} from "./key-record.contract.ts";
import { action, assertChain } from "./user-store.contract.ts";

const folder = mkdtempSync(join(tmpdir(), "cofre-keys-"));
after(() => rmSync(folder, { recursive: true }));
let files = 0;
const newFile = (): string => {
  files += 1;
  return join(folder, `keys-${files}.db`);
};

function openMemory(): { readonly keys: KeyRecordStore; readonly users: UserStore } {
  const audit = new MemoryAudit();
  return { keys: new MemoryKeyRecords(audit), users: createMemoryUsers({ audit }) };
}

describeKeyRecordContract("the memory store", async () => ({
  ...openMemory(),
  close: async () => undefined,
}));

describeKeyRecordContract("the embedded store", () => openEmbeddedStore({ file: newFile() }));

const databases = testUrl === undefined ? undefined : new TestDatabases(testUrl);
after(() => databases?.drop());

if (databases === undefined) {
  test(
    "key records: the PostgreSQL store",
    { skip: "COFRE_TEST_POSTGRES_URL names no server" },
    () => undefined,
  );
} else {
  describeKeyRecordContract("the PostgreSQL store", () => databases.openStore());
  describe("key records in PostgreSQL", () => describePostgres(databases));
}

test("random changes have the same results on every store, and leave the same records", async (context) => {
  const stores: RunningStore[] = [];
  context.after(() => Promise.all(stores.map((store) => store.close())));
  stores.push(await openEmbeddedStore({ file: newFile() }));
  stores.push(await openEmbeddedStore({ file: ":memory:" }));
  if (databases !== undefined) stores.push(await databases.openStore());
  const all = [openMemory(), ...stores];
  const step = fc.record({
    merchant: fc.constantFrom(undefined, merchantOne, merchantTwo),
    version: fc.integer({ min: 1, max: 3 }),
    // Of the record's present sequence: the right one, or one beside it.
    off: fc.constantFrom(0, 0, 0, 0, 1, -1),
    state: fc.constantFrom(...keyStates),
    wrap: fc.uint8Array({ minLength: 1, maxLength: 3 }),
    check: fc.constantFrom(1, 1, 1, 1, 1, 1, 2),
  });
  let changes = 0;
  const outcomes = new Set<string>();
  const [model] = all;
  assert.ok(model !== undefined);
  // Each sequence continues with the records that the one before has left.
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 3 }), async (steps) => {
      const records: KeyRecord[] = [];
      for (const { merchant, version, off, state, wrap, check } of steps) {
        const present = (
          merchant === undefined
            ? await model.keys.keyRecords(undefined, 100)
            : await model.keys.merchantKeyRecords(merchant, 0, 100)
        ).find((record) => record.version === version);
        const base =
          merchant === undefined ? newKey({ version }) : merchantKey(merchant, { version });
        records.push({
          ...base,
          sequence: Math.max(1, (present?.sequence ?? 0) + 1 + off),
          state,
          check: Uint8Array.of(check),
          wraps: state === "destroyed" ? [] : [{ root: "root", bytes: wrap }],
        });
      }
      const [first, ...rest] = records;
      assert.ok(first !== undefined);
      const results = await Promise.all(
        all.map(({ keys }) =>
          keys.commitKeys(keyChange(first, ...rest)).catch((error: unknown) => {
            assert.ok(error instanceof BrokenInvariant, String(error));
            return { outcome: "broken" };
          }),
        ),
      );
      changes += 1;
      outcomes.add(results[0]?.outcome ?? "");
      for (const result of results) assert.deepEqual(result, results[0]);
      const left = await Promise.all(
        all.map(async ({ keys }) => [
          await keys.keyRecords(undefined, 100),
          await keys.merchantKeyRecords(merchantOne, 0, 100),
          await keys.merchantKeyRecords(merchantTwo, 0, 100),
          await keys.keyRecordsUnder(1, undefined, 100),
          await keys.keysUnder(1),
          await keys.oldMerchantKeys(undefined, 100),
        ]),
      );
      for (const each of left) assert.deepEqual(each, left[0]);
    }),
    { numRuns: 300, endOnFailure: true },
  );
  assert.ok(changes >= 300);
  assert.deepEqual([...outcomes].toSorted(), ["broken", "committed", "in_use", "stale"]);
  for (const { users } of all) await assertChain(users);
});

describe("key records in the embedded store", () => {
  test("are not removed, replaced or moved back by other programs either", async () => {
    const file = newFile();
    const store = await openEmbeddedStore({ file });
    const epoch = newKey({ state: "retired" });
    await store.keys.commitKeys(keyChange(epoch));
    await store.keys.commitOrder(orderChange(1));
    await store.close();
    const database = new DatabaseSync(file);
    const columns = "merchant, purpose, version, state, sequence, epoch, check_value, wraps";
    for (const [text, reason] of [
      ["UPDATE key_record SET state = 'current', sequence = 9", /moves forward/],
      ["UPDATE key_record SET wraps = '[]'", /moves forward|CHECK/],
      ["UPDATE key_record SET version = 2, sequence = 9", /moves forward/],
      ["UPDATE key_record SET purpose = 'tokens', epoch = 1, sequence = 9", /moves forward/],
      ["UPDATE key_record SET check_value = x'00', sequence = 9", /moves forward/],
      ["DELETE FROM key_record", /are kept/],
      [`REPLACE INTO key_record SELECT ${columns}, 0, 0, mac FROM key_record`, /are kept/],
      ["UPDATE key_order SET body = '{}'", /are kept/],
      ["DELETE FROM key_order", /are kept/],
      ["REPLACE INTO key_order SELECT no, at, '{}', mac FROM key_order", /are kept/],
      ["INSERT INTO key_order SELECT 3, at, body, mac FROM key_order", /are kept/],
    ] as const)
      assert.throws(() => database.exec(text), reason, text);
    database.close();
    const again = await openEmbeddedStore({ file });
    assert.deepEqual(await again.keys.keyRecords(undefined, 10), [epoch]);
    assert.deepEqual(await again.keys.keyOrders(0, 10), [orderChange(1).order]);
    await again.close();
    await assert.rejects(again.keys.keyOrders(0, 10), { name: "StoreError", code: "closed" });
    await assert.rejects(again.keys.keyRecords(undefined, 10), {
      name: "StoreError",
      code: "closed",
    });
    await assert.rejects(again.keys.commitKeys(keyChange(epoch)), {
      name: "StoreError",
      code: "closed",
    });
  });

  test("an entry that cannot be written takes its change with it", async (context) => {
    const file = newFile();
    await (await openEmbeddedStore({ file })).close();
    const database = new DatabaseSync(file);
    database.exec(
      "CREATE TRIGGER planted BEFORE INSERT ON audit_entry WHEN NEW.no >= 2 BEGIN SELECT RAISE (ABORT, 'planted'); END",
    );
    database.close();
    const store = await openEmbeddedStore({ file });
    context.after(() => store.close());
    await assertNothingWithoutItsEntry(store.keys);
    assert.equal(await assertChain(store.users), 0);
  });
});

async function assertNothingWithoutItsEntry(keys: KeyRecordStore): Promise<void> {
  const events = [action(), action()] as const;
  await assert.rejects(keys.commitKeys({ ...keyChange(newKey()), events }), BrokenInvariant);
  assert.deepEqual(await keys.keyRecords(undefined, 10), []);
  await assert.rejects(keys.commitOrder({ ...orderChange(1), events }), BrokenInvariant);
  assert.deepEqual(await keys.keyOrders(0, 10), []);
}

function describePostgres(of: TestDatabases): void {
  test("are not removed or moved back by the owner either", async () => {
    const url = await of.copy();
    const store = await openStoreOn(url);
    await store.keys.commitKeys(keyChange(newKey({ state: "retired" })));
    await store.keys.commitOrder(orderChange(1));
    await store.close();
    for (const text of [
      "UPDATE key_order SET body = '{}'",
      "DELETE FROM key_order",
      "TRUNCATE key_order",
      "UPDATE key_record SET state = 'current', sequence = 9",
      "UPDATE key_record SET state = 'compromised'",
      "UPDATE key_record SET version = 2, sequence = 9",
      "UPDATE key_record SET purpose = 'tokens', epoch = 1, sequence = 9",
      "UPDATE key_record SET check_value = '\\x00', sequence = 9",
      "DELETE FROM key_record",
      "TRUNCATE key_record",
    ])
      await assert.rejects(query(url, text), { code: "23001" }, text);
  });

  test("an entry that cannot be written takes its change with it", async (context) => {
    const url = await of.copy();
    const store = await openStoreOn(url);
    context.after(() => store.close());
    await query(url, "ALTER TABLE audit_entry ADD CONSTRAINT planted CHECK (no < 2)");
    await assertNothingWithoutItsEntry(store.keys);
    assert.equal(await assertChain(store.users), 0);
  });

  test("the vault's role reads the shared ones and those of its merchant, the jobs' role all, no other role reads any, and none writes them but through the function", async () => {
    const url = await of.copy();
    const store = await openStoreOn(url);
    const records = [newKey(), merchantKey(merchantOne), merchantKey(merchantTwo)] as const;
    await store.keys.commitKeys(keyChange(...records));
    await store.close();
    const read = "SELECT encode(merchant, 'hex') AS merchant FROM key_record ORDER BY 1";
    const merchantsOf = async (setting: string) =>
      (
        await query<{ readonly merchant: string }>(
          url,
          "SELECT set_config('role', 'cofre_vault', false), set_config('cofre.merchant', $1, false)",
          [setting],
          read,
        )
      ).map(({ merchant }) => merchant);
    assert.deepEqual(await merchantsOf(merchantOne), ["", merchantOne]);
    assert.deepEqual(await merchantsOf(""), [""]);

    const denied = "42501";
    const as = (role: string, text: string) =>
      query(url, `SET ROLE ${role}; ${text}`).then(
        () => "allowed",
        (error: unknown) => (error instanceof Error && "code" in error ? error.code : error),
      );
    const roles = ["cofre_gateway", "cofre_jobs", "cofre_reader", "cofre_people", "cofre_vault"];
    for (const role of roles) {
      const readable = role === "cofre_vault" || role === "cofre_jobs";
      assert.equal(await as(role, read), readable ? "allowed" : denied, role);
      if (role !== "cofre_vault")
        assert.equal(await as(role, "SELECT no FROM key_order"), denied, role);
      if (role !== "cofre_people")
        for (const name of ["write_keys_1", "write_keys_2", "write_key_order_1"])
          assert.equal(await as(role, `SELECT ${name}('{}')`), denied, role);
      for (const text of [
        "UPDATE key_record SET sequence = 9",
        "DELETE FROM key_record",
        "INSERT INTO key_record SELECT * FROM key_record",
        "INSERT INTO key_order SELECT * FROM key_order",
        "DELETE FROM key_order",
      ])
        assert.equal(await as(role, text), denied, `${role}: ${text}`);
    }
  });

  test("two nodes that make a merchant's first key at once have one, and the log has no gap", async (context) => {
    const url = await of.copy();
    const nodes = await Promise.all([openStoreOn(url), openStoreOn(url)]);
    context.after(() => Promise.all(nodes.map((node) => node.close())));
    const merchants = Array.from({ length: 40 }, (_, number) =>
      number.toString(16).padStart(8, "0"),
    ) as (typeof merchantOne)[];
    const results = await Promise.all(
      nodes.map((node, index) =>
        Promise.all(
          merchants.map((merchant) =>
            node.keys.commitKeys(
              keyChange(merchantKey(merchant, { check: Uint8Array.of(index + 1) })),
            ),
          ),
        ),
      ),
    );
    for (const [index, merchant] of merchants.entries()) {
      const outcomes = results.map((each) => each[index]?.outcome);
      assert.deepEqual(new Set(outcomes), new Set(["committed", "stale"]));
      for (const node of nodes) {
        const [record, ...more] = await node.keys.merchantKeyRecords(merchant, 0, 10);
        assert.deepEqual(more, []);
        assert.equal(record?.check[0], outcomes.indexOf("committed") + 1);
      }
    }
    for (const node of nodes) assert.equal(await assertChain(node.users), 40);
  });

  test("while the end of the log is locked, changes are refused as not written, and keys are read", async (context) => {
    const url = await of.copy();
    const store = await openStoreOn(url);
    context.after(() => store.close());
    await store.keys.commitKeys(keyChange(merchantKey(merchantOne)));
    const held = await holdRows(url, "audit_head");
    context.after(() => held.letGo());
    const refused = assert.rejects(store.keys.commitKeys(keyChange(merchantKey(merchantTwo))), {
      name: "StoreError",
      code: "unavailable",
    });
    assert.deepEqual(await store.keys.merchantKeyRecords(merchantOne, 0, 10), [
      merchantKey(merchantOne),
    ]);
    await refused;
    await held.letGo();
    assert.deepEqual(await store.keys.merchantKeyRecords(merchantTwo, 0, 10), []);
    assert.equal(
      (await store.keys.commitKeys(keyChange(merchantKey(merchantTwo)))).outcome,
      "committed",
    );
    assert.equal(await assertChain(store.users), 2);
  });

  test("the server's message about a refused change quotes none of it", async () => {
    const url = await of.copy();
    const row = rowOfKey(newKey({ purpose: "tokens", epoch: undefined }));
    const message = JSON.stringify({ keys: [row], acts: ["{}"] });
    await assert.rejects(query(url, "SELECT write_keys_2($1)", [message]), (error: unknown) => {
      assert.ok(error instanceof Error && "code" in error && "detail" in error);
      assert.equal(error.code, "23514");
      assert.equal(error.message, "a change of keys failed");
      assert.equal(error.detail, undefined);
      return true;
    });
  });
}
