import { ownValue } from "../kernel/own.ts";
import { Secret } from "../kernel/secret.ts";
import { isGuessable } from "../kernel/guessable.ts";
import { suggestionFor } from "../kernel/suggestion.ts";
import { firstRootKey, nextRootKey, rootKeyProblems } from "./root-key-place.ts";
import { isLoopbackHost, type Reading } from "./readers.ts";
import { type Config, type SettingName, settingRows } from "./settings.ts";

export interface ConfigSources {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Values from the command line, by flag (`--port`). */
  readonly flags: ReadonlyMap<string, string>;
  /** The text of a small file, or a problem that completes "the file ...". */
  readonly readFile: (path: string) => Reading<string>;
}

export type ConfigReading =
  | {
      readonly config: Config;
      /**
       * COFRE_ variables that are not settings. Those of a newer version or another tool do not
       * prevent a start.
       */
      readonly unknown: readonly string[];
      /** Settings whose variables are set but empty. */
      readonly empty: readonly string[];
      readonly secrets: SecretOrigins;
    }
  | { readonly problems: readonly string[] };

/** Where the secrets of a configuration come from. */
export interface SecretOrigins {
  /** Variables that contain a secret. */
  readonly variables: readonly string[];
  /** Files that contain a secret, and the variables that name them. */
  readonly files: readonly { readonly variable: string; readonly path: string }[];
}

export const noSecrets: SecretOrigins = { variables: [], files: [] };

/** They may come from a file like secrets, but anyone may read them. */
const publicSettings: readonly SettingName[] = [
  "rootKeyCa",
  "rootKeyNextCa",
  "upstreamCa",
  "sandboxPublicIntegrationKey",
];

/** Settings that name a file with a secret. */
const secretFileSettings: readonly SettingName[] = [
  "rootKeySecretFile",
  "rootKeyNextSecretFile",
  "tlsKeyFile",
];

/**
 * Checks everything and reports all problems at once, so that they can be fixed before the next
 * start.
 */
export function readConfig(sources: ConfigSources): ConfigReading {
  const { problems, unknown, empty } = variablesOf(sources.environment);
  const values: Record<string, unknown> = {};
  const secretVariables: string[] = [];
  const secretFiles: { readonly variable: string; readonly path: string }[] = [];
  for (const [name, setting] of settingRows) {
    const source = sourceOf(setting, sources);
    if ("problem" in source) {
      problems.push(`${source.name} ${source.problem}.`);
      continue;
    }
    if (source.text === undefined) continue;
    if (setting.secret === true && !publicSettings.includes(name)) {
      if (source.path === undefined) secretVariables.push(source.name);
      else secretFiles.push({ variable: source.name, path: source.path });
    }
    if (secretFileSettings.includes(name))
      secretFiles.push({ variable: source.name, path: source.text });
    const reading = setting.read(source.text);
    if ("problem" in reading) problems.push(`${source.name} ${reading.problem}.`);
    else values[name] = reading.value;
  }
  if (sameKeys(values["sandboxIntegrationKey"], values["sandboxPublicIntegrationKey"])) {
    problems.push(
      "COFRE_SANDBOX_PUBLIC_INTEGRATION_KEY is the same as COFRE_SANDBOX_INTEGRATION_KEY: anyone with the public key could charge cards.",
    );
  }
  // Combined checks run only without other problems, because a wrong value is missing here.
  if (problems.length === 0)
    problems.push(
      ...acquirerProblems(values),
      ...databaseProblems(values),
      ...tlsProblems(values),
      ...placesOfRootKeys(values),
      ...recoveryKeyProblems(values),
      ...keyProblems(values),
      ...fixtureProblems(values),
    );
  if (problems.length > 0) return { problems };
  return {
    config: Object.freeze(values) as Config,
    unknown,
    empty,
    secrets: { variables: secretVariables, files: secretFiles },
  };
}

type Source =
  /** `path`: the file that has the text. */
  | { readonly name: string; readonly text: string | undefined; readonly path?: string }
  | { readonly name: string; readonly problem: string };

/**
 * The source of a setting's text: the command line, the variable, the file that a variable names,
 * or the default in the table.
 */
function sourceOf(setting: (typeof settingRows)[number][1], sources: ConfigSources): Source {
  const { variable, flag, fallback } = setting;
  const given = flag === undefined ? undefined : sources.flags.get(flag);
  // A boolean flag has no value.
  if (flag !== undefined && given !== undefined)
    return { name: flag, text: given === "" ? "true" : given };
  // An empty variable is an unset one: compose files and CI forms cannot leave a variable out.
  const text = filled(ownValue(sources.environment, variable));
  const fileVariable = `${variable}_FILE`;
  const path =
    setting.secret === true ? filled(ownValue(sources.environment, fileVariable)) : undefined;
  if (path === undefined) return { name: variable, text: text ?? fallback };
  if (text !== undefined)
    return {
      name: fileVariable,
      problem: `is set together with ${variable}: set only one of them`,
    };
  const file = sources.readFile(path);
  if ("problem" in file)
    return { name: fileVariable, problem: `names a file that ${file.problem}: ${path}` };
  // Editors and `echo` end a file with a line break that is not part of the secret.
  const content = file.value.replace(/\r?\n$/, "");
  return content === ""
    ? { name: fileVariable, problem: `names a file that is empty: ${path}` }
    : { name: fileVariable, text: content, path };
}

function filled(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}

/**
 * A probably misspelt setting is a problem: otherwise the setting would silently have its default.
 */
function variablesOf(environment: ConfigSources["environment"]): {
  readonly problems: string[];
  readonly unknown: string[];
  readonly empty: string[];
} {
  const known = settingRows.flatMap(([, { variable, secret }]) =>
    secret === true ? [variable, `${variable}_FILE`] : [variable],
  );
  const problems: string[] = [];
  const unknown: string[] = [];
  const empty: string[] = [];
  for (const name of Object.keys(environment).toSorted()) {
    if (!name.startsWith("COFRE_")) continue;
    if (known.includes(name)) {
      if (ownValue(environment, name) === "") empty.push(name);
      continue;
    }
    const suggestion = probablyMeant(name, known);
    if (suggestion === undefined) unknown.push(name);
    else problems.push(`${name} is not a setting. Did you mean ${suggestion}?`);
  }
  return { problems, unknown, empty };
}

/**
 * One edit in a short name, two in a long one: COFRE_TEST and COFRE_HOME may belong to other tools,
 * `COFRE_PROT` does not.
 */
function probablyMeant(name: string, known: readonly string[]): string | undefined {
  // `_FILE` is valid for secrets only; for any other setting it is a mistake that must be reported.
  const ofFile = known.find((setting) => name === `${setting}_FILE`);
  return ofFile ?? suggestionFor(name, known, name.length < "COFRE_".length + 8 ? 1 : 2);
}

/** Exactly one acquirer, with its key. */
function acquirerProblems(values: Readonly<Record<string, unknown>>): string[] {
  const { acquirerUrl, upstreamUrl, upstreamIntegrationKey, upstreamCa, connectors } = values;
  if (connectors !== undefined && (acquirerUrl ?? upstreamUrl) !== undefined) {
    const beside = acquirerUrl === undefined ? "COFRE_UPSTREAM_URL" : "COFRE_ACQUIRER_URL";
    return [
      `COFRE_CONNECTORS and ${beside} both name acquirers: put all of them into COFRE_CONNECTORS.`,
    ];
  }
  if (upstreamUrl === undefined) {
    const left = [
      ...(upstreamIntegrationKey === undefined ? [] : ["COFRE_UPSTREAM_INTEGRATION_KEY"]),
      ...(upstreamCa === undefined ? [] : ["COFRE_UPSTREAM_CA"]),
    ];
    return left.map((name) => `${name} needs COFRE_UPSTREAM_URL.`);
  }
  return [
    ...(upstreamIntegrationKey === undefined
      ? ["COFRE_UPSTREAM_URL needs a COFRE_UPSTREAM_INTEGRATION_KEY."]
      : []),
    ...(acquirerUrl === undefined
      ? []
      : ["COFRE_UPSTREAM_URL and COFRE_ACQUIRER_URL name two acquirers: set only one of them."]),
  ];
}

/** Stored data must not outlive the keys that open it. */
function databaseProblems({
  databaseUrl,
  databaseOwnerUrl,
  dataDirectory,
}: Readonly<Record<string, unknown>>): string[] {
  if (databaseUrl === undefined && databaseOwnerUrl !== undefined)
    return ["COFRE_DATABASE_OWNER_URL needs COFRE_DATABASE_URL."];
  if (databaseUrl === undefined || dataDirectory !== ":memory:") return [];
  return [
    "COFRE_DATABASE_URL needs a persistent COFRE_DATA_DIR, which has the keys of the database.",
  ];
}

/** Clients must trust the same authority after a restart, and read its certificate from a file. */
function tlsProblems(values: Readonly<Record<string, unknown>>): string[] {
  const { tls, dataDirectory, tlsCertificateFile, tlsKeyFile } = values;
  if ((tlsCertificateFile === undefined) !== (tlsKeyFile === undefined))
    return ["COFRE_TLS_CERTIFICATE_FILE and COFRE_TLS_KEY_FILE need each other."];
  if (tls !== "true") return [];
  if (tlsKeyFile !== undefined)
    return [
      "COFRE_TLS and COFRE_TLS_CERTIFICATE_FILE name two certificates: set only one of them.",
    ];
  if (dataDirectory !== ":memory:") return [];
  return [
    "COFRE_TLS needs a persistent COFRE_DATA_DIR, which has the authority that clients trust.",
  ];
}

function placesOfRootKeys(values: Readonly<Record<string, unknown>>): string[] {
  const config = values as Partial<Config>;
  return [firstRootKey(config), nextRootKey(config)].flatMap((place) =>
    rootKeyProblems(place, config.dataDirectory),
  );
}

/** The fingerprint is pinned in the configuration: a program that replaces the file gets no key. */
function recoveryKeyProblems(values: Readonly<Record<string, unknown>>): string[] {
  const { recoveryKey, recoveryKeyFile, dataDirectory } = values as Partial<Config>;
  if (recoveryKey === undefined && recoveryKeyFile === undefined) return [];
  if (recoveryKey === undefined)
    return ["COFRE_RECOVERY_PUBLIC_KEY needs COFRE_RECOVERY_KEY with the fingerprint of its key."];
  if (recoveryKeyFile === undefined)
    return [
      "COFRE_RECOVERY_KEY needs COFRE_RECOVERY_PUBLIC_KEY with the name of the file recovery.pub.",
    ];
  return dataDirectory === ":memory:"
    ? ["COFRE_RECOVERY_KEY needs a persistent COFRE_DATA_DIR, which has the keys to recover."]
    : [];
}

const shortestKeyBeyondLoopback = 16;

/**
 * Every client that reaches the port may try keys. A loopback address, where tests use short keys,
 * is reachable only from this machine.
 */
function keyProblems({
  host,
  sandboxIntegrationKey: key,
}: Readonly<Record<string, unknown>>): string[] {
  if (!(key instanceof Secret) || typeof host !== "string" || isLoopbackHost(host)) return [];
  const text = String(key.reveal());
  if (text.length >= shortestKeyBeyondLoopback && !isGuessable(text)) return [];
  return [
    `COFRE_SANDBOX_INTEGRATION_KEY is too weak for a server that others can reach: choose at least ${shortestKeyBeyondLoopback} characters without a simple pattern, or leave the setting out to generate a key.`,
  ];
}

/** Fixtures make payments with test cards: only simulated acquirers of a sandbox may get them. */
function fixtureProblems({
  fixtures,
  environment,
  upstreamUrl,
  connectors,
  console: access,
  sandboxIntegrationKey,
}: Readonly<Record<string, unknown>>): string[] {
  if (fixtures === undefined) return [];
  if (environment !== "sandbox")
    return ["COFRE_FIXTURES or --fixtures is for a sandbox: leave it out in production."];
  const hasUpstream = Array.isArray(connectors)
    ? connectors.some(({ kind }: { readonly kind: unknown }) => kind === "upstream")
    : upstreamUrl !== undefined;
  if (hasUpstream)
    return [
      "COFRE_FIXTURES or --fixtures needs simulated acquirers: leave COFRE_UPSTREAM_URL and connectors of the kind upstream out.",
    ];
  return access === "login" && sandboxIntegrationKey === undefined
    ? [
        "COFRE_FIXTURES or --fixtures needs a COFRE_SANDBOX_INTEGRATION_KEY where COFRE_CONSOLE is login.",
      ]
    : [];
}

function sameKeys(one: unknown, other: unknown): boolean {
  return one instanceof Secret && other instanceof Secret && one.reveal() === other.reveal();
}
