import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../bin/cofre.js", import.meta.url));

/**
 * The environment without the user's settings and proxies and the test runner's variables, which
 * must not reach the processes that tests start.
 */
export const cleanEnvironment: Readonly<Record<string, string | undefined>> = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) =>
      !name.startsWith("COFRE_") &&
      // The runner sets FORCE_COLOR for its own output.
      !["NODE_TEST_CONTEXT", "FORCE_COLOR", "NO_COLOR"].includes(name) &&
      !/^(?:https?|no|all)_proxy$/i.test(name),
  ),
);

const hasGroups = process.platform !== "win32";

/**
 * Ends the children of a shell or npm too: otherwise they would outlive a failed test, and the
 * runner would wait for them.
 */
function endAll(child: ChildProcess): void {
  if (!hasGroups || child.pid === undefined) return void child.kill("SIGKILL");
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // All of them have ended.
  }
}

/** The context of a test, or of several that share processes. */
export interface CleanupContext {
  after(end: () => void): void;
}

/** The common end of several tests: for `after` of the suite. */
export class SharedCleanup implements CleanupContext {
  readonly #ends: (() => void)[] = [];

  after(end: () => void): void {
    this.#ends.unshift(end);
  }

  endAll(): void {
    for (const end of this.#ends.splice(0)) end();
  }
}

/** A process as a user would start it, and its output so far. It ends with its test. */
export class Command {
  readonly child: ChildProcess;
  readonly exited: Promise<unknown>;
  stdout = "";
  stderr = "";

  constructor(
    context: CleanupContext,
    [command, ...args]: readonly [string, ...string[]],
    environment: Readonly<Record<string, string>> = {},
    folder?: string,
  ) {
    const child = spawn(command, args, {
      env: { ...cleanEnvironment, ...environment },
      detached: hasGroups,
      ...(folder === undefined ? {} : { cwd: folder }),
    });
    this.child = child;
    child.stdout.setEncoding("utf8").on("data", (piece: string) => (this.stdout += piece));
    child.stderr.setEncoding("utf8").on("data", (piece: string) => (this.stderr += piece));
    // `close`: exited, and all its output has been read.
    this.exited = once(child, "close");
    context.after(() => endAll(child));
  }

  /** The program of this repository. */
  static cofre(
    context: CleanupContext,
    args: readonly string[],
    environment: Readonly<Record<string, string>> = {},
  ): Command {
    return new Command(context, [process.execPath, program, ...args], environment);
  }

  /** Resolves with the match when the text on standard error matches `pattern`. */
  stderrMatch(pattern: RegExp): Promise<RegExpExecArray> {
    return this.#until(() => pattern.exec(this.stderr));
  }

  /** Resolves when the text on standard output or standard error matches `pattern`. */
  outputMatch(pattern: RegExp): Promise<RegExpExecArray> {
    return this.#until(() => pattern.exec(this.stderr) ?? pattern.exec(this.stdout));
  }

  /** The first lines of standard output. */
  async lines(count: number): Promise<string[]> {
    await this.#until(() => (this.stdout.split("\n").length > count ? true : null));
    return this.stdout.split("\n").slice(0, count);
  }

  /** The fields of the first event of this name in its log. */
  async event(name: string): Promise<Record<string, unknown>> {
    const line = await this.#until(() =>
      this.stdout
        .split("\n")
        .find((each) => each.includes(`"event":"${name}"`) && each.endsWith("}")),
    );
    return JSON.parse(line) as Record<string, unknown>;
  }

  /** Resolves with the exit code when it has ended. */
  async code(): Promise<number | null> {
    await this.exited;
    return this.child.exitCode;
  }

  async #until<Found>(read: () => Found | null | undefined): Promise<Found> {
    for (;;) {
      const found = read();
      if (found !== null && found !== undefined) return found;
      const hasEnded = this.child.exitCode !== null || this.child.signalCode !== null;
      assert.ok(!hasEnded, `it goes on, but has ended: ${this.stdout}${this.stderr}`);
      const { stdout, stderr } = this.child;
      assert.ok(stdout !== null && stderr !== null);
      const ended = new AbortController();
      await Promise.race([
        once(stdout, "data", ended),
        once(stderr, "data", ended),
        this.exited,
      ]).finally(() => ended.abort());
    }
  }
}

/** A folder that is removed after the test. */
export function temporaryFolder(context: CleanupContext): string {
  const folder = mkdtempSync(join(tmpdir(), "cofre-test-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
