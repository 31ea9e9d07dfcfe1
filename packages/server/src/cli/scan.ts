import type { ClientCommand } from "./command.ts";

/** Searches files for card numbers and prints their positions, with the numbers masked. */
export const scanCommand: ClientCommand = {
  summary: "find card numbers in files or standard input",
  details: "`-` is standard input. Exit code 0: none, 1: some, 2: not everything could be read.",
  paths: "PATH...",
  options: {
    "--known": {
      form: "FILE",
      doc: "find only the numbers in this file, one per line; - for standard input",
    },
    "--json": { doc: "print one JSON object per line" },
  },
  examples: ["cofre scan data", "pg_dump cofre | cofre scan -"],
  run: async ({ paths, flags }, host) => {
    const { scan } = await import("./run-scan.ts");
    return scan({ paths, known: flags.get("--known"), json: flags.has("--json") }, host);
  },
};
