/**
 * Holder of the root key: a file, a KMS or an HSM. The root key never leaves it; 256-bit keys are
 * passed in and returned wrapped.
 */
export interface KeyProvider {
  /**
   * Identifies the root key, so that keys wrapped under another are detected without trying to
   * unwrap them. Public.
   */
  readonly keyId: string;
  /** Wraps a key and binds it to `label`. The caller still owns `key` and wipes it. */
  wrap(key: Uint8Array, label: string): Promise<Uint8Array>;
  /**
   * Returns the key that was wrapped under this label; the caller wipes it. Rejects with
   * KeyringError when it does not unwrap.
   */
  unwrap(wrapped: Uint8Array, label: string): Promise<Uint8Array>;
  /** Whether the root key is usable now. Never rejects. */
  health(): Promise<"ok" | "unavailable">;
}

/**
 * The keys of an installation are unusable in their present state. The message has the cause and no
 * key byte.
 */
export class KeyringError extends Error {
  override readonly name = "KeyringError";
}

/**
 * Another process has replaced the stored keys since they were read: the caller can continue after
 * reading them again.
 */
export class KeysChangedElsewhere extends KeyringError {}
