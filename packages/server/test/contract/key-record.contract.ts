import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { BrokenInvariant } from "../../src/kernel/assert.ts";
import type { MerchantId } from "../../src/kernel/ids.ts";
import { laterBy } from "../../src/kernel/instant.ts";
import type {
  KeyChange,
  KeyOrderChange,
  KeyRecordStore,
} from "../../src/stores/key-record-store.ts";
import { entryOf } from "../../src/user/audit-chain.ts";
import type { UserStore } from "../../src/user/user-store.ts";
import { type KeyOrderRow, maxOrderLength } from "../../src/vault/records/key-order.ts";
import type { KeyRecord } from "../../src/vault/records/key-record.ts";
import { action, assertChain, start } from "./user-store.contract.ts";

export const merchantOne = "0000000a" as MerchantId;
export const merchantTwo = "0000000b" as MerchantId;

export function newKey(over: Partial<KeyRecord> = {}): KeyRecord {
  const { purpose = "epoch", version = 1 } = over;
  const isEpoch = purpose === "epoch";
  return {
    purpose,
    version,
    state: "made",
    sequence: 1,
    epoch: isEpoch ? undefined : 1,
    check: Uint8Array.of(0, version, 255),
    wraps: isEpoch
      ? [
          { root: 'pkcs11:"root-1":ec515a', bytes: Uint8Array.of(0, 1, 254) },
          { root: "recovery-1", bytes: new Uint8Array(300).fill(7) },
        ]
      : [{ root: "epoch:1", bytes: Uint8Array.of(9, version) }],
    createdAt: start,
    changedAt: start,
    mac: new Uint8Array(32).fill(version),
    ...over,
  };
}

export function merchantKey(merchant: MerchantId, over: Partial<KeyRecord> = {}): KeyRecord {
  return newKey({ purpose: "merchant", merchant, ...over });
}

/** The record's next form, an hour later. */
export function nextKey(record: KeyRecord, over: Partial<KeyRecord> = {}): KeyRecord {
  const { sequence, changedAt } = record;
  return { ...record, sequence: sequence + 1, changedAt: laterBy(changedAt, 3_600_000), ...over };
}

/** Each record replaces the one before it in its own sequence. */
export function keyChange(...records: readonly [KeyRecord, ...KeyRecord[]]): KeyChange {
  const [first, ...rest] = records.map((next) => ({
    next,
    replaces: next.sequence === 1 ? undefined : next.sequence - 1,
  }));
  assert.ok(first !== undefined);
  return { at: start, changes: [first, ...rest], events: [action({ action: "key_made" })] };
}

export function orderChange(number: number, over: Partial<KeyOrderRow> = {}): KeyOrderChange {
  const order = {
    number,
    at: laterBy(start, number),
    body: JSON.stringify({ number, text: "\u00e9 \u0000" }),
    mac: new Uint8Array(32).fill(number),
    ...over,
  };
  return { at: start, order, events: [action({ action: "key_order" })] };
}

interface OpenKeys {
  readonly keys: KeyRecordStore;
  readonly users: UserStore;
  close(): Promise<void>;
}

/** Promises of KeyRecordStore, each tested on a new store. */
export function describeKeyRecordContract(name: string, open: () => Promise<OpenKeys>): void {
  const eachTest = (title: string, check: (store: OpenKeys) => Promise<void>): void => {
    test(title, async (context) => {
      const store = await open();
      context.after(() => store.close());
      await check(store);
    });
  };

  describe(`key records: ${name}`, () => {
    eachTest("an empty store has no key", async ({ keys }) => {
      assert.deepEqual(await keys.keyRecords(undefined, 10), []);
      assert.deepEqual(await keys.merchantKeyRecords(merchantOne, 0, 10), []);
    });

    eachTest("a record comes back as committed, with its entry", async ({ keys, users }) => {
      const epoch = newKey();
      const merchant = merchantKey(merchantOne, { state: "current" });
      assert.deepEqual(await keys.commitKeys(keyChange(epoch, merchant)), {
        outcome: "committed",
        number: 1,
      });
      assert.deepEqual(await keys.keyRecords(undefined, 10), [epoch]);
      assert.deepEqual(await keys.merchantKeyRecords(merchantOne, 0, 10), [merchant]);
      const [entry] = (await users.auditAfter(0, 10)).map(entryOf);
      assert.equal(entry?.action, "key_made");

      const destroyed = nextKey(merchant, {
        state: "destroyed",
        wraps: [],
        mac: new Uint8Array(32).fill(255),
      });
      assert.deepEqual(await keys.commitKeys(keyChange(destroyed)), {
        outcome: "committed",
        number: 2,
      });
      assert.deepEqual(await keys.merchantKeyRecords(merchantOne, 0, 10), [destroyed]);
      assert.equal(await assertChain(users), 2);
    });

    eachTest(
      "keys of no merchant come in the order of purpose and version, a merchant's by version, in pages",
      async ({ keys }) => {
        const epochs = [1, 2, 10].map((version) => newKey({ version }));
        const tokens = newKey({ purpose: "tokens" });
        const nodes = newKey({ purpose: "nodes" });
        const [one, two] = [merchantOne, merchantTwo].map((merchant) =>
          [1, 2, 3, 10].map((version) => merchantKey(merchant, { version })),
        );
        assert.ok(one !== undefined && two !== undefined);
        await keys.commitKeys(keyChange(tokens, nodes, ...epochs.toReversed(), ...two, ...one));
        assert.deepEqual(await keys.keyRecords(undefined, 10), [...epochs, nodes, tokens]);
        assert.deepEqual(await keys.keyRecords({ purpose: "epoch", version: 2 }, 2), [
          epochs[2],
          nodes,
        ]);
        assert.deepEqual(await keys.keyRecords({ purpose: "tokens", version: 1 }, 2), []);
        assert.deepEqual(await keys.merchantKeyRecords(merchantOne, 0, 3), one.slice(0, 3));
        assert.deepEqual(await keys.merchantKeyRecords(merchantOne, 3, 3), one.slice(3));
        assert.deepEqual(await keys.merchantKeyRecords(merchantTwo, 10, 3), []);
      },
    );

    eachTest(
      "a record is replaced at the sequence that was read, or nothing is written",
      async ({ keys, users }) => {
        const epoch = newKey();
        await keys.commitKeys(keyChange(epoch));
        const current = nextKey(epoch, { state: "current" });
        await keys.commitKeys(keyChange(current));
        const stale = [
          keyChange(newKey()),
          keyChange(nextKey(epoch, { state: "retired" })),
          keyChange(nextKey(nextKey(nextKey(epoch)))),
          keyChange(nextKey(newKey({ version: 2 }))),
          // Another record of the same commit fits.
          keyChange(newKey({ version: 2 }), nextKey(epoch, { state: "retired" })),
        ];
        for (const change of stale)
          assert.deepEqual(await keys.commitKeys(change), { outcome: "stale" });
        assert.deepEqual(await keys.keyRecords(undefined, 10), [current]);
        assert.equal(await assertChain(users), 2);
      },
    );

    eachTest("a key moves through its states, skips some, and never moves back", async (store) => {
      const { keys, users } = store;
      let epoch = newKey();
      await keys.commitKeys(keyChange(epoch));
      const refused = async (over: Partial<KeyRecord>) => {
        await assert.rejects(keys.commitKeys(keyChange(nextKey(epoch, over))), BrokenInvariant);
        await assert.rejects(
          keys.commitKeys(keyChange(newKey({ version: 9 }), nextKey(epoch, over))),
          BrokenInvariant,
          "with another record that fits",
        );
        assert.deepEqual(await keys.keyRecords(undefined, 10), [epoch]);
      };
      const backwards: Partial<KeyRecord>[] = [];
      for (const state of ["made", "current", "retired", "compromised"] as const) {
        epoch = nextKey(epoch, { state });
        assert.equal((await keys.commitKeys(keyChange(epoch))).outcome, "committed", state);
        for (const over of backwards) await refused(over);
        backwards.push({ state });
      }
      // The same state, wrapped for another root.
      epoch = nextKey(epoch, { wraps: [{ root: "root-2", bytes: Uint8Array.of(1) }] });
      assert.equal((await keys.commitKeys(keyChange(epoch))).outcome, "committed");
      await refused({ check: Uint8Array.of(1) });
      await refused({ createdAt: laterBy(start, 1) });
      epoch = nextKey(epoch, { state: "destroyed", wraps: [] });
      assert.equal((await keys.commitKeys(keyChange(epoch))).outcome, "committed");
      await refused({ state: "destroyed" });
      await refused({ state: "current", wraps: [{ root: "root-2", bytes: Uint8Array.of(1) }] });
      assert.equal(await assertChain(users), 7);
    });

    eachTest("a purpose has one current key, and so has a merchant", async ({ keys }) => {
      const [one, two] = [1, 2].map((version) => newKey({ version, state: "current" }));
      assert.ok(one !== undefined && two !== undefined);
      await keys.commitKeys(keyChange(one));
      await assert.rejects(keys.commitKeys(keyChange(two)), BrokenInvariant);
      const retired = nextKey(one, { state: "retired" });
      await assert.rejects(keys.commitKeys(keyChange(two, retired)), BrokenInvariant, "in order");
      assert.equal((await keys.commitKeys(keyChange(retired, two))).outcome, "committed");
      const others = [
        newKey({ purpose: "tokens", state: "current" }),
        merchantKey(merchantOne, { state: "current" }),
        merchantKey(merchantTwo, { state: "current" }),
      ] as const;
      assert.equal((await keys.commitKeys(keyChange(...others))).outcome, "committed");
      await assert.rejects(
        keys.commitKeys(keyChange(merchantKey(merchantOne, { version: 2, state: "current" }))),
        BrokenInvariant,
      );
      assert.deepEqual(await keys.keyRecords(undefined, 10), [retired, two, others[0]]);
      assert.deepEqual(await keys.merchantKeyRecords(merchantOne, 0, 10), [others[1]]);
    });

    eachTest("the keys under an epoch come in pages, and are counted", async ({ keys }) => {
      const shared = [newKey({ purpose: "records" }), newKey({ purpose: "tokens" })];
      const merchants = [merchantOne, merchantTwo].flatMap((merchant) =>
        [1, 2, 10].map((version) => merchantKey(merchant, { version })),
      );
      const others = [
        newKey(),
        newKey({ version: 2 }),
        merchantKey(merchantOne, { version: 3, epoch: 2 }),
        merchantKey(merchantOne, { version: 4, state: "destroyed", wraps: [] }),
      ] as const;
      await keys.commitKeys(keyChange(...others, ...merchants.toReversed(), ...shared));
      const under = [...shared, ...merchants];
      assert.equal(await keys.keysUnder(1), under.length);
      assert.equal(await keys.keysUnder(2), 1);
      assert.equal(await keys.keysUnder(3), 0);
      for (const size of [1, 3, 100]) {
        const found: KeyRecord[] = [];
        // One page more than there are records, if each has one: the last is empty.
        for (let pages = 0; pages <= under.length; pages += 1) {
          const page = await keys.keyRecordsUnder(1, found.at(-1), size);
          assert.ok(page.length <= size);
          found.push(...page);
        }
        assert.deepEqual(found, under, `pages of ${size}`);
      }
      const [first] = merchants;
      assert.ok(first !== undefined);
      await keys.commitKeys(
        keyChange(
          nextKey(first, { epoch: 2, wraps: [{ root: "epoch:2", bytes: Uint8Array.of(1) }] }),
        ),
      );
      assert.equal(await keys.keysUnder(1), under.length - 1);
      assert.equal(await keys.keysUnder(2), 2);
    });

    eachTest("merchants' keys that only open come in pages", async ({ keys }) => {
      const old = [
        merchantKey(merchantOne, { version: 2, state: "retired" }),
        merchantKey(merchantOne, { version: 10, state: "compromised" }),
        merchantKey(merchantTwo, { state: "retired" }),
      ];
      const others = [
        newKey({ state: "retired" }),
        newKey({ purpose: "tokens", state: "retired" }),
        merchantKey(merchantOne, { state: "destroyed", wraps: [] }),
        merchantKey(merchantOne, { version: 3 }),
        merchantKey(merchantTwo, { version: 2, state: "current" }),
      ] as const;
      await keys.commitKeys(keyChange(...others, ...old));
      assert.deepEqual(await keys.oldMerchantKeys(undefined, 10), old);
      assert.deepEqual(await keys.oldMerchantKeys(undefined, 2), old.slice(0, 2));
      assert.deepEqual(await keys.oldMerchantKeys(old[1], 2), old.slice(2));
      assert.deepEqual(await keys.oldMerchantKeys(old[2], 2), []);
    });

    eachTest("a destroyed epoch wraps nothing", async ({ keys, users }) => {
      const [epoch, later] = [
        newKey({ state: "retired" }),
        newKey({ version: 2, state: "current" }),
      ];
      const merchant = merchantKey(merchantOne);
      await keys.commitKeys(keyChange(epoch, later, merchant));
      const destroyed = nextKey(epoch, { state: "destroyed", wraps: [] });
      const inUse = { outcome: "in_use" };
      assert.deepEqual(await keys.commitKeys(keyChange(destroyed)), inUse);
      assert.deepEqual(await keys.commitKeys(keyChange(destroyed, nextKey(merchant))), inUse);
      assert.deepEqual(
        await keys.commitKeys(keyChange(destroyed, merchantKey(merchantTwo))),
        inUse,
      );
      assert.deepEqual(await keys.keyRecords(undefined, 10), [epoch, later]);
      const rewrapped = nextKey(merchant, {
        epoch: 2,
        wraps: [{ root: "epoch:2", bytes: Uint8Array.of(1) }],
      });
      assert.equal((await keys.commitKeys(keyChange(destroyed, rewrapped))).outcome, "committed");
      assert.deepEqual(await keys.commitKeys(keyChange(merchantKey(merchantTwo))), inUse);
      assert.equal(
        (await keys.commitKeys(keyChange(merchantKey(merchantTwo, { epoch: 2 })))).outcome,
        "committed",
      );
      assert.equal(await assertChain(users), 3);
    });

    eachTest(
      "an epoch is destroyed with what it wraps if the outage is accepted",
      async ({ keys }) => {
        const epoch = newKey({ state: "compromised" });
        const merchant = merchantKey(merchantOne);
        await keys.commitKeys(keyChange(epoch, merchant));
        const destroyed = nextKey(epoch, { state: "destroyed", wraps: [] });
        assert.deepEqual(
          await keys.commitKeys(keyChange(destroyed)),
          { outcome: "in_use" },
          "control",
        );
        const accepted = { ...keyChange(destroyed), acceptsOutage: true };
        assert.equal((await keys.commitKeys(accepted)).outcome, "committed");
        assert.deepEqual(
          await keys.commitKeys({ ...keyChange(nextKey(merchant)), acceptsOutage: true }),
          { outcome: "in_use" },
        );
        const gone = nextKey(merchant, { state: "destroyed", wraps: [] });
        assert.equal((await keys.commitKeys(keyChange(gone))).outcome, "committed");
      },
    );

    eachTest("a record that is not sound is refused", async ({ keys, users }) => {
      const wrap = { root: "epoch:1", bytes: Uint8Array.of(1) };
      const unsound: readonly KeyRecord[] = [
        newKey({ merchant: merchantOne }),
        newKey({ purpose: "merchant" }),
        newKey({ epoch: 1 }),
        newKey({ purpose: "tokens", epoch: undefined }),
        newKey({ purpose: "tokens", epoch: 0 }),
        newKey({ purpose: "tokens", wraps: [wrap, wrap] }),
        newKey({ wraps: [] }),
        newKey({ state: "destroyed" }),
        newKey({ version: 0 }),
        newKey({ version: 2 ** 31 }),
        newKey({ version: 1.5 }),
        newKey({ check: new Uint8Array(0) }),
        newKey({ check: new Uint8Array(65) }),
        newKey({ mac: new Uint8Array(31) }),
      ];
      for (const [index, record] of unsound.entries())
        await assert.rejects(keys.commitKeys(keyChange(record)), BrokenInvariant, String(index));
      const jump = { next: newKey({ sequence: 3 }), replaces: 1 };
      await assert.rejects(
        keys.commitKeys({ at: start, changes: [jump], events: [action()] }),
        BrokenInvariant,
      );
      await assert.rejects(
        keys.commitKeys(keyChange(newKey(), newKey())),
        BrokenInvariant,
        "twice",
      );
      assert.deepEqual(await keys.keyRecords(undefined, 10), []);
      assert.equal(await assertChain(users), 0);
    });

    eachTest("entries with MACs follow the head that they name", async ({ keys, users }) => {
      const change = keyChange(newKey());
      const before = await users.auditHead();
      const elsewhere = { after: { number: 1, digest: "0".repeat(64) }, rows: [] };
      assert.deepEqual(await keys.commitKeys({ ...change, chain: elsewhere }), {
        outcome: "head_moved",
      });
      assert.deepEqual(await keys.keyRecords(undefined, 10), []);
      await keys.commitKeys(change);
      const stale = { ...keyChange(newKey()), chain: { after: before, rows: [] } };
      assert.deepEqual(await keys.commitKeys(stale), { outcome: "head_moved" }, "before stale");
      assert.equal(await assertChain(users), 1);
    });

    eachTest("orders come back as committed, in pages, with their entries", async (store) => {
      const { keys, users } = store;
      assert.deepEqual(await keys.keyOrders(0, 10), []);
      const orders = [1, 2, 3].map((number) => orderChange(number));
      for (const [index, change] of orders.entries())
        assert.deepEqual(await keys.commitOrder(change), {
          outcome: "committed",
          number: index + 1,
        });
      const rows = orders.map(({ order }) => order);
      assert.deepEqual(await keys.keyOrders(0, 2), rows.slice(0, 2));
      assert.deepEqual(await keys.keyOrders(2, 2), rows.slice(2));
      assert.deepEqual(await keys.keyOrders(3, 2), []);
      const [, , entry] = (await users.auditAfter(0, 10)).map(entryOf);
      assert.equal(entry?.action, "key_order");
      assert.equal(await assertChain(users), 3);
    });

    eachTest("an order follows the last one and the head, or nothing is written", async (store) => {
      const { keys, users } = store;
      const before = await users.auditHead();
      const elsewhere = { after: { number: 1, digest: "0".repeat(64) }, rows: [] };
      assert.deepEqual(await keys.commitOrder({ ...orderChange(1), chain: elsewhere }), {
        outcome: "head_moved",
      });
      assert.deepEqual(await keys.commitOrder(orderChange(2)), { outcome: "stale" });
      assert.equal((await keys.commitOrder(orderChange(1))).outcome, "committed");
      assert.deepEqual(await keys.commitOrder(orderChange(1, { body: "{}" })), {
        outcome: "stale",
      });
      assert.deepEqual(await keys.commitOrder(orderChange(3)), { outcome: "stale" });
      const stale = { ...orderChange(1), chain: { after: before, rows: [] } };
      assert.deepEqual(await keys.commitOrder(stale), { outcome: "head_moved" }, "before stale");
      assert.deepEqual(await keys.keyOrders(0, 10), [orderChange(1).order]);
      assert.equal(await assertChain(users), 1);
    });

    eachTest("an order that is not sound is refused", async ({ keys, users }) => {
      for (const over of [
        { number: 0 },
        { number: 1.5 },
        { body: "" },
        { body: `"${"a".repeat(maxOrderLength)}"` },
        { mac: new Uint8Array(31) },
      ])
        await assert.rejects(keys.commitOrder(orderChange(1, over)), BrokenInvariant);
      assert.deepEqual(await keys.keyOrders(0, 10), []);
      assert.equal(await assertChain(users), 0);
    });

    eachTest("of orders that come at once one is written", async ({ keys, users }) => {
      const results = await Promise.all(
        Array.from({ length: 20 }, (_, number) =>
          keys.commitOrder(orderChange(1, { body: JSON.stringify({ number }) })),
        ),
      );
      const outcomes = results.map(({ outcome }) => outcome);
      assert.equal(outcomes.filter((outcome) => outcome === "committed").length, 1);
      const [order] = await keys.keyOrders(0, 10);
      assert.equal(order?.body, JSON.stringify({ number: outcomes.indexOf("committed") }));
      assert.equal(await assertChain(users), 1);
    });

    eachTest("a record that was read or written is a copy", async ({ keys }) => {
      const bytes = Uint8Array.of(1, 2, 3);
      await keys.commitKeys(keyChange(newKey({ wraps: [{ root: "root", bytes }] })));
      bytes.fill(9);
      const [read] = await keys.keyRecords(undefined, 1);
      assert.deepEqual(read?.wraps[0]?.bytes, Uint8Array.of(1, 2, 3));
    });

    eachTest(
      "of changes that come at once one is written, and user changes and key changes share the log",
      async ({ keys, users }) => {
        const results = await Promise.all(
          Array.from({ length: 30 }, (_, number) =>
            keys.commitKeys(
              keyChange(merchantKey(merchantOne, { check: Uint8Array.of(number + 1) })),
            ),
          ),
        );
        const outcomes = results.map(({ outcome }) => outcome);
        assert.equal(outcomes.filter((outcome) => outcome === "committed").length, 1);
        assert.equal(outcomes.filter((outcome) => outcome === "stale").length, 29);
        const [record] = await keys.merchantKeyRecords(merchantOne, 0, 10);
        assert.equal(record?.check[0], outcomes.indexOf("committed") + 1);
        await Promise.all(
          Array.from({ length: 20 }, (_, number) => [
            users.commit({ at: start, events: [action(), action()] }),
            keys.commitKeys(keyChange(newKey({ version: number + 1 }))),
          ]).flat(),
        );
        assert.equal(await assertChain(users), 61);
      },
    );
  });
}
