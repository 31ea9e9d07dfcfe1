import { linesOf } from "../mcp/lines.ts";
import { ClientProblem } from "../client-problem.ts";
import type { CommandHost } from "../command.ts";

/** In bytes: 33 words of at most eight letters, with numbers and blanks. */
const longestLine = 4_096;
/** Cursor to the corner; the screen, and what was scrolled off it, are erased (ECMA-48; xterm's 3J). */
const clearing = "\u001b[H\u001b[2J\u001b[3J";

/** Dialogue with the people at a terminal, or lines from a pipe. */
export interface Screen {
  readonly isTerminal: boolean;
  readonly say: (line: string) => void;
  /** The next line that is not empty. Throws ClientProblem at the end of the input. */
  readonly answer: () => Promise<string>;
  /** Removes what is on a terminal, as far as it can be scrolled back. */
  readonly clear: () => void;
}

export function openScreen({
  input,
  say,
  isTerminal,
}: Pick<CommandHost, "input" | "say" | "isTerminal">): Screen {
  const lines = linesOf(input, longestLine);
  return {
    isTerminal,
    say,
    async answer() {
      const next = await lines.next();
      if (next.done === true)
        throw new ClientProblem("The input ended too early. Nothing was changed.");
      return next.value ?? "";
    },
    clear: () => {
      if (isTerminal) say(clearing);
    },
  };
}
