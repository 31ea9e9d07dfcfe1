import type { Config } from "../config/settings.ts";
import { type Compared, Difference } from "../store-migration/compare.ts";
import { type MoveSides, moveBack, moveStore, verifyMove } from "../store-migration/move-store.ts";
import type { MoveProgress } from "../store-migration/report.ts";
import { transferKinds } from "../stores/transfer.ts";
import { type ClientCommand, type CommandHost, type ExitCode, exitCodes } from "./command.ts";

/** Number of cards to open on both sides, at most about this many. */
const sampledCards = 1_000;

/** Rows between two progress lines; a multiple of the stores' batch size. */
const reportedRows = 10_000;

/** Moves a stopped installation from its file to PostgreSQL. */
export const migrateStoreCommand: ClientCommand = {
  summary: "move all data from the file to PostgreSQL",
  details: "The file is in COFRE_DATA_DIR, the database is COFRE_DATABASE_URL.",
  options: {
    "--data-dir": {
      form: "D",
      doc: "directory of the file and the keys, instead of COFRE_DATA_DIR",
    },
    "--verify": {
      doc: "compare the database with the file that was moved there, and change neither",
    },
    "--rollback": {
      doc: "use the file again, and give up the database, unless it has changed since the move",
    },
    "--discard-changes": { doc: "with --rollback: discard changes in the database since the move" },
    "--json": { doc: "print one JSON object per line" },
  },
  examples: [
    "cofre migrate-store",
    "cofre migrate-store --verify",
    "cofre migrate-store --rollback",
  ],
  async run({ flags }, host) {
    const say = speaker(host, flags.has("--json"));
    const misused = (problem: string): ExitCode => {
      host.say(problem);
      return exitCodes.misused;
    };
    const [verify, rollback, discard] = ["--verify", "--rollback", "--discard-changes"].map(
      (flag) => flags.has(flag),
    );
    if (verify === true && rollback === true)
      return misused("--verify and --rollback cannot be combined.");
    if (discard === true && rollback !== true)
      return misused("--discard-changes needs --rollback.");
    const directory = flags.get("--data-dir");
    const reading = host.config(
      new Map(directory === undefined ? [] : [["--data-dir", directory]]),
    );
    if ("problems" in reading) return misused(reading.problems.join("\n"));
    const problem = settingsProblem(reading.config, discard === true);
    if (problem !== undefined) return misused(problem);
    try {
      return await work(
        await host.openMove(reading.config),
        {
          what: verify === true ? "verify" : rollback === true ? "rollback" : "move",
          discard: discard === true,
        },
        say,
      );
    } catch (error) {
      // Errors of the stores and the keys have fixed texts, which quote no stored data.
      say.failed(error);
      return exitCodes.failed;
    }
  },
};

interface MoveRequest {
  readonly what: "move" | "verify" | "rollback";
  readonly discard: boolean;
}

async function work(
  sides: MoveSides,
  { what, discard }: MoveRequest,
  say: Speaker,
): Promise<ExitCode> {
  try {
    const { target, ...rest } = sides;
    const common = { ...rest, cards: sampledCards, report: say.progress };
    if (what === "rollback") {
      const isReturned = await moveBack({ ...common, target }, discard);
      const warning = isReturned
        ? ""
        : " The database was not marked as returned: make sure that no Cofre uses it.";
      say.result(
        "rolled_back",
        `The file is used again: start without COFRE_DATABASE_URL.${warning}`,
        {
          database_returned: isReturned,
        },
      );
      return exitCodes.done;
    }
    // Settings were checked before anything was opened.
    if (target === undefined) return exitCodes.misused;
    if (what === "verify") {
      const compared = await verifyMove({ ...common, target });
      say.result(
        "equal",
        `The database equals the file at the time of the move: ${textOf(compared)}.`,
        compared,
      );
      return exitCodes.done;
    }
    const moved = await moveStore({ ...common, target });
    if (moved.result === "moved")
      say.result(
        moved.result,
        `Moved: ${textOf(moved)}. Start with COFRE_DATABASE_URL; the keys stay in COFRE_DATA_DIR.`,
        moved,
      );
    if (moved.result === "already_moved")
      say.result(
        moved.result,
        "This file was moved into this database before. Nothing was changed.",
      );
    if (moved.result === "completed")
      say.result(
        moved.result,
        "An earlier run had moved all data and was interrupted before its last step. The move is complete.",
      );
    return exitCodes.done;
  } finally {
    await sides.close();
  }
}

function settingsProblem(
  { dataDirectory, databaseUrl }: Config,
  mayLackDatabase: boolean,
): string | undefined {
  if (dataDirectory === ":memory:")
    return "COFRE_DATA_DIR is :memory:, which keeps nothing that could be moved.";
  if (databaseUrl === undefined && !mayLackDatabase)
    return "COFRE_DATABASE_URL is not set: it names the PostgreSQL database that the data moves to, such as postgres://cofre@localhost/cofre.";
  return undefined;
}

function textOf({ counts, balances, cardsOpened }: Compared): string {
  const rows = transferKinds.map((kind) => `${counts[kind]} ${kind}`).join(", ");
  return `${rows}; ${balances} balances of the ledger are equal, ${cardsOpened} cards opened on both sides`;
}

interface Speaker {
  readonly progress: (progress: MoveProgress) => void;
  readonly result: (
    result: string,
    text: string,
    facts?: Compared | { readonly database_returned: boolean },
  ) => void;
  readonly failed: (error: unknown) => void;
}

function speaker({ print, say }: Pick<CommandHost, "print" | "say">, json: boolean): Speaker {
  const line = (facts: object): void => print(JSON.stringify(facts));
  return {
    progress: (progress) => {
      if (
        progress.step !== "switch" &&
        progress.rows % reportedRows !== 0 &&
        progress.rows !== progress.of
      )
        return;
      if (json) return line(progress);
      if (progress.step === "switch") return say("from now on the file is not used");
      say(`${progress.step} ${progress.kind}: ${progress.rows} of ${progress.of}`);
    },
    result: (result, text, facts) => {
      if (!json) return print(text);
      line({ ...facts, result });
    },
    failed: (error) => {
      const message = error instanceof Error ? error.message : "an unknown failure";
      if (error instanceof Difference) {
        if (json) return line({ result: "differs", kind: error.kind, message });
        return say(`The file and the database differ. ${message}.`);
      }
      if (!json) return say(`${message}.`);
      line({
        result: "refused",
        ...(error instanceof Error && "code" in error ? { code: error.code } : {}),
        message,
      });
    },
  };
}
