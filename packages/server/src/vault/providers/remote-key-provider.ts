import { createHash, timingSafeEqual } from "node:crypto";
import { assert } from "../../kernel/assert.ts";
import type { Random } from "../../kernel/random.ts";
import { keyLength } from "../aes.ts";
import {
  doesNotUnwrap,
  type KeyProvider,
  RootKeyError,
  type RootKeyFacts,
} from "../key-provider.ts";

/** A service that encrypts under a key that never leaves it. All calls reject with RootKeyError. */
export interface KeyService {
  readonly keyId: string;
  facts(signal: AbortSignal | undefined): Promise<RootKeyFacts>;
  /** Resolves with the service's own form of the ciphertext. Leaves `key` unchanged. */
  encrypt(key: Uint8Array, label: string, signal: AbortSignal | undefined): Promise<Uint8Array>;
  /** The caller wipes the result. */
  decrypt(
    ciphertext: Uint8Array,
    label: string,
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array>;
}

/**
 * First byte of a key that a service wrapped. The second byte is the kind of service, the rest is
 * its ciphertext. A root key in a file writes 2 (memory-key-provider.ts).
 */
const frameVersion = 3;

/** Stored: numbers are never used again. */
const frameKinds = { transit: 1, "aws-kms": 2, pkcs11: 3 } as const;

export interface RemoteKeyOptions {
  readonly random: Random;
  /** First part of the label of the canary. */
  readonly environment: string;
}

/** The provider of a root key that a service holds. */
export function createRemoteKeyProvider(
  kind: keyof typeof frameKinds,
  service: KeyService,
  { random, environment }: RemoteKeyOptions,
): KeyProvider {
  const canaryLabel = `${environment}/canary`;
  const frame = Uint8Array.of(frameVersion, frameKinds[kind]);
  let canary: { readonly wrapped: Uint8Array; readonly digest: Buffer } | undefined;
  const wrap: KeyProvider["wrap"] = async (key, label, signal) => {
    assert(key.length === keyLength, "keys below the root have 256 bits");
    return Buffer.concat([frame, await service.encrypt(key, label, signal)]);
  };
  const unwrap: KeyProvider["unwrap"] = async (wrapped, label, signal) => {
    if (wrapped[0] !== frame[0] || wrapped[1] !== frame[1]) throw doesNotUnwrap(label);
    const key = await service.decrypt(wrapped.subarray(frame.length), label, signal);
    if (key.length === keyLength) return key;
    key.fill(0);
    throw doesNotUnwrap(label);
  };
  /** Differs for each process, so that no copy of it opens anything. */
  const newCanary = async (signal: AbortSignal | undefined) => {
    const key = random.bytes(keyLength);
    try {
      return { wrapped: await wrap(key, canaryLabel, signal), digest: digestOf(key) };
    } finally {
      key.fill(0);
    }
  };
  return {
    keyId: service.keyId,
    wrap,
    unwrap,
    facts: (signal) => service.facts(signal),
    async health(signal) {
      try {
        canary ??= await newCanary(signal);
        const key = await unwrap(canary.wrapped, canaryLabel, signal);
        const isSame = timingSafeEqual(digestOf(key), canary.digest);
        key.fill(0);
        return isSame ? "ok" : "wrong";
      } catch (error) {
        return error instanceof RootKeyError ? error.failure : "unavailable";
      }
    },
  };
}

function digestOf(key: Uint8Array): Buffer {
  return createHash("sha256").update(key).digest();
}
