import { createHmac, timingSafeEqual, type KeyObject } from "node:crypto";
import type { MerchantId } from "../../kernel/ids.ts";
import type { Random } from "../../kernel/random.ts";
import { decryptGcm, encryptGcm, nonceLength, tagLength } from "../aes.ts";
import { KeyringError } from "../key-provider.ts";
import type { KeyPurpose } from "./key-record.ts";

/** What a wrapped key is bound to: it unwraps as this key only. */
export interface KeyBinding {
  /** The installation id. */
  readonly installation: string;
  readonly purpose: KeyPurpose;
  readonly merchant: MerchantId | undefined;
  readonly version: number;
  /** Version of the epoch key that wraps it. */
  readonly epoch: number;
}

/** First byte of a wrapped key: AES-256-GCM under an epoch key. */
const frame = 1;
const nonceAt = 1;
const ciphertextAt = nonceAt + nonceLength;

/**
 * Wraps a key, or a longer secret, under an epoch key: a format byte, 12 bytes nonce, the key, 16
 * bytes tag. The result was unwrapped and compared. The caller still owns `secret` and wipes it. An
 * epoch wraps one key per merchant and purpose, far fewer than the 2^32 that a random nonce allows
 * (NIST SP 800-38D section 8.3).
 */
export function wrapUnderEpoch(
  epochKey: KeyObject,
  binding: KeyBinding,
  secret: Uint8Array,
  random: Random,
): Uint8Array {
  const nonce = random.bytes(nonceLength);
  const { ciphertext, tag } = encryptGcm(epochKey, nonce, aadOf(binding), secret);
  const wrapped = Buffer.concat([Uint8Array.of(frame), nonce, ciphertext, tag]);
  const unwrapped = unwrapUnderEpoch(epochKey, binding, wrapped);
  const isSame =
    unwrapped !== undefined &&
    unwrapped.length === secret.length &&
    timingSafeEqual(unwrapped, secret);
  unwrapped?.fill(0);
  if (!isSame)
    throw new KeyringError(`the key ${binding.purpose} ${binding.version} unwraps to another key`);
  return wrapped;
}

/** The key, owned by the caller; undefined when it was not wrapped as this key. */
export function unwrapUnderEpoch(
  epochKey: KeyObject,
  binding: KeyBinding,
  wrapped: Uint8Array,
): Buffer | undefined {
  if (wrapped[0] !== frame || wrapped.length <= ciphertextAt + tagLength) return undefined;
  const encrypted = {
    ciphertext: wrapped.subarray(ciphertextAt, -tagLength),
    tag: wrapped.subarray(-tagLength),
  };
  return decryptGcm(epochKey, wrapped.subarray(nonceAt, ciphertextAt), aadOf(binding), encrypted);
}

/**
 * Key check value: HMAC-SHA-256 under the key itself. Keys have 256 random bits, so it reveals
 * nothing; it shows which key a record has, also after its destruction.
 */
export function checkValueOf(
  secret: Uint8Array,
  { installation, purpose, merchant, version }: Omit<KeyBinding, "epoch">,
): Buffer {
  const parts = ["cofre key check 1", installation, purpose, merchant ?? "", version];
  return createHmac("sha256", secret).update(parts.join("\0")).digest();
}

/** No part has a NUL, so two bindings never give the same bytes. */
function aadOf({ installation, purpose, merchant, version, epoch }: KeyBinding): Buffer {
  const parts = ["cofre key wrap 1", installation, purpose, merchant ?? "", version, epoch];
  return Buffer.from(parts.join("\0"));
}
