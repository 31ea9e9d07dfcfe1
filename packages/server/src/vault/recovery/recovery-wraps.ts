import type { KeyProvider } from "../key-provider.ts";
import type { RecoveryPublicKey } from "./recovery-key.ts";

/**
 * A wrapped key with a second wrap for the recovery key, as bytes. It is stored wherever a wrapped
 * key is, so no copy of the keys is without it:
 *
 *      0   17  "cofre recovery 1\n"
 *     17    2  length of the next field
 *     19    n  the key as the root key's provider wrapped it
 *   19+n   32  SHA-256 of the recovery public key
 *   51+n    m  the key as RecoveryPublicKey.seal sealed it
 */
interface RecoverableKey {
  readonly byRoot: Uint8Array;
  /** `sha256:` and 64 hexadecimal digits. */
  readonly recoveryKey: string;
  readonly sealed: Uint8Array;
}

const magic = Buffer.from("cofre recovery 1\n", "latin1");
const byRootAt = magic.length + 2;
const digestLength = 32;
const prefix = "sha256:";

/** undefined: without a wrap for a recovery key. */
export function recoverableKeyOf(wrapped: Uint8Array): RecoverableKey | undefined {
  if (!magic.equals(wrapped.subarray(0, magic.length))) return undefined;
  const digestAt = byRootAt + (wrapped[magic.length] ?? 0) * 256 + (wrapped[magic.length + 1] ?? 0);
  const sealedAt = digestAt + digestLength;
  if (wrapped.length <= sealedAt) return undefined;
  const digest = Buffer.from(wrapped.subarray(digestAt, sealedAt));
  return {
    byRoot: wrapped.subarray(byRootAt, digestAt),
    recoveryKey: `${prefix}${digest.toString("hex")}`,
    sealed: wrapped.subarray(sealedAt),
  };
}

/** Wraps of one process for its recovery key, and how many of them it made. */
export class RecoveryWraps {
  readonly key: RecoveryPublicKey;
  /** Wraps that were made for keys which had none for this recovery key. */
  made = 0;
  /** Wraps that were replaced because they were not the bytes that they had to be. */
  altered = 0;

  constructor(key: RecoveryPublicKey) {
    this.key = key;
  }

  /** A wrapped key with a wrap for the recovery key, instead of one for another. */
  added(wrapped: Uint8Array, key: Uint8Array, label: string): Uint8Array {
    const byRoot = recoverableKeyOf(wrapped)?.byRoot ?? wrapped;
    return Buffer.concat([
      magic,
      Buffer.of(byRoot.length >> 8, byRoot.length & 0xff),
      byRoot,
      Buffer.from(this.key.fingerprint.slice(prefix.length), "hex"),
      this.key.seal(key, label),
    ]);
  }

  /**
   * What must be stored instead of a wrapped key, which is `key`; undefined if it has its wrap for
   * the recovery key. The wrap is made again and compared: an altered one opens nothing, and would
   * otherwise be noticed when the root key is lost.
   */
  missing(wrapped: Uint8Array, key: Uint8Array, label: string): Uint8Array | undefined {
    const whole = this.added(wrapped, key, label);
    if (Buffer.compare(whole, wrapped) === 0) return undefined;
    if (recoverableKeyOf(wrapped)?.recoveryKey === this.key.fingerprint) this.altered += 1;
    else this.made += 1;
    return whole;
  }
}

/**
 * The provider of a root key, whose wrapped keys also have a wrap for the recovery key if there is
 * one. Unwraps keys with and without.
 */
export function recoverable(provider: KeyProvider, wraps: RecoveryWraps | undefined): KeyProvider {
  return {
    keyId: provider.keyId,
    async wrap(key, label, signal) {
      const wrapped = await provider.wrap(key, label, signal);
      return wraps === undefined ? wrapped : wraps.added(wrapped, key, label);
    },
    unwrap: (wrapped, label, signal) =>
      provider.unwrap(recoverableKeyOf(wrapped)?.byRoot ?? wrapped, label, signal),
    health: (signal) => provider.health(signal),
    facts: (signal) => provider.facts(signal),
  };
}
