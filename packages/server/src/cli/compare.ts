import { formatTimestamp } from "../kernel/calendar.ts";
import { codeOf } from "../logging/error-facts.ts";
import { baseUrl } from "./banner.ts";
import { ClientProblem, tellingProblems } from "./client-problem.ts";
import { CofreClient, objectIn } from "./cofre-client.ts";
import {
  type ClientCommand,
  type CommandCall,
  type CommandHost,
  exitCodes,
  type TemporaryCofre,
} from "./command.ts";
import { isLoopback } from "./http.ts";
import { portOf } from "./port-of.ts";
import { writeReportFiles } from "./report-files.ts";

const defaultFolder = "cofre-compare";
/** Time for requests in flight when the command stops, in milliseconds. */
const graceMs = 10_000;

/** Compares another server of the interface with Cofre, by the requests of real clients. */
export const compareCommand: ClientCommand = {
  summary: "forward to another server, compare its answers with Cofre's",
  details:
    "Clients send their requests to this proxy. Each is forwarded unchanged to the upstream, once, and\nthe client gets the upstream's answer. A Cofre in memory answers the same request; differences\nare reported when the command stops (Ctrl-C). Exit codes: 0 no unknown difference, 1 unknown\ndifferences or a failure, 2 wrong command line.",
  options: {
    "--upstream": {
      form: "URL",
      doc: "the other server, with the card data of every request: https, or http on this machine",
    },
    "--port": { form: "N", doc: "port of the proxy on 127.0.0.1; otherwise a free one" },
    "--out": {
      form: "FOLDER",
      doc: `where compare.html and compare.json are written; otherwise ${defaultFolder}`,
    },
    "--settings": {
      form: "JSON",
      doc: "account settings of Cofre that correspond to the upstream's account",
    },
    "--json": { doc: "print the report as one JSON object instead of the summary" },
  },
  examples: [
    "cofre compare --upstream https://sandbox.example --port 8788",
    `cofre compare --upstream http://127.0.0.1:9000 --settings '{"partialCapture":true}' --json`,
  ],

  run: (call, host) => tellingProblems(host.fail, () => run(call, host)),
};

async function run(call: CommandCall, host: CommandHost): Promise<number> {
  // Loaded here, so that the start of a server and other commands do not read them.
  const { openComparingProxy } = await import("./comparing-proxy.ts");
  const { compareReportAsHtml, compareReportAsJson, compareReportAsText } =
    await import("./compare-report.ts");
  const { print, say, clock, scheduler } = host;
  const upstream = upstreamOf(call.flags.get("--upstream"));
  const port = portOf(call.flags.get("--port"));
  const settings = settingsIn(call.flags.get("--settings"));
  await using parts = new AsyncDisposableStack();
  const cofre = await host.startTemporary({ port: 0, withTls: false });
  parts.defer(() => cofre.close());
  if (settings !== undefined) await applySettings(cofre, settings, host);
  const startedAt = formatTimestamp(clock.now());
  const proxy = await openComparingProxy({ upstream, port, cofre, scheduler, clock }).catch(
    (error: unknown) => {
      throw new ClientProblem(
        codeOf(error instanceof Error ? error : new Error()) === "EADDRINUSE"
          ? `Port ${port} of 127.0.0.1 is in use. Choose another with --port, or leave --port out to use a free one.`
          : `This user cannot listen on port ${port}. Choose another with --port.`,
      );
    },
  );
  const stopped = host.stopRequested();
  say(
    `Comparing ${upstream.origin} with Cofre. Clients send their requests to http://127.0.0.1:${proxy.port}`,
  );
  say("Ctrl-C stops the comparison and writes the report.");
  await stopped;
  const result = await proxy.close(graceMs);
  const endedAt = formatTimestamp(clock.now());
  const report = { upstream: upstream.origin, startedAt, endedAt, result };
  const json = compareReportAsJson(report);
  const given = call.flags.get("--out");
  const files = writeReportFiles(
    {
      folder: given ?? defaultFolder,
      isOwnFolder: given === undefined,
      what: "The report",
      option: "--out",
    },
    [
      ["compare.html", compareReportAsHtml(report)],
      ["compare.json", `${json}\n`],
    ],
  );
  if (result.totals.requests === 0) say("No request reached the proxy, so nothing was compared.");
  if (call.flags.has("--json")) print(json);
  else for (const line of compareReportAsText(report)) print(line);
  say(`The report was written: ${files.join(", ")}`);
  return result.totals.unknown === 0 ? exitCodes.done : exitCodes.failed;
}

function upstreamOf(text: string | undefined): URL {
  const misuse = (message: string): ClientProblem => new ClientProblem(message, { misuse: true });
  if (text === undefined)
    throw misuse("compare needs --upstream URL, the server whose answers are compared.");
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "https:" && !isLoopback(url)))
    throw misuse(
      "--upstream must be an https:// address, or an http:// address of this machine, because it gets card data.",
    );
  if (url.pathname !== "/" || url.search !== "" || url.username !== "" || url.password !== "")
    throw misuse("--upstream must be an address without a path, query or password.");
  return url;
}

function settingsIn(text: string | undefined): Readonly<Record<string, unknown>> | undefined {
  if (text === undefined) return undefined;
  const settings = objectIn(text);
  if (settings === undefined)
    throw new ClientProblem(
      `--settings must be a JSON object, such as '{"partialCapture":true}'.`,
      {
        misuse: true,
      },
    );
  return settings;
}

async function applySettings(
  { host, port, integrationKey }: TemporaryCofre,
  settings: Readonly<Record<string, unknown>>,
  { scheduler }: CommandHost,
): Promise<void> {
  const client = new CofreClient(baseUrl(host, port), integrationKey, scheduler);
  try {
    await client.settings(settings);
  } catch (error) {
    if (!(error instanceof ClientProblem)) throw error;
    throw new ClientProblem(`--settings: ${error.message}`, { misuse: true });
  }
}
