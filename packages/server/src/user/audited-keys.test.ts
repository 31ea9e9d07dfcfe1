import assert from "node:assert/strict";
import { createSecretKey } from "node:crypto";
import { test } from "node:test";
import { newKey, nextKey } from "../../test/contract/key-record.contract.ts";
import { action, start } from "../../test/contract/user-store.contract.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { MemoryAudit } from "../stores/memory/memory-audit.ts";
import { MemoryKeyRecords } from "../stores/memory/memory-key-records.ts";
import { createMemoryUsers } from "../stores/memory/memory-users.ts";
import { noEarlierRows, RowMacs } from "../vault/row-mac.ts";
import { entryOf } from "./audit-chain.ts";
import { verifyAuditLog } from "./audit-log.ts";
import { AuditedKeys } from "./audited-keys.ts";
import { entryFields } from "./keyed-chain.ts";

const macs = new RowMacs(() => createSecretKey(Buffer.alloc(32, 7)), noEarlierRows);

function open() {
  const audit = new MemoryAudit();
  const users = createMemoryUsers({ audit });
  const keys = new MemoryKeyRecords(audit);
  return { users, keys, audited: new AuditedKeys(keys, users, macs) };
}

test("every change of a key has its entry, with a MAC and the record's own", async () => {
  const { users, keys, audited } = open();
  const made = newKey();
  const inUse = newKey({ purpose: "tokens", state: "current" });
  const current = nextKey(made, { state: "current" });
  const rewrapped = nextKey(current, { mac: new Uint8Array(32).fill(9) });
  const destroyed = nextKey(inUse, { state: "destroyed", wraps: [] });
  for (const steps of [
    [
      { next: made, before: undefined },
      { next: inUse, before: undefined },
    ],
    [{ next: current, before: made }],
    [{ next: rewrapped, before: current }],
    [{ next: destroyed, before: inUse }],
  ] as const)
    assert.equal(await audited.commit(start, steps), "committed");
  assert.deepEqual(await keys.keyRecords(undefined, 10), [rewrapped, destroyed]);

  const rows = await users.auditAfter(0, 100);
  assert.deepEqual(
    rows.map(entryOf).map((entry) => `${entry.action} ${entry.target}`),
    [
      "key_made epoch 1",
      "key_made tokens 1",
      "key_current tokens 1",
      "key_current epoch 1",
      "key_rewrapped epoch 1",
      "key_destroyed tokens 1",
    ],
  );
  const [, , , , entry] = rows.map(entryOf);
  assert.equal(entry?.detail, `sequence 3 check 0001ff record ${"09".repeat(32)}`);
  const log = {
    auditAfter: (after: number, limit: number) => users.auditAfter(after, limit),
    auditHead: () => users.auditHead(),
    userByName: async () => undefined,
    isGenuine: (row: (typeof rows)[number]) =>
      row.mac !== undefined &&
      macs.accepts("audit_entry", entryFields(row), Buffer.from(row.mac, "hex")),
  };
  assert.equal((await verifyAuditLog(log)).fault, undefined);
});

test("many first keys of merchants at once are all written", async () => {
  const { keys, audited } = open();
  const made = Array.from({ length: 60 }, (_, number) =>
    newKey({
      purpose: "merchant",
      merchant: number.toString(16).padStart(8, "0") as MerchantId,
      state: "current",
      epoch: 1,
    }),
  );
  const outcomes = await Promise.all(
    made.map((next) => audited.commit(start, [{ next, before: undefined }])),
  );
  assert.deepEqual(new Set(outcomes), new Set(["committed"]));
  assert.equal(await keys.keysUnder(1), made.length);
});

test("a change that another process was faster with is stale, and one that met a new head is repeated", async () => {
  const { users, keys, audited } = open();
  const made = newKey();
  assert.equal(await audited.commit(start, [{ next: made, before: undefined }]), "committed");
  assert.equal(await audited.commit(start, [{ next: made, before: undefined }]), "stale");

  // Another node appends between the read of the head and the commit, twice.
  let others = 2;
  const busy = {
    auditHead: async () => {
      const head = await users.auditHead();
      if (others > 0) await users.commit({ at: start, events: [action()] });
      others -= 1;
      return head;
    },
  };
  const step = { next: nextKey(made, { state: "current" }), before: made };
  assert.equal(await new AuditedKeys(keys, busy, macs).commit(start, [step]), "committed");
  assert.equal((await users.auditHead()).number, 4);

  others = 1_000;
  const retired = { next: nextKey(step.next, { state: "retired" }), before: step.next };
  await assert.rejects(new AuditedKeys(keys, busy, macs).commit(start, [retired]), {
    name: "StoreError",
    code: "unavailable",
  });
});
