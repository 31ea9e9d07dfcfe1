import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { inspect } from "node:util";
import { watchWipes } from "../../test/vectors/wipes.ts";
import { instant } from "../kernel/instant.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { SystemRandom } from "../kernel/system-random.ts";
import { KeyringError, KeysChangedElsewhere } from "./key-provider.ts";
import { isEnvironmentId, Keyring, type WrappedKeys, type WrappedKeyStore } from "./keyring.ts";
import { createMemoryKeyProvider, createMemoryWrappedKeyStore } from "./memory-key-provider.ts";

const random = new SystemRandom();
const merchant = "0a1b2c3d" as MerchantId;

function installation(root = random.bytes(32)) {
  let now = 1_000;
  const options = {
    store: createMemoryWrappedKeyStore(),
    environment: "sandbox",
    random,
    clock: { now: () => instant((now += 1)) },
    create: true,
  };
  // The provider wipes the root key that it gets, so each opening gets a copy, as after a restart.
  return {
    options,
    open: async (changes: object = {}) =>
      await Keyring.open({
        ...options,
        provider: createMemoryKeyProvider(random, Uint8Array.from(root)),
        ...changes,
      }),
  };
}

async function kept(store: WrappedKeyStore): Promise<WrappedKeys> {
  const keys = await store.load();
  assert.ok(keys !== undefined);
  return keys;
}

describe("what is refused", () => {
  test("keys of another environment, in either direction", async () => {
    const { open } = installation();
    await open();
    await assert.rejects(open({ environment: "production" }), {
      name: "KeyringError",
      message: /belong to the environment sandbox, this is production/,
    });
    const production = installation();
    await production.open({ environment: "production" });
    await assert.rejects(production.open(), {
      name: "KeyringError",
      message: /belong to the environment production, this is sandbox/,
    });
  });

  test("keys of another environment whose name in the file was changed", async () => {
    const { open, options } = installation();
    await open();
    await options.store.save({ ...(await kept(options.store)), environment: "production" });
    await assert.rejects(open({ environment: "production" }), {
      name: "KeyringError",
      message: /does not unwrap/,
    });
  });

  test("keys of another root", async () => {
    const { open } = installation();
    await open();
    await assert.rejects(open({ provider: createMemoryKeyProvider(random) }), {
      name: "KeyringError",
      message: /wrapped by the root key [0-9a-f]{16}, this one is/,
    });
  });

  test("wrapped keys that changed places, or were altered", async () => {
    const { open, options } = installation();
    const keyring = await open();
    await keyring.addKeyVersion();
    const original = await kept(options.store);
    const [fingerprint, first, second] = original.keys;
    assert.ok(fingerprint !== undefined && first !== undefined && second !== undefined);
    const swaps = [
      [fingerprint, { ...first, wrapped: second.wrapped }, { ...second, wrapped: first.wrapped }],
      [
        { ...fingerprint, wrapped: first.wrapped },
        { ...first, wrapped: fingerprint.wrapped },
        second,
      ],
      [fingerprint, { ...first, id: 3 }, second],
      [fingerprint, first, { ...second, wrapped: second.wrapped.subarray(1) }],
      [fingerprint, first, { ...second, wrapped: new Uint8Array(0) }],
    ];
    for (const keys of swaps) {
      await options.store.save({ ...original, keys });
      await assert.rejects(open(), { name: "KeyringError", message: /does not unwrap/ });
    }
    for (const [keys, message] of [
      [[first, second], /no key version, or no fingerprint key/],
      [[fingerprint], /no key version, or no fingerprint key/],
      [[fingerprint, first, first], /a key version twice/],
      [[fingerprint, fingerprint, first], /more than one fingerprint key/],
    ] as const) {
      await options.store.save({ ...original, keys });
      await assert.rejects(open(), { name: "KeyringError", message });
    }
    await options.store.save(original);
    assert.equal((await open()).currentKeyVersion, 2);
  });

  test("a key of the provider that is shorter or longer than it wrapped", async () => {
    const { open, options } = installation();
    const provider = createMemoryKeyProvider(random);
    await open({ provider });
    for (const length of [16, 31, 33]) {
      const unwrap = async (): Promise<Uint8Array> => random.bytes(length);
      await assert.rejects(open({ provider: { ...provider, unwrap } }), {
        name: "KeyringError",
        message: /not of 256 bits/,
      });
    }
    assert.ok((await options.store.load()) !== undefined);
  });

  test("a name of an environment with anything but lower-case letters, digits and dashes", async () => {
    for (const text of [
      "",
      "A",
      "sandbox/1",
      "/sandbox",
      "sand box",
      "sandbox\n",
      "é",
      "e".repeat(33),
    ]) {
      assert.equal(isEnvironmentId(text), false, text);
      await assert.rejects(
        installation().open({ environment: text }),
        { name: "BrokenInvariant" },
        text,
      );
    }
    for (const text of ["s", "eu-1", "e".repeat(32)])
      assert.equal(isEnvironmentId(text), true, text);
  });

  test("a provider that is down, at start; afterwards nothing asks it", async () => {
    const { open, options } = installation();
    const down = {
      ...createMemoryKeyProvider(random),
      wrap: async () => await Promise.reject(new KeyringError("the key service does not answer")),
    };
    await assert.rejects(open({ provider: down }), { message: "the key service does not answer" });
    assert.equal(await options.store.load(), undefined, "nothing was kept");
  });
});

test("a new installation has one key version and one fingerprint key, and opens with the same ones again", async () => {
  const { open } = installation();
  const first = await open();
  const again = await open();
  assert.deepEqual(
    first.inventory().map(({ purpose, id, status }) => [purpose, id, status]),
    [
      ["fingerprint", 1, "current"],
      ["epoch", 1, "current"],
    ],
  );
  assert.deepEqual(again.inventory(), first.inventory());
  const [key, sameKey] = [first.kek(1), again.kek(1)];
  assert.ok(key !== undefined && sameKey !== undefined && key.equals(sameKey));
  assert.ok(first.fingerprintKey(merchant).equals(again.fingerprintKey(merchant)));
});

test("exactly one key version seals: the newest; earlier ones still open", async () => {
  const { open } = installation();
  const keyring = await open();
  assert.equal((await keyring.nextWrap()).id, 1);
  assert.equal(await keyring.addKeyVersion(), 2);
  assert.equal((await keyring.nextWrap()).id, 2);
  const [old, current] = [keyring.kek(1), keyring.kek(2)];
  assert.ok(old !== undefined && current !== undefined && !old.equals(current));
  assert.equal(keyring.kek(3), undefined);
  const reopened = await open();
  assert.deepEqual(
    reopened.inventory().map(({ purpose, id, status }) => `${purpose} ${id} ${status}`),
    ["fingerprint 1 current", "epoch 1 retired", "epoch 2 current"],
  );
  assert.equal(reopened.kek(1)?.equals(old), true);
});

test("a key encryption key wraps as often as its limit allows, then the next key version begins by itself", async () => {
  const { open } = installation();
  const keyring = await open({ limits: { wrapsPerKeyVersion: 10, wrapsPerReservation: 4 } });
  const uses = new Map<number, number>();
  for (let count = 0; count < 25; count += 1) {
    const { id } = keyring.reservedWrap() ?? (await keyring.nextWrap());
    uses.set(id, (uses.get(id) ?? 0) + 1);
  }
  assert.deepEqual(
    [...uses],
    [
      [1, 10],
      [2, 10],
      [3, 5],
    ],
  );
});

test("a key version's wraps are counted ahead 65,536 at a time unless set otherwise", async () => {
  const keyring = await installation().open();
  const reserved = (): number | undefined =>
    keyring.inventory().find(({ purpose }) => purpose === "epoch")?.wrapsReserved;
  assert.equal(reserved(), 0);
  await keyring.nextWrap();
  assert.equal(reserved(), 65_536);
  for (let count = 1; count < 65_536; count += 1) assert.ok(keyring.reservedWrap() !== undefined);
  assert.equal(keyring.reservedWrap(), undefined);
});

test("callers that wait at the same time stay within the limit too", async () => {
  const { open } = installation();
  const keyring = await open({ limits: { wrapsPerKeyVersion: 10, wrapsPerReservation: 4 } });
  const taken = await Promise.all(
    Array.from({ length: 100 }, async () => (await keyring.nextWrap()).id),
  );
  for (let id = 1; id <= 10; id += 1)
    assert.equal(taken.filter((each) => each === id).length, 10, `key version ${id}`);
});

test("what may have been used before a crash stays counted", async () => {
  const { open } = installation();
  const limits = { wrapsPerKeyVersion: 10, wrapsPerReservation: 4 };
  let used = 0;
  for (let crash = 0; crash < 5; crash += 1) {
    const keyring = await open({ limits });
    const { id } = await keyring.nextWrap();
    if (id === 1) used += 1;
    assert.ok(
      (keyring.inventory().find((key) => key.purpose === "epoch" && key.id === 1)?.wrapsReserved ??
        0) >= used,
    );
  }
  // Blocks of 4, 4 and 2 were reserved; the fourth start found the key version used up.
  assert.equal(used, 3);
});

test("a change that could not be kept has not happened", async () => {
  const { open, options } = installation();
  let full = false;
  const store: WrappedKeyStore = {
    load: async () => await options.store.load(),
    save: async (keys) => {
      if (full) throw new Error("no space left");
      await options.store.save(keys);
    },
  };
  const keyring = await open({ store });
  full = true;
  await assert.rejects(keyring.addKeyVersion(), { message: "no space left" });
  await assert.rejects(keyring.nextWrap(), { message: "no space left" });
  assert.equal(keyring.currentKeyVersion, 1);
  assert.equal(keyring.kek(2), undefined);
  full = false;
  assert.equal((await keyring.nextWrap()).id, 1);
  assert.equal(await keyring.addKeyVersion(), 2);
});

test("fingerprint keys differ by merchant and by environment, and are derived again when they were dropped", async () => {
  const root = random.bytes(32);
  const keyring = await installation(root).open({ limits: { cachedFingerprintKeys: 2 } });
  const merchants = ["00000001", "00000002", "00000003", "00000004"] as MerchantId[];
  const hexKeys = (): string[] =>
    merchants.map((id) => keyring.fingerprintKey(id).export().toString("hex"));
  const first = hexKeys();
  assert.equal(new Set(first).size, merchants.length);
  assert.deepEqual(hexKeys(), first);
  assert.equal(
    keyring.fingerprintKey("00000004" as MerchantId),
    keyring.fingerprintKey("00000004" as MerchantId),
    "it is kept ready",
  );
});

test("a bounded number of fingerprint keys are kept ready, and the oldest makes room", async () => {
  const keyring = await installation().open({ limits: { cachedFingerprintKeys: 2 } });
  const keyOf = (number: number) => keyring.fingerprintKey(`0000000${number}` as MerchantId);
  const [first, second] = [keyOf(1), keyOf(2)];
  assert.equal(keyOf(1), first, "two are kept");
  const third = keyOf(3);
  assert.equal(keyOf(2), second, "only one made room");
  assert.equal(keyOf(3), third);
  const again = keyOf(1);
  assert.notEqual(again, first, "it was derived again");
  assert.ok(again.equals(first));
});

test("each key that is made, unwrapped or derived is wiped once it is a key object", async (context) => {
  const { open } = installation();
  const hexOf = (keyring: Keyring): (string | undefined)[] =>
    [keyring.kek(1), keyring.fingerprintKey(merchant)].map((key) => key?.export().toString("hex"));
  const made = watchWipes(context);
  // A random source that neither keeps nor wipes its output.
  const [kek, derived] = hexOf(
    await open({ random: { bytes: (length: number) => Uint8Array.from(randomBytes(length)) } }),
  );
  context.mock.restoreAll();
  assert.ok(kek !== undefined && derived !== undefined);
  assert.ok(made.includes(kek) && made.includes(derived));

  const unwrapped = watchWipes(context);
  assert.deepEqual(hexOf(await open()), [kek, derived]);
  context.mock.restoreAll();
  assert.ok(unwrapped.includes(kek) && unwrapped.includes(derived));
});

test("what is kept outside holds no key, and a keyring shows none", async () => {
  const { open, options } = installation();
  const keyring = await open();
  const keys = [keyring.kek(1), keyring.fingerprintKey(merchant)].map(
    (key) => key?.export().toString("hex") ?? "none",
  );
  const shown = [
    JSON.stringify(await options.store.load(), (_, value: unknown) =>
      value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value,
    ),
    inspect(await options.store.load(), { depth: null }),
    inspect(keyring, { depth: null, showHidden: true }),
    JSON.stringify(keyring),
  ];
  for (const key of keys)
    for (const text of shown) assert.ok(!text.includes(key) && !text.includes(key.slice(0, 16)));
});

describe("several processes on the same keys", () => {
  /**
   * The store as seen by one process: it refuses to replace what another process has saved since
   * (WrappedKeyStore).
   */
  function seenBy(shared: WrappedKeyStore): WrappedKeyStore {
    let seen: WrappedKeys | undefined;
    return {
      async load() {
        seen = await shared.load();
        return seen;
      },
      async save(keys) {
        if ((await shared.load()) !== seen)
          throw new KeysChangedElsewhere("the keys were changed by another process");
        await shared.save(keys);
        seen = keys;
      },
    };
  }

  test("each makes its change on top of the others'; what they have begun is known from then on", async () => {
    const { open, options } = installation();
    const one = await open({ store: seenBy(options.store) });
    const other = await open({ store: seenBy(options.store) });
    assert.equal(await one.addKeyVersion(), 2);
    assert.equal(await other.addKeyVersion(), 3);
    assert.equal(other.currentKeyVersion, 3);
    assert.equal(one.currentKeyVersion, 2);
    await one.refresh();
    assert.equal(one.currentKeyVersion, 3);
    assert.deepEqual(one.inventory(), other.inventory());
    // Unchanged keys are not read again before a change.
    let reads = 0;
    const store = seenBy(options.store);
    const third = await open({ store: { ...store, load: () => ((reads += 1), store.load()) } });
    await third.addKeyVersion();
    assert.equal(reads, 1);
  });

  test("a refresh unwraps only keys that are new, and waiting callers share one read", async () => {
    const bytes = random.bytes(32);
    const { open, options } = installation(bytes);
    const one = await open({ store: seenBy(options.store) });
    const root = createMemoryKeyProvider(random, Uint8Array.from(bytes));
    const calls = { reads: 0, unwraps: 0 };
    const shared = seenBy(options.store);
    const other = await open({
      store: { ...shared, load: () => ((calls.reads += 1), shared.load()) },
      provider: {
        ...root,
        unwrap: (wrapped: Uint8Array, label: string) => (
          (calls.unwraps += 1),
          root.unwrap(wrapped, label)
        ),
      },
    });
    assert.deepEqual(calls, { reads: 1, unwraps: 2 });
    for (let added = 0; added < 3; added += 1) await one.addKeyVersion();
    await Promise.all(Array.from({ length: 50 }, () => other.refresh()));
    assert.equal(other.currentKeyVersion, 4);
    assert.deepEqual(calls, { reads: 2, unwraps: 5 });
  });

  test("a refresh that is asked for during a read reads again, because that read may be too old", async () => {
    const { open, options } = installation();
    const one = await open({ store: seenBy(options.store) });
    const shared = seenBy(options.store);
    const during: (() => Promise<unknown>)[] = [];
    const waiting: Promise<unknown>[] = [];
    const other = await open({
      store: {
        ...shared,
        async load() {
          const read = await shared.load();
          await during.shift()?.();
          return read;
        },
      },
    });
    during.push(async () => {
      await one.addKeyVersion();
      waiting.push(other.refresh().then(() => assert.equal(other.currentKeyVersion, 2)));
    });
    await other.refresh();
    assert.equal(other.currentKeyVersion, 1);
    assert.equal(waiting.length, 1);
    await Promise.all(waiting);
  });

  test("a key that was replaced under the same number is not taken from memory", async () => {
    const { open, options } = installation();
    const keyring = await open();
    const original = await kept(options.store);
    await options.store.save({
      ...original,
      keys: original.keys.map((key) => ({ ...key, wrapped: key.wrapped.map((byte) => byte ^ 1) })),
    });
    await assert.rejects(keyring.refresh(), { name: "KeyringError", message: /does not unwrap/ });
  });

  test("wraps that two count ahead are each one's own", async () => {
    const limits = { wrapsPerKeyVersion: 8, wrapsPerReservation: 3 };
    const { open, options } = installation();
    const [one, other] = [
      await open({ store: seenBy(options.store), limits }),
      await open({ store: seenBy(options.store), limits }),
    ];
    const ids: number[] = [];
    for (let time = 0; time < 4; time += 1)
      ids.push((await one.nextWrap()).id, (await other.nextWrap()).id);
    assert.deepEqual(ids, [1, 1, 1, 1, 1, 1, 1, 2]);
    assert.deepEqual(
      (await kept(options.store)).keys
        .filter(({ purpose }) => purpose === "epoch")
        .map(({ wrapsReserved }) => wrapsReserved),
      [8, 3],
    );
  });

  test("of whom others are faster a hundred times gives up; any other failure is not tried again", async () => {
    for (const [failure, expected] of [
      [new KeysChangedElsewhere("faster"), 100],
      [new KeyringError("the disk is full"), 1],
      [new TypeError("a fault"), 1],
    ] as const) {
      const { open, options } = installation();
      let saves = 0;
      const keyring = await open();
      Object.assign(options.store, {
        save: () => {
          saves += 1;
          return Promise.reject(failure);
        },
      });
      await assert.rejects(keyring.addKeyVersion(), failure);
      assert.deepEqual([saves, keyring.currentKeyVersion], [expected, 1]);
    }
  });

  test("a read that fails leaves the keys as they were", async () => {
    const { open, options } = installation();
    const keyring = await open();
    Object.assign(options.store, { load: async () => undefined });
    await assert.rejects(keyring.refresh(), {
      name: "KeyringError",
      message: /the keys are missing/,
    });
    assert.equal(keyring.currentKeyVersion, 1);
    assert.equal((await keyring.nextWrap()).id, 1);
  });
});

test("keys are never created beside what was sealed with lost ones", async () => {
  const { open } = installation();
  await assert.rejects(open({ create: false }), {
    name: "KeyringError",
    message: /the keys are missing/,
  });
  await open();
  await open({ create: false });
});
