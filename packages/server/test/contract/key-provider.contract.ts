import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test, type TestContext } from "node:test";
import {
  type KeyProvider,
  provenWrap,
  RootKeyError,
  type RootKeyFacts,
  type RootKeyFailure,
} from "../../src/vault/key-provider.ts";
import { until } from "../until.ts";

/** A root key, as the tests need it. */
export interface RootKey {
  /** Opens the provider as another process would. */
  readonly open: () => Promise<KeyProvider>;
  /** The provider of another root key in the same place. */
  readonly openOther: () => Promise<KeyProvider>;
  /** What the provider states of it. */
  readonly facts: RootKeyFacts;
  /** Ways to make the root key unusable, by what the provider must say then. */
  readonly faults: readonly Fault[];
  /** What another implementation of a service does otherwise than the service. */
  readonly differs?: {
    /** The failure for a ciphertext of another root key. */
    readonly foreign?: RootKeyFailure;
    /** The first half of a ciphertext, which names the key, is not read. */
    readonly ignoresHeader?: true;
  };
}

export interface Fault {
  readonly name: string;
  readonly failure: RootKeyFailure;
  readonly begin: () => Promise<void> | void;
  readonly end: () => Promise<void> | void;
  /** For new keys, if another failure or none. */
  readonly wrapping?: RootKeyFailure | "ok";
}

type Wrapper = (provider: KeyProvider) => KeyProvider;

/** A property of every provider, and a provider without it, which the check must reject. */
interface Property {
  readonly name: string;
  readonly check: (root: RootKey) => Promise<void>;
  readonly broken: (root: RootKey) => RootKey;
}

const label = "sandbox/epoch/1";

const properties: readonly Property[] = [
  {
    name: "a wrapped key unwraps in another process, and no call changes its input",
    async check(root) {
      const key = randomBytes(32);
      const given = Buffer.from(key);
      const wrapped = await provenWrap(await root.open(), given, label);
      assert.deepEqual(given, key);
      const kept = Buffer.from(wrapped);
      assert.deepEqual(Buffer.from(await (await root.open()).unwrap(wrapped, label)), key);
      assert.deepEqual(Buffer.from(wrapped), kept);
      assert.equal(Buffer.from(wrapped).includes(key), false, "the key itself is not in it");
    },
    broken: (root) => {
      let opened = 0;
      return withProvider(root, (provider) => {
        const prefix = `${(opened += 1)}/`;
        return {
          ...provider,
          wrap: (key, name) => provider.wrap(key, prefix + name),
          unwrap: (wrapped, name) => provider.unwrap(wrapped, prefix + name),
        };
      });
    },
  },
  {
    name: "a wrapped key does not unwrap under another label",
    async check(root) {
      const provider = await root.open();
      const wrapped = await provider.wrap(randomBytes(32), label);
      for (const other of ["sandbox/epoch/2", "sandbox/epoch", "sandbox/fingerprint/1", "", "a"])
        await failsAs("wrong", provider.unwrap(wrapped, other));
    },
    broken: (root) =>
      withProvider(root, (provider) => ({
        ...provider,
        wrap: (key) => provider.wrap(key, "one"),
        unwrap: (wrapped) => provider.unwrap(wrapped, "one"),
      })),
  },
  {
    name: "a wrapped key that was altered, cut or extended does not unwrap",
    async check(root) {
      const provider = await root.open();
      const wrapped = Buffer.from(await provider.wrap(randomBytes(32), label));
      const header = root.differs?.ignoresHeader === true ? [] : [2, wrapped.length >> 1];
      for (const at of [0, 1, ...header, wrapped.length - 2]) {
        const altered = Buffer.from(wrapped);
        altered[at] = (altered[at] ?? 0) ^ 0x01;
        const failure = at === 2 ? (root.differs?.foreign ?? "wrong") : "wrong";
        await failsAs(failure, provider.unwrap(altered, label));
      }
      for (const length of [0, 1, 2, 12, wrapped.length - 4, wrapped.length - 1])
        await failsAs("wrong", provider.unwrap(wrapped.subarray(0, length), label));
      await failsAs("wrong", provider.unwrap(Buffer.concat([wrapped, Buffer.alloc(8)]), label));
    },
    broken: (root) =>
      withProvider(root, (provider) => ({
        ...provider,
        unwrap: (wrapped, name) => provider.unwrap(wrapped, name).catch(() => new Uint8Array(32)),
      })),
  },
  {
    name: "another root key does not unwrap it, and has another name",
    async check(root) {
      const [own, other] = [await root.open(), await root.openOther()];
      assert.notEqual(own.keyId, other.keyId);
      assert.equal((await root.open()).keyId, own.keyId);
      const wrapped = await own.wrap(randomBytes(32), label);
      await failsAs(root.differs?.foreign ?? "wrong", other.unwrap(wrapped, label));
    },
    broken: (root) => ({
      ...root,
      openOther: async () => ({ ...(await root.open()), keyId: "other" }),
    }),
  },
  {
    name: "the same key is never wrapped to the same bytes",
    async check(root) {
      const provider = await root.open();
      const key = randomBytes(32);
      const [one, other] = [await provider.wrap(key, label), await provider.wrap(key, label)];
      assert.notDeepEqual(Buffer.from(one), Buffer.from(other));
    },
    broken: (root) =>
      withProvider(root, (provider) => {
        let last: Promise<Uint8Array> | undefined;
        return { ...provider, wrap: (key, name) => (last ??= provider.wrap(key, name)) };
      }),
  },
  {
    name: "20 keys at once are wrapped and unwrapped",
    async check(root) {
      const provider = await root.open();
      await Promise.all(
        Array.from({ length: 20 }, async (_, index) => {
          const key = randomBytes(32);
          const name = `sandbox/epoch/${index}`;
          const wrapped = await provenWrap(provider, key, name);
          assert.deepEqual(Buffer.from(await provider.unwrap(wrapped, name)), key);
        }),
      );
    },
    broken: (root) =>
      withProvider(root, (provider) => {
        let last = new Uint8Array(0) as Uint8Array;
        return {
          ...provider,
          wrap: async (key, name) => (last = await provider.wrap(key, name)),
          unwrap: (_, name) => provider.unwrap(last, name),
        };
      }),
  },
  {
    name: "it is healthy, and a health check is repeated without another wrap",
    async check(root) {
      const provider = await root.open();
      assert.equal(await provider.health(), "ok");
      assert.equal(await provider.health(), "ok");
    },
    broken: (root) =>
      withProvider(root, (provider) => ({ ...provider, health: async () => "unavailable" })),
  },
  {
    name: "it states what kind of key it is, in the same way each time",
    async check(root) {
      const provider = await root.open();
      assert.deepEqual(await provider.facts(), root.facts);
      assert.deepEqual(await (await root.open()).facts(), root.facts);
    },
    broken: (root) =>
      withProvider(root, (provider) => ({
        ...provider,
        facts: async () => ({
          ...(await provider.facts()),
          isExtractable: undefined,
          seal: "none",
        }),
      })),
  },
];

function withProvider(root: RootKey, wrap: Wrapper): RootKey {
  return { ...root, open: async () => wrap(await root.open()) };
}

/**
 * A fault must be named as what it is by every call, and end without a restart. `wrapped` was made
 * before it, and the canary of `health` too.
 */
async function checkFault(root: RootKey, fault: Fault): Promise<void> {
  const provider = await root.open();
  const key = randomBytes(32);
  const wrapped = await provenWrap(provider, key, label);
  assert.equal(await provider.health(), "ok");
  await fault.begin();
  try {
    await failsAs(fault.failure, provider.unwrap(wrapped, label));
    const { wrapping = fault.failure } = fault;
    if (wrapping === "ok") await provider.wrap(key, label);
    else await failsAs(wrapping, provider.wrap(key, label));
    assert.equal(await provider.health(), fault.failure);
  } finally {
    await fault.end();
  }
  await until("the root key is usable again", async () => (await provider.health()) === "ok");
  assert.deepEqual(Buffer.from(await provider.unwrap(wrapped, label)), key);
}

/** Providers that a fault's check must reject. */
const faultControls: readonly { readonly name: string; readonly of: Wrapper }[] = [
  {
    name: "a health check that only pings",
    of: (provider) => ({ ...provider, health: async () => "ok" }),
  },
  {
    name: "a failure that is named as another",
    of: (provider) => ({
      ...provider,
      unwrap: (wrapped, name) =>
        provider.unwrap(wrapped, name).catch((error: unknown) => {
          const failure = error instanceof RootKeyError ? error.failure : "unavailable";
          throw new RootKeyError(failure === "denied" ? "unavailable" : "denied", "another");
        }),
    }),
  },
  {
    name: "a key that is remembered and outlives a refusal",
    of: (provider) => {
      let kept: Buffer | undefined;
      return {
        ...provider,
        wrap: (key, name) => provider.wrap((kept = Buffer.from(key)), name),
        unwrap: async () => Buffer.from(kept ?? []),
      };
    },
  },
];

/** Rejects unless the call fails with RootKeyError for this reason. */
export async function failsAs(failure: RootKeyFailure, call: Promise<unknown>): Promise<void> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error !== undefined && !(error instanceof RootKeyError)) throw error;
  assert.equal(error?.failure, failure, error?.message ?? "the call succeeded");
}

function isRejection(error: unknown): boolean {
  return error instanceof assert.AssertionError || error instanceof RootKeyError;
}

/** Every property of a provider and every fault of its root key, each with controls. */
export function describeKeyProvider(
  name: string,
  given: (context: TestContext) => Promise<RootKey>,
  skip: string | false = false,
): void {
  describe(`a root key in ${name}`, { skip }, () => {
    for (const property of properties) {
      test(property.name, async (context) => await property.check(await given(context)));
      test(`control: ${property.name}`, async (context) => {
        const root = property.broken(await given(context));
        await assert.rejects(property.check(root), isRejection);
      });
    }
    test("its faults are named, end without a restart, and are not hidden by any control", async (context) => {
      const root = await given(context);
      for (const fault of root.faults) {
        await context.test(fault.name, () => checkFault(root, fault));
        for (const control of faultControls)
          await context.test(`control: ${fault.name}: ${control.name}`, async () => {
            await assert.rejects(checkFault(withProvider(root, control.of), fault), isRejection);
          });
      }
    });
  });
}
