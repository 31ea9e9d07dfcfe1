import type { NotificationKeys } from "../delivery/notification-keys.ts";
import type { KeyProvider } from "../vault/key-provider.ts";
import type { LocalVault } from "../vault/local-vault.ts";
import type { RootSet } from "../vault/records/root-set.ts";
import type { RecordKeyring } from "../vault/records/record-keyring.ts";
import type { RecoveryWraps } from "../vault/recovery/recovery-wraps.ts";
import type { RowMacs, RowUpgrade } from "../vault/row-mac.ts";
import type { Sealing } from "../vault/sealed-secret.ts";
import type { Vault } from "../vault/vault.ts";

/** What the keys of an installation do. */
export interface Keys {
  readonly vault: Vault;
  /** For worlds, which never have rows of an earlier version. */
  readonly worldVault: Vault;
  readonly macs: RowMacs;
  readonly upgrade: RowUpgrade;
  /** Converts rows of earlier versions; undefined in an installation that never had any. */
  readonly earlierRows: EarlierRowKeys | undefined;
  readonly notificationKeys: NotificationKeys;
  /** For secrets in the store, such as users'. */
  readonly sealing: Sealing;
  /** The keys in the store; undefined in an installation that keeps its keys in files. */
  readonly keyring: RecordKeyring | undefined;
  /** Identifies the keys that cards are sealed with. */
  readonly keySetId: string;
  /** The root key, if a key service holds it. */
  readonly remoteRoot: KeyProvider | undefined;
  /** The second root key, if there is one. */
  readonly nextRoot: KeyProvider | undefined;
  /** The file `root.key` could not be opened, and the second root key has opened the keys. */
  readonly isRootFileMissing: boolean;
  /** Key ids of the root keys that this process can use. */
  readonly rootKeyIds: readonly string[];
  /** The set of root keys; undefined where keys are files. */
  readonly rootSet: StartedRootSet | undefined;
  /** Wraps for the recovery key, if there is one. */
  readonly recovery: RecoveryWraps | undefined;
}

export interface StartedRootSet extends RootSet {
  readonly fingerprint: string;
  /** This start has stored or changed it. */
  readonly isChanged: boolean;
}

export interface EarlierRowKeys {
  readonly vault: Pick<LocalVault, "adopt">;
  /** Records durably that no row of an earlier version is left. */
  readonly complete: (upgrade: Pick<RowUpgrade, "lastUnkeyedEntry">) => Promise<void>;
}
