import { type ExitCode, exitCodes } from "./command.ts";

/**
 * Something that the user has to know: the message is whole sentences without anything secret.
 * `misuse`: the command line is wrong.
 */
export class ClientProblem extends Error {
  override readonly name = "ClientProblem";
  readonly misuse: boolean;

  constructor(message: string, { misuse = false } = {}) {
    super(message);
    this.misuse = misuse;
  }
}

/** Runs a command's work; a problem is said, and becomes the exit code. */
export async function tellingProblems(
  say: (line: string) => void,
  work: () => Promise<ExitCode>,
): Promise<ExitCode> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ClientProblem)) throw error;
    say(error.message);
    return error.misuse ? exitCodes.misused : exitCodes.failed;
  }
}
