import { isTlsPrepared, type TlsFiles, tlsFiles } from "../certificates/authority-files.ts";
import { ClientProblem, tellingProblems } from "./client-problem.ts";
import { type ClientCommand, exitCodes } from "./command.ts";
import { settingsOf } from "./settings-of.ts";

type Variables = Readonly<Record<string, string>>;

/**
 * Variables for the proxy. Some clients prefer the upper-case spelling and some the lower-case one,
 * and every client bypasses the proxy for hosts in NO_PROXY: an earlier value, such as a company's
 * proxy, would send a test to the real hosts.
 */
function through(proxy: string): Variables {
  return { HTTPS_PROXY: proxy, https_proxy: proxy, NO_PROXY: "", no_proxy: "" };
}

interface ClientEnvironment {
  readonly variables: Variables;
  /** Shell commands that precede the variables. */
  readonly prepare?: readonly string[];
  /** Written to stderr, which `eval` does not read. */
  readonly note?: string;
}

const trustStorePassword = "changeit";

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
    variables: { ...through(proxy), NODE_EXTRA_CA_CERTS: authority, NODE_USE_ENV_PROXY: "1" },
    note: "Node's own fetch and https use the proxy from Node 24.5 and 22.21 on. In older versions they ignore it and reach the real hosts.",
  }),
  /** net/http reads the proxy from `http_proxy`, lower case first, for https too. */
  ruby: (proxy, { authority }) => ({
    variables: { ...through(proxy), http_proxy: proxy, SSL_CERT_FILE: authority },
  }),
  /** PHP reads a setting, not a variable: an empty entry in the list means the default folders. */
  php: (proxy, { php }) => ({ variables: { ...through(proxy), PHP_INI_SCAN_DIR: `:${php}` } }),
  /**
   * The first is read by requests, the second by Python's ssl, and therefore by urllib and httpx.
   */
  python: (proxy, { authority }) => ({
    variables: { ...through(proxy), REQUESTS_CA_BUNDLE: authority, SSL_CERT_FILE: authority },
  }),
  /**
   * crypto/x509 reads SSL_CERT_FILE on Linux and BSD; on macOS and Windows the system's store has
   * to trust the authority.
   */
  go: (proxy, { authority }) => ({ variables: { ...through(proxy), SSL_CERT_FILE: authority } }),
  /**
   * Java reads neither a proxy from the environment nor PEM: keytool creates a trust store with
   * only the authority.
   */
  java: (proxy, { authority, javaTrustStore }) => {
    const { hostname, port } = new URL(proxy);
    const properties = {
      "https.proxyHost": hostname,
      "https.proxyPort": port,
      "javax.net.ssl.trustStore": javaTrustStore,
      "javax.net.ssl.trustStorePassword": trustStorePassword,
    };
    const importing = `keytool -importcert -noprompt -alias cofre -file ${quoted(authority)} -keystore ${quoted(javaTrustStore)}`;
    return {
      variables: {
        JAVA_TOOL_OPTIONS: Object.entries(properties)
          .map(([name, value]) => `-D${name}=${value}`)
          .join(" "),
      },
      prepare: [
        `rm -f ${quoted(javaTrustStore)} && ${importing} -storepass ${trustStorePassword} 2>/dev/null`,
      ],
    };
  },
  curl: (proxy, { authority }) => ({ variables: { ...through(proxy), CURL_CA_BUNDLE: authority } }),
} as const satisfies Readonly<
  Record<string, (proxy: string, files: TlsFiles) => ClientEnvironment>
>;

type ClientName = keyof typeof clients;

export const clientNames = Object.keys(clients) as readonly ClientName[];

/** Prints variables for a shell. */
export const envCommand: ClientCommand = {
  summary:
    "print the environment variables that connect an unmodified client library to this Cofre through the proxy",
  words: clientNames,
  needsWord: true,
  options: {
    "--proxy-port": { form: "N", doc: "port of the proxy" },
    "--data-dir": { form: "D", doc: "the data directory of the Cofre that listens with --tls" },
    "--json": { doc: "one JSON object" },
  },
  examples: [
    'eval "$(cofre env node)" && node shop.js',
    'eval "$(cofre env ruby)" && ruby shop.rb',
  ],

  run: (call, host) =>
    tellingProblems(host.say, async () => {
      const { dataDirectory, proxyPort } = settingsOf(call, host);
      const name = clientNames.find((each) => each === call.word);
      if (name === undefined)
        throw new ClientProblem(`Name a client: one of ${clientNames.join(", ")}.`, {
          misuse: true,
        });
      if (proxyPort === 0)
        throw new ClientProblem("--proxy-port must be the port that `cofre proxy` has printed.", {
          misuse: true,
        });
      if (!isTlsPrepared(dataDirectory)) {
        throw new ClientProblem(
          `There is no certificate authority in ${dataDirectory} yet: \`cofre start --tls\` creates it. --data-dir names another directory.`,
        );
      }
      const {
        variables,
        prepare = [],
        note,
      }: ClientEnvironment = clients[name](
        `http://127.0.0.1:${proxyPort}`,
        tlsFiles(dataDirectory),
      );
      if (note !== undefined) host.say(note);
      if (call.flags.has("--json")) host.print(JSON.stringify(variables));
      else
        for (const line of [
          ...prepare,
          ...Object.entries(variables).map(
            ([variable, value]) => `export ${variable}=${quoted(value)}`,
          ),
        ])
          host.print(line);
      return exitCodes.done;
    }),
};

/** For any POSIX shell. */
function quoted(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
