import { isTlsPrepared, type TlsFiles, tlsFiles } from "../tls/authority-files.ts";
import { ClientProblem, tellingProblems } from "./client-problem.ts";
import { type ClientCommand, exitCodes } from "./command.ts";
import { settingsOf } from "./settings-of.ts";

type Variables = Readonly<Record<string, string>>;

/**
 * The way through the proxy. Of the two spellings of a name some clients prefer one and some the other, and every client leaves the proxy out for
 * what NO_PROXY lists: what was set before, a company's proxy for example, would lead a test to the real hosts.
 */
function through(proxy: string): Variables {
  return { HTTPS_PROXY: proxy, https_proxy: proxy, NO_PROXY: "", no_proxy: "" };
}

/** What makes each kind of client go through the proxy and trust the authority, without a change of its code. */
const clients = {
  /** The npm package `ebanx` and whatever reads HTTPS_PROXY; the last one has Node's own fetch and https do so, from 24 on. */
  node: (proxy, { authority }) => ({ ...through(proxy), NODE_EXTRA_CA_CERTS: authority, NODE_USE_ENV_PROXY: "1" }),
  /** net/http looks for a proxy under `http_proxy`, in lower case first, for https too. */
  ruby: (proxy, { authority }) => ({ ...through(proxy), http_proxy: proxy, SSL_CERT_FILE: authority }),
  /** PHP is told by a setting, not by a variable: an empty folder in the list stands for the usual ones. */
  php: (proxy, { php }) => ({ ...through(proxy), PHP_INI_SCAN_DIR: `:${php}` }),
  curl: (proxy, { authority }) => ({ ...through(proxy), CURL_CA_BUNDLE: authority }),
} as const satisfies Readonly<Record<string, (proxy: string, files: TlsFiles) => Variables>>;

type ClientName = keyof typeof clients;

const names = Object.keys(clients) as ClientName[];

/** Prints variables for a shell. */
export const envCommand: ClientCommand = {
  summary: "print the variables that lead a client library, unmodified, through the proxy to this Cofre",
  words: names,
  needsWord: true,
  options: {
    "--proxy-port": { form: "N", doc: "where the proxy listens" },
    "--data-dir": { form: "D", doc: "the data directory of the Cofre that listens with --tls" },
    "--json": { doc: "one JSON object" },
  },
  examples: ['eval "$(cofre env node)" && node shop.js', 'eval "$(cofre env ruby)" && ruby shop.rb'],

  run: (call, host) =>
    tellingProblems(host.say, async () => {
      const { dataDirectory, proxyPort } = settingsOf(call, host);
      const name = names.find((each) => each === call.word);
      if (name === undefined) throw new ClientProblem(`Which client? One of ${names.join(", ")}.`, { misuse: true });
      if (proxyPort === 0) throw new ClientProblem("--proxy-port must be the port that `cofre proxy` has told.", { misuse: true });
      if (!isTlsPrepared(dataDirectory)) {
        throw new ClientProblem(`There is no authority in ${dataDirectory} yet: \`cofre start --tls\` makes it. --data-dir names another.`);
      }
      const variables = clients[name](`http://127.0.0.1:${proxyPort}`, tlsFiles(dataDirectory));
      if (call.flags.has("--json")) host.print(JSON.stringify(variables));
      else for (const [variable, value] of Object.entries(variables)) host.print(`export ${variable}=${quoted(value)}`);
      return exitCodes.done;
    }),
};

/** For any POSIX shell. */
function quoted(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
