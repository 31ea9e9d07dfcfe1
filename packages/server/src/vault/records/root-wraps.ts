import type { KeyObject } from "node:crypto";
import {
  KeyringError,
  type KeyProvider,
  provenWrap,
  RootKeyError,
  rootKeyFailures,
} from "../key-provider.ts";
import { recoverableKeyOf, type RecoveryWraps } from "../recovery/recovery-wraps.ts";
import type { KeyRecord, KeyWrap } from "./key-record.ts";
import { checkedKey } from "./opened-key.ts";
import type { RootSet } from "./root-set.ts";

/** Label that a root key's wraps of an epoch key are bound to. */
export function rootLabel(installation: string, epoch: number): string {
  return `${installation}/epoch/${epoch}`;
}

/** An epoch key to be wrapped. The caller still owns `secret` and wipes it. */
export interface EpochSecret {
  readonly installation: string;
  readonly version: number;
  readonly secret: Uint8Array;
  /** Its wraps so far: those by root keys of the set are kept. */
  readonly present: readonly KeyWrap[];
}

/** What wraps epoch keys and unwraps them. */
export interface EpochRoots {
  /**
   * The wraps of an epoch key by every root key of the set and by no other, each new one proven by
   * unwrapping, and each with a wrap for the recovery key of the set. Rejects with KeyringError.
   */
  wrap(epoch: EpochSecret, set: Omit<RootSet, "version">): Promise<readonly KeyWrap[]>;
  /**
   * The key of an epoch record, by the first root key that answers, or by `root` alone. Rejects with
   * KeyringError.
   */
  unwrap(record: KeyRecord, installation: string, root?: string): Promise<KeyObject>;
}

/** The root keys of the configuration; any one of them opens an installation. */
export class RootKeys implements EpochRoots {
  readonly #providers: readonly KeyProvider[];
  readonly #recovery: RecoveryWraps | undefined;

  /** `recovery`: the recovery key for which each epoch key is sealed too, if there is one. */
  constructor(providers: readonly KeyProvider[], recovery: RecoveryWraps | undefined) {
    this.#providers = providers;
    this.#recovery = recovery;
  }

  get keyIds(): readonly string[] {
    return this.#providers.map(({ keyId }) => keyId);
  }

  async wrap(epoch: EpochSecret, set: Omit<RootSet, "version">): Promise<readonly KeyWrap[]> {
    return await Promise.all(
      set.roots.map(async (root) => {
        const known = epoch.present.find((wrap) => wrap.root === root)?.bytes;
        const bytes =
          known === undefined
            ? this.#sealed(await this.#new(epoch, root), epoch, set)
            : this.#kept(known, epoch, set);
        return { root, bytes };
      }),
    );
  }

  async #new({ installation, version, secret }: EpochSecret, root: string): Promise<Uint8Array> {
    const provider = this.#providers.find(({ keyId }) => keyId === root);
    if (provider === undefined)
      throw new KeyringError(
        `epoch keys have to be wrapped by the root key ${root}, which neither COFRE_ROOT_KEY nor COFRE_ROOT_KEY_NEXT of this process names`,
      );
    return await provenWrap(provider, secret, rootLabel(installation, version));
  }

  /** A new wrap with one for the recovery key of the set. */
  #sealed(
    wrapped: Uint8Array,
    { installation, version, secret }: EpochSecret,
    { recovery }: Pick<RootSet, "recovery">,
  ): Uint8Array {
    if (recovery === undefined) return wrapped;
    if (this.#recovery?.key.fingerprint !== recovery) throw missingRecoveryKey(recovery);
    return this.#recovery.added(wrapped, secret, rootLabel(installation, version));
  }

  /** The same for a wrap that is stored. */
  #kept(
    wrapped: Uint8Array,
    { installation, version, secret }: EpochSecret,
    { recovery }: Pick<RootSet, "recovery">,
  ): Uint8Array {
    const present = recoverableKeyOf(wrapped);
    if (recovery === undefined) return present?.byRoot ?? wrapped;
    if (this.#recovery?.key.fingerprint === recovery) {
      const label = rootLabel(installation, version);
      return this.#recovery.missing(wrapped, secret, label) ?? wrapped;
    }
    if (present?.recoveryKey !== recovery) throw missingRecoveryKey(recovery);
    return wrapped;
  }

  async unwrap(record: KeyRecord, installation: string, only?: string): Promise<KeyObject> {
    const found = this.#providers.flatMap((provider) => {
      const wrap = record.wraps.find(({ root }) => root === provider.keyId);
      return wrap === undefined || (only ?? provider.keyId) !== provider.keyId
        ? []
        : [{ provider, wrap }];
    });
    if (found.length === 0) {
      const roots = record.wraps.map(({ root }) => root).join(", ");
      throw new KeyringError(
        `the keys in the database are wrapped by the root key ${roots}, this one is ${this.keyIds.join(", ")}: restore the root key that belongs to this database`,
      );
    }
    const label = rootLabel(installation, record.version);
    const opened = new AbortController();
    const attempts = found.map(async ({ provider, wrap: { bytes } }) => {
      const byRoot = recoverableKeyOf(bytes)?.byRoot ?? bytes;
      const secret = await provider.unwrap(byRoot, label, opened.signal);
      return checkedKey(record, secret, installation);
    });
    try {
      return await Promise.any(attempts);
    } catch (error) {
      throw oneOf(error instanceof AggregateError ? error.errors : [error]);
    } finally {
      opened.abort();
    }
  }
}

function missingRecoveryKey(recovery: string): KeyringError {
  return new KeyringError(
    `keys have to be sealed for the recovery key ${recovery}, which COFRE_RECOVERY_KEY of this process does not name`,
  );
}

/** The error of the only root key, or one about all of them, with the mildest failure. */
function oneOf(errors: readonly unknown[]): unknown {
  const [first] = errors;
  if (errors.length === 1 || !errors.every((error) => error instanceof KeyringError)) return first;
  const failures = errors.map((error) =>
    error instanceof RootKeyError ? error.failure : ("wrong" as const),
  );
  const mildest = rootKeyFailures.find((failure) => failures.includes(failure)) ?? "unavailable";
  return new RootKeyError(
    mildest,
    `no root key opens the keys: ${errors.map(({ message }) => message).join("; ")}`,
  );
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
