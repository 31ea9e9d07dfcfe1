import { createCipheriv, createDecipheriv, type KeyObject } from "node:crypto";
import { assert } from "../kernel/assert.ts";

/**
 * The only file that encrypts and decrypts. By default Node accepts tags of four bytes and returns
 * plaintext before the tag is verified; both are corrected here only.
 */

export const keyLength = 32;
export const nonceLength = 12;
export const tagLength = 16;
/** A wrapped 256-bit key: RFC 3394 adds one block of eight bytes. */
export const wrappedKeyLength = keyLength + 8;

const gcm = "aes-256-gcm";
const keyWrap = "id-aes256-wrap";
const tagOption = { authTagLength: tagLength };
/** RFC 3394 section 2.2.3.1. */
const keyWrapIv = Buffer.alloc(8, 0xa6);

export interface Encrypted {
  readonly ciphertext: Uint8Array;
  readonly tag: Uint8Array;
}

/**
 * AES-256-GCM. A nonce is used once per key. Raw bytes are for single-use keys, which are wiped;
 * longer-lived keys are KeyObjects.
 */
export function encryptGcm(
  key: KeyObject | Uint8Array,
  nonce: Uint8Array,
  aad: Uint8Array,
  plaintext: Uint8Array,
): Encrypted {
  assert(nonce.length === nonceLength, "a GCM nonce has 96 bits");
  const cipher = createCipheriv(gcm, key, nonce, tagOption);
  cipher.setAAD(aad);
  const ciphertext = cipher.update(plaintext);
  cipher.final();
  return { ciphertext, tag: cipher.getAuthTag() };
}

/**
 * The plaintext, after its tag of exactly 16 bytes was verified; undefined otherwise. The caller
 * wipes it.
 */
export function decryptGcm(
  key: KeyObject | Uint8Array,
  nonce: Uint8Array,
  aad: Uint8Array,
  { ciphertext, tag }: Encrypted,
): Buffer | undefined {
  if (nonce.length !== nonceLength || tag.length !== tagLength) return undefined;
  const decipher = createDecipheriv(gcm, key, nonce, tagOption);
  decipher.setAAD(aad);
  decipher.setAuthTag(tag);
  const unchecked = decipher.update(ciphertext);
  try {
    decipher.final();
    return unchecked;
  } catch {
    unchecked.fill(0);
    return undefined;
  }
}

/** AES Key Wrap (RFC 3394) of a 256-bit key. */
export function wrapKey(wrapping: KeyObject, key: Uint8Array): Uint8Array {
  assert(key.length === keyLength, "wrapped keys have 256 bits");
  const cipher = createCipheriv(keyWrap, wrapping, keyWrapIv);
  const wrapped = cipher.update(key);
  cipher.final();
  return wrapped;
}

/**
 * The key, authenticated by the wrapping itself; undefined when it does not unwrap. The caller
 * wipes it.
 */
export function unwrapKey(wrapping: KeyObject, wrapped: Uint8Array): Buffer | undefined {
  if (wrapped.length !== wrappedKeyLength) return undefined;
  const decipher = createDecipheriv(keyWrap, wrapping, keyWrapIv);
  try {
    const key = decipher.update(wrapped);
    decipher.final();
    return key;
  } catch {
    return undefined;
  }
}
