import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, describe, test, type TestContext } from "node:test";
import { day, instant, laterBy } from "../../src/kernel/instant.ts";
import { systemScheduler } from "../../src/kernel/system-scheduler.ts";
import { RootKeyReports } from "../../src/recovery/root-key-reports.ts";
import { sharedKeyRecords, storedKeyRecords } from "../../src/start/key-record-storage.ts";
import { openEmbeddedStore } from "../../src/stores/embedded/embedded-store.ts";
import type { RunningStore } from "../../src/stores/store.ts";
import { type KeyProvider, RootKeyError } from "../../src/vault/key-provider.ts";
import { createMemoryKeyProvider } from "../../src/vault/memory-key-provider.ts";
import { newKeyRecords, RecordKeyring } from "../../src/vault/records/record-keyring.ts";
import { RootMoves } from "../../src/vault/records/root-moves.ts";
import { rootSetFingerprint } from "../../src/vault/records/root-set.ts";
import { RootKeys } from "../../src/vault/records/root-wraps.ts";
import { openStoreOn, TestDatabases, testUrl } from "../postgres/databases.ts";

const random = { bytes: (length: number): Uint8Array => Uint8Array.from(randomBytes(length)) };
const installation = "00112233445566778899aabbccddeeff";

/** An installation's store, and root keys that nodes may have. */
class Place {
  now = instant(1_800_000_000_000);
  readonly clock = { now: () => this.now };
  readonly store: RunningStore;
  readonly old = createMemoryKeyProvider(random);
  readonly next = createMemoryKeyProvider(random);

  private constructor(store: RunningStore) {
    this.store = store;
  }

  static async create(store: RunningStore): Promise<Place> {
    const place = new Place(store);
    const { clock } = place;
    const roots = new RootKeys([place.old], undefined);
    const made = await newKeyRecords(
      { roots, installation, random, clock },
      {
        records: random.bytes(32),
        tokens: random.bytes(32),
        sign_in: random.bytes(32),
        notifications: random.bytes(2_500),
      },
      { set: { version: 1, roots: roots.keyIds, recovery: undefined }, random },
    );
    const steps = made.records.map((record) => ({ next: record, before: undefined }));
    assert.ok(await storedKeyRecords(store, clock, made.macs).commit(steps));
    return place;
  }

  async keyring(providers: readonly KeyProvider[]): Promise<RecordKeyring> {
    return await RecordKeyring.open({
      roots: new RootKeys(providers, undefined),
      records: (macs) => storedKeyRecords(this.store, this.clock, macs),
      stored: await sharedKeyRecords(this.store.keys),
      installation,
      random,
      clock: this.clock,
    });
  }

  /** A process with these root keys. */
  async node(name: string, providers: readonly KeyProvider[], pinned: readonly string[] = []) {
    const keyring = await this.keyring(providers);
    const reports = new RootKeyReports({
      keys: this.store.keys,
      keyring,
      roots: providers.map(({ keyId }) => keyId),
      node: name.padStart(16, "0"),
      scheduler: systemScheduler,
      elapsedMs: () => this.now,
    });
    const nodesWithout = (root: string) => reports.nodesWithout(root);
    const moves = new RootMoves({ keyring, clock: this.clock, pinned, nodesWithout });
    return { keyring, reports, moves };
  }

  async opensWith(provider: KeyProvider): Promise<boolean> {
    return this.keyring([provider]).then(
      () => true,
      () => false,
    );
  }
}

const unusable = (provider: KeyProvider): KeyProvider => ({
  ...provider,
  unwrap: () => Promise.reject(new RootKeyError("unavailable", "it does not answer")),
});

function describeMoves(name: string, open: (context: TestContext) => Promise<RunningStore>): void {
  describe(`root keys of an installation ${name}`, () => {
    test("another one is added, and each opens the keys; a node without it cannot add it", async (context) => {
      const place = await Place.create(await open(context));
      const { old, next } = place;
      const without = await place.node("a", [old]);
      const refused = await without.moves.add(next.keyId);
      assert.equal(refused.state, "refused");
      assert.match(refused.waits ?? "", /which neither COFRE_ROOT_KEY nor COFRE_ROOT_KEY_NEXT/);
      assert.equal(await place.opensWith(next), false);

      const { moves } = await place.node("b", [old, next]);
      const added = await moves.add(next.keyId);
      assert.deepEqual(
        [added.state, added.version, added.roots],
        ["changed", 2, `${old.keyId}, ${next.keyId}`],
      );
      assert.equal((await moves.add(next.keyId)).state, "unchanged");
      assert.deepEqual([await place.opensWith(old), await place.opensWith(next)], [true, true]);
    });

    test("one that does not unwrap what it wraps is not added, nor one that the configuration does not allow", async (context) => {
      const place = await Place.create(await open(context));
      const { old, next } = place;
      const broken = await place.node("a", [old, unusable(next)]);
      assert.equal((await broken.moves.add(next.keyId)).state, "refused");
      const set = { version: 2, roots: [old.keyId, next.keyId], recovery: undefined };
      const pinned = rootSetFingerprint(installation, { ...set, version: 1, roots: [old.keyId] });
      const { moves } = await place.node("b", [old, next], [pinned]);
      const refused = await moves.add(next.keyId);
      assert.equal(refused.state, "refused");
      const fingerprint = rootSetFingerprint(installation, set);
      assert.match(
        refused.waits ?? "",
        new RegExp(fingerprint),
        "it names the fingerprint to allow",
      );
      const allowed = await place.node("c", [old, next], [pinned, fingerprint]);
      assert.equal((await allowed.moves.add(next.keyId)).fingerprint, fingerprint);
    });

    test("one becomes the only one after seven days, or at once if it is ordered", async (context) => {
      for (const isNow of [false, true]) {
        const place = await Place.create(await open(context));
        const { old, next } = place;
        const { moves, keyring } = await place.node("a", [old, next]);
        const waits = await moves.move(next.keyId, false);
        assert.equal(waits.state, "waiting");
        assert.match(waits.waits ?? "", /for 7 more days/);
        assert.equal(await place.opensWith(old), true);
        if (!isNow) place.now = laterBy(place.now, 7 * day);
        const moved = await moves.move(next.keyId, isNow);
        assert.deepEqual([moved.state, moved.roots, moved.version], ["changed", next.keyId, 3]);
        assert.deepEqual([await place.opensWith(old), await place.opensWith(next)], [false, true]);
        assert.equal((await moves.move(next.keyId, isNow)).state, "unchanged");
        // The keyring that was open continues.
        assert.equal(keyring.rootSet?.version, 3);
        const stored = await sharedKeyRecords(place.store.keys);
        const epochs = stored.filter(({ purpose }) => purpose === "epoch");
        assert.deepEqual(
          epochs.flatMap(({ wraps }) => wraps.map(({ root }) => root)),
          [next.keyId],
        );
      }
    });

    test("one that fails in the meantime does not become the only one", async (context) => {
      const place = await Place.create(await open(context));
      const { old, next } = place;
      await (await place.node("a", [old, next])).moves.add(next.keyId);
      const { moves } = await place.node("b", [old, unusable(next)]);
      const waits = await moves.move(next.keyId, true);
      assert.equal(waits.state, "waiting");
      assert.match(waits.waits ?? "", /1 live nodes have not opened the keys/);
      assert.equal(await place.opensWith(old), true);
    });
  });
}

describeMoves("in one file", async (context) => {
  const store = await openEmbeddedStore({ file: ":memory:" });
  context.after(() => store.close());
  return store;
});

describe(
  "with PostgreSQL",
  { skip: testUrl === undefined && "COFRE_TEST_POSTGRES_URL names no server" },
  () => {
    const databases = new TestDatabases(testUrl ?? "");
    after(() => databases.drop());
    const open = async (context: TestContext): Promise<RunningStore> => {
      const store = await openStoreOn(await databases.create());
      context.after(() => store.close());
      return store;
    };
    describeMoves("in PostgreSQL", open);

    test("the wraps by the old root key stay until every live node has opened the keys with the new one", async (context) => {
      const place = await Place.create(await open(context));
      const { old, next, store } = place;
      const [a, b] = ["a".padStart(16, "0"), "b".padStart(16, "0")];
      await store.renewSlots(a, 60_000, []);
      await store.renewSlots(b, 60_000, []);
      const one = await place.node("a", [old, next]);
      const other = await place.node("b", [old]);
      assert.equal(await other.reports.nodesWithout(old.keyId), 1, "a has not reported yet");
      await one.moves.add(next.keyId);
      const waits = await one.moves.move(next.keyId, true);
      assert.equal(waits.state, "waiting");
      assert.match(waits.waits ?? "", /^1 live nodes have not opened the keys with/);
      assert.equal(await other.reports.nodesWithout(old.keyId), 0);
      // The node is started again with the new root key.
      const again = await place.node("b", [old, next]);
      assert.equal(await again.reports.nodesWithout(next.keyId), 0);
      assert.equal((await one.moves.move(next.keyId, true)).state, "changed");
      assert.deepEqual([await place.opensWith(old), await place.opensWith(next)], [false, true]);
    });

    test("a node that ended is not waited for", async (context) => {
      const place = await Place.create(await open(context));
      const { old, next, store } = place;
      const b = "b".padStart(16, "0");
      await store.renewSlots("a".padStart(16, "0"), 60_000, []);
      await store.renewSlots(b, 60_000, []);
      const one = await place.node("a", [old, next]);
      assert.equal((await one.moves.move(next.keyId, true)).state, "waiting");
      await store.releaseSlots(b);
      assert.equal((await one.moves.move(next.keyId, true)).state, "changed");
    });
  },
);
