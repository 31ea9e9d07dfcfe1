import { createHmac, createSecretKey } from "node:crypto";
import { assert } from "../kernel/assert.ts";
import type { Random } from "../kernel/random.ts";
import { decryptGcm, encryptGcm, keyLength, nonceLength, tagLength } from "./aes.ts";
import { KeyringError, type KeyProvider } from "./key-provider.ts";
import type { WrappedKeys, WrappedKeyStore } from "./keyring.ts";

const wrappedLength = nonceLength + keyLength + tagLength;

/**
 * A root key in this process's memory: new at each start, or as read from a file. Takes ownership of `root` (32 bytes) and wipes it.
 * Wraps with AES-256-GCM under a random nonce, with the label authenticated: 12 bytes nonce, the key, 16 bytes tag.
 */
export function createMemoryKeyProvider(random: Random, root: Uint8Array = random.bytes(keyLength)): KeyProvider {
  assert(root.length === keyLength, "a root key has 256 bits");
  const key = createSecretKey(root);
  root.fill(0);
  return {
    keyId: createHmac("sha256", key).update("cofre root key id").digest("hex").slice(0, 16),
    async wrap(dataKey, label) {
      const nonce = random.bytes(nonceLength);
      const { ciphertext, tag } = encryptGcm(key, nonce, Buffer.from(label), dataKey);
      return Buffer.concat([nonce, ciphertext, tag]);
    },
    async unwrap(wrapped, label) {
      const encrypted = { ciphertext: wrapped.subarray(nonceLength, -tagLength), tag: wrapped.subarray(-tagLength) };
      const unwrapped =
        wrapped.length === wrappedLength ? decryptGcm(key, wrapped.subarray(0, nonceLength), Buffer.from(label), encrypted) : undefined;
      if (unwrapped === undefined)
        throw new KeyringError(`the key ${label} does not unwrap: it was altered, moved, or wrapped for another use`);
      return unwrapped;
    },
    async health() {
      return "ok";
    },
  };
}

/** Wrapped keys that last as long as the process: for installations in memory. */
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
