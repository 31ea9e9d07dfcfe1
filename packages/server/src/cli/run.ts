import { interfaceHosts, interfacePort } from "../certificates/hosts.ts";
import { environmentOfChildren, leaveMemoryOutOfCoreDumps } from "../config/environment.ts";
import { systemClock } from "../kernel/system-clock.ts";
import { codeOf } from "../logging/error-facts.ts";
import { baseUrl } from "./banner.ts";
import { type ChildEnd, codeOfSignal, startChild } from "./child-process.ts";
import { ClientProblem, tellingProblems } from "./client-problem.ts";
import { everyClientsVariables, type Variables } from "./client-variables.ts";
import { CofreClient, printable } from "./cofre-client.ts";
import type { ClientCommand, CommandCall, CommandHost, TemporaryCofre } from "./command.ts";
import { openConnectProxy, type RunningProxy } from "./connect-proxy.ts";
import { portOf } from "./port-of.ts";
import { saveRun } from "./saved-run.ts";

/** Exit codes of shells for a command that cannot be started. */
const notExecutable = 126;
const notFound = 127;

/** This stop signal, counted from the first, ends the command at once. */
const killingSignal = 3;

const defaultFolder = "cofre-run";

/** Runs a program, such as a test suite, with a Cofre of its own. */
export const runCommand: ClientCommand = {
  summary: "run a command, such as a test suite, with a new Cofre in memory",
  details: "Unmodified clients in the command reach the new Cofre, which ends with the command.",
  program: "-- COMMAND [ARG...]",
  options: {
    "--port": { form: "N", doc: "port of the new Cofre on 127.0.0.1; otherwise a free one" },
    "--fixtures": {
      form: "FILE",
      doc: "the new Cofre has the worlds, cards, payments and faults of this JSON file (docs/fixtures.md)",
    },
    "--no-proxy": {
      doc: "without TLS and proxy: only the variables COFRE_URL and the keys are set, for clients with a configurable address",
    },
    "--save-to": {
      form: "FOLDER",
      doc: `where the timelines of all payments are saved when the command fails; otherwise ${defaultFolder}`,
    },
  },
  examples: [
    "cofre run -- php vendor/bin/phpunit",
    "cofre run -- npm test",
    "cofre run --fixtures cofre.json -- npm test",
    "cofre run --no-proxy --save-to build/cofre -- pytest tests",
  ],

  run: (call, host) => tellingProblems(host.fail, () => run(call, host)),
};

async function run(call: CommandCall, host: CommandHost): Promise<number> {
  const port = portOf(call.flags.get("--port"));
  const fixtures = await fixturesIn(call);
  const signals = new ForwardedSignals(host);
  await using parts = new AsyncDisposableStack();
  const cofre = await host
    .startTemporary({ port, withTls: !call.flags.has("--no-proxy") })
    .catch((error: unknown) => {
      throw new ClientProblem(startProblem(error, port));
    });
  parts.defer(() => cofre.close());
  const client = new CofreClient(
    baseUrl(cofre.host, cofre.port),
    cofre.integrationKey,
    host.scheduler,
  );
  if (fixtures !== undefined) await fixtures.load(client);
  const refused = new Set<string>();
  const proxy = await openProxy(cofre, refused);
  parts.defer(() => proxy?.close());
  if (signals.first !== undefined) return codeOfSignal(signals.first);

  const [program = "", ...args] = call.paths;
  const variables = variablesFor(cofre, proxy);
  const child = startChild(program, args, { ...environmentOfChildren(), ...variables });
  // Children inherit this setting, and the command's core dumps are its own.
  leaveMemoryOutOfCoreDumps();
  signals.forwardTo(child);
  const end = await child.ended;
  if (end.kind === "not_started") {
    host.fail(notStartedText(program, end.error));
    return end.error === "ENOENT" ? notFound : notExecutable;
  }
  if (end.code !== 0) await reportFailure(call, host, { cofre, client, refused, program, end });
  return end.code;
}

/** The fixtures of --fixtures, checked before the start. Throws ClientProblem. */
async function fixturesIn({ flags }: CommandCall) {
  const path = flags.get("--fixtures");
  if (path === undefined) return undefined;
  const { readFixtureFile } = await import("./fixture/fixture-file.ts");
  const { loadFixtures } = await import("./fixture/load-fixtures.ts");
  const reading = readFixtureFile(path, true);
  if ("problems" in reading) throw new ClientProblem(reading.problems.join("\n"), { misuse: true });
  return { load: async (client: CofreClient) => loadFixtures(reading, client) };
}

/** Passes stop signals on to the command, also those that came before it was started. */
class ForwardedSignals {
  readonly #isTerminal: boolean;
  #child: ReturnType<typeof startChild> | undefined;
  #count = 0;
  first: NodeJS.Signals | undefined;

  constructor({ onStopSignal, isTerminal }: CommandHost) {
    this.#isTerminal = isTerminal;
    onStopSignal((signal) => {
      this.first ??= signal;
      this.#count += 1;
      if (this.#count >= killingSignal) this.#child?.kill("SIGKILL");
      // A terminal sends these two to the command as well, and many programs end at once at the
      // second one.
      else if (!this.#isTerminal || (signal !== "SIGINT" && signal !== "SIGQUIT"))
        this.#child?.kill(signal);
    });
  }

  forwardTo(child: ReturnType<typeof startChild>): void {
    this.#child = child;
  }
}

async function openProxy(
  { host, tls }: TemporaryCofre,
  refused: Set<string>,
): Promise<RunningProxy | undefined> {
  if (tls === undefined) return undefined;
  const targets = interfaceHosts.map((name) => `${name}:${interfacePort}`);
  return openConnectProxy(0, {
    targets,
    to: { host, port: tls.port },
    say: (line) => void (refused.size < mostRefused && refused.add(line)),
  });
}

/** Different lines of the proxy that are kept. */
const mostRefused = 100;

function variablesFor(cofre: TemporaryCofre, proxy: RunningProxy | undefined): Variables {
  const { host, port, integrationKey, publicIntegrationKey, tls } = cofre;
  return {
    ...(proxy === undefined || tls === undefined
      ? {}
      : everyClientsVariables(
          `http://127.0.0.1:${proxy.port}`,
          tls.files,
          environmentOfChildren(),
        )),
    COFRE_URL: baseUrl(host, port),
    COFRE_INTEGRATION_KEY: integrationKey.reveal(),
    COFRE_PUBLIC_INTEGRATION_KEY: publicIntegrationKey,
    // `cofre payment order-1` inside the command talks to this Cofre.
    COFRE_HOST: host,
    COFRE_PORT: String(port),
    COFRE_SANDBOX_INTEGRATION_KEY: integrationKey.reveal(),
  };
}

interface Failure {
  readonly cofre: TemporaryCofre;
  readonly client: CofreClient;
  readonly refused: ReadonlySet<string>;
  readonly program: string;
  readonly end: Exclude<ChildEnd, { readonly kind: "not_started" }>;
}

/** Saves what happened, and prints where. A failure to save does not change the exit code. */
async function reportFailure(
  call: CommandCall,
  { say, fail }: CommandHost,
  { cofre, client, refused, program, end }: Failure,
): Promise<void> {
  const how = end.kind === "exited" ? `exited with ${end.code}` : `was ended by ${end.signal}`;
  const what = `${printable(program)} ${how}`;
  const given = call.flags.get("--save-to");
  fail(`cofre run: ${what}.`);
  for (const line of refused) fail(`The proxy ${line}.`);
  try {
    const { payments, requests, files } = await saveRun({
      client,
      folder: given ?? defaultFolder,
      isOwnFolder: given === undefined,
      what,
      now: systemClock.now(),
      proxyLines: [...refused],
      // Without the requests of this report.
      logLines: [...cofre.logLines()],
    });
    say(savedText(payments, requests, files));
  } catch (error) {
    if (!(error instanceof ClientProblem)) throw error;
    fail(error.message);
  }
}

function savedText(payments: number, requests: number, files: readonly string[]): string {
  const names = files.join(", ");
  if (payments === 1) return `The timeline of 1 payment was saved: ${names}`;
  if (payments > 1) return `The timelines of ${payments} payments were saved: ${names}`;
  if (files.length > 0) return `No payment was made. The refused requests were saved: ${names}`;
  return requests > 0
    ? "No payment was made, and no request was refused: nothing was saved."
    : "No request reached Cofre. docs/clients.md says which clients use the proxy; others take the address from COFRE_URL.";
}

function startProblem(error: unknown, port: number): string {
  if (!(error instanceof Error)) return "Cofre could not start.";
  const path = "path" in error && typeof error.path === "string" ? error.path : "";
  switch (codeOf(error)) {
    case "EADDRINUSE":
      return `Port ${port} of 127.0.0.1 is in use. Choose another with --port, or leave --port out to use a free one.`;
    case "EACCES":
    case "EPERM":
    case "EROFS":
    case "ENOENT":
    case "ENOSPC":
      return "syscall" in error && error.syscall === "listen"
        ? `This user cannot listen on port ${port}. Choose another with --port, or leave --port out to use a free one.`
        : `${path === "" ? "A temporary file" : path} cannot be written (${codeOf(error) ?? ""}). Cofre needs a writable folder for temporary files: set TMPDIR to one.`;
    default:
      return `Cofre could not start: ${error.message}`;
  }
}

function notStartedText(program: string, error: string): string {
  const name = printable(program);
  switch (error) {
    case "ENOENT":
      return /\s/.test(program)
        ? `There is no command "${name}". Give its words separately, or run a shell: cofre run -- sh -c '...'`
        : `There is no command ${name}, or the interpreter in its first line does not exist. Check its name and PATH.`;
    case "EACCES":
      return `${name} cannot be executed by this user. Make it executable (chmod +x), or run its interpreter: cofre run -- php ${name}`;
    case "E2BIG":
      return `The arguments of ${name} are too long for this system.`;
    default:
      return `${name} could not be started (${error}).`;
  }
}
