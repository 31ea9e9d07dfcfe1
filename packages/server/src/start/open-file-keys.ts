import type { Config } from "../config/settings.ts";
import { openNotificationKeys } from "../delivery/notification-keys.ts";
import { type KeyProvider, KeyringError } from "../vault/key-provider.ts";
import { Keyring } from "../vault/keyring.ts";
import { createLocalVault } from "../vault/local-vault.ts";
import { recoverable } from "../vault/recovery/recovery-wraps.ts";
import { openKeyFiles } from "../vault/root-key-file.ts";
import { RowMacs, type RowUpgrade } from "../vault/row-mac.ts";
import {
  createSealedSecret,
  createSealing,
  type SealedSecretOptions,
} from "../vault/sealed-secret.ts";
import type { Keys } from "./keys.ts";
import { openRecoveryKey } from "./open-recovery-key.ts";
import { ownRandom, type Ports } from "./ports.ts";

/**
 * Opens the keys of an installation that an earlier version began: they are files of the data
 * directory, and cards are sealed in format 1.
 */
export async function openFileKeys(
  config: Config,
  { clock, random }: Pick<Ports, "clock" | "random">,
  root: KeyProvider | undefined,
): Promise<Keys> {
  const { environment, dataDirectory: directory } = config;
  if (config.rootKeysFingerprint !== undefined)
    throw new KeyringError(
      "COFRE_ROOT_KEYS_FINGERPRINT needs an installation that keeps its keys in the database; this one keeps them in files",
    );
  if (config.rootKeyNext !== undefined)
    throw new KeyringError(
      "COFRE_ROOT_KEY_NEXT needs an installation that keeps its keys in the database; this one keeps them in files",
    );
  const upgrade: RowUpgrade = { earlier: "read", lastUnkeyedEntry: 0 };
  // While a node of an earlier version may run, keys are wrapped so that it can unwrap them.
  const isSeparate = (): boolean => upgrade.earlier === "none";
  const files = await openKeyFiles({
    directory,
    environment,
    create: false,
    random,
    root,
    isSeparate,
  });
  const recovery = await openRecoveryKey(config);
  const { store, secretFile } = files;
  const provider = recoverable(files.provider, recovery);
  const keyring = await Keyring.open({
    provider,
    store,
    environment,
    random,
    clock,
    create: false,
    recovery,
  });
  const own = { provider, random: ownRandom, recovery };
  const label = `${environment}/notifications`;
  const storage = createSealedSecret({ ...own, file: secretFile("notifications"), label });
  const note = upgradeNoteOf(config, { ...own, file: secretFile("rows") });
  Object.assign(upgrade, await note.load());
  const vault = createLocalVault({ keyring, environment, random, upgrade });
  return {
    sealing: createSealing({
      key: keyring.derivedKey("sealing 1 users"),
      random: ownRandom,
      earlier: { provider, isWritten: () => upgrade.earlier !== "none" },
    }),
    remoteRoot: root,
    nextRoot: undefined,
    rootKeyIds: [files.provider.keyId],
    isRootFileMissing: false,
    rootSet: undefined,
    recovery,
    vault,
    worldVault: createLocalVault({ keyring, environment, random }),
    macs: new RowMacs((name) => keyring.derivedKey(name), upgrade),
    upgrade,
    earlierRows: {
      vault,
      complete: ({ lastUnkeyedEntry }) => note.save(lastUnkeyedEntry),
    },
    keyring: undefined,
    keySetId: keyring.keySetId,
    notificationKeys: await openNotificationKeys({
      storage,
      environment,
      random: ownRandom,
      clock,
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
