import { createHmac, hash, timingSafeEqual, type KeyObject } from "node:crypto";
import { assert } from "../kernel/assert.ts";
import type { MerchantId } from "../kernel/ids.ts";
import type { Random } from "../kernel/random.ts";
import { decryptGcm, encryptGcm, keyLength, nonceLength, tagLength } from "./aes.ts";
import { aadOf, type CardBinding } from "./card-binding.ts";
import { decodeCard, encodeCard } from "./card-plaintext.ts";
import type { Card } from "./card.ts";
import type { CardRef } from "./stored-card.ts";
import { VaultError } from "./vault.ts";

/**
 * A sealed card of format 2, as bytes:
 *
 *     0   1  format: 2 = AES-256-GCM, data key derived from the merchant's key, SHA-256 commitment
 *     1   4  version of the merchant's key
 *     5  32  commitment to merchant, key version and data key
 *    37  32  salt, from which the data key is derived
 *    69  12  nonce
 *    81   n  ciphertext: number of digits, PAN in ASCII, month, year, holder name in UTF-8
 *  81+n  16  tag
 *
 * A data key is HMAC-SHA-256(merchant's key, label, version, salt), the single block of NIST SP
 * 800-108 in counter mode. It seals one version of one card (docs/decisions/0022).
 */
const format = 2;
const keyVersionAt = 1;
const commitmentAt = 5;
const saltAt = 37;
const saltLength = 32;
const nonceAt = saltAt + saltLength;
const ciphertextAt = nonceAt + nonceLength;

/** One version of a merchant's key. */
export interface MerchantKey {
  /** 1 to 2^32 - 1. */
  readonly version: number;
  readonly key: KeyObject;
}

/** Seals a card of a merchant and binds it to its place. The caller still owns the card. */
export function sealDerived(
  card: Card,
  binding: CardBinding,
  { version, key }: MerchantKey,
  random: Random,
): CardRef {
  const chance = random.bytes(nonceLength + saltLength);
  const nonce = chance.subarray(0, nonceLength);
  const salt = chance.subarray(nonceLength);
  const plaintext = encodeCard(card);
  const dataKey = dataKeyOf(key, version, salt);
  try {
    const aad = aadOf(binding, format, version);
    const { ciphertext, tag } = encryptGcm(dataKey, nonce, aad, plaintext);
    const ref = Buffer.alloc(ciphertextAt + ciphertext.length + tagLength);
    ref[0] = format;
    ref.writeUInt32BE(version, keyVersionAt);
    ref.write(commitmentTo(binding.owner.merchantId, version, dataKey), commitmentAt, "latin1");
    ref.set(salt, saltAt);
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
 * Opens a card that was sealed for this place under this version of the merchant's key. The caller
 * owns the card and wipes it. Throws VaultError, the same for every cause.
 */
export function openDerived(
  ref: CardRef,
  binding: CardBinding,
  { version, key }: MerchantKey,
): Card {
  if (merchantKeyVersionOf(ref) !== version) throw new VaultError();
  const dataKey = dataKeyOf(key, version, ref.subarray(saltAt, nonceAt));
  try {
    commitmentScratch.write(commitmentTo(binding.owner.merchantId, version, dataKey), "latin1");
    if (!timingSafeEqual(commitmentScratch, ref.subarray(commitmentAt, saltAt)))
      throw new VaultError();
    const tagAt = ref.length - tagLength;
    const encrypted = { ciphertext: ref.subarray(ciphertextAt, tagAt), tag: ref.subarray(tagAt) };
    const nonce = ref.subarray(nonceAt, ciphertextAt);
    const plaintext = decryptGcm(dataKey, nonce, aadOf(binding, format, version), encrypted);
    const card = plaintext === undefined ? undefined : decodeCard(plaintext);
    if (card === undefined) throw new VaultError();
    return card;
  } finally {
    dataKey.fill(0);
  }
}

/**
 * The version of the merchant's key that a card was sealed under; undefined when the bytes are not
 * a sealed card of format 2.
 */
export function merchantKeyVersionOf(ref: CardRef): number | undefined {
  if (ref.length <= ciphertextAt + tagLength || ref[0] !== format) return undefined;
  return new DataView(ref.buffer, ref.byteOffset, ref.byteLength).getUint32(keyVersionAt);
}

const derivationLabel = Buffer.from("cofre card key 2", "latin1");
const commitmentLabel = Buffer.from("cofre data key 2", "latin1");
/** In characters, which are hexadecimal digits. */
const merchantIdLength = 8;
// The scratch buffers are filled and read within one synchronous call, which also wipes the secrets
// in them.
const derivedScratch = Buffer.alloc(derivationLabel.length + 4 + saltLength);
derivedScratch.set(derivationLabel);
const merchantAt = commitmentLabel.length;
const versionAt = merchantAt + merchantIdLength;
const dataKeyAt = versionAt + 4;
const committedScratch = Buffer.alloc(dataKeyAt + keyLength);
committedScratch.set(commitmentLabel);
const commitmentScratch = Buffer.alloc(saltAt - commitmentAt);

function dataKeyOf(key: KeyObject, version: number, salt: Uint8Array): Buffer {
  derivedScratch.writeUInt32BE(version, derivationLabel.length);
  derivedScratch.set(salt, derivationLabel.length + 4);
  return createHmac("sha256", key).update(derivedScratch).digest();
}

/** As text with one character per byte, like the commitment of format 1. */
function commitmentTo(merchantId: MerchantId, version: number, dataKey: Uint8Array): string {
  assert(merchantId.length === merchantIdLength, "a merchant's id has eight characters");
  committedScratch.write(merchantId, merchantAt, "latin1");
  committedScratch.writeUInt32BE(version, versionAt);
  committedScratch.set(dataKey, dataKeyAt);
  const commitment = hash("sha256", committedScratch, "latin1");
  committedScratch.fill(0, dataKeyAt);
  return commitment;
}
