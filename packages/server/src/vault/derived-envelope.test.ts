import assert from "node:assert/strict";
import { createHmac, createSecretKey, hash, randomBytes } from "node:crypto";
import { test, type TestContext } from "node:test";
import { cardOf as cardOfTests, testCards } from "../../test/vectors/cards.ts";
import { watchWipes } from "../../test/vectors/wipes.ts";
import type { MerchantId, TokenDigest } from "../kernel/ids.ts";
import { decryptGcm } from "./aes.ts";
import type { CardBinding } from "./card-binding.ts";
import type { Card } from "./card.ts";
import { merchantKeyVersionOf, openDerived, sealDerived } from "./derived-envelope.ts";
import { sealCard } from "./envelope.ts";

const random = { bytes: (length: number): Uint8Array => Uint8Array.from(randomBytes(length)) };
const keyBytes = Buffer.alloc(32, 7);
const merchantKey = { version: 3, key: createSecretKey(keyBytes) };
const binding: CardBinding = {
  installation: "00112233445566778899aabbccddeeff",
  owner: {
    merchantId: "0a1b2c3d" as MerchantId,
    tokenDigest: hash("sha256", "token") as TokenDigest,
    recordVersion: 1,
  },
};
const number = "4111111111111111";

function cardOf(digits: string, holderName?: string): Card {
  return { ...cardOfTests(digits, holderName), expiryYear: 2031 };
}

function textOf({ pan, expiryMonth, expiryYear, holderName }: Card): string {
  return `${Buffer.from(pan.reveal()).toString()} ${expiryMonth}/${expiryYear} ${holderName}`;
}

function refuses(open: () => unknown, what: string): void {
  assert.throws(open, { name: "VaultError", message: "the card could not be opened" }, what);
}

test("a card sealed under a merchant's key opens in its place, whatever its digits and its name", () => {
  for (const name of ["", "J", "JOSÉ DA SILVA", "漢".repeat(64)])
    for (const [digits] of testCards) {
      const ref = sealDerived(cardOf(digits, name), binding, merchantKey, random);
      assert.equal(textOf(openDerived(ref, binding, merchantKey)), `${digits} 12/2031 ${name}`);
    }
});

/** The layout, with bytes 00, 01, 02, ... as random data. Stored cards must open indefinitely. */
const golden =
  "0200000003" +
  "679893a9dec585d9c9d90c361fb0213c68c39997b19e17277bbb68ba6ff2dcd9" +
  "0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b" +
  "000102030405060708090a0b09a14b8006d569ddef63438f3a1e7ffbfc7e4458c9aafad4b6930ae20bc1febb0e6a2f290f0a58f4b511e921f8608c600a";

test("the layout stays: a card that this format sealed before opens, computed here by the specification", () => {
  const counting = { bytes: (length: number) => Uint8Array.from({ length }, (_, index) => index) };
  const ref = Buffer.from(sealDerived(cardOf(number), binding, merchantKey, counting));
  assert.equal(ref.toString("hex"), golden);
  assert.equal(
    textOf(openDerived(Buffer.from(golden, "hex"), binding, merchantKey)),
    textOf(cardOf(number)),
  );

  const version = Buffer.of(0, 0, 0, 3);
  const salt = counting.bytes(44).subarray(12);
  const dataKey = createHmac("sha256", keyBytes)
    .update(Buffer.concat([Buffer.from("cofre card key 2"), version, salt]))
    .digest();
  assert.deepEqual(ref.subarray(37, 69), Buffer.from(salt));
  const committed = [Buffer.from("cofre data key 20a1b2c3d"), version, dataKey];
  assert.deepEqual(ref.subarray(5, 37), hash("sha256", Buffer.concat(committed), "buffer"));
  const { installation, owner } = binding;
  const fields = [
    ...[
      "card",
      installation,
      owner.merchantId,
      "tokenDigest" in owner ? owner.tokenDigest : "",
    ].map((text) => Buffer.from(text)),
    ...[owner.recordVersion, 2, 3].map((value) => Buffer.of(0, 0, 0, value)),
  ];
  const aad = Buffer.concat(fields.flatMap((field) => [Buffer.of(0, field.length), field]));
  const encrypted = { ciphertext: ref.subarray(81, -16), tag: ref.subarray(-16) };
  const plaintext = decryptGcm(dataKey, ref.subarray(69, 81), aad, encrypted);
  assert.equal(plaintext?.subarray(1, 17).toString(), number);
});

test("every bit of a sealed card is authenticated, and a cut or longer one is refused", () => {
  const ref = sealDerived(cardOf(number), binding, merchantKey, random);
  for (let bit = 0; bit < ref.length * 8; bit += 1) {
    const altered = Buffer.from(ref);
    altered[bit >> 3] = (altered[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    refuses(() => openDerived(altered, binding, merchantKey), `bit ${bit}`);
  }
  for (let length = 0; length < ref.length; length += 1)
    refuses(() => openDerived(ref.subarray(0, length), binding, merchantKey), `${length} bytes`);
  refuses(() => openDerived(Buffer.concat([ref, Buffer.alloc(1)]), binding, merchantKey), "longer");
  openDerived(ref, binding, merchantKey);
});

test("a card opens nowhere but in its place: installation, merchant, token and record version are bound", () => {
  const { owner } = binding;
  const places: readonly CardBinding[] = [
    binding,
    { ...binding, installation: "ff112233445566778899aabbccddeeff" },
    { ...binding, owner: { ...owner, merchantId: "0a1b2c3e" as MerchantId } },
    { ...binding, owner: { ...owner, tokenDigest: hash("sha256", "other") as TokenDigest } },
    { ...binding, owner: { ...owner, recordVersion: 2 } },
  ];
  const refs = places.map((each) => sealDerived(cardOf(number), each, merchantKey, random));
  for (const [sealedAt, ref] of refs.entries())
    for (const [openedAt, each] of places.entries()) {
      const open = (): Card => openDerived(ref, each, merchantKey);
      if (sealedAt === openedAt) assert.equal(textOf(open()), textOf(cardOf(number)));
      else refuses(open, `sealed at ${sealedAt}, opened at ${openedAt}`);
    }
});

test("a card opens under the version of the key that its header names only, and format 1 is another format", () => {
  const ref = Buffer.from(sealDerived(cardOf(number), binding, merchantKey, random));
  refuses(() => openDerived(ref, binding, { ...merchantKey, version: 4 }), "another version");
  const other = { version: 3, key: createSecretKey(randomBytes(32)) };
  refuses(() => openDerived(ref, binding, other), "another key");
  const moved = Buffer.from(ref);
  moved.writeUInt32BE(4, 1);
  const sameKey = { version: 4, key: merchantKey.key };
  refuses(() => openDerived(moved, binding, sameKey), "the same key under another version");
  assert.equal(merchantKeyVersionOf(ref), 3);
  const first = sealCard(cardOf(number), binding, { id: 3, key: merchantKey.key }, random);
  assert.equal(merchantKeyVersionOf(first), undefined);
  refuses(() => openDerived(first, binding, merchantKey), "format 1");
});

test("no two sealed forms share a salt, a nonce, a commitment or any ciphertext", () => {
  const parts = new Set<string>();
  for (let count = 0; count < 1_000; count += 1) {
    const ref = Buffer.from(sealDerived(cardOf(number), binding, merchantKey, random));
    for (const [start, end] of [
      [5, 37],
      [37, 69],
      [69, 81],
      [81, 114],
    ] as const)
      parts.add(ref.toString("hex", start, end));
  }
  assert.equal(parts.size, 4_000);
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

test("every copy of a data key and of a card that sealing and opening make is wiped", (context) => {
  const counting = { bytes: (length: number) => Uint8Array.from({ length }, (_, index) => index) };
  const salt = counting.bytes(44).subarray(12);
  const derived = [Buffer.from("cofre card key 2"), Buffer.of(0, 0, 0, 3), salt];
  const dataKey = createHmac("sha256", keyBytes).update(Buffer.concat(derived)).digest("hex");
  const digits = Buffer.from(number).toString("hex");
  const times = (wiped: readonly string[], text: string): number =>
    wiped.filter((each) => each.includes(text)).length;
  const card = cardOf(number);
  let ref: Uint8Array = new Uint8Array(0);
  const sealing = wipedBy(context, () => {
    ref = sealDerived(card, binding, merchantKey, counting);
  });
  // The data key itself, and its copy in the commitment's input; the plaintext.
  assert.deepEqual([times(sealing, dataKey), times(sealing, digits)], [2, 1]);
  const opening = wipedBy(context, () => void openDerived(ref, binding, merchantKey));
  assert.deepEqual([times(opening, dataKey), times(opening, digits)], [2, 0]);
  assert.equal(times(opening, Buffer.from("JOSE DA SILVA").toString("hex")), 1);
});
