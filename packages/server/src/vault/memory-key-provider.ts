import { createHmac, createSecretKey, hkdfSync, type KeyObject } from "node:crypto";
import { assert } from "../kernel/assert.ts";
import type { Random } from "../kernel/random.ts";
import { decryptGcm, encryptGcm, keyLength, nonceLength, tagLength } from "./aes.ts";
import { newKeyBytes } from "./new-key-bytes.ts";
import { doesNotUnwrap, type KeyProvider } from "./key-provider.ts";
import type { WrappedKeys, WrappedKeyStore } from "./keyring.ts";

const wrappedLength = nonceLength + keyLength + tagLength;
/**
 * First byte of a key wrapped under the derived key. Keys that earlier versions wrapped under the
 * root itself lack this byte and are one byte shorter.
 */
const derivedFrame = 2;

/**
 * A root key in this process's memory: new at each start, or read from a file. Takes ownership of
 * `root` (32 bytes) and wipes it. Wraps with AES-256-GCM under a random nonce, with the label
 * authenticated: a format byte, 12 bytes nonce, the key, 16 bytes tag. The root itself is used with
 * HMAC only: for its id, for its check value, and to derive the wrapping key. `isSeparate` false:
 * wraps under the root itself as earlier versions did, because one of them must unwrap it.
 */
export function createMemoryKeyProvider(
  random: Random,
  root: Uint8Array = newKeyBytes(random),
  isSeparate: () => boolean = () => true,
): KeyProvider {
  assert(root.length === keyLength, "a root key has 256 bits");
  const key = createSecretKey(root);
  root.fill(0);
  const derived = new Uint8Array(
    hkdfSync("sha256", key, new Uint8Array(0), "cofre root key 2 wrap", keyLength),
  );
  const wrappingKey = createSecretKey(derived);
  derived.fill(0);
  const unwrapWith = (
    under: KeyObject,
    sealed: Uint8Array,
    label: string,
  ): Uint8Array | undefined => {
    if (sealed.length !== wrappedLength) return undefined;
    const encrypted = {
      ciphertext: sealed.subarray(nonceLength, -tagLength),
      tag: sealed.subarray(-tagLength),
    };
    return decryptGcm(under, sealed.subarray(0, nonceLength), Buffer.from(label), encrypted);
  };
  return {
    keyId: createHmac("sha256", key).update("cofre root key id").digest("hex").slice(0, 16),
    async wrap(dataKey, label) {
      const nonce = random.bytes(nonceLength);
      const separate = isSeparate();
      const { ciphertext, tag } = encryptGcm(
        separate ? wrappingKey : key,
        nonce,
        Buffer.from(label),
        dataKey,
      );
      return Buffer.concat([
        separate ? Uint8Array.of(derivedFrame) : new Uint8Array(0),
        nonce,
        ciphertext,
        tag,
      ]);
    },
    async unwrap(wrapped, label) {
      const isDerived = wrapped.length === wrappedLength + 1 && wrapped[0] === derivedFrame;
      const unwrapped = isDerived
        ? unwrapWith(wrappingKey, wrapped.subarray(1), label)
        : unwrapWith(key, wrapped, label);
      if (unwrapped === undefined) throw doesNotUnwrap(label);
      return unwrapped;
    },
    async health() {
      return "ok";
    },
    async facts() {
      return { kind: "memory", protection: "software", isExtractable: true };
    },
  };
}

/** Wrapped keys with the lifetime of the process: for in-memory installations. */
export function createMemoryWrappedKeyStore(): WrappedKeyStore {
  let kept: WrappedKeys | undefined;
  return {
    async load() {
      return kept;
    },
    async save(keys) {
      kept = keys;
    },
  };
}
