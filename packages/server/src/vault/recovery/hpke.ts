import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  type KeyObject,
} from "node:crypto";
import { assert } from "../../kernel/assert.ts";
import { decryptGcm, encryptGcm, keyLength, nonceLength, tagLength } from "../aes.ts";

/**
 * HPKE (RFC 9180), base mode, one message: DHKEM(P-521, HKDF-SHA512), HKDF-SHA512, AES-256-GCM.
 * The sections named below are the RFC's.
 */
export interface HpkeKeyPair {
  readonly privateKey: KeyObject;
  /** 133 bytes: the uncompressed point. */
  readonly publicKey: Uint8Array;
}

export const hpkePublicKeyLength = 133;
/** What a sealed message has besides its plaintext, in bytes. */
export const hpkeOverhead = hpkePublicKeyLength + tagLength;
/** Section 7.1. */
const privateKeyLength = 66;
const secretLength = 64;
/** Sections 7.1 to 7.3. */
const kemId = 0x0012;
const kdfId = 0x0003;
const aeadId = 0x0002;
const kemSuite = Buffer.concat([Buffer.from("KEM"), uint16(kemId)]);
const suite = Buffer.concat([Buffer.from("HPKE"), uint16(kemId), uint16(kdfId), uint16(aeadId)]);
const none = Buffer.alloc(0);
/** Order of the curve (SEC 2, section 2.9.1). */
const curveOrder = BigInt(
  "0x01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409",
);

/** Section 7.1.3, DeriveKeyPair: the same pair for the same input. The caller wipes `ikm`. */
export function deriveKeyPair(ikm: Uint8Array): HpkeKeyPair {
  const extracted = labelledExtract(kemSuite, none, "dkp_prk", ikm);
  for (let counter = 0; counter < 256; counter += 1) {
    const candidate = labelledExpand(
      kemSuite,
      extracted,
      "candidate",
      Buffer.of(counter),
      privateKeyLength,
    );
    candidate[0] = (candidate[0] ?? 0) & 0x01;
    const number = BigInt(`0x${candidate.toString("hex")}`);
    if (number === 0n || number >= curveOrder) continue;
    extracted.fill(0);
    return keyPairOf(candidate);
  }
  throw new Error("no private key could be derived");
}

/**
 * Section 6.1, SealBase: the encapsulated key, then the ciphertext and its tag. `ephemeral` is used
 * for one message only. Throws when `recipient` is not a point of the curve.
 */
export function hpkeSeal(
  recipient: Uint8Array,
  info: Uint8Array,
  aad: Uint8Array,
  plaintext: Uint8Array,
  ephemeral: HpkeKeyPair,
): Uint8Array {
  const shared = sharedSecret(ephemeral.privateKey, recipient, ephemeral.publicKey, recipient);
  const { key, nonce } = keySchedule(shared, info);
  try {
    const { ciphertext, tag } = encryptGcm(key, nonce, aad, plaintext);
    return Buffer.concat([ephemeral.publicKey, ciphertext, tag]);
  } finally {
    key.fill(0);
  }
}

/**
 * Section 6.1, OpenBase. undefined when it does not open, whatever the cause. The caller wipes the
 * plaintext.
 */
export function hpkeOpen(
  { privateKey, publicKey }: HpkeKeyPair,
  info: Uint8Array,
  aad: Uint8Array,
  sealed: Uint8Array,
): Uint8Array | undefined {
  if (sealed.length < hpkeOverhead) return undefined;
  const encapsulated = sealed.subarray(0, hpkePublicKeyLength);
  if (!isHpkePublicKey(encapsulated)) return undefined;
  const shared = sharedSecret(privateKey, encapsulated, encapsulated, publicKey);
  const { key, nonce } = keySchedule(shared, info);
  const tagAt = sealed.length - tagLength;
  const encrypted = {
    ciphertext: sealed.subarray(hpkePublicKeyLength, tagAt),
    tag: sealed.subarray(tagAt),
  };
  const plaintext = decryptGcm(key, nonce, aad, encrypted);
  key.fill(0);
  return plaintext;
}

export function isHpkePublicKey(bytes: Uint8Array): boolean {
  try {
    return publicKeyOf(bytes).type === "public";
  } catch {
    return false;
  }
}

/** Section 4.1: the Diffie-Hellman result, extracted with both public keys. */
function sharedSecret(
  privateKey: KeyObject,
  publicKey: Uint8Array,
  encapsulated: Uint8Array,
  recipient: Uint8Array,
): Uint8Array {
  const result = diffieHellman({ privateKey, publicKey: publicKeyOf(publicKey) });
  const extracted = labelledExtract(kemSuite, none, "eae_prk", result);
  result.fill(0);
  const context = Buffer.concat([encapsulated, recipient]);
  const shared = labelledExpand(kemSuite, extracted, "shared_secret", context, secretLength);
  extracted.fill(0);
  return shared;
}

/** Section 5.1, KeySchedule of base mode. Wipes `shared`. */
function keySchedule(
  shared: Uint8Array,
  info: Uint8Array,
): { readonly key: Uint8Array; readonly nonce: Uint8Array } {
  const baseMode = Buffer.of(0);
  const context = Buffer.concat([
    baseMode,
    labelledExtract(suite, none, "psk_id_hash", none),
    labelledExtract(suite, none, "info_hash", info),
  ]);
  const secret = labelledExtract(suite, shared, "secret", none);
  shared.fill(0);
  const key = labelledExpand(suite, secret, "key", context, keyLength);
  const nonce = labelledExpand(suite, secret, "base_nonce", context, nonceLength);
  secret.fill(0);
  return { key, nonce };
}

function labelledExtract(id: Uint8Array, salt: Uint8Array, label: string, ikm: Uint8Array): Buffer {
  return createHmac("sha512", salt).update("HPKE-v1").update(id).update(label).update(ikm).digest();
}

function labelledExpand(
  id: Uint8Array,
  key: Uint8Array,
  label: string,
  info: Uint8Array,
  length: number,
): Buffer {
  const labelled = Buffer.concat([
    uint16(length),
    Buffer.from("HPKE-v1"),
    id,
    Buffer.from(label),
    info,
  ]);
  const expanded = Buffer.alloc(length);
  let block = none;
  for (let [at, counter] = [0, 1]; at < length; at += block.length, counter += 1) {
    block = createHmac("sha512", key)
      .update(block)
      .update(labelled)
      .update(Buffer.of(counter))
      .digest();
    expanded.set(block.subarray(0, length - at), at);
  }
  block.fill(0);
  return expanded;
}

function uint16(number: number): Buffer {
  return Buffer.of(number >> 8, number & 0xff);
}

// --- Keys of the curve, in the encodings that Node reads -----------------------------------------

/** ECPrivateKey (RFC 5915) without the public key, which is computed; the octets of the key follow. */
const privateKeyHead = Buffer.from("30500201010442", "hex");
/** The curve's name, secp521r1. */
const privateKeyEnd = Buffer.from("a00706052b81040023", "hex");
/** SubjectPublicKeyInfo (RFC 5480); the point follows. */
const publicKeyHead = Buffer.from("30819b301006072a8648ce3d020106052b8104002303818600", "hex");

/** Wipes `scalar`. */
function keyPairOf(scalar: Uint8Array): HpkeKeyPair {
  assert(scalar.length === privateKeyLength, "a private key of P-521 has 66 bytes");
  const der = Buffer.concat([privateKeyHead, scalar, privateKeyEnd]);
  scalar.fill(0);
  const privateKey = createPrivateKey({ key: der, format: "der", type: "sec1" });
  der.fill(0);
  const spki = createPublicKey(privateKey).export({ format: "der", type: "spki" });
  return { privateKey, publicKey: spki.subarray(-hpkePublicKeyLength) };
}

function publicKeyOf(point: Uint8Array): KeyObject {
  const key = Buffer.concat([publicKeyHead, point]);
  return createPublicKey({ key, format: "der", type: "spki" });
}
