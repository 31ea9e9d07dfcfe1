import assert from "node:assert/strict";
import { createSecretKey, randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { cardOf } from "../../../test/vectors/cards.ts";
import type { MerchantId, TokenDigest } from "../../kernel/ids.ts";
import { instant, second } from "../../kernel/instant.ts";
import { createMemoryKeyProvider } from "../memory-key-provider.ts";
import { type KeyProvider, RootKeyError } from "../key-provider.ts";
import { createRecordVault } from "../record-vault.ts";
import { checkValueOf, unwrapUnderEpoch, wrapUnderEpoch } from "./key-wrap.ts";
import type { KeyRecord } from "./key-record.ts";
import { newKeyRecords, RecordKeyring, sharedPurposes } from "./record-keyring.ts";
import { RootKeys } from "./root-wraps.ts";
import { withRecordMac } from "./record-mac.ts";
import { createWorldCardKeys } from "./card-keys.ts";
import type { RowMacs } from "../row-mac.ts";

const random = { bytes: (length: number): Uint8Array => Uint8Array.from(randomBytes(length)) };
const installation = "00112233445566778899aabbccddeeff";
const merchants = ["0a1b2c3d", "0a1b2c3e"] as unknown as readonly [MerchantId, MerchantId];
const [merchant, otherMerchant] = merchants;

/** Records as a store has them, and the calls of the storage and of the root key. */
class Place {
  readonly records: KeyRecord[] = [];
  readonly reads: MerchantId[] = [];
  unwraps = 0;
  sharedReads = 0;
  now = instant(1_800_000_000_000);
  installation = installation;
  provider: KeyProvider;
  macs: RowMacs | undefined;
  /** Called before a record is written. */
  beforeCommit: () => void = () => undefined;

  constructor() {
    const inner = createMemoryKeyProvider(random);
    this.provider = {
      ...inner,
      unwrap: (...call) => {
        this.unwraps += 1;
        return inner.unwrap(...call);
      },
    };
  }

  static async create(): Promise<Place> {
    const place = new Place();
    const secrets = {
      records: random.bytes(32),
      tokens: random.bytes(32),
      sign_in: random.bytes(32),
      notifications: random.bytes(2_500),
    };
    const set = { version: 1, roots: [place.provider.keyId], recovery: undefined };
    const { macs, records } = await newKeyRecords({ ...place.#own, random }, secrets, {
      set,
      random,
    });
    for (const purpose of sharedPurposes)
      assert.ok(
        secrets[purpose].every((byte) => byte === 0),
        "new secrets are wiped",
      );
    place.macs = macs;
    place.records.push(...records);
    return place;
  }

  get #own() {
    const { installation: id } = this;
    const roots = new RootKeys([this.provider], undefined);
    return { roots, installation: id, random, clock: { now: () => this.now } };
  }

  async open(): Promise<RecordKeyring> {
    return await RecordKeyring.open({
      ...this.#own,
      stored: this.records.filter(({ purpose }) => purpose !== "merchant"),
      records: () => ({
        shared: async () => {
          this.sharedReads += 1;
          return this.records.filter(({ purpose }) => purpose !== "merchant");
        },
        ofMerchant: async (id) => {
          this.reads.push(id);
          return this.records.filter(({ merchant: of }) => of === id);
        },
        move: () => assert.fail("no key is moved alone"),
        commit: async (steps) => {
          this.beforeCommit();
          const names = this.records.map(nameOf);
          for (const { next, before } of steps) {
            const at = names.indexOf(nameOf(next));
            if (before?.sequence !== this.records[at]?.sequence) return false;
          }
          for (const { next } of steps) {
            const at = names.indexOf(nameOf(next));
            this.records.splice(at === -1 ? this.records.length : at, 1, next);
          }
          return true;
        },
      }),
    });
  }

  /** Epoch 2 begins, and epoch 1 only opens from now on. */
  async beginEpoch(): Promise<void> {
    assert.ok(this.macs !== undefined);
    this.change("epoch", { state: "retired", sequence: 2 }, true);
    const [first] = this.records;
    assert.ok(first?.purpose === "epoch");
    const secret = random.bytes(32);
    const bytes = await this.provider.wrap(secret, `${installation}/epoch/2`);
    const named = { installation, purpose: "epoch", merchant: undefined, version: 2 } as const;
    const next: KeyRecord = {
      ...first,
      version: 2,
      state: "current",
      sequence: 1,
      check: checkValueOf(secret, named),
      wraps: [{ root: this.provider.keyId, bytes }],
    };
    this.records.push(withRecordMac(this.macs, installation, next));
  }

  change(purpose: KeyRecord["purpose"], changed: Partial<KeyRecord>, reseal = false): void {
    const at = this.records.findIndex((each) => each.purpose === purpose);
    const before = this.records[at];
    assert.ok(before !== undefined && this.macs !== undefined);
    const next = { ...before, ...changed };
    this.records[at] = reseal ? withRecordMac(this.macs, installation, next) : next;
  }
}

function nameOf({ purpose, merchant: of, version }: KeyRecord): string {
  return `${purpose} ${of} ${version}`;
}

describe("the keys of an installation", () => {
  test("open again after a restart, with one call of the root key", async () => {
    const place = await Place.create();
    const first = await place.open();
    const key = first.derivedKey("tokens", "digests").export();
    place.unwraps = 0;
    const second = await place.open();
    assert.equal(place.unwraps, 1);
    assert.deepEqual(second.derivedKey("tokens", "digests").export(), key);
    assert.equal(second.secret("notifications").length, 2_500);
    assert.notDeepEqual(second.derivedKey("sign_in", "digests").export(), key);
    assert.notDeepEqual(second.derivedKey("tokens", "other").export(), key);
  });

  test("are refused if any field of any record was altered, even where the key still unwraps", async () => {
    const altered: Readonly<Record<string, (record: KeyRecord) => Partial<KeyRecord>>> = {
      state: () => ({ state: "retired" }),
      sequence: ({ sequence }) => ({ sequence: sequence + 1 }),
      epoch: () => ({ epoch: 2 }),
      check: ({ check }) => ({ check: check.map((byte, at) => (at === 0 ? byte ^ 1 : byte)) }),
      root: ({ wraps }) => ({ wraps: wraps.map((wrap) => ({ ...wrap, root: `${wrap.root}0` })) }),
      "another wrap": ({ wraps }) => ({ wraps: [...wraps, ...wraps] }),
      "a byte of a wrap": ({ wraps }) => ({
        wraps: wraps.map(({ root, bytes }) => ({
          root,
          bytes: bytes.map((byte, at) => (at === bytes.length - 1 ? byte ^ 1 : byte)),
        })),
      }),
      createdAt: ({ createdAt }) => ({ createdAt: instant(createdAt + 1) }),
      changedAt: ({ changedAt }) => ({ changedAt: instant(changedAt + 1) }),
      mac: ({ mac }) => ({ mac: mac.map((byte, at) => (at === 31 ? byte ^ 1 : byte)) }),
      version: () => ({ version: 2 }),
    };
    for (const purpose of ["epoch", "roots", ...sharedPurposes] as const)
      for (const [what, change] of Object.entries(altered)) {
        if (purpose === "epoch" && what === "epoch") continue;
        const place = await Place.create();
        const record = place.records.find((each) => each.purpose === purpose);
        assert.ok(record !== undefined);
        place.change(purpose, change(record));
        await assert.rejects(
          place.open(),
          { name: /KeyringError|RootKeyError/ },
          `${purpose}: ${what}`,
        );
      }
  });

  test("are refused in another installation, under another root key, and without one of them", async () => {
    const moved = await Place.create();
    moved.installation = "ff112233445566778899aabbccddeeff";
    await assert.rejects(moved.open(), { name: "KeyringError" });
    const foreign = await Place.create();
    foreign.provider = createMemoryKeyProvider(random);
    await assert.rejects(foreign.open(), {
      message: /wrapped by the root key [0-9a-f]{16}, this one is [0-9a-f]{16}/,
    });
    for (const purpose of ["epoch", ...sharedPurposes] as const) {
      const place = await Place.create();
      place.records.splice(
        place.records.findIndex((each) => each.purpose === purpose),
        1,
      );
      await assert.rejects(place.open(), { name: "KeyringError" }, purpose);
    }
  });

  test("do not change places: a record of one purpose does not open as another's", async () => {
    const place = await Place.create();
    const tokens = place.records.find(({ purpose }) => purpose === "tokens");
    assert.ok(tokens !== undefined);
    // Even with a MAC that fits, as one that wrote the record with the key would make.
    place.change("sign_in", { wraps: tokens.wraps, check: tokens.check }, true);
    await assert.rejects(place.open(), { message: /key record sign_in 1 does not fit/ });
  });

  test("are refused if two are current, or one is out of order", async () => {
    const place = await Place.create();
    const tokens = place.records.find(({ purpose }) => purpose === "tokens");
    assert.ok(tokens !== undefined);
    place.records.push(tokens);
    await assert.rejects(place.open(), { message: /two keys for tokens are current/ });
    const made = await Place.create();
    made.change("epoch", { state: "made" }, true);
    await assert.rejects(made.open(), { message: /0 current epoch keys/ });
  });
});

describe("the set of root keys", () => {
  const next = (place: Place, more: readonly string[] = []) => ({
    roots: [place.provider.keyId, ...more],
    recovery: undefined,
  });

  test("is not changed in the commit of a new epoch that was wrapped for the one before", async () => {
    const place = await Place.create();
    const [one, other] = [await place.open(), await place.open()];
    const wraps = await one.wrapsOfEpoch(random.bytes(32), 2);
    assert.deepEqual(
      wraps.map(({ root }) => root),
      [place.provider.keyId],
    );
    const isStale = (): boolean => {
      const { before } = one.rootSetStep();
      const kept = place.records.find(
        ({ purpose, version }) => purpose === "roots" && version === 1,
      );
      return kept?.sequence !== before?.sequence;
    };
    assert.equal(isStale(), false);
    const changed = await other.changeRoots(next(place), []);
    assert.deepEqual([changed.version, other.rootSet?.version], [2, 2]);
    assert.equal(isStale(), true);
    assert.equal((await place.open()).rootSet?.version, 2);
  });

  test("is not changed when a root key of it is missing, the configuration pins another, or the keys changed meanwhile", async () => {
    const place = await Place.create();
    const keyring = await place.open();
    await assert.rejects(keyring.changeRoots(next(place, ["foreign"]), []), {
      message: /which neither COFRE_ROOT_KEY nor/,
    });
    await assert.rejects(keyring.changeRoots(next(place), ["0".repeat(64)]), {
      message: /not in COFRE_ROOT_KEYS_FINGERPRINT/,
    });
    await (await place.open()).changeRoots(next(place), []);
    await assert.rejects(keyring.changeRoots(next(place), []), { message: /changed meanwhile/ });
  });
});

describe("a merchant's key", () => {
  test("is made at the first card, once, and is the same for other processes and after a restart", async () => {
    const place = await Place.create();
    const [one, other] = [await place.open(), await place.open()];
    place.unwraps = 0;
    const keys = await Promise.all([
      ...Array.from({ length: 50 }, () => one.current(merchant)),
      ...Array.from({ length: 50 }, () => other.current(merchant)),
    ]);
    const [first] = keys;
    assert.ok(first !== undefined);
    for (const { version, key } of keys)
      assert.deepEqual([version, key.export()], [1, first.key.export()]);
    assert.equal(place.records.filter(({ purpose }) => purpose === "merchant").length, 1);
    assert.deepEqual(
      (await (await place.open()).current(merchant)).key.export(),
      first.key.export(),
    );
    assert.notDeepEqual((await one.current(otherMerchant)).key.export(), first.key.export());
    assert.equal(place.unwraps, 1, "the root key was used by the restart only");
  });

  test("is another process's if that one was faster by a moment", async () => {
    const place = await Place.create();
    const [one, other] = [await place.open(), await place.open()];
    let theirs: Promise<unknown> = Promise.resolve();
    place.beforeCommit = () => {
      place.beforeCommit = () => undefined;
      theirs = other.current(merchant);
    };
    const { key } = await one.current(merchant);
    await theirs;
    assert.deepEqual((await other.current(merchant)).key.export(), key.export());
    assert.equal(place.records.filter(({ purpose }) => purpose === "merchant").length, 1);
  });

  test("is in memory after its first use", async () => {
    const place = await Place.create();
    const keyring = await place.open();
    assert.equal(keyring.readyCurrent(merchant), undefined);
    const current = await keyring.current(merchant);
    const reads = place.reads.length;
    assert.equal(keyring.readyCurrent(merchant)?.key, keyring.ready(merchant, 1)?.key);
    assert.deepEqual(keyring.readyCurrent(merchant)?.key.export(), current.key.export());
    assert.equal(keyring.ready(merchant, 2), undefined);
    assert.equal(place.reads.length, reads);
  });

  test("that is missing is looked for once in five seconds, however many cards need it", async () => {
    const place = await Place.create();
    const keyring = await place.open();
    const find = (): Promise<unknown> => keyring.find(merchant, 1);
    await Promise.all(Array.from({ length: 50 }, find));
    assert.equal(place.reads.length, 1);
    await find();
    place.now = instant(place.now + 5 * second - 1);
    await find();
    assert.equal(place.reads.length, 1);
    place.now = instant(place.now + 1);
    assert.equal(await find(), undefined);
    assert.equal(place.reads.length, 2);
    await keyring.current(merchant);
    place.now = instant(place.now + 5 * second);
    assert.notEqual(await find(), undefined);
  });

  test("is refused with another merchant's wrap, state, epoch, or MAC", async () => {
    const changes: Readonly<Record<string, (record: KeyRecord, other: KeyRecord) => KeyRecord>> = {
      "another's record": (_, other) => ({ ...other, merchant }),
      "another's wrap": (record, { wraps, check }) => ({ ...record, wraps, check }),
      "a retired one": (record) => ({ ...record, state: "retired" }),
      "an epoch that is not there": (record) => ({ ...record, epoch: 9 }),
      "no MAC": (record) => ({ ...record, mac: new Uint8Array(0) }),
    };
    for (const [what, change] of Object.entries(changes)) {
      const place = await Place.create();
      const keyring = await place.open();
      await keyring.current(merchant);
      await keyring.current(otherMerchant);
      const [record, other] = place.records.slice(-2);
      assert.ok(record?.merchant === merchant && other?.merchant === otherMerchant);
      place.records.splice(place.records.indexOf(record), 1, change(record, other));
      await assert.rejects((await place.open()).find(merchant, 1), { name: "KeyringError" }, what);
    }
  });

  test("that does not seal any more is not replaced by a new one", async () => {
    const place = await Place.create();
    await (await place.open()).current(merchant);
    place.change("merchant", { state: "retired", sequence: 2 }, true);
    const keyring = await place.open();
    await assert.rejects(keyring.current(merchant), { message: /no key that seals cards/ });
    assert.notEqual(await keyring.find(merchant, 1), undefined, "it still opens");
    place.change("merchant", { state: "destroyed", wraps: [], sequence: 3 }, true);
    assert.equal(await (await place.open()).find(merchant, 1), undefined);
  });
});

describe("an epoch that another process began", () => {
  test("is opened once for all cards that need it, and again only when another is missing", async () => {
    const place = await Place.create();
    const early = await place.open();
    const before = await early.current(merchant);
    await place.beginEpoch();
    const late = await place.open();
    const made = await late.current(otherMerchant);
    assert.equal(place.records.at(-1)?.epoch, 2);
    place.unwraps = 0;
    const found = await Promise.all(Array.from({ length: 50 }, () => early.find(otherMerchant, 1)));
    for (const each of found) assert.deepEqual(each?.key.export(), made.key.export());
    assert.deepEqual([place.sharedReads, place.unwraps], [1, 1], "epoch 2 alone");
    assert.deepEqual((await early.find(merchant, 1))?.key.export(), before.key.export());
    assert.equal(place.sharedReads, 1);
  });

  test("that does not exist is looked for once in five seconds", async () => {
    const place = await Place.create();
    const keyring = await place.open();
    await keyring.current(merchant);
    await keyring.current(otherMerchant);
    const other = await place.open();
    place.change("merchant", { epoch: 9 }, true);
    const find = (): Promise<unknown> =>
      assert.rejects(other.find(merchant, 1), { message: /needs epoch 9/ });
    await Promise.all(Array.from({ length: 50 }, find));
    await find();
    assert.equal(place.sharedReads, 1);
    place.now = instant(place.now + 5 * second);
    await find();
    assert.equal(place.sharedReads, 2);
    assert.notEqual(await other.find(otherMerchant, 1), undefined, "control: others open");
  });

  test("does not come with an earlier state of another epoch", async () => {
    const place = await Place.create();
    const [first] = place.records;
    assert.ok(first?.purpose === "epoch");
    await place.beginEpoch();
    const keyring = await place.open();
    await keyring.current(merchant);
    // Epoch 1 as it was before, with the MAC that it had, and a key that needs a third epoch.
    place.records.splice(0, 1, first);
    place.records.splice(
      place.records.findIndex(({ purpose, version }) => purpose === "epoch" && version === 2),
      1,
    );
    place.change("merchant", { epoch: 3 }, true);
    const other = await place.open();
    await assert.rejects(other.find(merchant, 1), { message: /needs epoch 3/ });
    place.now = instant(place.now + 5 * second);
    await assert.rejects(keyring.find(merchant, 1), { message: /went back to an earlier state/ });
  });
});

test("a key that is wrapped under an epoch unwraps as this key only", () => {
  const epochKey = createSecretKey(randomBytes(32));
  const binding = { installation, purpose: "merchant", merchant, version: 1, epoch: 1 } as const;
  const secret = randomBytes(32);
  const wrapped = wrapUnderEpoch(epochKey, binding, secret, random);
  assert.deepEqual(unwrapUnderEpoch(epochKey, binding, wrapped), secret);
  for (const other of [
    { installation: "f".repeat(32) },
    { purpose: "tokens" },
    { merchant: otherMerchant },
    { merchant: undefined },
    { version: 2 },
    { epoch: 2 },
  ] as const)
    assert.equal(
      unwrapUnderEpoch(epochKey, { ...binding, ...other }, wrapped),
      undefined,
      JSON.stringify(other),
    );
  assert.equal(unwrapUnderEpoch(createSecretKey(randomBytes(32)), binding, wrapped), undefined);
  for (let at = 0; at < wrapped.length; at += 1) {
    const altered = Uint8Array.from(wrapped);
    altered[at] = (altered[at] ?? 0) ^ 1;
    assert.equal(unwrapUnderEpoch(epochKey, binding, altered), undefined, `byte ${at}`);
    assert.equal(unwrapUnderEpoch(epochKey, binding, wrapped.subarray(0, at)), undefined);
  }
});

describe("a vault with keys as records", () => {
  const number = "4111111111111111";
  const tokenDigest = "ab".repeat(32) as TokenDigest;
  const owner = { merchantId: merchant, tokenDigest, recordVersion: 1 };

  async function vaultAt(place: Place) {
    const keyring = await place.open();
    const tokens = keyring.derivedKey("tokens", "token digests");
    return createRecordVault({ keys: keyring, tokens, macs: keyring.macs, random });
  }

  test("opens a card after a restart, in its place only, and wipes it", async () => {
    const place = await Place.create();
    const ref = await (await vaultAt(place)).put(cardOf(number), owner);
    const vault = await vaultAt(place);
    const opened = await vault.use(ref, owner, async ({ pan }) => pan.reveal());
    assert.ok(opened.length === number.length && opened.every((byte) => byte === 0));
    const never = (): Promise<void> => assert.fail("it opened");
    for (const other of [
      { ...owner, merchantId: otherMerchant },
      { ...owner, recordVersion: 2 },
      { ...owner, tokenDigest: "cd".repeat(32) as TokenDigest },
    ])
      await assert.rejects(vault.use(ref, other, never), { name: "VaultError" });
    await assert.rejects(vault.use(new Uint8Array(130), owner, never), { name: "VaultError" });
    place.change("merchant", { sequence: 2 });
    await assert.rejects((await vaultAt(place)).use(ref, owner, never), { name: "VaultError" });
  });

  test("keeps no fingerprint, and gives merchants different digests of a token", async () => {
    const place = await Place.create();
    const vault = await vaultAt(place);
    assert.equal((await vault.fingerprint(cardOf(number), merchant)).length, 0);
    const digests = merchants.map((each) => vault.tokenDigests(each, "a token")[0]);
    assert.equal(new Set(digests).size, 2);
    assert.deepEqual((await vaultAt(place)).tokenDigests(merchant, "a token"), [digests[0]]);
  });

  test("of a world opens its cards, and no other's", async () => {
    const [one, other] = [0, 1].map(() =>
      createWorldCardKeys(installation, createSecretKey(randomBytes(32))),
    );
    assert.ok(one !== undefined && other !== undefined);
    const { macs } = await Place.create();
    assert.ok(macs !== undefined);
    const tokens = createSecretKey(randomBytes(32));
    const [here, there] = [one, other].map((keys) =>
      createRecordVault({ keys, tokens, macs, random }),
    );
    const ref = await here?.put(cardOf(number), owner);
    assert.ok(ref !== undefined);
    assert.equal(await here?.use(ref, owner, async () => 1), 1);
    await assert.rejects(there?.use(ref, owner, async () => 1) ?? Promise.resolve(), {
      name: "VaultError",
    });
  });
});

describe("the keys of cards", () => {
  test("that were dropped open nothing and write nothing until a root key opens them again", async () => {
    const place = await Place.create();
    const keyring = await place.open();
    const { version } = await keyring.current(merchant);
    keyring.dropCardKeys();
    assert.ok(keyring.areCardKeysDropped);
    assert.equal(keyring.ready(merchant, version), undefined);
    assert.equal(keyring.readyCurrent(merchant), undefined);
    place.unwraps = 0;
    const refused = { name: "KeyringError" };
    await assert.rejects(keyring.find(merchant, version), refused);
    await assert.rejects(keyring.current(merchant), refused);
    await assert.rejects(keyring.current(otherMerchant), refused);
    const { roots, recovery } = keyring.rootSet ?? assert.fail("there is a set");
    await assert.rejects(keyring.changeRoots({ roots, recovery }, []), refused);
    assert.ok(keyring.isWrappedBy(place.provider.keyId), "known from the records");
    assert.ok(!keyring.isWrappedBy("another"));
    assert.equal(place.unwraps, 0, "no request uses the root key");
    assert.equal(keyring.secret("sign_in").length, 32, "users sign in");

    await keyring.reopenCardKeys();
    assert.equal(place.unwraps, 1);
    assert.ok(!keyring.areCardKeysDropped);
    assert.equal((await keyring.find(merchant, version))?.version, version);
    assert.equal((await keyring.current(otherMerchant)).version, 1);
    await keyring.reopenCardKeys();
    assert.equal(place.unwraps, 1, "open already");
  });

  test("stay dropped while the root key does not answer, and when they are dropped again meanwhile", async () => {
    const place = await Place.create();
    const inner = place.provider;
    const state = { fails: false, wait: Promise.resolve() };
    place.provider = {
      ...inner,
      unwrap: async (...call) => {
        await state.wait;
        if (state.fails) throw new RootKeyError("unavailable", "the service does not answer");
        return await inner.unwrap(...call);
      },
    };
    const keyring = await place.open();
    await keyring.current(merchant);
    keyring.dropCardKeys();
    state.fails = true;
    await assert.rejects(keyring.reopenCardKeys(), { name: /KeyringError|RootKeyError/ });
    assert.ok(keyring.areCardKeysDropped);
    state.fails = false;
    const held = Promise.withResolvers<void>();
    state.wait = held.promise;
    const opening = keyring.reopenCardKeys();
    keyring.dropCardKeys();
    held.resolve();
    await assert.rejects(opening, /dropped meanwhile/);
    assert.ok(keyring.areCardKeysDropped);
    await keyring.reopenCardKeys();
    assert.equal((await keyring.find(merchant, 1))?.version, 1);
  });

  test("are refused when they went back to an earlier state while they were dropped", async () => {
    const place = await Place.create();
    const earlier = [...place.records];
    const keyring = await place.open();
    await place.beginEpoch();
    await keyring.reopenCardKeys();
    keyring.dropCardKeys();
    await keyring.reopenCardKeys();
    keyring.dropCardKeys();
    place.records.splice(0, place.records.length, ...earlier);
    await assert.rejects(keyring.reopenCardKeys(), /went back to an earlier state/);
    assert.ok(keyring.areCardKeysDropped);
  });

  test("that are read while they are dropped are not kept", async () => {
    const place = await Place.create();
    const keyring = await place.open();
    await keyring.current(merchant);
    keyring.dropCardKeys();
    await keyring.reopenCardKeys();
    const reading = keyring.find(merchant, 1);
    keyring.dropCardKeys();
    await reading.catch(() => undefined);
    assert.equal(keyring.ready(merchant, 1), undefined);
  });
});
