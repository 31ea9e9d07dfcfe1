import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { test } from "node:test";
import { cardOf, numberUnder } from "../../test/vectors/cards.ts";
import type { MerchantId, TokenDigest } from "../kernel/ids.ts";
import { instant } from "../kernel/instant.ts";
import { SystemRandom } from "../kernel/system-random.ts";
import { keyVersionOf } from "./envelope.ts";
import { Keyring } from "./keyring.ts";
import { createLocalVault } from "./local-vault.ts";
import { maskOf } from "./mask.ts";
import { createMemoryKeyProvider, createMemoryWrappedKeyStore } from "./memory-key-provider.ts";
import type { CardOwner, TokenOwner } from "./vault.ts";

const random = new SystemRandom();
const owner: TokenOwner = {
  merchantId: "0a1b2c3d" as MerchantId,
  tokenDigest: hash("sha256", "token") as TokenDigest,
  recordVersion: 1,
};

async function newVault(
  limits = {},
  provider = createMemoryKeyProvider(random),
  store = createMemoryWrappedKeyStore(),
) {
  const keyring = await Keyring.open({
    provider,
    store,
    environment: "sandbox",
    create: true,
    random,
    clock: { now: () => instant(0) },
    limits,
  });
  return { keyring, vault: createLocalVault({ keyring, environment: "sandbox", random }) };
}

test("a card that is in another place, under unknown keys or altered is refused before the call is made", async () => {
  const { vault } = await newVault();
  const ref = await vault.put(cardOf("4111111111111111"), owner);
  const calls: string[] = [];
  const call = async (): Promise<void> => void calls.push("called");
  const other = (await newVault()).vault;
  for (const attempt of [
    vault.use(ref, { ...owner, recordVersion: 2 }, call),
    vault.use(ref, { ...owner, merchantId: "0a1b2c3e" as MerchantId }, call),
    vault.use(ref, { ...owner, tokenDigest: hash("sha256", "other") as TokenDigest }, call),
    vault.use(ref.subarray(1), owner, call),
    vault.use(new Uint8Array(0), owner, call),
    other.use(ref, owner, call),
  ]) {
    await assert.rejects(attempt, { name: "VaultError", message: "the card could not be opened" });
  }
  assert.deepEqual(calls, []);
});

test("a card that is sealed for a payment opens for that payment and try alone", async () => {
  const { vault } = await newVault();
  const merchantId = owner.merchantId;
  const payment = { merchantId, payment: "0a".repeat(24), recordVersion: 1 };
  const ref = await vault.put(cardOf("4111111111111111"), payment);
  const digits = await vault.use(ref, payment, async ({ pan }) =>
    Buffer.from(pan.reveal()).toString(),
  );
  assert.equal(digits, "4111111111111111");
  const stored = await vault.put(cardOf("4111111111111111"), owner);
  for (const attempt of [
    vault.use(ref, { ...payment, recordVersion: 2 }, async () => undefined),
    vault.use(ref, { ...payment, payment: "0b".repeat(24) }, async () => undefined),
    vault.use(ref, { ...payment, merchantId: "0a1b2c3e" as MerchantId }, async () => undefined),
    // The same text in the place of a token's digest.
    vault.use(
      ref,
      { merchantId, tokenDigest: payment.payment as TokenDigest, recordVersion: 1 },
      async () => undefined,
    ),
    vault.use(stored, { ...payment, payment: owner.tokenDigest }, async () => undefined),
  ])
    await assert.rejects(attempt, { name: "VaultError" });
});

test("a card comes out as it went in, and the caller still owns its own", async () => {
  const { vault } = await newVault();
  const card = cardOf("5078601870000127985", "MARÍA NÚÑEZ");
  const ref = await vault.put(card, owner);
  assert.equal(maskOf(card.pan), "507860xxxxxxxxx7985");
  const seen = await vault.use(ref, owner, async ({ pan, expiryMonth, expiryYear, holderName }) => [
    Buffer.from(pan.reveal()).toString(),
    expiryMonth,
    expiryYear,
    holderName,
  ]);
  assert.deepEqual(seen, ["5078601870000127985", 12, 2060, "MARÍA NÚÑEZ"]);
});

test("a used card is whole until the call has settled and wiped then, also if the call rejects or throws", async () => {
  const { vault } = await newVault();
  const ref = await vault.put(cardOf("4111111111111111"), owner);
  const failure = new Error("the acquirer did not answer");
  for (const end of ["resolves", "rejects", "throws"] as const) {
    let digits: Uint8Array = new Uint8Array(0);
    const used = vault.use(ref, owner, (card) => {
      digits = card.pan.reveal();
      if (end === "throws") throw failure;
      return (async () => {
        await Promise.resolve();
        assert.equal(Buffer.from(digits).toString(), "4111111111111111");
        if (end === "rejects") throw failure;
      })();
    });
    if (end === "resolves") await used;
    else await assert.rejects(used, failure);
    assert.equal(digits.length, 16);
    assert.ok(
      digits.every((byte) => byte === 0),
      end,
    );
  }
});

test("cards that were sealed in an earlier key version open, are known to be outdated, and can be sealed again", async () => {
  const { keyring, vault } = await newVault();
  const old = await vault.put(cardOf("4111111111111111"), owner);
  assert.equal(vault.isOutdated(old), false);
  await keyring.addKeyVersion();
  assert.equal(vault.isOutdated(old), true);
  const mask = async (ref: Uint8Array, at: CardOwner): Promise<string> =>
    await vault.use(ref, at, async ({ pan }) => maskOf(pan));
  assert.equal(await mask(old, owner), "411111xxxxxx1111");
  const next = await vault.reseal(old, owner);
  assert.deepEqual(next.owner, { ...owner, recordVersion: 2 });
  assert.equal(vault.isOutdated(next.ref), false);
  assert.equal(await mask(next.ref, next.owner), "411111xxxxxx1111");
  await assert.rejects(vault.reseal(old, next.owner), { name: "VaultError" });
});

test("a card that another process has sealed in a key version of its making opens, and can be sealed again", async () => {
  const [provider, store] = [createMemoryKeyProvider(random), createMemoryWrappedKeyStore()];
  const [here, there] = [await newVault({}, provider, store), await newVault({}, provider, store)];
  await there.keyring.addKeyVersion();
  const ref = await there.vault.put(cardOf("4111111111111111"), owner);
  const digits = await here.vault.use(ref, owner, async ({ pan }) =>
    Buffer.from(pan.reveal()).toString(),
  );
  assert.equal(digits, "4111111111111111");
  assert.equal(here.keyring.currentKeyVersion, 2);
  await there.keyring.addKeyVersion();
  const newer = await there.vault.reseal(ref, owner);
  assert.equal((await here.vault.reseal(newer.ref, newer.owner)).owner.recordVersion, 3);
});

test("a process that meets a card of a newer key version seals under that one from then on", async () => {
  const [provider, store] = [createMemoryKeyProvider(random), createMemoryWrappedKeyStore()];
  const [one, other] = [await newVault({}, provider, store), await newVault({}, provider, store)];
  await other.vault.put(cardOf("4111111111111111"), owner);
  await one.keyring.addKeyVersion();
  const ref = await one.vault.put(cardOf("4111111111111111"), owner);
  await other.vault.use(ref, owner, async () => undefined);
  assert.equal(keyVersionOf(await other.vault.put(cardOf("4111111111111111"), owner)), 2);
});

test("the keys are read again only for a card of a newer key version: not for one of this or an earlier version, or for bytes that are not a card", async () => {
  const store = createMemoryWrappedKeyStore();
  let reads = 0;
  const counted = {
    ...store,
    load: () => {
      reads += 1;
      return store.load();
    },
  };
  const [provider, nothing] = [createMemoryKeyProvider(random), async () => undefined];
  const { keyring, vault } = await newVault({}, provider, counted);
  const old = await vault.put(cardOf("4111111111111111"), owner);
  await keyring.addKeyVersion();
  const current = await vault.put(cardOf("4111111111111111"), owner);
  reads = 0;
  for (const ref of [old, current]) await vault.use(ref, owner, nothing);
  await assert.rejects(vault.use(new Uint8Array(0), owner, nothing), { name: "VaultError" });
  assert.equal(reads, 0);
  const there = await newVault({}, provider, store);
  await there.keyring.addKeyVersion();
  await vault.use(await there.vault.put(cardOf("4111111111111111"), owner), owner, nothing);
  assert.equal(reads, 1);
});

test("a key version that has wrapped its share gives way under concurrent puts, and every card opens", async () => {
  const { keyring, vault } = await newVault({ wrapsPerKeyVersion: 8, wrapsPerReservation: 3 });
  const refs = await Promise.all(
    Array.from({ length: 40 }, async () => await vault.put(cardOf("4111111111111111"), owner)),
  );
  assert.equal(keyring.currentKeyVersion, 5);
  for (const ref of refs)
    await vault.use(ref, owner, async ({ pan }) => assert.equal(maskOf(pan), "411111xxxxxx1111"));
});

test("a vault refuses keys of another environment", async () => {
  const { keyring } = await newVault();
  assert.throws(() => createLocalVault({ keyring, environment: "production", random }), {
    name: "BrokenInvariant",
  });
});

test("fingerprints are equal for equal cards of one merchant, whatever else is on the card, and different for all others", async () => {
  const { vault } = await newVault();
  const other = (await newVault()).vault;
  const hex = async (by: typeof vault, digits: string, merchant: string): Promise<string> =>
    Buffer.from(
      await by.fingerprint(cardOf(digits, `${merchant} ${digits.length}`), merchant as MerchantId),
    ).toString("hex");
  const first = await hex(vault, "4111111111111111", "00000001");
  assert.match(first, /^[0-9a-f]{64}$/);
  assert.equal(await hex(vault, "4111111111111111", "00000001"), first);
  assert.notEqual(await hex(vault, "4111111111111111", "00000002"), first);
  assert.notEqual(await hex(vault, "4111115666052208", "00000001"), first);
  assert.notEqual(await hex(other, "4111111111111111", "00000001"), first);
});

/**
 * All 16-digit card numbers behind a mask: 100,000, because one of each ten consecutive numbers
 * passes the check.
 */
function* candidates(mask: string): Generator<string> {
  const [first = "", last = ""] = mask.split(/x+/);
  for (let middle = 0; middle < 1_000_000; middle += 10) {
    // The last hidden digit is not doubled by the Luhn check, so that it can be computed instead of
    // tried.
    const digits = `${first}${String(middle).padStart(6, "0")}${last}`;
    let sum = 0;
    for (let index = 0; index < 16; index += 1) {
      const digit = digits.charCodeAt(index) - 0x30;
      sum += index % 2 === 1 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2;
    }
    yield `${first}${String(middle + ((10 - (sum % 10)) % 10)).padStart(6, "0")}${last}`;
  }
}

test("a stolen fingerprint and mask do not give the card away, while an unkeyed hash would", async () => {
  const { vault } = await newVault();
  const digits = numberUnder("411111739261", 16);
  const card = cardOf(digits);
  const mask = maskOf(card.pan);
  const attacks = ["md5", "sha256", "sha512"].flatMap((algorithm) => [
    (pan: string) => hash(algorithm, pan, "hex"),
    (pan: string) => hash(algorithm, Buffer.from(pan, "hex"), "hex"),
  ]);
  const columns = {
    sha256: hash("sha256", digits, "hex"),
    sha512: hash("sha512", digits, "hex"),
    // Truncated to 128 bits, over packed digits: no better.
    cut: hash("sha256", Buffer.from(digits, "hex"), "hex").slice(0, 32),
    fingerprint: Buffer.from(await vault.fingerprint(card, owner.merchantId)).toString("hex"),
  };
  // Each column is identified by its first 64 bits.
  const columnOf = new Map(
    Object.entries(columns).map(([column, value]) => [value.slice(0, 16), column]),
  );
  const recovered = new Map<string, string>();
  let tried = 0;
  for (const candidate of candidates(mask)) {
    tried += 1;
    for (const attack of attacks) {
      const column = columnOf.get(attack(candidate).slice(0, 16));
      if (column !== undefined) recovered.set(column, candidate);
    }
  }
  assert.equal(tried, 100_000);
  assert.deepEqual(Object.fromEntries(recovered), { sha256: digits, sha512: digits, cut: digits });
});
