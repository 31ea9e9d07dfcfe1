import type { TlsFiles } from "../certificates/authority-files.ts";
import { interfaceHosts } from "../certificates/hosts.ts";
import { trustStorePassword } from "../certificates/java-trust-store.ts";

export type Variables = Readonly<Record<string, string>>;

/**
 * Variables for the proxy. Some clients prefer the upper-case spelling and some the lower-case one,
 * and every client bypasses the proxy for hosts in NO_PROXY: an earlier value, such as a company's
 * proxy, would send a test to the real hosts.
 */
function through(proxy: string, direct: string): Variables {
  return { HTTPS_PROXY: proxy, https_proxy: proxy, NO_PROXY: direct, no_proxy: direct };
}

interface ClientEnvironment {
  readonly variables: Variables;
  /** A limit of the client that its user must know. */
  readonly note?: string;
}

/**
 * What makes each kind of client use the proxy and trust the authority, without a change of its
 * code.
 */
const clients = {
  /**
   * The npm package `ebanx` and other clients that read HTTPS_PROXY; with the last variable Node's
   * own fetch and https do so too.
   */
  node: (proxy, { authority }) => ({
    variables: { ...through(proxy, ""), NODE_EXTRA_CA_CERTS: authority, NODE_USE_ENV_PROXY: "1" },
    note: "Node's own fetch and https use the proxy from Node 24.5 and 22.21 on. In older versions they ignore it and reach the real hosts.",
  }),
  /** net/http reads the proxy from `http_proxy`, lower case first, for https too. */
  ruby: (proxy, { authority }) => ({
    variables: { ...through(proxy, ""), http_proxy: proxy, SSL_CERT_FILE: authority },
  }),
  /** PHP reads a setting, not a variable: an empty entry in the list means the default folders. */
  php: (proxy, { php }) => ({ variables: { ...through(proxy, ""), PHP_INI_SCAN_DIR: `:${php}` } }),
  /**
   * The first is read by requests, the second by Python's ssl, and therefore by urllib and httpx.
   */
  python: (proxy, { authority }) => ({
    variables: { ...through(proxy, ""), REQUESTS_CA_BUNDLE: authority, SSL_CERT_FILE: authority },
  }),
  /**
   * crypto/x509 reads SSL_CERT_FILE on Linux and BSD; on macOS and Windows the system's store has
   * to trust the authority.
   */
  go: (proxy, { authority }) => ({
    variables: { ...through(proxy, ""), SSL_CERT_FILE: authority },
  }),
  /** Java reads neither a proxy from the environment nor PEM. */
  java: (proxy, files) => ({ variables: { JAVA_TOOL_OPTIONS: javaOptions(proxy, files) } }),
  curl: (proxy, { authority }) => ({
    variables: { ...through(proxy, ""), CURL_CA_BUNDLE: authority },
  }),
} as const satisfies Readonly<
  Record<string, (proxy: string, files: TlsFiles) => ClientEnvironment>
>;

type ClientName = keyof typeof clients;

export const clientNames = Object.keys(clients) as readonly ClientName[];

/** The variables for one kind of client. */
export function clientEnvironment(
  name: ClientName,
  proxy: string,
  files: TlsFiles,
): ClientEnvironment {
  return clients[name](proxy, files);
}

/**
 * The variables for all kinds of clients together, for a command that may start any of them.
 * `environment`: what was set before; lists and options are extended, not replaced.
 */
export function everyClientsVariables(
  proxy: string,
  files: TlsFiles,
  environment: Readonly<Record<string, string | undefined>>,
): Variables {
  const { authority, php, ruby } = files;
  const joined = (separator: string, ...parts: (string | undefined)[]): string =>
    parts.filter((part) => part !== undefined && part !== "").join(separator);
  return {
    ...through(proxy, directHosts(environment)),
    NODE_EXTRA_CA_CERTS: authority,
    NODE_USE_ENV_PROXY: "1",
    SSL_CERT_FILE: authority,
    REQUESTS_CA_BUNDLE: authority,
    CURL_CA_BUNDLE: authority,
    // An empty entry is PHP's default folder.
    PHP_INI_SCAN_DIR: `${environment["PHP_INI_SCAN_DIR"] ?? ""}:${php}`,
    // http_proxy would also reroute plain http of all other clients: only Ruby gets it.
    RUBYLIB: joined(":", ruby, environment["RUBYLIB"]),
    RUBYOPT: joined(" ", environment["RUBYOPT"], "-rcofre_proxy"),
    JAVA_TOOL_OPTIONS: joined(" ", environment["JAVA_TOOL_OPTIONS"], javaOptions(proxy, files)),
  };
}

/** This machine: tests start servers of their own there. No IPv6: some clients cannot parse it. */
const thisMachine = ["localhost", "127.0.0.1"];

/** Hosts that need no proxy, such as services of containers, but never one of the interface. */
function directHosts(environment: Readonly<Record<string, string | undefined>>): string {
  const given = `${environment["NO_PROXY"] ?? ""},${environment["no_proxy"] ?? ""}`.split(",");
  const kept = given
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "" && !coversInterface(entry));
  return [...new Set([...thisMachine, ...kept])].join(",");
}

/** `*`, a host of the interface, or a domain above it: `.ebanx.com`, `*.ebanx.com`, `com`. */
function coversInterface(entry: string): boolean {
  const name = entry
    .toLowerCase()
    .replace(/:\d+$/, "")
    .replace(/^\*?\.?/, "");
  return name === "" || interfaceHosts.some((host) => `.${host}`.endsWith(`.${name}`));
}

function javaOptions(proxy: string, { javaTrustStore }: TlsFiles): string {
  const { hostname, port } = new URL(proxy);
  const properties = {
    "https.proxyHost": hostname,
    "https.proxyPort": port,
    "javax.net.ssl.trustStore": javaTrustStore,
    "javax.net.ssl.trustStoreType": "JKS",
    "javax.net.ssl.trustStorePassword": trustStorePassword,
  };
  return Object.entries(properties)
    .map(([name, value]) => `-D${name}=${/\s/.test(value) ? `"${value}"` : value}`)
    .join(" ");
}
