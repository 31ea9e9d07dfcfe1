import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { createMemoryKeyProvider } from "../memory-key-provider.ts";
import { type KeyProvider, RootKeyError } from "../key-provider.ts";
import { recoveryKeyOf } from "../recovery/recovery-key.ts";
import { recoverableKeyOf, RecoveryWraps } from "../recovery/recovery-wraps.ts";
import type { KeyRecord } from "./key-record.ts";
import { checkValueOf } from "./key-wrap.ts";
import { encodeRootSet, parseRootSet, refuseUnpinned, rootSetFingerprint } from "./root-set.ts";
import { RootKeys, rootLabel } from "./root-wraps.ts";

const random = { bytes: (length: number): Uint8Array => Uint8Array.from(randomBytes(length)) };
const installation = "00112233445566778899aabbccddeeff";
const recovery = `sha256:${"ab".repeat(32)}`;
const set = { version: 2, roots: ["transit:transit/cofre", "aws-kms:arn"], recovery };

describe("a set of root keys", () => {
  test("is read as it was stored, and in no other form", () => {
    for (const each of [set, { ...set, recovery: undefined }, { ...set, roots: ["a"] }])
      assert.deepEqual(parseRootSet(encodeRootSet(each), each.version), each);
    const text = Buffer.from(encodeRootSet(set)).toString();
    for (const other of [
      "",
      text.replace("roots 1", "roots 2"),
      text.replace("root transit", "toot transit"),
      text.slice(0, -1),
      `${text}root late\n`,
      `${text}recovery ${recovery}\n`,
      "cofre roots 1\nrecovery a\n",
    ])
      assert.throws(() => parseRootSet(Buffer.from(other), 2), { name: "KeyringError" }, other);
  });

  test("has another fingerprint after any change, and in another installation", () => {
    const changed = [
      { ...set, version: 3 },
      { ...set, roots: set.roots.toReversed() },
      { ...set, roots: set.roots.slice(1) },
      { ...set, recovery: undefined },
      { ...set, recovery: recovery.replace("b", "c") },
    ];
    const fingerprints = [set, ...changed].map((each) => rootSetFingerprint(installation, each));
    fingerprints.push(rootSetFingerprint("f".repeat(32), set));
    assert.equal(new Set(fingerprints).size, changed.length + 2);
    const [pinned = ""] = fingerprints;
    refuseUnpinned(installation, set, []);
    refuseUnpinned(installation, set, ["0".repeat(64), pinned]);
    for (const each of changed)
      assert.throws(() => refuseUnpinned(installation, each, [pinned]), {
        message: /not in COFRE_ROOT_KEYS_FINGERPRINT/,
      });
  });
});

describe("root keys of a configuration", () => {
  const providers = [createMemoryKeyProvider(random), createMemoryKeyProvider(random)] as const;
  const [one, other] = providers;
  const secret = random.bytes(32);
  const named = { installation, purpose: "epoch", merchant: undefined, version: 1 } as const;
  const epoch = { installation, version: 1, secret, present: [] };
  const both = { roots: [one.keyId, other.keyId], recovery: undefined };

  function recordWith(wraps: KeyRecord["wraps"]): KeyRecord {
    const rest = { state: "current", sequence: 1, epoch: undefined, createdAt: 0, changedAt: 0 };
    return {
      ...named,
      ...rest,
      check: checkValueOf(secret, named),
      wraps,
      mac: new Uint8Array(32),
    } as unknown as KeyRecord;
  }

  async function opens(given: readonly KeyProvider[], wraps: KeyRecord["wraps"]): Promise<void> {
    const key = await new RootKeys(given, undefined).unwrap(recordWith(wraps), installation);
    assert.deepEqual(key.export(), Buffer.from(secret));
  }

  const failing = (provider: KeyProvider, failure: RootKeyError["failure"]): KeyProvider => ({
    ...provider,
    unwrap: () => Promise.reject(new RootKeyError(failure, `it is ${failure}`)),
  });
  const silent = (provider: KeyProvider): KeyProvider => ({
    ...provider,
    unwrap: (_, label, signal) => {
      const { promise, reject } = Promise.withResolvers<Uint8Array>();
      signal?.addEventListener("abort", () => reject(new RootKeyError("unavailable", label)));
      return promise;
    },
  });
  const lying = (provider: KeyProvider): KeyProvider => ({
    ...provider,
    unwrap: async () => new Uint8Array(32),
  });

  test("each opens an epoch key alone, whatever happens to the other", async () => {
    const wraps = await new RootKeys(providers, undefined).wrap(epoch, both);
    assert.deepEqual(
      wraps.map(({ root }) => root),
      both.roots,
    );
    for (const bad of [
      (given: KeyProvider) => failing(given, "unavailable"),
      (given: KeyProvider) => failing(given, "denied"),
      silent,
      lying,
    ]) {
      await opens([bad(one), other], wraps);
      await opens([one, bad(other)], wraps);
    }
    await opens([one], wraps);
    await opens([other], wraps);
    await opens([createMemoryKeyProvider(random), other], wraps);
  });

  test("do not open it when all fail, and the mildest failure is named with each cause", async () => {
    const wraps = await new RootKeys(providers, undefined).wrap(epoch, both);
    await assert.rejects(opens([failing(one, "denied"), failing(other, "unauthorized")], wraps), {
      failure: "unauthorized",
      message: /it is denied; it is unauthorized/,
    });
    await assert.rejects(opens([lying(one), failing(other, "denied")], wraps), {
      failure: "denied",
    });
    await assert.rejects(opens([createMemoryKeyProvider(random)], wraps), {
      message: /are wrapped by the root key .*, this one is/,
    });
  });

  test("wrap by every root key of the set and by no other, and each wrap is proven", async () => {
    const keys = new RootKeys(providers, undefined);
    const alone = await keys.wrap(epoch, { roots: [other.keyId], recovery: undefined });
    assert.deepEqual(
      alone.map(({ root }) => root),
      [other.keyId],
    );
    // A kept wrap is not made again.
    const [, kept] = await keys.wrap({ ...epoch, present: alone }, both);
    assert.equal(kept?.bytes, alone[0]?.bytes);
    await assert.rejects(keys.wrap(epoch, { roots: ["foreign"], recovery: undefined }), {
      message: /which neither COFRE_ROOT_KEY nor COFRE_ROOT_KEY_NEXT of this process names/,
    });
    await assert.rejects(new RootKeys([one, lying(other)], undefined).wrap(epoch, both), {
      failure: "wrong",
    });
  });

  test("seal for the recovery key of the set and for no other", async () => {
    const key = recoveryKeyOf(random.bytes(32));
    const { fingerprint } = key.public;
    const keys = new RootKeys(providers, new RecoveryWraps(key.public));
    const wraps = await keys.wrap(epoch, { ...both, recovery: fingerprint });
    for (const { bytes } of wraps) {
      const sealed = recoverableKeyOf(bytes);
      assert.equal(sealed?.recoveryKey, fingerprint);
      assert.deepEqual(key.open(sealed.sealed, rootLabel(installation, 1)), Buffer.from(secret));
    }
    await opens([other], wraps);
    // The key of the configuration is not the one of the set.
    await assert.rejects(keys.wrap(epoch, { ...both, recovery }), {
      message: /recovery key sha256:ab/,
    });
    for (const { bytes } of await keys.wrap(epoch, both))
      assert.equal(recoverableKeyOf(bytes), undefined);
    // A process without the recovery key keeps the seals that exist, and makes no key without one.
    const without = new RootKeys(providers, undefined);
    const present = { ...epoch, present: wraps };
    assert.deepEqual(await without.wrap(present, { ...both, recovery: fingerprint }), wraps);
    await assert.rejects(without.wrap(epoch, { ...both, recovery: fingerprint }), {
      message: /which COFRE_RECOVERY_KEY of this process does not name/,
    });
  });
});
