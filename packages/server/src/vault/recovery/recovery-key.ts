import { createHash, hkdfSync, timingSafeEqual } from "node:crypto";
import { assert } from "../../kernel/assert.ts";
import { hexOf } from "../../kernel/ids.ts";
import type { Random } from "../../kernel/random.ts";
import {
  deriveKeyPair,
  hpkeOpen,
  hpkeOverhead,
  hpkePublicKeyLength,
  hpkeSeal,
  isHpkePublicKey,
} from "./hpke.ts";

/** Length of the seed that the custodians' shares contain, in bytes. */
export const recoverySeedLength = 32;

/** A 256-bit key, sealed for the recovery key: a version byte, then HPKE's bytes. */
const sealedVersion = 1;
const keyBytes = 32;
const sealedLength = 1 + hpkeOverhead + keyBytes;

/** Seals keys so that the custodians' shares open them, and nothing on this machine does. */
export interface RecoveryPublicKey {
  /** `sha256:` and 64 hexadecimal digits, of the 133 bytes of the public key. */
  readonly fingerprint: string;
  readonly publicKey: Uint8Array;
  /**
   * Seals a 256-bit key for one use, named by `label`, such as `sandbox/epoch/1`. The same key,
   * label and recovery key give the same bytes, so a process that has the key can check what is
   * stored. The ephemeral key is derived from the sealed key, which cannot be guessed.
   */
  seal(key: Uint8Array, label: string): Uint8Array;
}

/** The private half, made from the custodians' shares. */
export interface RecoveryKey {
  readonly public: RecoveryPublicKey;
  /**
   * The key that was sealed under this label; the caller wipes it. undefined when it does not open,
   * whatever the cause.
   */
  open(sealed: Uint8Array, label: string): Uint8Array | undefined;
}

/** undefined when the bytes are not a public key of P-521. */
export function recoveryPublicKeyOf(publicKey: Uint8Array): RecoveryPublicKey | undefined {
  if (publicKey.length !== hpkePublicKeyLength || !isHpkePublicKey(publicKey)) return undefined;
  const fingerprint = `sha256:${createHash("sha256").update(publicKey).digest("hex")}`;
  return {
    fingerprint,
    publicKey,
    seal(key, label) {
      assert(key.length === keyBytes, "a key that is sealed for recovery has 256 bits");
      const use = `cofre recovery ephemeral 1\0${fingerprint}\0${label}`;
      const ikm = new Uint8Array(hkdfSync("sha512", key, new Uint8Array(0), use, 66));
      const ephemeral = deriveKeyPair(ikm);
      ikm.fill(0);
      const sealed = hpkeSeal(publicKey, infoOf(label), new Uint8Array(0), key, ephemeral);
      return Buffer.concat([Buffer.of(sealedVersion), sealed]);
    },
  };
}

/** The key pair of a seed, which is the input of HPKE's DeriveKeyPair. The caller wipes the seed. */
export function recoveryKeyOf(seed: Uint8Array): RecoveryKey {
  assert(seed.length === recoverySeedLength, "the seed of a recovery key has 256 bits");
  const pair = deriveKeyPair(seed);
  const publicKey = recoveryPublicKeyOf(pair.publicKey);
  assert(publicKey !== undefined, "a derived key pair has a public key");
  return {
    public: publicKey,
    open(sealed, label) {
      if (sealed.length !== sealedLength || sealed[0] !== sealedVersion) return undefined;
      return hpkeOpen(pair, infoOf(label), new Uint8Array(0), sealed.subarray(1));
    },
  };
}

function infoOf(label: string): Uint8Array {
  return Buffer.from(`cofre recovery 1\0${label}`);
}

// --- recovery.pub --------------------------------------------------------------------------------

const format = "cofre recovery key 1";
const suiteName = "HPKE (RFC 9180): DHKEM(P-521, HKDF-SHA512), HKDF-SHA512, AES-256-GCM";
const canaryLabel = "recovery/canary";

/** The public half and a canary: a random key that only shares open, with its SHA-256. */
export interface RecoveryKeyFile {
  readonly key: RecoveryPublicKey;
  readonly canary: { readonly sealed: Uint8Array; readonly digest: Uint8Array };
}

/** The text of `recovery.pub`, with a new canary. */
export function printRecoveryKeyFile(key: RecoveryPublicKey, random: Random): string {
  const canary = random.bytes(keyBytes);
  const file = {
    format,
    suite: suiteName,
    fingerprint: key.fingerprint,
    public_key: hexOf(key.publicKey),
    canary: {
      label: canaryLabel,
      sealed: hexOf(key.seal(canary, canaryLabel)),
      sha256: hexOf(digestOf(canary)),
    },
  };
  canary.fill(0);
  return `${JSON.stringify(file, undefined, 2)}\n`;
}

/** undefined when the text is not one of printRecoveryKeyFile, or its parts do not fit. */
export function readRecoveryKeyFile(text: string): RecoveryKeyFile | undefined {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch {
    return undefined;
  }
  const {
    format: given,
    fingerprint,
    public_key: publicKey,
    canary,
  } = (file ?? {}) as Readonly<Record<string, unknown>>;
  const { sealed, sha256 } = (canary ?? {}) as Readonly<Record<string, unknown>>;
  if (given !== format) return undefined;
  const key = recoveryPublicKeyOf(bytesOf(publicKey));
  if (key === undefined || key.fingerprint !== fingerprint) return undefined;
  return { key, canary: { sealed: bytesOf(sealed), digest: bytesOf(sha256) } };
}

/** Whether the shares' key opens the canary that was sealed when the recovery key was made. */
export function opensCanary(key: RecoveryKey, { canary }: RecoveryKeyFile): boolean {
  const opened = key.open(canary.sealed, canaryLabel);
  if (opened === undefined) return false;
  const digest = digestOf(opened);
  opened.fill(0);
  return digest.length === canary.digest.length && timingSafeEqual(digest, canary.digest);
}

function bytesOf(hex: unknown): Uint8Array {
  return typeof hex === "string" ? Buffer.from(hex, "hex") : new Uint8Array(0);
}

function digestOf(bytes: Uint8Array): Buffer {
  return createHash("sha256").update(bytes).digest();
}
