import type { Config } from "../config/settings.ts";
import type { Check } from "./check.ts";

/** What an opened installation shows. */
export interface InstallationFacts {
  readonly config: Config;
  /** The installation id of the database; undefined: it has none. */
  readonly installationId: string | undefined;
  /** Accounts in the database. */
  readonly accounts: number;
  /** Whether keys are files of the data directory, and cards are sealed in format 1. */
  readonly hasFileKeys: boolean;
  /** What the login of the database may do beyond what a server needs. */
  readonly loginRights: readonly string[];
}

export interface RootSetFacts {
  readonly config: Config;
  /** Root keys that wrap the keys. */
  readonly roots: number;
}

/** Checks of the opened keys: faults refuse the start. */
export const rootSetChecks: readonly Check<RootSetFacts>[] = [
  {
    name: "second_root_key",
    rule: "A second root key that is the only other way to open the keys wraps them.",
    fault: ({ config: { recoveryKey, rootKeyNext, rootKeyBackup }, roots }) =>
      rootKeyNext !== undefined &&
      recoveryKey === undefined &&
      rootKeyBackup === undefined &&
      roots < 2
        ? "The root key of COFRE_ROOT_KEY_NEXT does not wrap the keys yet."
        : undefined,
    remedy: "Set COFRE_RECOVERY_KEY until cofre keys add-root has wrapped the keys by both.",
  },
];

/** Checks of the opened store, before a server listens: faults refuse the start. */
export const installationChecks: readonly Check<InstallationFacts>[] = [
  {
    name: "initialized",
    rule: "The database has an installation.",
    fault: ({ installationId, accounts }) =>
      installationId === undefined || accounts === 0
        ? "The database is empty, or cofre init has not ended."
        : undefined,
    remedy: "Run cofre init with the settings of this server.",
  },
  {
    name: "other_installation",
    rule: "The database has the installation id of the settings.",
    fault: ({ installationId, config }) =>
      installationId === undefined || installationId === config.installationId
        ? undefined
        : installationId.startsWith("production-")
          ? `The database belongs to the installation ${installationId}.`
          : "The database belongs to a sandbox.",
    remedy:
      "Name the database of this installation in COFRE_DATABASE_URL_FILE, or correct COFRE_INSTALLATION_ID.",
  },
  {
    name: "key_format",
    rule: "Keys are records of the database, and cards are sealed in format 2.",
    fault: ({ hasFileKeys }) =>
      hasFileKeys ? "The keys are files of an earlier version." : undefined,
    remedy: "Begin a new installation with cofre init, and let merchants store cards again.",
  },
  {
    name: "database_login",
    rule: "The login of the database cannot change the tables.",
    fault: ({ loginRights }) =>
      loginRights.length === 0
        ? undefined
        : `The login of COFRE_DATABASE_URL ${loginRights.join(", ")}.`,
    remedy:
      "Make a login that only has the roles of Cofre (docs/operate/production.md), and keep the owner's for cofre init.",
  },
];
