import type { SecretOrigins } from "../config/read-config.ts";
import type { Config } from "../config/settings.ts";
import { type Finding, findingsOf } from "../production/check.ts";
import { installationChecks } from "../production/installation-checks.ts";
import { rootKeyChecks } from "../production/root-key-checks.ts";
import { serverSettingChecks, settingChecks } from "../production/setting-checks.ts";
import type { RunningStore } from "../stores/store.ts";
import { RootKeyError } from "../vault/key-provider.ts";
import { hasWrappedKeys } from "../vault/root-key-file.ts";
import { sharedKeyRecords } from "./key-record-storage.ts";
import { remoteRootKeys } from "./open-root-key.ts";
import { processUser, secretFilesOf } from "./secret-files.ts";

/** Checks of the settings of `cofre init`, or of a server. */
export async function settingFindings(
  config: Config,
  secrets: SecretOrigins,
  isServer: boolean,
): Promise<readonly Finding[]> {
  const facts = {
    config,
    secrets,
    files: await secretFilesOf(secrets),
    user: processUser(),
  };
  return findingsOf(isServer ? [...settingChecks, ...serverSettingChecks] : settingChecks, facts);
}

/**
 * Checks of the root keys in their services, except one that does not answer: it wraps and unwraps
 * nothing either.
 */
export async function rootKeyFindings(
  config: Config,
  ports: Parameters<typeof remoteRootKeys>[1],
): Promise<readonly Finding[]> {
  const { first, next } = remoteRootKeys(config, ports);
  const providers = [first, next].filter((provider) => provider !== undefined);
  try {
    const findings: Finding[] = [];
    for (const provider of providers) {
      const facts = await provider.facts().catch(ignoreFailure);
      if (facts !== undefined) findings.push(...findingsOf(rootKeyChecks, facts));
    }
    return findings;
  } finally {
    for (const provider of providers) provider.close?.();
  }
}

function ignoreFailure(error: unknown): undefined {
  if (!(error instanceof RootKeyError)) throw error;
}

/** Checks of an opened store. Opens no key. */
export async function installationFindings(
  config: Config,
  store: Pick<RunningStore, "accounts" | "identity" | "keys" | "loginRights">,
): Promise<readonly Finding[]> {
  const [accounts, { keys }, records, loginRights = []] = await Promise.all([
    store.accounts(),
    store.identity.read(),
    sharedKeyRecords(store.keys),
    store.loginRights?.(),
  ]);
  return findingsOf(installationChecks, {
    config,
    installationId: keys,
    accounts: accounts.length,
    hasFileKeys: records.length === 0 && (await hasWrappedKeys(config.dataDirectory)),
    loginRights,
  });
}
