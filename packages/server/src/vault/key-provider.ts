/**
 * Whoever keeps the root key: a file, a key management service, a device. The root never leaves it;
 * keys of 256 bits are handed in to be wrapped and come back wrapped.
 */
export interface KeyProvider {
  /**
   * Names the root key, so that what was wrapped under another is told apart before it is tried.
   * Public.
   */
  readonly keyId: string;
  /** Wraps a key and binds it to `label`. The caller still owns `key` and wipes it. */
  wrap(key: Uint8Array, label: string): Promise<Uint8Array>;
  /**
   * The key that was wrapped under this label; the caller wipes it. Rejects with KeyringError when
   * it does not unwrap.
   */
  unwrap(wrapped: Uint8Array, label: string): Promise<Uint8Array>;
  /** Whether the root can be used right now. Never rejects. */
  health(): Promise<"ok" | "unavailable">;
}

/**
 * The keys of an installation cannot be used as they are. The message says what is wrong and holds
 * no key byte.
 */
export class KeyringError extends Error {
  override readonly name = "KeyringError";
}

/**
 * Another process has changed the kept keys since they were read: whoever reads them again can go
 * on.
 */
export class KeysChangedElsewhere extends KeyringError {}
