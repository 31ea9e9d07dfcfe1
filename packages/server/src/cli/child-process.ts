import { spawn } from "node:child_process";
import { constants } from "node:os";
import { codeOf } from "../logging/error-facts.ts";

export type ChildEnd =
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "killed"; readonly signal: NodeJS.Signals; readonly code: number }
  | { readonly kind: "not_started"; readonly error: string };

export interface Child {
  /** Never rejects. Descendants that outlive the process are not waited for. */
  readonly ended: Promise<ChildEnd>;
  /** Does nothing when the process has ended. */
  kill(signal: NodeJS.Signals): void;
}

/**
 * Starts a program with the standard input, output and error of this process, and in its group, so
 * that a terminal sends Ctrl-C to both.
 */
export function startChild(
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Child {
  const { promise, resolve } = Promise.withResolvers<ChildEnd>();
  const notStarted = (error: unknown): void =>
    resolve({
      kind: "not_started",
      error: (error instanceof Error ? codeOf(error) : undefined) ?? "unknown",
    });
  try {
    const child = spawn(program, args, { stdio: "inherit", env: environment });
    child.once("error", notStarted).once("exit", (code, signal) => {
      if (signal === null) resolve({ kind: "exited", code: code ?? 0 });
      else resolve({ kind: "killed", signal, code: codeOfSignal(signal) });
    });
    return { ended: promise, kill: (signal) => void child.kill(signal) };
  } catch (error) {
    // An argument with a NUL, or a list of arguments that is too long.
    notStarted(error);
    return { ended: promise, kill: () => undefined };
  }
}

/** The exit code of a process that this signal ends, as shells report it. */
export function codeOfSignal(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}
