import { createSecretKey, type KeyObject, timingSafeEqual } from "node:crypto";
import { KeyringError } from "../key-provider.ts";
import { type KeyRecord, keyNameOf } from "./key-record.ts";
import { checkValueOf } from "./key-wrap.ts";

/**
 * The key of a record, whose check value is compared. Takes ownership of `secret` and wipes it.
 * Throws KeyringError when it is the key of another record.
 */
export function checkedKey(record: KeyRecord, secret: Uint8Array, installation: string): KeyObject {
  const { purpose, merchant, version } = record;
  try {
    const check = checkValueOf(secret, { installation, purpose, merchant, version });
    if (record.check.length !== check.length || !timingSafeEqual(record.check, check))
      throw isAltered(record);
    return createSecretKey(secret);
  } finally {
    secret.fill(0);
  }
}

/** Error for a record that does not fit its key, its MAC or the others. */
export function isAltered(record: KeyRecord): KeyringError {
  return new KeyringError(
    `the key record ${keyNameOf(record)} does not fit: it was altered, moved, or belongs to another installation`,
  );
}
