import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, describe, test, type TestContext } from "node:test";
import type { ActName, ActParameters } from "../../src/key-acts/act-table.ts";
import {
  afterRotationAct,
  isCompromised,
  noRotation,
  type RotationOrders,
} from "../../src/key-acts/rotation-orders.ts";
import type { MerchantId, TokenDigest } from "../../src/kernel/ids.ts";
import { type Instant, instant, minute } from "../../src/kernel/instant.ts";
import { allSlots } from "../../src/kernel/slot-assignment.ts";
import { systemScheduler } from "../../src/kernel/system-scheduler.ts";
import { epochDeadlineMs, KeyRotationJob } from "../../src/recovery/key-rotation-job.ts";
import { KeyWatch } from "../../src/recovery/key-watch.ts";
import { ResealJob, type ResealProgress } from "../../src/recovery/reseal-job.ts";
import { sharedKeyRecords, storedKeyRecords } from "../../src/start/key-record-storage.ts";
import type { Change } from "../../src/stores/change.ts";
import { openEmbeddedStore } from "../../src/stores/embedded/embedded-store.ts";
import type { KnownKeys } from "../../src/stores/key-record-store.ts";
import type { RunningStore } from "../../src/stores/store.ts";
import { merchantKeyVersionOf } from "../../src/vault/derived-envelope.ts";
import { RootKeyError } from "../../src/vault/key-provider.ts";
import { createMemoryKeyProvider } from "../../src/vault/memory-key-provider.ts";
import { createRecordVault } from "../../src/vault/record-vault.ts";
import { newKeyRecords, RecordKeyring } from "../../src/vault/records/record-keyring.ts";
import { RootKeys } from "../../src/vault/records/root-wraps.ts";
import type { StoredCard } from "../../src/vault/stored-card.ts";
import type { Vault } from "../../src/vault/vault.ts";
import { openStoreOn, TestDatabases, testUrl } from "../postgres/databases.ts";
import { cardOf } from "../vectors/cards.ts";
import { merchantId } from "./store-fixtures.ts";
import { assertChain } from "./user-store.contract.ts";

const random = { bytes: (length: number): Uint8Array => Uint8Array.from(randomBytes(length)) };
const installation = "00112233445566778899aabbccddeeff";
const number = "4111111111111111";
const [merchant, other] = [merchantId(0xa), merchantId(0xb)];

/** An installation's store and its root key, which every node of it uses. */
class Place {
  now = instant(1_800_000_000_000);
  readonly clock = { now: () => this.now };
  readonly #inner = createMemoryKeyProvider(random);
  /** Every key so far was made before it; the clock is there now. */
  later(): Instant {
    this.now = instant(this.now + 1);
    return this.now;
  }

  isRootAvailable = true;
  unwraps = 0;
  readonly roots = new RootKeys(
    [
      {
        ...this.#inner,
        unwrap: async (...call) => {
          this.unwraps += 1;
          if (!this.isRootAvailable) throw new RootKeyError("unavailable", "no answer");
          return await this.#inner.unwrap(...call);
        },
      },
    ],
    undefined,
  );

  async makeKeys(store: RunningStore): Promise<void> {
    const { roots, clock } = this;
    const made = await newKeyRecords(
      { roots, installation, random, clock },
      {
        records: random.bytes(32),
        tokens: random.bytes(32),
        sign_in: random.bytes(32),
        notifications: random.bytes(2_500),
      },
      { set: { version: 1, roots: this.roots.keyIds, recovery: undefined }, random },
    );
    const steps = made.records.map((next) => ({ next, before: undefined }));
    assert.ok(await storedKeyRecords(store, clock, made.macs).commit(steps));
  }
}

interface NodeOptions {
  readonly knownEverywhere?: () => KnownKeys | undefined;
}

/** A process: its open keys, its vault and its jobs. */
class Node {
  readonly store: RunningStore;
  readonly keyring: RecordKeyring;
  readonly vault: Vault;
  readonly rotation: KeyRotationJob;
  readonly reseal: ResealJob;
  readonly resealed: ResealProgress[] = [];
  orders: RotationOrders = noRotation;
  readonly failures: string[] = [];
  readonly refused: string[] = [];

  private constructor(
    place: Place,
    store: RunningStore,
    keyring: RecordKeyring,
    { knownEverywhere }: NodeOptions,
  ) {
    this.store = store;
    this.keyring = keyring;
    this.vault = createRecordVault({
      keys: keyring,
      tokens: keyring.derivedKey("tokens", "token digests"),
      macs: keyring.macs,
      random,
    });
    const shared = {
      keys: store.keys,
      clock: place.clock,
      scheduler: systemScheduler,
      slotAssignment: allSlots,
    };
    this.rotation = new KeyRotationJob({
      ...shared,
      store,
      rotation: keyring.rotation,
      orders: () => this.orders,
      knownEverywhere,
      report: () => undefined,
      refused: (key) => this.refused.push(key),
      failed: (reason) => this.failures.push(reason),
    });
    this.reseal = new ResealJob({
      ...shared,
      store,
      vault: this.vault,
      cardsPerSecond: () => this.orders.cardsPerSecond,
      isUrgent: (record) => isCompromised(this.orders, record),
      forget: (of) => keyring.forget(of),
      report: (progress) => this.resealed.push(progress),
    });
  }

  static async open(place: Place, store: RunningStore, options: NodeOptions = {}): Promise<Node> {
    const { clock, roots } = place;
    const keyring = await RecordKeyring.open({
      roots,
      records: (macs) => storedKeyRecords(store, clock, macs),
      stored: await sharedKeyRecords(store.keys),
      installation,
      random,
      clock,
    });
    return new Node(place, store, keyring, options);
  }

  /** An act that takes effect now. */
  order(place: Place, act: ActName, parameters: ActParameters): void {
    this.orders = afterRotationAct(this.orders, act, { parameters, at: place.later() });
  }

  async statesOf(of?: MerchantId): Promise<readonly string[]> {
    const records =
      of === undefined
        ? (await sharedKeyRecords(this.store.keys)).filter(({ purpose }) => purpose === "epoch")
        : await this.store.keys.merchantKeyRecords(of, 0, 100);
    return records.map(({ version, state }) => `${version} ${state}`);
  }

  watch(place: Place, node: string): KeyWatch {
    const { keyring, store } = this;
    const watch = new KeyWatch({
      keys: store.keys,
      log: store.users,
      keyring: {
        epochs: () => keyring.rotation.epochs(),
        forget: (of) => keyring.forget(of),
        forgetAll: () => keyring.forgetAll(),
      },
      node,
      scheduler: systemScheduler,
      elapsedMs: () => place.now,
    });
    keyring.sealWhile(() => watch.isFresh);
    return watch;
  }

  async storeCard(place: Place, of: MerchantId, token: string): Promise<TokenDigest> {
    const [tokenDigest] = this.vault.tokenDigests(of, token);
    const owner = { merchantId: of, tokenDigest, recordVersion: 1 };
    const { now } = place;
    const ref = await this.vault.put(cardOf(number), owner);
    const next = this.vault.withMac({
      merchantId: of,
      tokenDigest,
      version: 1,
      ref,
      fingerprint: new Uint8Array(0),
      brand: "visa",
      maskedPan: "411111xxxxxx1111",
      createdAt: now,
      lastUsedAt: now,
    });
    const result = await this.store.commit(
      cardChange(place, of, { card: { next, replaces: undefined } }),
    );
    assert.equal(result.outcome, "committed");
    return tokenDigest;
  }

  async card(of: MerchantId, tokenDigest: TokenDigest): Promise<StoredCard> {
    const card = await this.store.cardByToken(of, tokenDigest);
    assert.ok(card !== undefined);
    return card;
  }

  /** The version of the merchant's key under which the card is, which opens. */
  async openedUnder(of: MerchantId, tokenDigest: TokenDigest): Promise<number | undefined> {
    const card = await this.card(of, tokenDigest);
    assert.ok(this.vault.isGenuine(card));
    const owner = { merchantId: of, tokenDigest, recordVersion: card.version };
    await this.vault.use(card.ref, owner, async ({ pan }) => {
      assert.equal(Buffer.from(pan.reveal()).toString(), number);
    });
    return merchantKeyVersionOf(card.ref);
  }
}

function cardChange({ now }: Place, of: MerchantId, part: Partial<Change>): Change {
  return { merchantId: of, at: now, facts: [], entries: [], notifications: [], ...part };
}

type Open = (context: TestContext) => Promise<RunningStore>;

async function setUp(context: TestContext, open: Open): Promise<readonly [Place, Node]> {
  const place = new Place();
  const store = await open(context);
  await place.makeKeys(store);
  return [place, await Node.open(place, store)];
}

function describeRotation(name: string, open: Open): void {
  describe(`rotation of keys: ${name}`, () => {
    test("of the epoch wraps every key again, and cards of all merchants open before and after a restart", async (context) => {
      const [place, node] = await setUp(context, open);
      const merchants = Array.from({ length: 230 }, (_, at) => merchantId(at + 1));
      const tokens = new Map<MerchantId, TokenDigest>();
      for (const of of merchants) tokens.set(of, await node.storeCard(place, of, "card"));
      const secret = node.keyring.secret("notifications");
      place.unwraps = 0;

      assert.equal(await node.keyring.rotation.makeEpoch(), 2);
      assert.equal(await node.keyring.rotation.makeEpoch(), 2, "once");
      assert.equal(place.unwraps, 2, "proven, and opened from the record");
      await node.rotation.runOnce();

      assert.equal(await node.store.keys.keysUnder(1), 0);
      assert.equal(await node.store.keys.keysUnder(2), merchants.length + 5);
      const states = (await sharedKeyRecords(node.store.keys))
        .filter(({ purpose }) => purpose === "epoch")
        .map(({ version, state }) => `${version} ${state}`);
      assert.deepEqual(states, ["1 retired", "2 current"]);
      const again = await Node.open(place, node.store);
      assert.deepEqual(again.keyring.secret("notifications"), secret);
      for (const each of [node, again])
        for (const [of, token] of tokens) assert.equal(await each.openedUnder(of, token), 1);
      // A merchant's first key after that.
      assert.equal(await again.openedUnder(other, await node.storeCard(place, other, "new")), 1);
      assert.equal(await node.store.keys.keysUnder(1), 0);
      await assertChain(node.store.users);
    });

    test("of the epoch leaves an altered key under its epoch, and says so once", async (context) => {
      const [place, node] = await setUp(context, open);
      await node.storeCard(place, merchant, "card");
      await node.storeCard(place, other, "card");
      const [record] = await node.store.keys.merchantKeyRecords(merchant, 0, 10);
      assert.ok(record !== undefined);
      const altered = { ...record, sequence: 2, mac: new Uint8Array(32) };
      await node.store.keys.commitKeys({
        at: place.now,
        changes: [{ next: altered, replaces: 1 }],
        events: [
          {
            actor: { kind: "server" },
            origin: undefined,
            action: "key_rewrapped",
            target: undefined,
            result: "done",
            completes: undefined,
            detail: undefined,
          },
        ],
      });
      await node.keyring.rotation.makeEpoch();
      await node.rotation.runOnce();
      await node.rotation.runOnce();
      assert.deepEqual(node.refused, [`merchant ${merchant} 1`]);
      assert.equal(await node.store.keys.keysUnder(1), 1);
    });

    test("of a merchant's key seals its cards again, and those of no other merchant", async (context) => {
      const [place, node] = await setUp(context, open);
      const tokens: TokenDigest[] = [];
      for (let at = 0; at < 120; at += 1)
        tokens.push(await node.storeCard(place, merchant, `card ${at}`));
      const foreign = await node.storeCard(place, other, "card");
      const [first] = tokens;
      assert.ok(first !== undefined);
      const before = await node.card(merchant, first);

      assert.equal(
        await node.keyring.rotation.replaceMerchantKey(merchant, place.later(), "retired"),
        2,
      );
      const later = await node.storeCard(place, merchant, "later");
      assert.equal(await node.openedUnder(merchant, later), 2);
      assert.equal(await node.openedUnder(merchant, first), 1, "control: not sealed again yet");
      await node.reseal.runOnce();

      for (const token of [...tokens, later])
        assert.equal(await node.openedUnder(merchant, token), 2);
      assert.equal(await node.openedUnder(other, foreign), 1);
      assert.deepEqual(node.resealed, [
        { merchantId: merchant, keyVersion: 1, cards: 120, unreadable: 0 },
      ]);
      const { version, createdAt, lastUsedAt, maskedPan } = await node.card(merchant, first);
      assert.deepEqual(
        { version, createdAt, lastUsedAt, maskedPan },
        {
          version: 2,
          createdAt: before.createdAt,
          lastUsedAt: before.lastUsedAt,
          maskedPan: before.maskedPan,
        },
      );
      const again = await Node.open(place, node.store);
      assert.equal(await again.openedUnder(merchant, first), 2);
    });

    test("whose commit was not answered seals cards again all the same", async (context) => {
      const [place, node] = await setUp(context, open);
      const token = await node.storeCard(place, merchant, "card");
      // It was written after the answer was given up.
      const elsewhere = await Node.open(place, node.store);
      await elsewhere.keyring.rotation.replaceMerchantKey(merchant, place.later(), "retired");
      assert.equal(
        merchantKeyVersionOf(
          (await node.card(merchant, await node.storeCard(place, merchant, "b"))).ref,
        ),
        1,
        "control: the key before is cached",
      );
      await node.reseal.runOnce();
      await node.reseal.runOnce();
      assert.equal(await node.openedUnder(merchant, token), 2);
    });

    test("keeps the last use of a card, and brings no deleted card back", async (context) => {
      const [place, node] = await setUp(context, open);
      const [used, deleted] = [
        await node.storeCard(place, merchant, "used"),
        await node.storeCard(place, merchant, "deleted"),
      ];
      await node.keyring.rotation.replaceMerchantKey(merchant, place.later(), "retired");
      const at = instant(place.now + 5);
      // Between the read of the cards and the commit of the job.
      const { store } = node;
      const reseal = new ResealJob({
        store: {
          cardsOf: async (...call) => {
            const page = await store.cardsOf(...call);
            await store.commit(cardChange(place, merchant, { cardUse: { tokenDigest: used, at } }));
            const cardErasure = { tokenDigest: deleted, unusedSince: at };
            await store.commit(cardChange(place, merchant, { cardErasure }));
            return page;
          },
          commit: (change) => store.commit(change),
        },
        keys: store.keys,
        vault: node.vault,
        cardsPerSecond: () => 1_000,
        isUrgent: () => false,
        forget: (of) => node.keyring.forget(of),
        clock: place.clock,
        scheduler: systemScheduler,
        slotAssignment: allSlots,
        report: () => undefined,
      });
      await reseal.runOnce();
      assert.equal(await node.openedUnder(merchant, used), 2);
      assert.equal((await node.card(merchant, used)).lastUsedAt, at);
      assert.equal(await store.cardByToken(merchant, deleted), undefined);
    });

    test("reports cards that do not open, and leaves them as they are", async (context) => {
      const [place, node] = await setUp(context, open);
      const [good, bad] = [
        await node.storeCard(place, merchant, "good"),
        await node.storeCard(place, merchant, "bad"),
      ];
      const card = await node.card(merchant, bad);
      const next = { ...card, version: 2, mac: new Uint8Array(32) };
      await node.store.commit(cardChange(place, merchant, { card: { next, replaces: 1 } }));
      await node.keyring.rotation.replaceMerchantKey(merchant, place.later(), "retired");
      await node.reseal.runOnce();
      assert.deepEqual(node.resealed, [
        { merchantId: merchant, keyVersion: 1, cards: 1, unreadable: 1 },
      ]);
      assert.equal(await node.openedUnder(merchant, good), 2);
      assert.deepEqual(await node.card(merchant, bad), next);
    });

    test("by order: an epoch, all merchants, one merchant; each order once, also after a restart", async (context) => {
      const [place, node] = await setUp(context, open);
      const tokens = [
        [merchant, await node.storeCard(place, merchant, "card")],
        [other, await node.storeCard(place, other, "card")],
      ] as const;
      const check = async (epoch: number, versions: readonly [number, number]) => {
        for (let round = 0; round < 2; round += 1) {
          await node.rotation.runOnce();
          await node.reseal.runOnce();
        }
        const again = await Node.open(place, node.store);
        again.orders = node.orders;
        await again.rotation.runOnce();
        await again.reseal.runOnce();
        assert.equal((await node.keyring.rotation.epochs()).at(-1)?.version, epoch);
        for (const [at, [of, token]] of tokens.entries()) {
          assert.equal(await node.openedUnder(of, token), versions[at]);
          assert.equal(await again.openedUnder(of, token), versions[at]);
        }
      };
      await check(1, [1, 1]);
      node.order(place, "rotate", { target: "epoch" });
      await check(2, [1, 1]);
      node.order(place, "rotate", { target: `merchant:${merchant}` });
      await check(2, [2, 1]);
      node.order(place, "rotate", { target: "merchants" });
      await check(2, [3, 2]);
      assert.deepEqual(await node.statesOf(merchant), ["1 retired", "2 retired", "3 current"]);
      assert.deepEqual(await node.statesOf(), ["1 retired", "2 current"]);
    });

    test("by order is tried again when the root key does not answer", async (context) => {
      const [place, node] = await setUp(context, open);
      place.isRootAvailable = false;
      node.order(place, "rotate", { target: "epoch" });
      for (let round = 0; round < 3; round += 1) await node.rotation.runOnce();
      assert.equal(node.failures.length, 1);
      assert.deepEqual(await node.statesOf(), ["1 current"]);
      place.isRootAvailable = true;
      await node.rotation.runOnce();
      assert.deepEqual(await node.statesOf(), ["1 retired", "2 current"]);
    });

    test("by order of compromise marks all earlier keys, and seals cards again while that is paused", async (context) => {
      const [place, node] = await setUp(context, open);
      const token = await node.storeCard(place, merchant, "card");
      node.order(place, "rotate", { target: `merchant:${merchant}` });
      node.order(place, "reseal", { rate: "0" });
      await node.rotation.runOnce();
      await node.reseal.runOnce();
      assert.equal(await node.openedUnder(merchant, token), 1, "paused");
      node.order(place, "compromised", { target: "epoch" });
      for (let round = 0; round < 2; round += 1) await node.rotation.runOnce();
      assert.deepEqual(await node.statesOf(), ["1 compromised", "2 current"]);
      assert.deepEqual(await node.statesOf(merchant), [
        "1 compromised",
        "2 compromised",
        "3 current",
      ]);
      await node.reseal.runOnce();
      assert.equal(await node.openedUnder(merchant, token), 3);
      assert.equal(await node.store.keys.keysUnder(1), 0);
    });

    test("destroys a key by order when nothing needs it, or with what needs it", async (context) => {
      const [place, node] = await setUp(context, open);
      const token = await node.storeCard(place, merchant, "card");
      const foreign = await node.storeCard(place, other, "card");
      node.order(place, "reseal", { rate: "0" });
      node.order(place, "rotate", { target: "merchants" });
      node.order(place, "destroy", { target: `merchant:${merchant}:1` });
      // It is current: the order waits until it only opens.
      node.order(place, "destroy", { target: "epoch:1" });
      place.now = instant(place.now + 1);
      await node.rotation.runOnce();
      place.now = instant(place.now + 2 * minute);
      await node.rotation.runOnce();
      assert.deepEqual(
        await node.statesOf(merchant),
        ["1 retired", "2 current"],
        "a card needs it",
      );
      node.order(place, "reseal", { rate: "1000" });
      await node.reseal.runOnce();
      await node.rotation.runOnce();
      assert.deepEqual(await node.statesOf(merchant), ["1 destroyed", "2 current"]);
      assert.equal(await node.openedUnder(merchant, token), 2);
      assert.deepEqual(await node.statesOf(), ["1 current"]);
      node.order(place, "rotate", { target: "epoch" });
      for (let round = 0; round < 2; round += 1) await node.rotation.runOnce();
      assert.deepEqual(await node.statesOf(), ["1 destroyed", "2 current"]);
      const again = await Node.open(place, node.store);
      for (const [of, each] of [
        [merchant, token],
        [other, foreign],
      ] as const)
        assert.equal(await again.openedUnder(of, each), 2);

      // With its cards.
      node.order(place, "reseal", { rate: "0" });
      node.order(place, "rotate", { target: `merchant:${other}` });
      node.order(place, "destroy", { target: `merchant:${other}:2`, accept_outage: "true" });
      for (let round = 0; round < 2; round += 1) await node.rotation.runOnce();
      assert.deepEqual(await node.statesOf(other), ["1 retired", "2 destroyed", "3 current"]);
      await assert.rejects(node.openedUnder(other, foreign), { name: "VaultError" });
      assert.equal(await node.openedUnder(merchant, token), 2);
    });

    test("of a merchant without a key makes none", async (context) => {
      const [place, node] = await setUp(context, open);
      assert.equal(
        await node.keyring.rotation.replaceMerchantKey(merchant, place.later(), "retired"),
        undefined,
      );
      assert.deepEqual(await node.store.keys.merchantKeyRecords(merchant, 0, 10), []);
    });

    test("a card that was sealed under a key that was destroyed meanwhile is not stored", async (context) => {
      const [place, node] = await setUp(context, open);
      await node.storeCard(place, merchant, "card");
      const [record] = await node.store.keys.merchantKeyRecords(merchant, 0, 10);
      assert.ok(record !== undefined);
      await node.keyring.rotation.replaceMerchantKey(merchant, place.later(), "retired");
      const stale = await Node.open(place, node.store);
      // As a process that was paused: it seals under the first key.
      const [old] = [await stale.keyring.find(merchant, 1)];
      assert.ok(old !== undefined);
      const late = createRecordVault({
        keys: {
          installation,
          readyCurrent: () => old,
          current: async () => old,
          ready: () => old,
          find: async () => old,
        },
        tokens: stale.keyring.derivedKey("tokens", "token digests"),
        macs: stale.keyring.macs,
        random,
      });
      const lateNode = Object.assign(stale, { vault: late });
      await lateNode.storeCard(place, merchant, "late");
      await node.reseal.runOnce();
      const [retired] = await node.store.keys.merchantKeyRecords(merchant, 0, 10);
      assert.ok(retired !== undefined);
      await storedKeyRecords(node.store, place.clock, node.keyring.macs).commit([
        {
          next: { ...retired, state: "destroyed", wraps: [], sequence: retired.sequence + 1 },
          before: retired,
        },
      ]);
      await assert.rejects(lateNode.storeCard(place, merchant, "too late"));
      assert.equal((await node.store.cardsOf(merchant, undefined, 10)).length, 2);
    });
  });
}

describeRotation("the embedded store", async (context) => {
  const store = await openEmbeddedStore({ file: ":memory:" });
  context.after(() => store.close());
  return store;
});

const databases = testUrl === undefined ? undefined : new TestDatabases(testUrl);
after(() => databases?.drop());

if (databases === undefined)
  test(
    "rotation of keys: PostgreSQL",
    { skip: "COFRE_TEST_POSTGRES_URL names no server" },
    () => undefined,
  );
else {
  describeRotation("PostgreSQL", async (context) => {
    const store = await databases.openStore();
    context.after(() => store.close());
    return store;
  });
  describe("rotation of keys by several nodes", () => describeNodes(databases));
}

const nodeNames = ["a".repeat(16), "b".repeat(16)] as const;

/** Two processes on one database, each with its watch, and the first one with the jobs. */
async function twoNodes(context: TestContext, of: TestDatabases) {
  const url = await of.copy();
  const place = new Place();
  const stores = await Promise.all([openStoreOn(url), openStoreOn(url)]);
  context.after(() => Promise.all(stores.map((store) => store.close())));
  await place.makeKeys(stores[0]);
  for (const [at, store] of stores.entries())
    await store.renewSlots(nodeNames[at] ?? "", 60_000, []);
  const known: { watch?: KeyWatch } = {};
  const one = await Node.open(place, stores[0], {
    knownEverywhere: () => known.watch?.everywhere,
  });
  const two = await Node.open(place, stores[1]);
  const watches = [one.watch(place, nodeNames[0]), two.watch(place, nodeNames[1])] as const;
  known.watch = watches[0];
  return { place, one, two, watches };
}

function describeNodes(of: TestDatabases): void {
  test("an epoch becomes current when both have opened it, or after eleven minutes", async (context) => {
    const { place, one, two, watches } = await twoNodes(context, of);
    const currentEpoch = async () =>
      (await one.keyring.rotation.epochs()).find(({ state }) => state === "current")?.version;
    for (const watch of watches) await watch.runOnce();
    await one.keyring.rotation.makeEpoch();
    await watches[0].runOnce();
    await one.rotation.runOnce();
    assert.equal(await currentEpoch(), 1, "the other node has not opened it");
    await watches[1].runOnce();
    await watches[0].runOnce();
    await one.rotation.runOnce();
    assert.equal(await currentEpoch(), 2);
    assert.equal(await two.store.keys.keysUnder(1), 0);
    place.unwraps = 0;
    assert.equal(await two.openedUnder(merchant, await one.storeCard(place, merchant, "card")), 1);
    assert.equal(place.unwraps, 0, "the root key is not used on a request");

    // The other node does not open the next one.
    const madeAt = place.now;
    await one.keyring.rotation.makeEpoch();
    await watches[0].runOnce();
    place.now = instant(madeAt + epochDeadlineMs - 1);
    await one.rotation.runOnce();
    assert.equal(await currentEpoch(), 2);
    place.now = instant(place.now + 1);
    await one.rotation.runOnce();
    assert.equal(await currentEpoch(), 3);
  });

  test("a node that has ended is not waited for", async (context) => {
    const { place, one, two, watches } = await twoNodes(context, of);
    for (const watch of watches) await watch.runOnce();
    await one.keyring.rotation.makeEpoch();
    await two.store.releaseSlots(nodeNames[1]);
    await watches[0].runOnce();
    await one.rotation.runOnce();
    assert.equal(await one.store.keys.keysUnder(1), 0);
    place.now = instant(place.now + 10_000);
    await watches[1].runOnce();
    assert.equal(watches[1].isFresh, false, "it has no lease");
    assert.equal(await two.openedUnder(merchant, await two.storeCard(place, merchant, "card")), 1);
  });

  test("a merchant's new key seals on the other node after its next look, or at once if it has not looked lately", async (context) => {
    const { place, one, two, watches } = await twoNodes(context, of);
    for (const watch of watches) await watch.runOnce();
    const first = await two.storeCard(place, merchant, "first");
    await one.keyring.rotation.replaceMerchantKey(merchant, place.later(), "retired");
    const second = await two.storeCard(place, merchant, "second");
    assert.equal(await one.openedUnder(merchant, second), 1, "control: the key is cached there");
    await watches[1].runOnce();
    assert.equal(await one.openedUnder(merchant, await two.storeCard(place, merchant, "third")), 2);

    await one.keyring.rotation.replaceMerchantKey(merchant, place.later(), "retired");
    place.now = instant(place.now + 10_000);
    assert.equal(await one.openedUnder(merchant, await two.storeCard(place, merchant, "late")), 3);
    await one.reseal.runOnce();
    assert.equal(await two.openedUnder(merchant, first), 3);
    assert.equal(await two.openedUnder(merchant, second), 3);
  });

  test("the root key is not needed to follow a rotation whose epoch is open", async (context) => {
    const { place, one, two, watches } = await twoNodes(context, of);
    await one.keyring.rotation.makeEpoch();
    for (const watch of [...watches].toReversed()) await watch.runOnce();
    place.isRootAvailable = false;
    await one.rotation.runOnce();
    await watches[1].runOnce();
    assert.equal(await two.openedUnder(other, await two.storeCard(place, other, "card")), 1);
    const [record] = await two.store.keys.merchantKeyRecords(other, 0, 1);
    assert.equal(record?.epoch, 2);
  });
}
