import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "../logging/error-facts.ts";
import { ClientProblem } from "./client-problem.ts";

type NamedText = readonly [name: string, text: string];

export interface ReportFolder {
  readonly folder: string;
  /** The default folder, which Git is to ignore. */
  readonly isOwnFolder: boolean;
  /** What the files are, and the option that names another folder, for the message. */
  readonly what: string;
  readonly option: string;
}

/**
 * Writes the files of a report in place of those of an earlier one; each is complete or absent.
 * Returns their paths. Throws ClientProblem when one cannot be written.
 */
export function writeReportFiles(
  { folder, isOwnFolder, what, option }: ReportFolder,
  texts: readonly NamedText[],
): string[] {
  const ignored: readonly NamedText[] = isOwnFolder ? [[".gitignore", "*\n"]] : [];
  try {
    mkdirSync(folder, { recursive: true });
    for (const [name, text] of [...ignored, ...texts]) {
      const path = join(folder, name);
      const temporary = `${path}.new`;
      try {
        writeFileSync(temporary, text);
        renameSync(temporary, path);
      } finally {
        rmSync(temporary, { force: true });
      }
    }
  } catch (error) {
    throw new ClientProblem(
      `${what} could not be saved in ${folder}: ${reasonOf(error)}. ${option} names another folder.`,
    );
  }
  return texts.map(([name]) => join(folder, name));
}

const reasons: ReadonlyMap<string, string> = new Map([
  ["ENOSPC", "the disk is full"],
  ["EDQUOT", "the disk quota is used up"],
  ["EACCES", "this user cannot write there"],
  ["EPERM", "this user cannot write there"],
  ["EROFS", "the file system is read-only"],
  ["ENOTDIR", "a part of its path is a file"],
  ["EEXIST", "there is a file of this name"],
  ["EISDIR", "a folder has the name of one of its files"],
]);

function reasonOf(error: unknown): string {
  const code = error instanceof Error ? codeOf(error) : undefined;
  return reasons.get(code ?? "") ?? code ?? "an unknown failure";
}
