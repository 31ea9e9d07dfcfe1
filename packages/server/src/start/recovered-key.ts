import type { Config } from "../config/settings.ts";
import { KeyringError } from "../vault/key-provider.ts";
import type { RecoveryKey } from "../vault/recovery/recovery-key.ts";
import { recoverableKeyOf } from "../vault/recovery/recovery-wraps.ts";
import { createRootKey, openKeyFiles } from "../vault/root-key-file.ts";
import { remoteRootKeys } from "./open-root-key.ts";
import { ownRandom, systemPorts } from "./ports.ts";

/** Opens one wrapped key; the caller wipes it. Rejects with KeyringError. */
export function openOne(wrapped: Uint8Array, label: string, recovery: RecoveryKey): Uint8Array {
  const { fingerprint } = recovery.public;
  const stored = recoverableKeyOf(wrapped);
  if (stored === undefined)
    throw new KeyringError(
      `the key ${label} was not sealed for a recovery key: no server started with COFRE_RECOVERY_KEY after it was made`,
    );
  if (stored.recoveryKey !== fingerprint)
    throw new KeyringError(
      `the key ${label} was sealed for the recovery key ${stored.recoveryKey}, and the shares are of ${fingerprint}`,
    );
  const key = recovery.open(stored.sealed, label);
  if (key === undefined)
    throw new KeyringError(
      `the key ${label} does not open: what was sealed for the recovery key was altered. Try another copy of the keys`,
    );
  return key;
}

/** The root key of the settings, which is made if it is a file that does not exist. */
export async function openNewRoot(
  config: Config,
  environment: string,
): ReturnType<typeof openKeyFiles> {
  const { dataDirectory: directory } = config;
  const { first: root } = remoteRootKeys(config, systemPorts);
  if (root === undefined) await createRootKey(directory, environment, ownRandom);
  return openKeyFiles({ directory, environment, create: false, random: ownRandom, root });
}
