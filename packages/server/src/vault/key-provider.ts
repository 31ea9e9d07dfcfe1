import { timingSafeEqual } from "node:crypto";

/**
 * Holder of the root key: a file, a key management service or an HSM. The root key never leaves it;
 * 256-bit keys are passed in and returned wrapped. `wrap` and `unwrap` reject with RootKeyError.
 */
export interface KeyProvider {
  /**
   * Identifies the root key, so that keys wrapped under another are detected without trying to
   * unwrap them. Public.
   */
  readonly keyId: string;
  /**
   * Wraps a key and binds it to `label`. The caller still owns `key` and wipes it. What it returns
   * counts only after it was unwrapped: callers use provenWrap.
   */
  wrap(key: Uint8Array, label: string, signal?: AbortSignal): Promise<Uint8Array>;
  /** Returns the key that was wrapped under this label; the caller wipes it. */
  unwrap(wrapped: Uint8Array, label: string, signal?: AbortSignal): Promise<Uint8Array>;
  /** Whether the root key is usable now: unwraps a canary and compares it. Never rejects. */
  health(signal?: AbortSignal): Promise<"ok" | RootKeyFailure>;
  /** What kind of key this is, as far as its provider states it. Rejects with RootKeyError. */
  facts(signal?: AbortSignal): Promise<RootKeyFacts>;
  /** Ends what the provider runs, if it runs anything. No call follows. */
  close?(): void;
}

export const rootKeyKinds = ["memory", "file", "transit", "aws-kms", "pkcs11"] as const;

/** What is known about a root key. A value that the provider does not state is undefined. */
export interface RootKeyFacts {
  readonly kind: (typeof rootKeyKinds)[number];
  /**
   * Where the key is used: `hardware`, or the memory of a program. For transit, the program is the
   * service.
   */
  readonly protection: "hardware" | "software" | undefined;
  /** Whether the key can be read in the clear, by a user of the service or of the machine. */
  readonly isExtractable: boolean | undefined;
  /** CK_TOKEN_INFO of PKCS#11, without padding. */
  readonly maker?: string;
  readonly model?: string;
  /** What unseals a transit service: `shamir`, or the name of another seal. */
  readonly seal?: string;
  /** Origin of an AWS KMS key: `AWS_KMS`, `EXTERNAL`, `AWS_CLOUDHSM` or `EXTERNAL_KEY_STORE`. */
  readonly origin?: string;
}

/**
 * Why a root key was not used, from the mildest to the gravest (docs/decisions/0021).
 *
 * - `unavailable`: no answer, or none that says anything about the key. It may be tried again.
 * - `unauthorized`: the service does not accept our credentials or permissions.
 * - `denied`: the service stated that this key is disabled, deleted or too old.
 * - `wrong`: the wrapped key was altered or moved, or the provider returned another key.
 */
export const rootKeyFailures = ["unavailable", "unauthorized", "denied", "wrong"] as const;
export type RootKeyFailure = (typeof rootKeyFailures)[number];

/**
 * The keys of an installation are unusable in their present state. The message has the cause and no
 * key byte.
 */
export class KeyringError extends Error {
  override readonly name = "KeyringError";
}

/** The root key did not wrap or unwrap. */
export class RootKeyError extends KeyringError {
  readonly failure: RootKeyFailure;

  constructor(failure: RootKeyFailure, message: string) {
    super(message);
    this.failure = failure;
  }
}

/**
 * Another process has replaced the stored keys since they were read: the caller can continue after
 * reading them again.
 */
export class KeysChangedElsewhere extends KeyringError {}

/** Error for a wrapped key that this root key did not wrap under this label. */
export function doesNotUnwrap(label: string): RootKeyError {
  return new RootKeyError(
    "wrong",
    `the key ${label} does not unwrap: it was altered, moved, or wrapped for another use`,
  );
}

/**
 * Wraps a key, unwraps the result and compares them: a provider that returned something else would
 * be noticed only at the next start, when no other copy of the key is left.
 */
export async function provenWrap(
  provider: KeyProvider,
  key: Uint8Array,
  label: string,
): Promise<Uint8Array> {
  const wrapped = await provider.wrap(key, label);
  const unwrapped = await provider.unwrap(wrapped, label);
  const isSame = unwrapped.length === key.length && timingSafeEqual(unwrapped, key);
  unwrapped.fill(0);
  if (isSame) return wrapped;
  throw new RootKeyError(
    "wrong",
    `the root key's provider returned a wrapped key for ${label} that unwraps to another key`,
  );
}
