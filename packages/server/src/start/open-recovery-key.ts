import { promises } from "node:fs";
import type { Config } from "../config/settings.ts";
import { errorFacts } from "../logging/error-facts.ts";
import { KeyringError } from "../vault/key-provider.ts";
import { readRecoveryKeyFile } from "../vault/recovery/recovery-key.ts";
import { RecoveryWraps } from "../vault/recovery/recovery-wraps.ts";

/**
 * The recovery key of the settings, for which keys are sealed; undefined without one. Rejects with
 * KeyringError when the file is not the key whose fingerprint the settings have.
 */
export async function openRecoveryKey({
  recoveryKey,
  recoveryKeyFile: path,
}: Config): Promise<RecoveryWraps | undefined> {
  if (recoveryKey === undefined || path === undefined) return undefined;
  const text = await promises.readFile(path, "utf8").catch((error: unknown) => {
    const code = errorFacts(error).errorCode ?? "unknown";
    throw new KeyringError(`${path} of COFRE_RECOVERY_PUBLIC_KEY cannot be read (${code})`);
  });
  const file = readRecoveryKeyFile(text);
  if (file === undefined)
    throw new KeyringError(
      `${path} of COFRE_RECOVERY_PUBLIC_KEY is not a recovery key, or was altered: use the file that cofre recovery init wrote`,
    );
  if (file.key.fingerprint !== recoveryKey)
    throw new KeyringError(
      `${path} has the recovery key ${file.key.fingerprint}, but COFRE_RECOVERY_KEY is ${recoveryKey}: keys are sealed for no other`,
    );
  return new RecoveryWraps(file.key);
}
