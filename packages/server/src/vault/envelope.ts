import { hash, timingSafeEqual, type KeyObject } from "node:crypto";
import type { Random } from "../kernel/random.ts";
import {
  decryptGcm,
  encryptGcm,
  keyLength,
  nonceLength,
  tagLength,
  unwrapKey,
  wrapKey,
  wrappedKeyLength,
} from "./aes.ts";
import { aadOf, type CardBinding } from "./card-binding.ts";
import { decodeCard, encodeCard } from "./card-plaintext.ts";
import type { Card } from "./card.ts";
import type { CardRef } from "./stored-card.ts";
import { VaultError, type CardOwner } from "./vault.ts";

/**
 * A sealed card, as bytes:
 *
 *     0   1  format: 1 = AES-256-GCM, data key wrapped by AES-KW, SHA-256 commitment
 *     1   4  key encryption key that wraps the data key
 *     5  32  commitment to key version and data key: with GCM alone a ciphertext may open under two keys
 *    37  40  data key, wrapped
 *    77  12  nonce
 *    89   n  ciphertext: number of digits, PAN in ASCII, month, year, holder name in UTF-8
 *  89+n  16  tag
 *
 * A data key seals one version of one card and is never used again. The card's place is not in the
 * bytes: it is authenticated with them, so a card opens only in the place that it was sealed for.
 */
const format = 1;
const keyVersionAt = 1;
const commitmentAt = 5;
const wrappedKeyAt = 37;
const nonceAt = wrappedKeyAt + wrappedKeyLength;
const ciphertextAt = nonceAt + nonceLength;

export interface VersionedKek {
  /** 1 to 2^32 - 1. */
  readonly id: number;
  readonly key: KeyObject;
}

/**
 * Finds a key encryption key by its number in the header. The header names exactly one; others are
 * never tried.
 */
export type KekLookup = (id: number) => KeyObject | undefined;

/** Seals a card and binds it to its place. The caller still owns the card. */
export function sealCard(
  card: Card,
  binding: CardBinding,
  kek: VersionedKek,
  random: Random,
): CardRef {
  const chance = random.bytes(nonceLength + keyLength);
  const nonce = chance.subarray(0, nonceLength);
  const dataKey = chance.subarray(nonceLength);
  const plaintext = encodeCard(card);
  try {
    const { ciphertext, tag } = encryptGcm(
      dataKey,
      nonce,
      aadOf(binding, format, kek.id),
      plaintext,
    );
    const ref = Buffer.alloc(ciphertextAt + ciphertext.length + tagLength);
    ref[0] = format;
    ref.writeUInt32BE(kek.id, keyVersionAt);
    ref.write(commitmentTo(kek.id, dataKey), commitmentAt, "latin1");
    ref.set(wrapKey(kek.key, dataKey), wrappedKeyAt);
    ref.set(nonce, nonceAt);
    ref.set(ciphertext, ciphertextAt);
    ref.set(tag, ciphertextAt + ciphertext.length);
    return ref;
  } finally {
    plaintext.fill(0);
    dataKey.fill(0);
  }
}

/**
 * Opens a card that was sealed for this place. The caller owns the card and wipes it. Throws
 * VaultError, the same for every cause.
 */
export function openCard(ref: CardRef, binding: CardBinding, keks: KekLookup): Card {
  const id = keyVersionOf(ref);
  const kek = id === undefined ? undefined : keks(id);
  if (id === undefined || kek === undefined) throw new VaultError();
  const dataKey = unwrapKey(kek, ref.subarray(wrappedKeyAt, nonceAt));
  if (dataKey === undefined) throw new VaultError();
  try {
    commitmentScratch.write(commitmentTo(id, dataKey), "latin1");
    if (!timingSafeEqual(commitmentScratch, ref.subarray(commitmentAt, wrappedKeyAt)))
      throw new VaultError();
    const tagAt = ref.length - tagLength;
    const encrypted = { ciphertext: ref.subarray(ciphertextAt, tagAt), tag: ref.subarray(tagAt) };
    const plaintext = decryptGcm(
      dataKey,
      ref.subarray(nonceAt, ciphertextAt),
      aadOf(binding, format, id),
      encrypted,
    );
    const card = plaintext === undefined ? undefined : decodeCard(plaintext);
    if (card === undefined) throw new VaultError();
    return card;
  } finally {
    dataKey.fill(0);
  }
}

/**
 * The key version that a card was sealed under; undefined when the bytes are not a sealed card of a
 * known format.
 */
export function keyVersionOf(ref: CardRef): number | undefined {
  if (ref.length <= ciphertextAt + tagLength || ref[0] !== format) return undefined;
  return new DataView(ref.buffer, ref.byteOffset, ref.byteLength).getUint32(keyVersionAt);
}

/**
 * Seals the same card as the next version of its record under another key version, with a new data
 * key. Pure: the caller replaces the record if it still has the version that was read. Throws
 * VaultError if the card does not open.
 */
export function resealCard(
  ref: CardRef,
  binding: CardBinding,
  keks: KekLookup,
  kek: VersionedKek,
  random: Random,
): { readonly ref: CardRef; readonly owner: CardOwner } {
  const owner = { ...binding.owner, recordVersion: binding.owner.recordVersion + 1 };
  const card = openCard(ref, binding, keks);
  try {
    return { ref: sealCard(card, { ...binding, owner }, kek, random), owner };
  } finally {
    card.pan.wipe();
  }
}

const commitmentLabel = Buffer.from("cofre data key 1", "latin1");
// The scratch buffers are filled and read within one synchronous call, which also wipes the secrets
// in them.
const committedScratch = Buffer.alloc(commitmentLabel.length + 4 + keyLength);
committedScratch.set(commitmentLabel);
const commitmentScratch = Buffer.alloc(wrappedKeyAt - commitmentAt);

/**
 * As text with one character per byte: Node returns a digest as a string in half the time of a
 * buffer (measured on 26).
 */
function commitmentTo(keyVersion: number, dataKey: Uint8Array): string {
  const keyAt = commitmentLabel.length + 4;
  committedScratch.writeUInt32BE(keyVersion, commitmentLabel.length);
  committedScratch.set(dataKey, keyAt);
  const commitment = hash("sha256", committedScratch, "latin1");
  committedScratch.fill(0, keyAt);
  return commitment;
}
