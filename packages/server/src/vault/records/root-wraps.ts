import type { KeyObject } from "node:crypto";
import { KeyringError, type KeyProvider, provenWrap } from "../key-provider.ts";
import { recoverable, type RecoveryWraps } from "../recovery/recovery-wraps.ts";
import type { KeyRecord, KeyWrap } from "./key-record.ts";
import { checkedKey } from "./opened-key.ts";

/** Label that a root key's wraps of an epoch key are bound to. */
export function rootLabel(installation: string, epoch: number): string {
  return `${installation}/epoch/${epoch}`;
}

/** What wraps epoch keys and unwraps them. */
export interface EpochRoots {
  /** The wraps of an epoch key, proven by unwrapping. The caller still owns `secret`. */
  wrap(secret: Uint8Array, installation: string, epoch: number): Promise<readonly KeyWrap[]>;
  /** The key of an epoch record. Rejects with KeyringError. */
  unwrap(record: KeyRecord, installation: string): Promise<KeyObject>;
}

/** The root key of an installation. */
export class RootKeys implements EpochRoots {
  readonly #provider: KeyProvider;

  /** `recovery`: the recovery key for which each epoch key is sealed too, if there is one. */
  constructor(provider: KeyProvider, recovery: RecoveryWraps | undefined) {
    this.#provider = recoverable(provider, recovery);
  }

  async wrap(secret: Uint8Array, installation: string, epoch: number): Promise<readonly KeyWrap[]> {
    const bytes = await provenWrap(this.#provider, secret, rootLabel(installation, epoch));
    return [{ root: this.#provider.keyId, bytes }];
  }

  async unwrap(record: KeyRecord, installation: string): Promise<KeyObject> {
    const provider = this.#provider;
    const wrap = record.wraps.find(({ root }) => root === provider.keyId);
    if (wrap === undefined) {
      const roots = record.wraps.map(({ root }) => root).join(", ");
      throw new KeyringError(
        `the keys in the database are wrapped by the root key ${roots}, this one is ${provider.keyId}: restore the root key that belongs to this database`,
      );
    }
    const secret = await provider.unwrap(wrap.bytes, rootLabel(installation, record.version));
    return checkedKey(record, secret, installation);
  }
}

/**
 * The wraps of an epoch record with those for the recovery key that are missing, and without
 * altered ones. Undefined: nothing has to be written. The caller still owns `secret`.
 */
export function withRecoveryWraps(
  { wraps, version }: KeyRecord,
  secret: Uint8Array,
  installation: string,
  recovery: RecoveryWraps,
): readonly KeyWrap[] | undefined {
  const label = rootLabel(installation, version);
  const changed = wraps.map(({ root, bytes }) => ({
    root,
    bytes: recovery.missing(bytes, secret, label) ?? bytes,
  }));
  return changed.every(({ bytes }, at) => bytes === wraps[at]?.bytes) ? undefined : changed;
}
