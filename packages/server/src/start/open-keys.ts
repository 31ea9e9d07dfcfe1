import type { Config } from "../config/settings.ts";
import {
  type NotificationKeys,
  openNotificationKeys,
  type RsaPair,
} from "../delivery/notification-keys.ts";
import { Keyring } from "../vault/keyring.ts";
import { createLocalVault, type LocalVault } from "../vault/local-vault.ts";
import {
  createMemoryKeyProvider,
  createMemoryWrappedKeyStore,
} from "../vault/memory-key-provider.ts";
import type { KeyProvider } from "../vault/key-provider.ts";
import { hasKeyFiles, openKeyFiles } from "../vault/root-key-file.ts";
import { noEarlierRows, RowMacs, type RowUpgrade } from "../vault/row-mac.ts";
import {
  createMemorySecretFile,
  createSealedSecret,
  createSealing,
  type SealedSecretOptions,
  type Sealing,
} from "../vault/sealed-secret.ts";
import type { Vault } from "../vault/vault.ts";
import { recoverable, type RecoveryWraps } from "../vault/recovery/recovery-wraps.ts";
import { openRecoveryKey } from "./open-recovery-key.ts";
import { remoteRootKey } from "./open-root-key.ts";
import { ownRandom, type Ports } from "./ports.ts";

export interface Keys {
  readonly vault: LocalVault;
  /** For worlds, which never have rows of an earlier version. */
  readonly worldVault: Vault;
  readonly macs: RowMacs;
  readonly upgrade: RowUpgrade;
  /** Records durably that no row of an earlier version is left. */
  readonly completeUpgrade: (upgrade: Pick<RowUpgrade, "lastUnkeyedEntry">) => Promise<void>;
  readonly notificationKeys: NotificationKeys;
  /** For secrets in the store, such as users'. */
  readonly sealing: Sealing;
  /** Identifies the keys that cards are sealed with. */
  readonly keySetId: string;
  /** The root key, if a key service holds it. */
  readonly remoteRoot: KeyProvider | undefined;
  /** Wraps for the recovery key, if there is one. */
  readonly recovery: RecoveryWraps | undefined;
}

/**
 * Whether there are no keys of an earlier start. Whether to create keys is decided after the store
 * was read.
 */
export async function hasNoKeys({ dataDirectory }: Config): Promise<boolean> {
  return dataDirectory === ":memory:" || !(await hasKeyFiles(dataDirectory));
}

export async function openKeys(
  config: Config,
  ports: Pick<Ports, "clock" | "random" | "scheduler" | "elapsedMs">,
  create: boolean,
  pair?: Promise<RsaPair>,
): Promise<Keys> {
  const { environment, dataDirectory: directory } = config;
  const { clock, random } = ports;
  const root = remoteRootKey(config, ports);
  const recovery = await openRecoveryKey(config);
  const upgrade: RowUpgrade = create
    ? { ...noEarlierRows }
    : { earlier: "read", lastUnkeyedEntry: 0 };
  // While a node of an earlier version may run, keys are wrapped so that it can unwrap them.
  const isSeparate = (): boolean => upgrade.earlier === "none";
  const files =
    directory === ":memory:"
      ? undefined
      : await openKeyFiles({ directory, environment, create, random, root, isSeparate });
  const { provider, store } = files ?? {
    provider: createMemoryKeyProvider(random),
    store: createMemoryWrappedKeyStore(),
  };
  const keyring = await Keyring.open({
    provider: recoverable(provider, recovery),
    store,
    environment,
    random,
    clock,
    create,
    recovery,
  });
  const label = `${environment}/notifications`;
  const file = files?.secretFile("notifications") ?? createMemorySecretFile();
  const own = {
    provider: recoverable(files?.provider ?? createMemoryKeyProvider(ownRandom), recovery),
    random: ownRandom,
    recovery,
  };
  const storage = createSealedSecret({ ...own, file, label });
  const note = upgradeNoteOf(config, {
    ...own,
    file: files?.secretFile("rows") ?? createMemorySecretFile(),
  });
  const completeUpgrade: Keys["completeUpgrade"] = ({ lastUnkeyedEntry }) =>
    note.save(lastUnkeyedEntry);
  if (create) await completeUpgrade(noEarlierRows);
  Object.assign(upgrade, await note.load());
  return {
    sealing: createSealing({
      ...own,
      key: keyring.derivedKey("sealing 1 users"),
      isEarlierWritten: () => upgrade.earlier !== "none",
    }),
    remoteRoot: root,
    recovery,
    vault: createLocalVault({ keyring, environment, random, upgrade }),
    worldVault: createLocalVault({ keyring, environment, random }),
    macs: new RowMacs((label) => keyring.derivedKey(label), upgrade),
    upgrade,
    completeUpgrade,
    keySetId: keyring.keySetId,
    notificationKeys: await openNotificationKeys({
      storage,
      environment,
      random: ownRandom,
      clock,
      pair,
    }),
  };
}

/**
 * The note `rows.sealed` records that no row of an earlier version is left: it contains the number
 * of the last entry of the audit log that may lack a MAC.
 */
export function upgradeNoteOf({ environment }: Config, parts: Omit<SealedSecretOptions, "label">) {
  const note = createSealedSecret({ ...parts, label: `${environment}/rows` });
  return {
    async load(): Promise<RowUpgrade> {
      const content = await note.load();
      if (content === undefined) return { earlier: "read", lastUnkeyedEntry: 0 };
      return { earlier: "none", lastUnkeyedEntry: Number(Buffer.from(content).toString()) };
    },
    save: async (lastUnkeyedEntry: number): Promise<void> =>
      void (await note.save(Buffer.from(String(lastUnkeyedEntry)))),
  };
}

export function lastUnkeyedEntryOf({ earlier, lastUnkeyedEntry }: RowUpgrade): number {
  return earlier === "none" ? lastUnkeyedEntry : Number.POSITIVE_INFINITY;
}
