import assert from "node:assert/strict";
import { createCipheriv, createSecretKey, hash, randomBytes, type KeyObject } from "node:crypto";
import { test, type TestContext } from "node:test";
import { cardOf as cardOfTests, testCards } from "../../test/vectors/cards.ts";
import { blocksOf, bytesOf, inverse, multiply, power } from "../../test/vectors/galois.ts";
import { watchWipes } from "../../test/vectors/wipes.ts";
import type { MerchantId, TokenDigest } from "../kernel/ids.ts";
import { decryptGcm, encryptGcm, wrapKey } from "./aes.ts";
import type { CardBinding } from "./card-binding.ts";
import type { Card } from "./card.ts";
import { keyVersionOf, openCard, resealCard, sealCard } from "./envelope.ts";
import type { CardRef } from "./stored-card.ts";

const random = { bytes: (length: number): Uint8Array => Uint8Array.from(randomBytes(length)) };
const kek = { id: 7, key: createSecretKey(Buffer.alloc(32, 7)) };
const binding: CardBinding = {
  installation: "sandbox",
  owner: {
    merchantId: "0a1b2c3d" as MerchantId,
    tokenDigest: hash("sha256", "token") as TokenDigest,
    recordVersion: 1,
  },
};
const oneKek = (id: number): KeyObject | undefined => (id === kek.id ? kek.key : undefined);
const anyKek = (): KeyObject => kek.key;

/** A card that was valid when the golden value below was made. */
function cardOf(digits: string, holderName?: string): Card {
  return { ...cardOfTests(digits, holderName), expiryYear: 2031 };
}

function textOf({ pan, expiryMonth, expiryYear, holderName }: Card): string {
  return `${Buffer.from(pan.reveal()).toString()} ${expiryMonth}/${expiryYear} ${holderName}`;
}

/** One failure for all causes: the same class and message, and no further properties. */
function refuses(open: () => unknown, what = "a changed card"): void {
  assert.throws(
    open,
    (error) => {
      assert.ok(error instanceof Error);
      assert.deepEqual(
        [error.name, error.message, error.cause],
        ["VaultError", "the card could not be opened", undefined],
        what,
      );
      return true;
    },
    what,
  );
}

test("a sealed card opens in its place, whatever its digits and its name", () => {
  for (const name of [
    "",
    "J",
    "JOSÉ DA SILVA",
    "Ünï".repeat(21),
    "漢".repeat(64),
    "🂡".repeat(64),
  ]) {
    for (const [digits] of testCards) {
      const ref = sealCard(cardOf(digits, name), binding, kek, random);
      assert.equal(textOf(openCard(ref, binding, oneKek)), `${digits} 12/2031 ${name}`);
    }
  }
});

test("the sealed form of a usual card stays under 150 bytes and shows neither digits nor name", () => {
  const ref = sealCard(cardOf("4111111111111111"), binding, kek, random);
  assert.equal(ref.length, 138);
  for (const text of ["1111", "JOSE"]) assert.equal(Buffer.from(ref).indexOf(text), -1);
});

test("no two sealed forms share a data key, a nonce or any ciphertext, even of one card in one place", () => {
  const card = cardOf("4111111111111111");
  const parts = new Set<string>();
  for (let count = 0; count < 1_000; count += 1) {
    const ref = Buffer.from(sealCard(card, binding, kek, random));
    for (const [start, end] of [
      [5, 37],
      [37, 77],
      [77, 89],
      [89, 122],
    ] as const) {
      parts.add(ref.toString("hex", start, end));
    }
  }
  assert.equal(parts.size, 4_000);
});

/**
 * The present layout, with bytes 00, 01, 02, ... as random data. Stored cards must open
 * indefinitely.
 */
const golden =
  "0100000007" +
  "0b7162bda9d1d500d2da2e346f6c0c2bd2312b227b37a33a258519f49505aec7" +
  "b7363a1c9d4e809b1655e2c7fd1c794957ffb77059682bde1c76f3a1648b1b5edd9b846d748b38ab" +
  "000102030405060708090a0bb1b1a9638fa1f6aa94644764b9373d1db5cece8727d6096202a43347c3f59067ad36442901fb7d13432ec3479d11f8dc24";

test("a card that was sealed by an earlier version opens", () => {
  const counting = { bytes: (length: number) => Uint8Array.from({ length }, (_, index) => index) };
  const ref = sealCard(cardOf("4111111111111111"), binding, kek, counting);
  assert.equal(Buffer.from(ref).toString("hex"), golden);
  assert.equal(
    textOf(openCard(Buffer.from(golden, "hex"), binding, oneKek)),
    "4111111111111111 12/2031 JOSE DA SILVA",
  );
});

test("every single-bit change of a sealed card is refused", () => {
  const ref = sealCard(cardOf("4111111111111111"), binding, kek, random);
  for (let bit = 0; bit < ref.length * 8; bit += 1) {
    const changed = Uint8Array.from(ref);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    // Every key version has the same key here, so that a changed key version number must be
    // detected itself.
    refuses(() => openCard(changed, binding, anyKek), `bit ${bit}`);
  }
  openCard(ref, binding, anyKek);
});

test("a sealed card that is cut, extended or made up is refused", () => {
  const ref = sealCard(cardOf("4111111111111111"), binding, kek, random);
  for (let length = 0; length < ref.length; length += 1)
    refuses(() => openCard(ref.subarray(0, length), binding, anyKek), `${length} bytes`);
  for (const extra of [1, 16, 1_000])
    refuses(() => openCard(Buffer.concat([ref, Buffer.alloc(extra)]), binding, anyKek));
  for (let count = 0; count < 1_000; count += 1)
    refuses(() => openCard(randomBytes(count % 200), binding, anyKek));
});

test("a sealed card opens nowhere but in its place: token, merchant, record version and environment are bound", () => {
  const owner = binding.owner;
  const places: readonly CardBinding[] = [
    binding,
    { ...binding, installation: "production" },
    { ...binding, installation: "sandbo" },
    { ...binding, owner: { ...owner, merchantId: "0a1b2c3e" as MerchantId } },
    { ...binding, owner: { ...owner, tokenDigest: hash("sha256", "other") as TokenDigest } },
    { ...binding, owner: { ...owner, recordVersion: 2 } },
    { ...binding, owner: { ...owner, recordVersion: 0x0100_0000 } },
    // The same characters in sequence, split differently.
    { installation: "sandbox0", owner: { ...owner, merchantId: "a1b2c3d" as MerchantId } },
    { installation: "sandbo", owner: { ...owner, merchantId: "x0a1b2c3d" as MerchantId } },
  ];
  const refs = places.map((each) => sealCard(cardOf("4111111111111111"), each, kek, random));
  for (const [sealedAt, ref] of refs.entries()) {
    for (const [openedAt, each] of places.entries()) {
      const open = (): Card => openCard(ref, each, oneKek);
      if (sealedAt === openedAt)
        assert.equal(textOf(open()), "4111111111111111 12/2031 JOSE DA SILVA");
      else refuses(open, `sealed at ${sealedAt}, opened at ${openedAt}`);
    }
  }
});

test("a sealed card opens under its key version only, even if another key version had the same key and the commitment were made to fit", () => {
  const ref = Buffer.from(sealCard(cardOf("4111111111111111"), binding, kek, random));
  refuses(() => openCard(ref, binding, () => undefined), "unknown key version");
  refuses(() => openCard(ref, binding, () => createSecretKey(randomBytes(32))), "another key");
  const moved = Buffer.from(ref);
  moved.writeUInt32BE(8, 1);
  refuses(() => openCard(moved, binding, anyKek), "another key version in the header");
  const counting = { bytes: (length: number) => Uint8Array.from({ length }, (_, index) => index) };
  const known = Buffer.from(sealCard(cardOf("4111111111111111"), binding, kek, counting));
  const dataKey = counting.bytes(44).subarray(12);
  known.set(commitmentFor(7, dataKey), 5);
  openCard(known, binding, anyKek);
  known.writeUInt32BE(8, 1);
  known.set(commitmentFor(8, dataKey), 5);
  refuses(
    () => openCard(known, binding, anyKek),
    "another key version, with a commitment that fits",
  );
});

/** The commitment and the authenticated data as computed by an attacker who has read the source. */
function commitmentFor(keyVersion: number, dataKey: Uint8Array): Buffer {
  return hash(
    "sha256",
    Buffer.concat([Buffer.from("cofre data key 1"), bigEndian(keyVersion), dataKey]),
    "buffer",
  );
}

function aadFor({ installation, owner }: CardBinding, keyVersion: number): Buffer {
  const fields = [
    ...[
      "card",
      installation,
      owner.merchantId,
      "tokenDigest" in owner ? owner.tokenDigest : "",
    ].map((text) => Buffer.from(text)),
    ...[owner.recordVersion, 1, keyVersion].map(bigEndian),
  ];
  return Buffer.concat(fields.flatMap((field) => [Buffer.of(0, field.length), field]));
}

function bigEndian(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

test("a ciphertext that is crafted to open under two data keys opens under the one that it is committed to only", () => {
  const [first, second] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  const nonce = Buffer.alloc(12, 3);
  const aad = aadFor(binding, kek.id);
  // A card of three blocks, the last of which is within the name, so that it can be chosen freely.
  const plaintext = Buffer.concat([
    Buffer.of(16),
    Buffer.from("4111111111111111"),
    Buffer.of(12, 2031 >> 8, 2031 & 255),
    Buffer.alloc(28, "A"),
  ]);
  const stream = createCipheriv("aes-256-gcm", first, nonce, { authTagLength: 16 });
  const ciphertext = stream.update(plaintext);

  const encryptBlock = (key: Buffer, block: Buffer): bigint => {
    const [encrypted = 0n] = blocksOf(
      createCipheriv("aes-256-ecb", key, null).setAutoPadding(false).update(block),
    );
    return encrypted;
  };
  const lengths = (BigInt(aad.length * 8) << 64n) | BigInt(ciphertext.length * 8);
  const hashed = [...blocksOf(aad), ...blocksOf(ciphertext.subarray(0, 32)), 0n, lengths];
  const tagUnder = (key: Buffer): bigint => {
    const point = encryptBlock(key, Buffer.alloc(16));
    const sum = hashed.reduce((total, block) => multiply(total ^ block, point), 0n);
    return sum ^ encryptBlock(key, Buffer.concat([nonce, Buffer.of(0, 0, 0, 1)]));
  };
  const weightUnder = (key: Buffer): bigint => power(encryptBlock(key, Buffer.alloc(16)), 2n);
  const free = multiply(
    tagUnder(first) ^ tagUnder(second),
    inverse(weightUnder(first) ^ weightUnder(second)),
  );
  ciphertext.set(bytesOf(free), 32);
  const tag = bytesOf(tagUnder(first) ^ multiply(free, weightUnder(first)));

  // The control: GCM alone accepts both keys.
  assert.ok(decryptGcm(first, nonce, aad, { ciphertext, tag }) !== undefined);
  assert.ok(decryptGcm(second, nonce, aad, { ciphertext, tag }) !== undefined);

  const refWith = (committed: Buffer, wrapped: Buffer): CardRef =>
    Buffer.concat([
      Buffer.of(1),
      bigEndian(kek.id),
      commitmentFor(kek.id, committed),
      wrapKey(kek.key, wrapped),
      nonce,
      ciphertext,
      tag,
    ]);
  assert.match(
    textOf(openCard(refWith(first, first), binding, oneKek)),
    /^4111111111111111 12\/2031 AAAA/,
  );
  refuses(() => openCard(refWith(first, second), binding, oneKek));
  refuses(
    () => openCard(refWith(second, first), binding, oneKek),
    "the key of the card, committed to the other",
  );
});

test("the data key is wiped once the card is sealed; so is all of the plaintext but the digits once it is open, and those when the card is wiped", () => {
  let drawn = new Uint8Array(0);
  const watched = {
    bytes(length: number): Uint8Array {
      drawn = Uint8Array.from(randomBytes(length));
      return drawn;
    },
  };
  const ref = sealCard(cardOf("4111111111111111"), binding, kek, watched);
  assert.ok(drawn.subarray(12).length === 32 && drawn.subarray(12).every((byte) => byte === 0));

  const card = openCard(ref, binding, oneKek);
  const memory = new Uint8Array(card.pan.reveal().buffer);
  assert.ok(
    Buffer.from(memory).includes("4111111111111111"),
    "the digits are where they were decrypted",
  );
  assert.ok(!Buffer.from(memory).includes("JOSE"));
  card.pan.wipe();
  assert.ok(!Buffer.from(memory).includes("1111"));
});

/** The buffers, in hex, that were overwritten with zeros during `run`. */
function wipedBy(context: TestContext, run: () => void): readonly string[] {
  const wiped = watchWipes(context);
  try {
    run();
  } finally {
    context.mock.restoreAll();
  }
  return wiped;
}

/** 00, 01, 02, ... as random data, and the resulting data key. */
const counted = { bytes: (length: number) => Uint8Array.from({ length }, (_, index) => index) };
const countedKey = counted.bytes(44).subarray(12);
const countedKeyHex = Buffer.from(countedKey).toString("hex");
const digitsHex = Buffer.from("4111111111111111").toString("hex");

test("every copy of a data key and of a card that sealing and opening make is wiped", (context) => {
  const card = cardOf("4111111111111111");
  const times = (wiped: readonly string[], text: string): number =>
    wiped.filter((each) => each.includes(text)).length;
  let ref: CardRef = new Uint8Array(0);
  const sealing = wipedBy(context, () => void (ref = sealCard(card, binding, kek, counted)));
  // The data key itself, and its copy in the commitment's input; the plaintext.
  assert.deepEqual([times(sealing, countedKeyHex), times(sealing, digitsHex)], [2, 1]);
  assert.equal(
    textOf(card),
    "4111111111111111 12/2031 JOSE DA SILVA",
    "the caller's card is left alone",
  );

  const opening = wipedBy(context, () => void openCard(ref, binding, oneKek));
  assert.deepEqual([times(opening, countedKeyHex), times(opening, digitsHex)], [2, 0]);
  assert.equal(times(opening, Buffer.from("JOSE DA SILVA").toString("hex")), 1);

  const resealing = wipedBy(context, () => void resealCard(ref, binding, oneKek, kek, random));
  // Both the opened and the resealed plaintext are wiped, also on failure.
  assert.equal(times(resealing, digitsHex), 2);
  const failing = wipedBy(context, () => {
    const noChance = { bytes: () => assert.fail("no chance") };
    assert.throws(() => resealCard(ref, binding, oneKek, kek, noChance), {
      message: "no chance",
    });
  });
  assert.equal(times(failing, digitsHex), 1);
});

test("a content that is not a card is refused and wiped", (context) => {
  const sealed = (plaintext: Buffer): CardRef => {
    const nonce = counted.bytes(12);
    const { ciphertext, tag } = encryptGcm(countedKey, nonce, aadFor(binding, kek.id), plaintext);
    const head = [
      Buffer.of(1),
      bigEndian(kek.id),
      commitmentFor(kek.id, countedKey),
      wrapKey(kek.key, countedKey),
      nonce,
    ];
    return Buffer.concat([...head, ciphertext, tag]);
  };
  const plain = (length: number, digits: string, rest: readonly number[]): Buffer =>
    Buffer.concat([Buffer.of(length), Buffer.from(digits), Buffer.from(rest)]);
  const expiry = [12, 2031 >> 8, 2031 & 255];
  assert.equal(
    textOf(openCard(sealed(plain(16, "4111111111111111", expiry)), binding, oneKek)),
    "4111111111111111 12/2031 ",
  );
  for (const plaintext of [
    plain(16, "4111111111111112", expiry),
    plain(13, "4222222222222", expiry),
    plain(16, "4111111111111111", expiry.slice(1)),
    plain(16, "4111111111111111", []),
    plain(255, "4111111111111111", expiry),
    plain(0, "", []),
  ]) {
    const wiped = wipedBy(context, () =>
      refuses(() => openCard(sealed(plaintext), binding, oneKek)),
    );
    // The whole plaintext, not only its digits, which are wiped like those of an invalid card.
    assert.ok(
      wiped.some((each) => each.length === plaintext.length * 2),
      "wiped whole",
    );
  }
});

test("the key version of a sealed card is read from one that is long enough and of a known format only", () => {
  const ref = Buffer.from(golden, "hex");
  assert.equal(keyVersionOf(ref), 7);
  assert.equal(keyVersionOf(ref.subarray(0, 106)), 7);
  for (const length of [105, 89, 73, 5, 1, 0])
    assert.equal(keyVersionOf(ref.subarray(0, length)), undefined, `${length} bytes`);
  assert.equal(keyVersionOf(Buffer.concat([Buffer.of(2), ref.subarray(1)])), undefined);
});

test("sealed again, a card is the next version of its record under the new key version, and the old form stays what it was", () => {
  const next = { id: 8, key: createSecretKey(randomBytes(32)) };
  const both = (id: number): KeyObject | undefined => (id === next.id ? next.key : oneKek(id));
  const old = sealCard(cardOf("4111111111111111"), binding, kek, random);
  const { ref, owner } = resealCard(old, binding, both, next, random);
  assert.deepEqual(owner, { ...binding.owner, recordVersion: 2 });
  assert.deepEqual([keyVersionOf(old), keyVersionOf(ref)], [7, 8]);
  assert.equal(
    textOf(openCard(ref, { ...binding, owner }, both)),
    "4111111111111111 12/2031 JOSE DA SILVA",
  );
  refuses(() => openCard(ref, binding, both), "the new form as the old version");
  refuses(() => openCard(old, { ...binding, owner }, both), "the old form as the new version");
  // Once the old key version's key is destroyed, only the resealed card can be read.
  const afterwards = (id: number): KeyObject | undefined => (id === next.id ? next.key : undefined);
  refuses(() => openCard(old, binding, afterwards));
  openCard(ref, { ...binding, owner }, afterwards);
});

test("a card that cannot be right is not sealed, nor bound to what no row can be", () => {
  const card = cardOf("4111111111111111");
  const seal = (sealed: Card, at: CardBinding) => () => sealCard(sealed, at, kek, random);
  const version = (recordVersion: number): CardBinding => ({
    ...binding,
    owner: { ...binding.owner, recordVersion },
  });
  const named = (installation: string): CardBinding => ({ ...binding, installation });
  for (const wrong of [
    { ...card, expiryMonth: 0 },
    { ...card, expiryMonth: 13 },
    { ...card, expiryYear: 999 },
    { ...card, expiryYear: 10_000 },
    { ...card, holderName: "🂡".repeat(65) },
  ]) {
    assert.throws(seal(wrong, binding), { name: "BrokenInvariant" });
  }
  for (const wrong of [version(-1), version(1.5), version(2 ** 32), named("e".repeat(65))]) {
    assert.throws(seal(card, wrong), { name: "BrokenInvariant" });
  }
  // The controls: the extreme valid values.
  for (const right of [
    { ...card, expiryMonth: 1, expiryYear: 1_000 },
    { ...card, expiryMonth: 12, expiryYear: 9_999 },
  ]) {
    assert.doesNotThrow(seal(right, binding));
  }
  for (const right of [version(0), version(2 ** 32 - 1), named("e".repeat(64))])
    assert.doesNotThrow(seal(card, right));
});
