import manifest from "../package.json" with { type: "json" };
import { type Cofre, startCofre } from "./app.ts";
import { examine } from "./start/examine.ts";
import { initialize } from "./start/initialize.ts";
import { ReadyFileError, removeReadyFile, writeReadyFile } from "./start/ready-file.ts";
import { recoverKeys } from "./start/recover-keys.ts";
import { startProblem } from "./start/start-problem.ts";
import { startTemporary } from "./start/temporary-cofre.ts";
import {
  backUp,
  beginIncarnation,
  openAudit,
  openMoveSides,
  restore,
  storedKeys,
} from "./start/commands.ts";
import {
  accountLines,
  baseUrl,
  type FirstStart,
  firstStartBanner,
  invitationLines,
  laterStartLines,
  tlsLines,
} from "./cli/banner.ts";
import { CofreClient } from "./cli/cofre-client.ts";
import { type ClientCommand, type CommandCall, exitCodes, stopSignals } from "./cli/command.ts";
import { readCommandLine } from "./cli/command-line.ts";
import { type CommandName, commands, type CompletedShell } from "./cli/commands.ts";
import type { CheckedFixtures, FixturesReading } from "./cli/fixture/read-fixtures.ts";
import { commandHelp, helpText } from "./cli/help.ts";
import { styledFor } from "./cli/styled.ts";
import {
  configOfThisProcess,
  isNpmScript,
  leaveMemoryOutOfCoreDumps,
  wasStartedByNpm,
} from "./config/environment.ts";
import { settingsAsText } from "./config/reference.ts";
import type { ConfigReading } from "./config/read-config.ts";
import type { Config } from "./config/settings.ts";
import { atEndOfTurn } from "./kernel/end-of-turn.ts";
import { Secret } from "./kernel/secret.ts";
import { systemClock } from "./kernel/system-clock.ts";
import { SystemRandom } from "./kernel/system-random.ts";
import { systemScheduler } from "./kernel/system-scheduler.ts";
import { codeOf, errorFacts } from "./logging/error-facts.ts";
import type { Log } from "./logging/log-event.ts";
import { createLog, standardOutput } from "./logging/log.ts";
import { tlsFiles } from "./certificates/authority-files.ts";

const { failed, misused } = exitCodes;

/**
 * The server ends within its grace period by itself; after this additional time the process exits
 * in any case.
 */
const drainMarginMs = 5_000;

/** Interval between checks for the shell with which npm started this process, in milliseconds. */
const parentCheckMs = 250;

/** Longest time that a start may continue after a signal, in milliseconds. */
const startGraceMs = 1_000;

/**
 * The whole process: reads the command line, then serves until a signal. Logs go to stdout,
 * human-readable messages to stderr.
 */
export async function main(): Promise<void> {
  // stderr is closed; keep running.
  process.stderr.on("error", () => undefined);
  const commandLine = readCommandLine(process.argv.slice(2));
  if ("problem" in commandLine) {
    const { problem, command } = commandLine;
    if (command === undefined) return refuse([problem, "`cofre help` lists the commands."]);
    return refuse([problem], `\n${commandHelp(command, styledFor(process.stderr))}\n`);
  }
  switch (commandLine.command) {
    case "help": {
      watchOutput();
      const { word } = commandLine;
      process.stdout.write(
        word === undefined
          ? helpText(manifest.version, styledFor(process.stdout))
          : `${commandHelp(word as CommandName, styledFor(process.stdout))}\n`,
      );
      return;
    }
    case "completion": {
      watchOutput();
      const { completionScript } = await import("./cli/completion.ts");
      process.stdout.write(completionScript(commandLine.word as CompletedShell));
      return;
    }
    case "version":
      watchOutput();
      process.stdout.write(`${manifest.version}\n`);
      return;
    case "config":
    case "start": {
      const reading = configOfThisProcess(commandLine.flags);
      if ("problems" in reading)
        return refuse(["Cofre cannot start with these settings:", ...reading.problems]);
      for (const name of reading.unknown)
        process.stderr.write(`Unknown setting ${name} is ignored.\n`);
      const fixtures = await fixturesOf(reading.config);
      if (fixtures !== undefined && "problems" in fixtures) return refuse(fixtures.problems);
      if (commandLine.command === "start") return serve(reading, fixtures);
      watchOutput();
      process.stdout.write(`${settingsAsText(reading.config)}\n`);
      return;
    }
    default:
      return runClient(commands[commandLine.command], commandLine);
  }
}

/** Runs a command that talks to a running Cofre. */
async function runClient(command: ClientCommand, call: CommandCall): Promise<void> {
  let stop = (): void => undefined;
  // The reader has closed the pipe, as in `cofre listen | head`.
  const output = watchOutput(() => stop());
  const code = await command.run(call, {
    // Not opened unless it is read: another program may read the same input.
    get input() {
      return process.stdin;
    },
    print: (line) => void process.stdout.write(`${line}\n`),
    printNow: (line) =>
      new Promise((resolve, reject) => {
        process.stdout.write(`${line}\n`, (error) =>
          error instanceof Error ? reject(error) : resolve(),
        );
      }),
    say: (line) => void process.stderr.write(`${line}\n`),
    isTerminal: process.stderr.isTTY,
    fail: (line) => void process.stderr.write(`${failure(line)}\n`),
    styled: styledFor(process.stdout),
    config: (flags = new Map()) => configOfThisProcess(flags),
    openMove: openMoveSides,
    openAudit,
    backUp,
    restore,
    beginIncarnation,
    recoverKeys,
    storedKeys,
    initialize,
    examine,
    stopRequested: () => {
      const closed = Promise.withResolvers<void>();
      stop = closed.resolve;
      return Promise.race([
        closed.promise,
        firstSignal(() => process.exit(failed), ["SIGTERM", "SIGINT", "SIGHUP"]),
      ]);
    },
    onStopSignal: (listener) => {
      for (const signal of stopSignals) process.on(signal, () => listener(signal));
      if (isNpmScript()) whenParentIsGone(() => listener("SIGTERM"));
    },
    startTemporary,
    clock: systemClock,
    random: new SystemRandom(),
    scheduler: systemScheduler,
    version: manifest.version,
  });
  // The signal handlers would keep the process alive. Output is flushed first, and its errors are
  // reported at the end of the turn.
  process.stdout.write("", () => atEndOfTurn(() => process.exit(output.isLost ? failed : code)));
}

/**
 * A closed pipe (`cofre config | head -1`) ends the output and is not an error. On a full disk the
 * output is lost.
 */
function watchOutput(onEnd: () => void = () => undefined): { readonly isLost: boolean } {
  const output = { isLost: false };
  process.stdout.on("error", (error) => {
    if (codeOf(error) !== "EPIPE" && !output.isLost) {
      output.isLost = true;
      process.exitCode = failed;
      process.stderr.write(
        `The output cannot be written: ${codeOf(error) ?? "an unknown failure"}.\n`,
      );
    }
    onEnd();
  });
  return output;
}

/** A problem as standard error shows it. */
function failure(text: string): string {
  return styledFor(process.stderr)("failure", text);
}

function refuse([problem = "", ...more]: readonly string[], help = ""): void {
  process.stderr.write(`${[failure(problem), ...more].join("\n  ")}\n${help}`);
  process.exitCode = misused;
}

type ValidReading = Extract<ConfigReading, { readonly config: Config }>;

/** The checked fixtures of the settings, if they name a file. */
async function fixturesOf({
  fixtures,
  dataDirectory,
}: Config): Promise<FixturesReading | undefined> {
  if (fixtures === undefined) return undefined;
  const { readFixtureFile } = await import("./cli/fixture/fixture-file.ts");
  return readFixtureFile(fixtures, dataDirectory === ":memory:");
}

async function serve(reading: ValidReading, fixtures: CheckedFixtures | undefined): Promise<void> {
  const { config } = reading;
  const output = standardOutput();
  const log = openLog(config, output);
  const end = (code: number): never => {
    output.flushSync();
    process.exit(code);
  };
  endOnUnhandled(log, end);
  const stopRequested = firstSignal(() => {
    log.write({ event: "shutdown_forced", reason: "second_signal" });
    end(failed);
  });

  logStart(log, reading);
  const starting = startedCofre(reading, log, fixtures).catch((error: unknown) => {
    log.write({ event: "start_failed", ...errorFacts(error) });
    // No request has been answered yet, so the text cannot quote one.
    process.stderr.write(`${failure(`Cofre could not start: ${startProblem(error, config)}`)}\n`);
    return end(failed);
  });
  // A start that is almost complete may still show the keys of a new account, which are shown only
  // once.
  const aborted = stopRequested
    .then(() => systemScheduler.sleep(startGraceMs))
    .then(() => "late" as const);
  const app = await Promise.race([starting, aborted]);
  if (app === "late") {
    log.write({ event: "shutdown_forced", reason: "signal_during_start" });
    return end(failed);
  }
  showStarted(app, config, log);

  const { readyFile, shutdownTimeoutMs: graceMs } = config;
  const signal = await stopRequested;
  log.write({ event: "stopping", signal, graceMs });
  if (readyFile !== undefined) removeQuietly(readyFile);
  const late = systemScheduler.sleep(graceMs + drainMarginMs).then(() => "cut" as const);
  if ((await Promise.race([app.close(), late])) === "cut") {
    log.write({ event: "shutdown_forced", reason: "grace_over" });
    end(failed);
  }
  log.write({ event: "stopped" });
  end(0);
}

function logStart(log: Log, { config, unknown, empty }: ValidReading): void {
  const { environment, installationName = environment, dataDirectory } = config;
  log.write({
    event: "starting",
    version: manifest.version,
    node: process.version,
    environment,
    installation: installationName,
    dataDirectory,
  });
  if (!leaveMemoryOutOfCoreDumps()) log.write({ event: "core_dumps_unlimited" });
  for (const name of unknown) log.write({ event: "setting_unknown", name });
  for (const name of empty) log.write({ event: "setting_empty", name });
}

/** Starts the server, loads the fixtures, and writes the ready file if the settings name one. */
async function startedCofre(
  { config, secrets }: ValidReading,
  log: Log,
  fixtures: CheckedFixtures | undefined,
): Promise<Cofre> {
  const { readyFile } = config;
  if (readyFile !== undefined) removeReadyFile(readyFile);
  const started = await startCofre(config, log, undefined, undefined, secrets);
  if (fixtures !== undefined) await loadInto(started, config, fixtures);
  if (readyFile !== undefined) writeReadyFile(readyFile, started, config);
  return started;
}

async function loadInto(started: Cofre, config: Config, fixtures: CheckedFixtures): Promise<void> {
  const { loadFixtures } = await import("./cli/fixture/load-fixtures.ts");
  const { address, firstStart } = started;
  const { sandboxIntegrationKey = new Secret(""), dataDirectory } = config;
  const key =
    firstStart === undefined ? sandboxIntegrationKey : new Secret(firstStart.integrationKey);
  const client = new CofreClient(baseUrl(address.host, address.port), key, systemScheduler);
  try {
    await loadFixtures(fixtures, client);
  } catch (error) {
    // The account remains, and its keys are not shown again.
    if (firstStart !== undefined && dataDirectory !== ":memory:")
      process.stderr.write(`${accountLines(startFacts(config, address, firstStart))}\n`);
    await started.close();
    throw error;
  }
}

/** The folder may be gone by now. */
function removeQuietly(readyFile: string): void {
  try {
    removeReadyFile(readyFile);
  } catch (error) {
    if (!(error instanceof ReadyFileError)) throw error;
  }
}

function openLog(config: Config, destination: ReturnType<typeof standardOutput>): Log {
  const format =
    config.logFormat === "auto" ? (process.stdout.isTTY ? "text" : "json") : config.logFormat;
  return createLog({ level: config.logLevel, format, clock: systemClock, destination });
}

function showStarted(app: Cofre, config: Config, log: Log): void {
  // Programs that wait for `listening` find this line before it.
  if (app.tlsAddress !== undefined)
    log.write({
      event: "listening_tls",
      ...app.tlsAddress,
      authority: config.tlsCertificateFile ?? tlsFiles(config.dataDirectory).authority,
    });
  log.write({ event: "listening", ...app.address });
  if (app.firstStart !== undefined)
    process.stderr.write(bannerFor(config, app.address, app.firstStart));
  else if (process.stderr.isTTY && config.console !== "off")
    process.stderr.write(laterStartLines(app.address, config.console));
  if (app.consoleInvitation !== undefined) {
    process.stderr.write(
      invitationLines(app.address.host, app.address.port, app.consoleInvitation.reveal()),
    );
  }
  if (app.tlsAddress !== undefined && config.tls === "true")
    process.stderr.write(tlsLines(app.tlsAddress.port));
}

/** Resolves with the first stop signal; the second one calls `onSecond`. */
function firstSignal(
  onSecond: () => void,
  signals: readonly NodeJS.Signals[] = ["SIGTERM", "SIGINT"],
): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let isStopping = false;
  for (const signal of signals) {
    process.on(signal, () => {
      if (isStopping) onSecond();
      isStopping = true;
      resolve(signal);
    });
  }
  if (wasStartedByNpm()) whenParentIsGone(() => resolve("parent_gone"));
  return promise;
}

/**
 * npm starts a script through a shell and passes signals to the shell only; dash, which is `sh` on
 * Debian, then ends without passing them on. A server that outlived `npm start` would hold its port
 * and answer the clients of the next one.
 */
function whenParentIsGone(then: () => void): void {
  const parent = process.ppid;
  const check = (): void => {
    if (process.ppid === parent) systemScheduler.after(parentCheckMs, check);
    else then();
  };
  check();
}

/**
 * An unhandled error ends the process: its state can no longer be trusted, and recovery resumes the
 * work at the next start.
 */
function endOnUnhandled(log: Log, end: (code: number) => never): void {
  for (const origin of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(origin, (error: unknown) => {
      log.write({ event: "process_failed", origin, ...errorFacts(error) });
      end(failed);
    });
  }
}

function bannerFor(
  config: Config,
  address: { readonly host: string; readonly port: number },
  keys: FirstStartKeys,
): string {
  return firstStartBanner(startFacts(config, address, keys), styledFor(process.stderr));
}

function startFacts(
  config: Config,
  address: { readonly host: string; readonly port: number },
  keys: FirstStartKeys,
): FirstStart {
  return {
    ...address,
    now: systemClock.now(),
    isConsoleByKey: config.console === "key",
    // Keys that the operator chose are not printed into a CI's output.
    integrationKey: config.sandboxIntegrationKey === undefined ? keys.integrationKey : undefined,
    publicIntegrationKey:
      config.sandboxPublicIntegrationKey === undefined ? keys.publicIntegrationKey : undefined,
  };
}

interface FirstStartKeys {
  readonly integrationKey: string;
  readonly publicIntegrationKey: string;
}
