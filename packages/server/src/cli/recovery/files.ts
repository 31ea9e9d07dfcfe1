import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorFacts } from "../../logging/error-facts.ts";
import { problemOf } from "../../scan/files.ts";
import { ClientProblem } from "../client-problem.ts";

/** A device or a log that is named by mistake is not read. In bytes. */
const largest = 1_048_576;

/** The content of a small text file. Throws ClientProblem. */
export function textOfFile(path: string): string {
  try {
    if (statSync(path).size <= largest) return readFileSync(path, "utf8");
  } catch (error) {
    throw new ClientProblem(`${path} ${problemOf(error)}.`);
  }
  throw new ClientProblem(`${path} is too large.`);
}

/** Throws ClientProblem if one of these files exists: nothing is overwritten. */
export function refuseExisting(folder: string, names: readonly string[]): void {
  for (const name of names) {
    const path = join(folder, name);
    if (existsSync(path))
      throw new ClientProblem(
        `${path} exists, and is not overwritten: --out names another folder.`,
      );
  }
}

/** Writes new files; their paths. Throws ClientProblem. */
export function writeNewFiles(
  folder: string,
  files: readonly (readonly [name: string, text: string])[],
): string[] {
  try {
    mkdirSync(folder, { recursive: true });
    return files.map(([name, text]) => {
      const path = join(folder, name);
      writeFileSync(path, text, { flag: "wx" });
      return path;
    });
  } catch (error) {
    throw new ClientProblem(
      `${folder} cannot be written (${errorFacts(error).errorCode ?? "unknown"}).`,
    );
  }
}
