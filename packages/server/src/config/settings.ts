import { parseInstant } from "../kernel/calendar.ts";
import { readConnectors } from "./connector-list.ts";
import {
  type Reading,
  readCertificates,
  readDatabaseUrl,
  readKey,
  readLoopbackUrl,
  readHostNames,
  readNetworks,
  readOwnKey,
  readUpstreamUrl,
} from "./readers.ts";
import { readRootKey, readServiceRootKey } from "./root-key-address.ts";

interface Setting<Value> {
  readonly variable: `COFRE_${string}`;
  /** Option of the command line, which takes precedence over the variable. */
  readonly flag?: `--${string}`;
  /** Format of the value, for the documentation. */
  readonly form: string;
  /**
   * The text to use when the variable is missing or empty; undefined: the setting has no value
   * then.
   */
  readonly fallback: string | undefined;
  /** May come from the file that `<variable>_FILE` names; is never shown. */
  readonly secret?: true;
  readonly read: (text: string) => Reading<Value>;
  readonly doc: string;
}

/**
 * One row per setting. The reference in docs/operate/configuration.md and `cofre config` are
 * generated from it.
 */
export const settings = {
  environment: {
    variable: "COFRE_ENVIRONMENT",
    form: "sandbox or production",
    fallback: "sandbox",
    read: oneOf("sandbox", "production"),
    doc: "Mode of this installation: `sandbox`, with test cards and a simulated acquirer, or [`production`](production.md). It is recorded with the keys and never changes; staging is `production` under another name.",
  },
  installationName: {
    variable: "COFRE_INSTALLATION_NAME",
    form: "1 to 32 lower-case letters, digits and dashes",
    fallback: undefined,
    read: readInstallationName,
    doc: "Name of this installation in the log and in authenticator apps, such as `acme-staging`. By default the mode.",
  },
  installationId: {
    variable: "COFRE_INSTALLATION_ID",
    form: "production- and 32 hexadecimal digits",
    fallback: undefined,
    read: readInstallationId,
    doc: "Installation id that `cofre init` prints. A database with another id is refused. Required in production.",
  },
  host: {
    variable: "COFRE_HOST",
    flag: "--host",
    form: "IP address or host name",
    fallback: "127.0.0.1",
    read: readHost,
    doc: "Address to listen on. With COFRE_TLS_CERTIFICATE_FILE only TLS listens there, and plain HTTP on 127.0.0.1. Without it, put any address except loopback behind a TLS proxy.",
  },
  ownNames: {
    variable: "COFRE_OWN_NAMES",
    form: "host names with commas between them",
    fallback: undefined,
    read: readHostNames,
    doc: "Names under which clients reach this server, such as that of its container. Under other names except `localhost` and COFRE_HOST, the list of [worlds](../test-worlds.md) needs a key (DNS rebinding).",
  },
  publicUrl: {
    variable: "COFRE_PUBLIC_URL",
    form: "https://HOST[:PORT]",
    fallback: undefined,
    read: readUpstreamUrl,
    doc: "Address at which the browsers of customers reach this server, for [hosted pages](../checkout.md#hosted-page). Default: COFRE_HOST and COFRE_PORT. `http://` only on this machine.",
  },
  port: {
    variable: "COFRE_PORT",
    flag: "--port",
    form: "0 to 65535",
    fallback: "8787",
    read: wholeNumber(0, 65_535),
    doc: "Port to listen on. 0 chooses a free one, shown in the log.",
  },
  dataDirectory: {
    variable: "COFRE_DATA_DIR",
    flag: "--data-dir",
    form: "directory, or :memory:",
    fallback: "data",
    read: readDirectory,
    doc: "Directory of all data, the sandbox's root key included; created if missing. `:memory:` keeps nothing after the process.",
  },
  rootKey: {
    variable: "COFRE_ROOT_KEY",
    form: "file, transit:https://HOST/v1/MOUNT/KEY, aws-kms:ARN or pkcs11:ATTRIBUTES",
    fallback: "file",
    read: readRootKey,
    doc: "Holder of the root key: `root.key` in COFRE_DATA_DIR, a [key service](key-services.md), or an HSM.",
  },
  rootKeySecretFile: {
    variable: "COFRE_ROOT_KEY_SECRET_FILE",
    form: "file",
    fallback: undefined,
    read: readDirectory,
    doc: "File with the credentials for [the key service](key-services.md): a token, AWS credentials, or the PIN of an HSM. Without it, AWS KMS is called with [the container's credentials](key-services.md#aws-kms). Read again for each call, a PIN for each login.",
  },
  pkcs11Module: {
    variable: "COFRE_PKCS11_MODULE",
    form: "absolute path",
    fallback: undefined,
    read: readModulePath,
    doc: "The maker's PKCS#11 library, for a root key in [an HSM](key-services.md#hsm-by-pkcs11).",
  },
  rootKeyCa: {
    variable: "COFRE_ROOT_KEY_CA",
    form: "certificates in PEM",
    fallback: undefined,
    secret: true,
    read: readCertificates,
    doc: "Certificate authorities for the key service instead of the well-known ones; usually a file.",
  },
  rootKeyEndpoint: {
    variable: "COFRE_ROOT_KEY_ENDPOINT",
    form: "https://HOST[:PORT]",
    fallback: undefined,
    read: readUpstreamUrl,
    doc: "Address of AWS KMS instead of the region's own, such as that of a VPC endpoint. `http://` only on this machine.",
  },
  rootKeyTimeoutMs: {
    variable: "COFRE_ROOT_KEY_TIMEOUT_MS",
    form: "100 to 60000",
    fallback: "5000",
    read: wholeNumber(100, 60_000),
    doc: "Time limit of one call to the key service or to the HSM, in milliseconds.",
  },
  rootKeyNext: {
    variable: "COFRE_ROOT_KEY_NEXT",
    form: "as COFRE_ROOT_KEY, without file",
    fallback: undefined,
    read: readServiceRootKey,
    doc: "A [second root key](key-services.md#two-root-keys): each of the two opens the keys, after `cofre keys add-root`.",
  },
  rootKeyNextSecretFile: {
    variable: "COFRE_ROOT_KEY_NEXT_SECRET_FILE",
    form: "file",
    fallback: undefined,
    read: readDirectory,
    doc: "As COFRE_ROOT_KEY_SECRET_FILE, for the second root key.",
  },
  rootKeyNextModule: {
    variable: "COFRE_ROOT_KEY_NEXT_PKCS11_MODULE",
    form: "absolute path",
    fallback: undefined,
    read: readModulePath,
    doc: "As COFRE_PKCS11_MODULE, for the second root key.",
  },
  rootKeyNextCa: {
    variable: "COFRE_ROOT_KEY_NEXT_CA",
    form: "certificates in PEM",
    fallback: undefined,
    secret: true,
    read: readCertificates,
    doc: "As COFRE_ROOT_KEY_CA, for the second root key.",
  },
  rootKeyNextEndpoint: {
    variable: "COFRE_ROOT_KEY_NEXT_ENDPOINT",
    form: "https://HOST[:PORT]",
    fallback: undefined,
    read: readUpstreamUrl,
    doc: "As COFRE_ROOT_KEY_ENDPOINT, for the second root key.",
  },
  rootKeysFingerprint: {
    variable: "COFRE_ROOT_KEYS_FINGERPRINT",
    form: "1 to 4 fingerprints of 64 hexadecimal digits, separated by commas",
    fallback: undefined,
    read: readRootSetFingerprints,
    doc: "Fingerprints of the [sets of root keys](key-services.md#the-set-of-root-keys) that are allowed, as `cofre keys status` prints them. With another set, the server does not start and the set is not changed.",
  },
  recoveryKey: {
    variable: "COFRE_RECOVERY_KEY",
    form: "sha256: and 64 hexadecimal digits",
    fallback: undefined,
    read: readFingerprint,
    doc: "Fingerprint of the [recovery key](recovery.md) for which the keys are sealed too, as `cofre recovery init` prints it. Keys are sealed for no other.",
  },
  recoveryKeyFile: {
    variable: "COFRE_RECOVERY_PUBLIC_KEY",
    form: "file",
    fallback: undefined,
    read: readDirectory,
    doc: "The `recovery.pub` of COFRE_RECOVERY_KEY.",
  },
  rootKeyBackup: {
    variable: "COFRE_ROOT_KEY_BACKUP",
    form: "date such as 2026-11-30",
    fallback: undefined,
    read: readDate,
    doc: "When the backup of the HSM that has the root key was last tried. It counts as a [way to recover](production.md#1-ways-to-recover).",
  },
  recoveryDrill: {
    variable: "COFRE_RECOVERY_DRILL",
    form: "date such as 2026-11-30",
    fallback: undefined,
    read: readDate,
    doc: "When the ways to recover were last tried, with `cofre recovery drill` or a restore. After a year production raises an alarm.",
  },
  backupStamp: {
    variable: "COFRE_BACKUP_STAMP",
    form: "file",
    fallback: undefined,
    read: readDirectory,
    doc: "File that the backup job changes after each backup that it has verified. When it is older than 26 hours production raises an alarm.",
  },
  requestLog: {
    variable: "COFRE_REQUEST_LOG",
    form: "true or false",
    fallback: "true",
    read: oneOf("true", "false"),
    doc: "`false` keeps no requests, acquirer calls and delivery attempts in memory for [timelines](../wire/sandbox.md#__cofretimeline), which saves some microseconds per request. Sandbox only.",
  },
  sandboxCards: {
    variable: "COFRE_SANDBOX_CARDS",
    form: "test or any",
    fallback: "test",
    read: oneOf("test", "any"),
    doc: "Which card numbers the sandbox stores and charges: `test`, the [published test numbers](../wire/sandbox.md#test-cards) and the ranges for tests, or `any`. A live card number has no place in a sandbox (PCI DSS 6.5.5).",
  },
  console: {
    variable: "COFRE_CONSOLE",
    form: "key, login or off",
    fallback: "key",
    read: oneOf("key", "login", "off"),
    doc: "Access to [the console](../console.md): by secret key, by login, or off.",
  },
  consoleRecoverAdmin: {
    variable: "COFRE_CONSOLE_RECOVER_ADMIN",
    form: "true or false",
    fallback: "false",
    read: oneOf("true", "false"),
    doc: "`true` prints an admin invitation even if an admin exists (account recovery). With COFRE_CONSOLE `login`.",
  },
  clientIpHeader: {
    variable: "COFRE_CLIENT_IP_HEADER",
    form: "a header's name, such as X-Forwarded-For",
    fallback: undefined,
    read: readHeaderName,
    doc: "Header with the client's address, set by the proxy in front of [the console](../console.md#logins), for the audit log and sign-in limits; its last address counts. Only the proxy may reach the port. By default the connection's address is used.",
  },
  tls: {
    variable: "COFRE_TLS",
    flag: "--tls",
    form: "true or false",
    fallback: "false",
    read: oneOf("true", "false"),
    doc: "`true` also listens with TLS, with an authority created in COFRE_DATA_DIR, for clients with fixed hosts. See [clients](../clients.md).",
  },
  tlsPort: {
    variable: "COFRE_TLS_PORT",
    flag: "--tls-port",
    form: "0 to 65535",
    fallback: "8443",
    read: wholeNumber(0, 65_535),
    doc: "TLS port if COFRE_TLS is `true` or COFRE_TLS_CERTIFICATE_FILE is set; `cofre proxy` forwards to it.",
  },
  tlsCertificateFile: {
    variable: "COFRE_TLS_CERTIFICATE_FILE",
    form: "file",
    fallback: undefined,
    read: readDirectory,
    doc: "Certificate of this server in PEM, followed by its chain, for TLS on COFRE_TLS_PORT. The file and its key are read again when they change.",
  },
  tlsKeyFile: {
    variable: "COFRE_TLS_KEY_FILE",
    form: "file",
    fallback: undefined,
    read: readDirectory,
    doc: "Private key of COFRE_TLS_CERTIFICATE_FILE in PEM, without a passphrase.",
  },
  behindProxy: {
    variable: "COFRE_BEHIND_PROXY",
    form: "networks such as 10.1.2.3/32, with commas between them",
    fallback: undefined,
    read: readNetworks,
    doc: "Addresses of the TLS proxy in front of this server. Plain HTTP from any other address except loopback is closed.",
  },
  proxyPort: {
    variable: "COFRE_PROXY_PORT",
    flag: "--proxy-port",
    form: "0 to 65535",
    fallback: "8789",
    read: wholeNumber(0, 65_535),
    doc: "Port of `cofre proxy` on 127.0.0.1, which `cofre env` prints for clients.",
  },
  readyFile: {
    variable: "COFRE_READY_FILE",
    flag: "--ready-file",
    form: "file",
    fallback: undefined,
    read: readDirectory,
    doc: "File that exists while the server accepts requests, with its `url`, `host`, `port`, `tls_port`, `authority` and `pid` as JSON, for scripts that start it on a free port.",
  },
  fixtures: {
    variable: "COFRE_FIXTURES",
    flag: "--fixtures",
    form: "file",
    fallback: undefined,
    read: readDirectory,
    doc: "JSON file of [fixtures](../fixtures.md): worlds, cards, payments and faults that exist when the server accepts requests. Sandbox only, with simulated acquirers.",
  },
  databaseUrl: {
    variable: "COFRE_DATABASE_URL",
    form: "postgres://USER:PASSWORD@HOST[:PORT]/DATABASE",
    fallback: undefined,
    secret: true,
    read: readDatabaseUrl,
    doc: "A PostgreSQL 15 or later that stores everything except the keys, instead of the file in COFRE_DATA_DIR. See [PostgreSQL](postgres.md).",
  },
  databaseOwnerUrl: {
    variable: "COFRE_DATABASE_OWNER_URL",
    form: "postgres://USER:PASSWORD@HOST[:PORT]/DATABASE",
    fallback: undefined,
    secret: true,
    read: readDatabaseUrl,
    doc: "The same database with the login that owns its tables, for `cofre init` only: a server in production has a login that cannot change the tables.",
  },
  databaseAllowNoStandby: {
    variable: "COFRE_DATABASE_ALLOW_NO_STANDBY",
    form: "true or false",
    fallback: "false",
    read: oneOf("true", "false"),
    doc: "`true` starts on a PostgreSQL without a synchronous standby: acknowledged payments are lost if that server's disk fails.",
  },
  databaseAllowEmpty: {
    variable: "COFRE_DATABASE_ALLOW_EMPTY",
    form: "true or false",
    fallback: "false",
    read: oneOf("true", "false"),
    doc: "`true` starts a new installation on an empty PostgreSQL database beside existing keys, which is otherwise refused.",
  },
  sandboxIntegrationKey: {
    variable: "COFRE_SANDBOX_INTEGRATION_KEY",
    form: "4 to 100 characters",
    fallback: undefined,
    secret: true,
    read: readOwnKey,
    doc: "Secret integration key of the sandbox account. By default the first start creates one and prints it once. If the server listens beyond loopback, a chosen key needs at least 16 characters and no simple pattern.",
  },
  sandboxPublicIntegrationKey: {
    variable: "COFRE_SANDBOX_PUBLIC_INTEGRATION_KEY",
    form: "4 to 100 characters",
    fallback: undefined,
    secret: true,
    read: readOwnKey,
    doc: "Public integration key of the sandbox account, for browsers. Must differ from the secret one.",
  },
  notificationNetworks: {
    variable: "COFRE_NOTIFICATION_NETWORKS",
    form: "networks such as 172.16.0.0/12, with commas between them",
    fallback: undefined,
    read: readNetworks,
    doc: "Private networks with [notification receivers](../concepts/notifications.md#allowed-addresses), reachable on every port and over http, such as those of containers.",
  },
  acquirerUrl: {
    variable: "COFRE_ACQUIRER_URL",
    form: "http://127.0.0.1:PORT",
    fallback: undefined,
    read: readLoopbackUrl,
    doc: "A simulated acquirer in another process on this machine. By default it runs inside this process.",
  },
  upstreamUrl: {
    variable: "COFRE_UPSTREAM_URL",
    form: "https://HOST[:PORT]",
    fallback: undefined,
    read: readUpstreamUrl,
    doc: "A server with the same interface that carries out payments, instead of the simulator. `http://` only on this machine.",
  },
  upstreamIntegrationKey: {
    variable: "COFRE_UPSTREAM_INTEGRATION_KEY",
    form: "1 to 100 characters",
    fallback: undefined,
    secret: true,
    read: readKey,
    doc: "The secret integration key for COFRE_UPSTREAM_URL.",
  },
  upstreamCa: {
    variable: "COFRE_UPSTREAM_CA",
    form: "certificates in PEM",
    fallback: undefined,
    secret: true,
    read: readCertificates,
    doc: "Certificate authorities for it instead of the well-known ones; usually a file.",
  },
  connectors: {
    variable: "COFRE_CONNECTORS",
    form: "a JSON list",
    fallback: undefined,
    secret: true,
    read: readConnectors,
    doc: "Several named acquirers instead of one; usually a file. See [routing](../concepts/routing.md).",
  },
  acquirerTimeoutMs: {
    variable: "COFRE_ACQUIRER_TIMEOUT_MS",
    form: "100 to 600000",
    fallback: "30000",
    read: wholeNumber(100, 600_000),
    doc: "Time limit for an acquirer's answer, in milliseconds. Then the outcome is unknown and recovery resolves it.",
  },
  maxBodyBytes: {
    variable: "COFRE_MAX_BODY_BYTES",
    form: "1024 to 16777216",
    fallback: "262144",
    read: wholeNumber(1_024, 16_777_216),
    doc: "Maximum size of a request body.",
  },
  maxConnections: {
    variable: "COFRE_MAX_CONNECTIONS",
    form: "1 to 65536",
    fallback: "4096",
    read: wholeNumber(1, 65_536),
    doc: "Maximum number of open connections, and as many again with TLS; further ones are closed.",
  },
  keepAliveMs: {
    variable: "COFRE_KEEP_ALIVE_MS",
    form: "1000 to 3600000",
    fallback: "75000",
    read: wholeNumber(1_000, 3_600_000),
    doc: "Time that an idle connection stays open, in milliseconds. Must exceed the idle timeout of [the load balancer](running.md#behind-a-load-balancer) in front.",
  },
  maxInFlight: {
    variable: "COFRE_MAX_IN_FLIGHT",
    form: "1 to 65536",
    fallback: "1024",
    read: wholeNumber(1, 65_536),
    doc: "Maximum number of concurrent requests; further ones get 503 with Retry-After.",
  },
  maxInFlightOfAccount: {
    variable: "COFRE_MAX_IN_FLIGHT_OF_ACCOUNT",
    form: "1 to 65536",
    fallback: undefined,
    read: wholeNumber(1, 65_536),
    doc: "Maximum number of concurrent requests per account; further ones get 429 with Retry-After. By default accounts that sent a request in the last ten seconds share seven eighths of COFRE_MAX_IN_FLIGHT equally, each with at least a quarter of COFRE_MAX_IN_FLIGHT. All [worlds](../test-worlds.md) together have half of it.",
  },
  keepKeysDays: {
    variable: "COFRE_KEEP_KEYS_DAYS",
    form: "1 to 3650",
    fallback: "30",
    read: wholeNumber(1, 3_650),
    doc: "Days that an Idempotency-Key and its answer [are kept](running.md#what-is-kept-and-for-how-long) after its first request. Then the key may be used again.",
  },
  keepDeliveriesDays: {
    variable: "COFRE_KEEP_DELIVERIES_DAYS",
    form: "1 to 3650",
    fallback: "90",
    read: wholeNumber(1, 3_650),
    doc: "Days that the record of a delivery [is kept](running.md#what-is-kept-and-for-how-long) after it was delivered or has failed. The notification itself is kept and can be sent again.",
  },
  shutdownTimeoutMs: {
    variable: "COFRE_SHUTDOWN_TIMEOUT_MS",
    form: "0 to 600000",
    fallback: "25000",
    read: wholeNumber(0, 600_000),
    doc: "Time for requests in progress after SIGTERM or SIGINT, in milliseconds. The next start resumes the rest.",
  },
  logLevel: {
    variable: "COFRE_LOG_LEVEL",
    form: "debug, info, warn, error or silent",
    fallback: "info",
    read: oneOf("debug", "info", "warn", "error", "silent"),
    doc: "Lowest level of events that are logged.",
  },
  logFormat: {
    variable: "COFRE_LOG_FORMAT",
    form: "json, text or auto",
    fallback: "auto",
    read: oneOf("json", "text", "auto"),
    doc: "JSON lines or text. `auto`: text on a terminal, otherwise JSON.",
  },
} as const satisfies Readonly<Record<string, Setting<unknown>>>;

export type SettingName = keyof typeof settings;

type ValueOf<Row> = Row extends { readonly read: (text: string) => Reading<infer Value> }
  ? Value
  : never;

/** The checked configuration of this process; frozen. */
export type Config = {
  readonly [Name in SettingName]: (typeof settings)[Name]["fallback"] extends string
    ? ValueOf<(typeof settings)[Name]>
    : ValueOf<(typeof settings)[Name]> | undefined;
};

/** The rows in order, as one type. */
export const settingRows: readonly (readonly [SettingName, Setting<unknown>])[] = namesOf(
  settings,
).map((name) => [name, settings[name]]);

function namesOf<Table extends object>(table: Table): (keyof Table)[] {
  return Object.keys(table) as (keyof Table)[];
}

function wholeNumber(min: number, max: number): (text: string) => Reading<number> {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : -1;
    return value >= min && value <= max
      ? { value }
      : { problem: `is "${text}", but must be a whole number from ${min} to ${max}` };
  };
}

function oneOf<const Words extends readonly string[]>(
  ...words: Words
): (text: string) => Reading<Words[number]> {
  return (text) => {
    const value = words.find((word) => word === text);
    return value === undefined
      ? { problem: `is "${text}", but must be one of ${words.join(", ")}` }
      : { value };
  };
}

function readInstallationName(text: string): Reading<string> {
  return /^[a-z0-9-]{1,32}$/.test(text)
    ? { value: text }
    : { problem: "must have 1 to 32 lower-case letters, digits and dashes" };
}

/** As `cofre init` prints it; the ids of sandboxes have no prefix. */
function readInstallationId(text: string): Reading<string> {
  return /^(?:production-)?[0-9a-f]{32}$/.test(text)
    ? { value: text }
    : { problem: "must be the installation id that `cofre init` prints" };
}

/** In lower case. A header with another meaning cannot have the client's address. */
function readHeaderName(text: string): Reading<string> {
  const name = text.toLowerCase();
  const isTaken =
    /^(?:cookie|host|origin|authorization|connection|content-.*|transfer-encoding|sec-.*|x-cofre-.*|forwarded)$/.test(
      name,
    );
  if (/^[a-z][a-z0-9-]{0,63}$/.test(name) && !isTaken) return { value: name };
  return { problem: "must be the name of a header that holds addresses, such as X-Forwarded-For" };
}

function readFingerprint(text: string): Reading<string> {
  return /^sha256:[0-9a-f]{64}$/.test(text)
    ? { value: text }
    : { problem: "must be sha256: and 64 hexadecimal digits, as `cofre recovery init` prints it" };
}

function readRootSetFingerprints(text: string): Reading<readonly string[]> {
  const fingerprints = text.split(",").map((part) => part.trim());
  return fingerprints.length <= 4 && fingerprints.every((each) => /^[0-9a-f]{64}$/.test(each))
    ? { value: fingerprints }
    : {
        problem:
          "must be 1 to 4 fingerprints of 64 hexadecimal digits, separated by commas, as `cofre keys status` prints them",
      };
}

function readDate(text: string): Reading<string> {
  return /^\d{4}-\d\d-\d\d$/.test(text) && parseInstant(text) !== undefined
    ? { value: text }
    : { problem: "must be a date such as 2026-11-30" };
}

function readHost(text: string): Reading<string> {
  if (/^[A-Za-z0-9._:-]{1,253}$/.test(text)) return { value: text };
  return {
    problem: `is "${text}", but must be an IP address (IPv6 without brackets) or a host name`,
  };
}

/** A name without a folder would be searched for in the folders of the system's libraries. */
function readModulePath(text: string): Reading<string> {
  return text.startsWith("/") && !text.includes("\0")
    ? { value: text }
    : { problem: "must be an absolute path" };
}

function readDirectory(text: string): Reading<string> {
  return text.includes("\0") ? { problem: "must be a path" } : { value: text };
}
