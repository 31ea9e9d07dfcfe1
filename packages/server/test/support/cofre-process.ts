import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export interface CofreOptions {
  /** packages/server, or a copy of it. */
  readonly root: string;
  readonly dataDirectory: string;
  /** Folder for `<name>.stdout` and `<name>.stderr`; their content survives a kill. */
  readonly logDirectory: string;
  readonly name: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly nodeOptions?: readonly string[];
}

const longestStartMs = 240_000;

/**
 * A separate Cofre process, started as an operator starts it, for tests that end it at arbitrary
 * moments.
 */
export class CofreProcess {
  readonly stdoutFile: string;
  readonly stderrFile: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;

  private constructor(child: ChildProcess, stdoutFile: string, stderrFile: string) {
    this.#child = child;
    this.#ended = once(child, "exit");
    this.stdoutFile = stdoutFile;
    this.stderrFile = stderrFile;
  }

  /** Returns at once; `listening` resolves when requests are answered. */
  static spawn({
    root,
    dataDirectory,
    logDirectory,
    name,
    environment,
    nodeOptions = [],
  }: CofreOptions): CofreProcess {
    const stdoutFile = join(logDirectory, `${name}.stdout`);
    const stderrFile = join(logDirectory, `${name}.stderr`);
    const [stdout, stderr] = [openSync(stdoutFile, "w"), openSync(stderrFile, "w")];
    const child = spawn(
      process.execPath,
      [...nodeOptions, join(root, "bin", "cofre.js"), "start"],
      {
        env: {
          PATH: process.env["PATH"] ?? "",
          COFRE_PORT: "0",
          COFRE_DATA_DIR: dataDirectory,
          COFRE_LOG_FORMAT: "json",
          ...environment,
        },
        stdio: ["ignore", stdout, stderr],
      },
    );
    closeSync(stdout);
    closeSync(stderr);
    return new CofreProcess(child, stdoutFile, stderrFile);
  }

  /**
   * The port, once requests are answered; undefined if the process has ended before. Kills the
   * process and rejects after the time limit.
   */
  async listening(): Promise<number | undefined> {
    const until = Date.now() + longestStartMs;
    while (!this.hasEnded) {
      const port = this.events("listening")[0]?.["port"];
      if (typeof port === "number") return port;
      if (Date.now() > until) {
        await this.end("SIGKILL");
        throw new Error(`Cofre does not listen: ${readFileSync(this.stderrFile, "utf8")}`);
      }
      await sleep(5);
    }
    return undefined;
  }

  get pid(): number {
    const { pid } = this.#child;
    if (pid === undefined) throw new Error("the process has not started");
    return pid;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** The events with this name that the process has logged so far. */
  events(name: string): readonly Readonly<Record<string, unknown>>[] {
    const mark = `"event":"${name}"`;
    return readFileSync(this.stdoutFile, "utf8")
      .split("\n")
      .filter((line) => line.includes(mark) && line.endsWith("}"))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Sends the signal and resolves when the process has ended. */
  async end(signal: NodeJS.Signals): Promise<void> {
    if (!this.hasEnded) this.#child.kill(signal);
    if (!this.hasEnded) await this.#ended;
  }
}
