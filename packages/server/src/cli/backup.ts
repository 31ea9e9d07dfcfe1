import type { Config } from "../config/settings.ts";
import { ClientProblem, tellingProblems } from "./client-problem.ts";
import {
  type ClientCommand,
  type CommandCall,
  type CommandHost,
  type ExitCode,
  exitCodes,
} from "./command.ts";

const dataDirectory = {
  form: "D",
  doc: "directory of the database, instead of COFRE_DATA_DIR",
} as const;
const json = { doc: "print a JSON object" } as const;

/** Copies the database of a Cofre that may be running. */
export const backupCommand: ClientCommand = {
  summary: "copy the database into a directory and check the copy",
  details: "With or without a running server. The copy has no root key.",
  paths: "DIR",
  options: { "--data-dir": dataDirectory, "--json": json },
  examples: ["cofre backup backups/2026-01-31", "cofre backup backups/2026-01-31 --json"],
  run: (call, host) =>
    tellingProblems(host.fail, () =>
      reporting(call, host, async (config, directory) => {
        const made = await host.backUp(config, directory);
        if (!call.flags.has("--json")) {
          host.print(
            `${made.file}: ${made.payments} payments, ${made.cards} cards, ${made.bytes} bytes; it passed the integrity check.`,
          );
          host.say(
            config.rootKey.kind === "file"
              ? `The copy has no root key, and without it its cards cannot be decrypted. Copy root.key, and keys.*.json and *.sealed if there are any, from ${config.dataDirectory} to a place apart from this copy.`
              : "The copy has no root key, and without it its cards cannot be decrypted. Keep the root key in its service.",
          );
        }
        return made;
      }),
    ),
};

/** Replaces the database of a stopped Cofre with such a copy. */
export const restoreCommand: ClientCommand = {
  summary: "replace the database of a stopped Cofre with such a copy",
  paths: "DIR",
  options: {
    "--data-dir": dataDirectory,
    "--replace": { doc: "keep the present database under another name" },
    "--json": json,
  },
  examples: ["cofre restore backups/2026-01-31", "cofre restore backups/2026-01-31 --replace"],
  run: (call, host) =>
    tellingProblems(host.fail, () =>
      reporting(call, host, async (config, directory) => {
        const restored = await host.restore(config, directory, call.flags.has("--replace"));
        if (!call.flags.has("--json")) {
          host.print(
            `${restored.file}: restored, with ${restored.payments} payments and ${restored.cards} cards.`,
          );
          if (restored.replaced !== undefined)
            host.print(`The previous database is now ${restored.replaced}.`);
          host.say(
            "Payments that were made after the copy are not in it. docs/operate/backup.md says what to do about them.",
          );
        }
        return restored;
      }),
    ),
};

/** For a database that was restored in a way that startup cannot detect. */
export const incarnationCommand: ClientCommand = {
  summary: "begin a new incarnation after another kind of restore",
  details:
    "After a database was restored without `cofre restore`, attempts and messages get new numbers.",
  words: ["new"],
  needsWord: true,
  options: { "--data-dir": dataDirectory, "--json": json },
  examples: ["cofre incarnation new"],
  run: (call, host) =>
    tellingProblems(host.fail, async () => {
      const config = configOf(call, host);
      const epoch = await showing(() => host.beginIncarnation(config));
      if (call.flags.has("--json")) host.print(JSON.stringify({ epoch: epoch ?? null }));
      else if (epoch === undefined) host.print("The next start begins a new incarnation.");
      else
        host.print(
          `A new incarnation has begun, with epoch ${epoch}. Running nodes use it within seconds.`,
        );
      return exitCodes.done;
    }),
};

function configOf({ flags }: CommandCall, host: CommandHost): Config {
  const from = flags.get("--data-dir");
  const reading = host.config(new Map(from === undefined ? [] : [["--data-dir", from]]));
  if ("problems" in reading) throw new ClientProblem(reading.problems.join("\n"), { misuse: true });
  const { dataDirectory: folder, databaseUrl } = reading.config;
  if (folder === ":memory:" && databaseUrl === undefined)
    throw new ClientProblem("COFRE_DATA_DIR is :memory:, which keeps nothing.", { misuse: true });
  return reading.config;
}

/** Errors of the stores have fixed texts, which quote no stored data. */
async function showing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ClientProblem || !(error instanceof Error) || !("code" in error))
      throw error;
    throw new ClientProblem(`${error.message}.`);
  }
}

async function reporting(
  call: CommandCall,
  host: CommandHost,
  work: (config: Config, directory: string) => Promise<object>,
): Promise<ExitCode> {
  const [directory, ...more] = call.paths;
  if (directory === undefined || more.length > 0)
    throw new ClientProblem("Name one directory.", { misuse: true });
  const config = configOf(call, host);
  if (config.databaseUrl !== undefined)
    throw new ClientProblem(
      "COFRE_DATABASE_URL names a PostgreSQL server: back it up with its own tools, see docs/operate/backup.md.",
      {
        misuse: true,
      },
    );
  const result = await showing(() => work(config, directory));
  if (call.flags.has("--json")) host.print(JSON.stringify(result));
  return exitCodes.done;
}
