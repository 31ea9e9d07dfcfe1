import { exitCodes } from "./command.ts";

/**
 * An error for the user: the message is complete sentences without secrets. `misuse`: the command
 * line is wrong.
 */
export class ClientProblem extends Error {
  override readonly name = "ClientProblem";
  readonly misuse: boolean;

  constructor(message: string, { misuse = false } = {}) {
    super(message);
    this.misuse = misuse;
  }
}

/** Runs a command's work; prints a problem and returns its exit code. */
export async function tellingProblems(
  fail: (line: string) => void,
  work: () => Promise<number>,
): Promise<number> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ClientProblem)) throw error;
    fail(error.message);
    return error.misuse ? exitCodes.misused : exitCodes.failed;
  }
}
