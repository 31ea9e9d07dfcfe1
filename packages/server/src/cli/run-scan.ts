import { bytesOf, filesOf, problemOf, textOf } from "../scan/files.ts";
import { isSearchable, KnownNumbers } from "../scan/known-numbers.ts";
import { PlausibleNumbers } from "../scan/plausible-numbers.ts";
import type { Hit, Search } from "../scan/search.ts";
import { StreamScan } from "../scan/stream-scan.ts";
import { printable } from "./cofre-client.ts";
import { type CommandHost, type ExitCode, exitCodes } from "./command.ts";
import { reportIntervalMs } from "./progress.ts";

interface ScanOptions {
  readonly paths: readonly string[];
  readonly known: string | undefined;
  readonly json: boolean;
}

/**
 * Searches files for card numbers and prints their positions, with the numbers masked. Exit codes:
 * done when there is none, failed when there is one, misused when a file could not be read, whatever
 * was found in the others.
 */
export async function scan(
  options: ScanOptions,
  { clock, input, print, say }: Pick<CommandHost, "clock" | "input" | "print" | "say">,
): Promise<ExitCode> {
  const search = await searchFor(options, input);
  if (typeof search === "string") {
    say(search);
    return exitCodes.misused;
  }
  let [files, bytes, hits, problemCount] = [0, 0, 0, 0];
  let reportedAt = clock.now();
  /** At intervals: a disk or a dump takes minutes. */
  const report = (path: string): void => {
    const now = clock.now();
    if (now - reportedAt < reportIntervalMs) return;
    reportedAt = now;
    say(`${files} files, ${bytes} bytes so far; at ${printable(path)}`);
  };
  const cannot = (path: string, problem: string): void => {
    problemCount += 1;
    say(`${printable(path)}: ${problem}`);
  };
  const scanOne = async (path: string, pieces: AsyncIterable<Uint8Array>): Promise<void> => {
    const stream = new StreamScan(search, {
      found: (hit) => {
        hits += 1;
        print(options.json ? JSON.stringify({ path, ...hit }) : lineOf(path, hit));
      },
      unread: (offset) => cannot(path, `compressed data at ${offset} was not read completely`),
    });
    files += 1;
    try {
      for await (const piece of pieces) {
        bytes += piece.length;
        await stream.write(piece);
        report(path);
      }
    } catch (error) {
      cannot(path, problemOf(error));
    }
    await stream.end();
  };
  for (const path of options.paths) {
    if (path === "-") await scanOne("-", input);
    else {
      for await (const entry of filesOf(path)) {
        if (entry.isFile) await scanOne(entry.path, bytesOf(entry.path));
        else cannot(entry.path, entry.problem);
      }
    }
  }
  const summary = { files, bytes, findings: hits, unread: problemCount };
  if (options.json) print(JSON.stringify(summary));
  else
    say(
      `${files} files, ${bytes} bytes: ${hits} findings${problemCount > 0 ? `, ${problemCount} not read` : ""}`,
    );
  return problemCount > 0 ? exitCodes.misused : hits > 0 ? exitCodes.failed : exitCodes.done;
}

/** A string: why there is no search. */
async function searchFor(
  { paths, known }: ScanOptions,
  input: AsyncIterable<Uint8Array>,
): Promise<Search | string> {
  // Standard input can be only one of them.
  if (known === "-" && paths.includes("-"))
    return "Standard input can be searched or hold the known numbers, not both.";
  if (known === undefined) return new PlausibleNumbers();
  const search = await knownNumbers(known, input);
  return typeof search === "string" ? `${printable(known)}: ${search}` : search;
}

/** The file's name comes from outside. */
function lineOf(path: string, { offset, encoding, maskedPan }: Hit): string {
  return `${printable(path)}: ${maskedPan} at ${offset}, ${encoding}`;
}

/** The numbers of a file, one per line, grouped or not. A string: why there are none. */
async function knownNumbers(
  path: string,
  input: AsyncIterable<Uint8Array>,
): Promise<Search | string> {
  try {
    const text = path === "-" ? await textOfAll(input) : await textOf(path);
    const numbers = text.split("\n").flatMap((line) => {
      const digits = line.replaceAll(/[\s-]/g, "");
      return digits === "" ? [] : [digits];
    });
    const wrong = numbers.findIndex((digits) => !isSearchable(digits));
    if (wrong >= 0) return `number ${wrong + 1} does not have 14 to 19 digits`;
    return numbers.length === 0 ? "holds no numbers" : new KnownNumbers(numbers);
  } catch (error) {
    return problemOf(error);
  }
}

async function textOfAll(input: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of input) pieces.push(piece);
  return Buffer.concat(pieces).toString("latin1");
}
