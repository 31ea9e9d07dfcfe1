import { isLoopbackHost } from "../config/readers.ts";
import type { SecretOrigins } from "../config/read-config.ts";
import type { Config } from "../config/settings.ts";
import type { Check } from "./check.ts";
import { accessProblem, type ProcessUser, type SecretFile } from "./secret-file.ts";

export interface SettingFacts {
  readonly config: Config;
  readonly secrets: SecretOrigins;
  readonly files: readonly SecretFile[];
  /** Undefined on a system without permission bits. */
  readonly user: ProcessUser | undefined;
}

/** Checks of the settings, before anything is opened: faults refuse the start and `cofre init`. */
export const settingChecks: readonly Check<SettingFacts>[] = [
  {
    name: "root_key_file",
    rule: "The root key stays in a key service or an HSM.",
    fault: ({ config }) =>
      config.rootKey.kind === "file" ? "The root key is a file beside the data." : undefined,
    remedy: "Set COFRE_ROOT_KEY to a key in OpenBao, AWS KMS or an HSM.",
  },
  {
    name: "recovery",
    rule: "There are two independent ways to open the keys: beside the root key, recovery shares, a second root key, or a tried backup of the HSM.",
    fault: ({ config: { recoveryKey, rootKeyNext, rootKeyBackup, rootKey } }) =>
      recoveryKey !== undefined ||
      rootKeyNext !== undefined ||
      (rootKeyBackup !== undefined && rootKey.kind === "pkcs11")
        ? undefined
        : "If the root key is lost, all cards are lost.",
    remedy:
      "Run cofre recovery init and set COFRE_RECOVERY_KEY and COFRE_RECOVERY_PUBLIC_KEY, or name a second root key in COFRE_ROOT_KEY_NEXT, or set COFRE_ROOT_KEY_BACKUP to the date when the backup of the HSM was tried.",
  },
  {
    name: "database",
    rule: "PostgreSQL keeps the data.",
    fault: ({ config }) =>
      config.databaseUrl === undefined
        ? "The data is in a file or in memory, which the loss of one disk or process destroys."
        : undefined,
    remedy: "Set COFRE_DATABASE_URL_FILE.",
  },
  {
    name: "synchronous_standby",
    rule: "Each acknowledged payment is on a second disk.",
    fault: ({ config }) =>
      config.databaseAllowNoStandby === "true"
        ? "COFRE_DATABASE_ALLOW_NO_STANDBY accepts that payments are lost with a disk."
        : undefined,
    remedy: "Connect a synchronous standby and leave COFRE_DATABASE_ALLOW_NO_STANDBY out.",
  },
  {
    name: "acquirers",
    rule: "Every acquirer is real.",
    fault: ({ config }) =>
      hasSimulatedAcquirer(config) ? "An acquirer is simulated: it moves no money." : undefined,
    remedy:
      "Set COFRE_UPSTREAM_URL, or COFRE_CONNECTORS with connectors of the kind upstream only.",
  },
  {
    name: "plain_http",
    rule: "Plain HTTP is served to this machine and to a named TLS proxy only.",
    fault: ({ config: { host, tlsCertificateFile, behindProxy } }) =>
      isLoopbackHost(host) || tlsCertificateFile !== undefined || behindProxy !== undefined
        ? undefined
        : "Card numbers would cross the network without TLS.",
    remedy:
      "Set COFRE_TLS_CERTIFICATE_FILE and COFRE_TLS_KEY_FILE, or COFRE_BEHIND_PROXY with the addresses of the TLS proxy.",
  },
  {
    name: "own_authority",
    rule: "The certificate comes from an authority that clients trust already.",
    fault: ({ config }) =>
      config.tls === "true"
        ? "COFRE_TLS makes an authority for tests, whose key is in the data directory."
        : undefined,
    remedy: "Leave COFRE_TLS out and set COFRE_TLS_CERTIFICATE_FILE and COFRE_TLS_KEY_FILE.",
  },
  {
    name: "secrets_in_variables",
    rule: "Secrets come from files.",
    fault: ({ secrets: { variables } }) =>
      variables.length === 0
        ? undefined
        : `Environment variables contain secrets: ${variables.join(", ")}.`,
    remedy: "Write each secret into a file, and name it in the variable with _FILE at its end.",
  },
  {
    name: "secret_files",
    rule: "Only this process and root can read the files with secrets.",
    fault: ({ files, user }) => fileProblems(files, user),
    remedy: "Make them 0400 or 0600 and owned by the user of Cofre, or 0440 with its group.",
  },
  {
    name: "console_by_key",
    rule: "People sign in to the console with a password and a code.",
    fault: ({ config }) =>
      config.console === "key" ? "The console opens with the secret integration key." : undefined,
    remedy: "Set COFRE_CONSOLE=login, or off.",
  },
];

/** Checks of the settings of a server, beside the others: `cofre init` makes what they require. */
export const serverSettingChecks: readonly Check<SettingFacts>[] = [
  {
    name: "installation_id",
    rule: "The settings name the installation.",
    fault: ({ config }) =>
      config.installationId === undefined ? "COFRE_INSTALLATION_ID is not set." : undefined,
    remedy: "Set COFRE_INSTALLATION_ID to the id that cofre init printed.",
  },
  {
    name: "root_keys_fingerprint",
    rule: "The settings name the root keys and the recovery key for which keys are wrapped.",
    fault: ({ config }) =>
      config.rootKeysFingerprint === undefined
        ? "COFRE_ROOT_KEYS_FINGERPRINT is not set."
        : undefined,
    remedy: "Set COFRE_ROOT_KEYS_FINGERPRINT to the fingerprint that cofre init printed.",
  },
  {
    name: "database_owner",
    rule: "The server has no password of the login that owns the tables.",
    fault: ({ config }) =>
      config.databaseOwnerUrl === undefined
        ? undefined
        : "COFRE_DATABASE_OWNER_URL is set for the server.",
    remedy: "Give COFRE_DATABASE_OWNER_URL_FILE to cofre init only.",
  },
];

function hasSimulatedAcquirer({ connectors, upstreamUrl }: Config): boolean {
  return connectors === undefined
    ? upstreamUrl === undefined
    : connectors.some(({ kind }) => kind !== "upstream");
}

function fileProblems(
  files: readonly SecretFile[],
  user: ProcessUser | undefined,
): string | undefined {
  if (user === undefined) return undefined;
  const problems = files.flatMap(({ variable, path, access }) => {
    const problem = access === undefined ? "cannot be read" : accessProblem(access, user);
    return problem === undefined ? [] : [`${path} (${variable}) ${problem}.`];
  });
  return problems.length === 0 ? undefined : problems.join(" ");
}
