import { parseArgs } from "node:util";
import { bytesOf, filesOf, problemOf, textOf } from "../scan/files.ts";
import { isSearchable, KnownNumbers } from "../scan/known-numbers.ts";
import { PlausibleNumbers } from "../scan/plausible-numbers.ts";
import type { Hit, Search } from "../scan/search.ts";
import { StreamScan } from "../scan/stream-scan.ts";

export interface ScanStreams {
  /** What is piped into the command. */
  readonly input: AsyncIterable<Uint8Array>;
  readonly output: (text: string) => void;
  /** Words for people. */
  readonly problems: (text: string) => void;
}

/** What the command ends with. */
const clean = 0;
const found = 1;
const unread = 2;

const options = { known: { type: "string" }, json: { type: "boolean" } } as const;

const usage = "Usage: cofre scan [--json] [--known FILE] PATH...   (- is standard input)";

/**
 * `cofre scan`: looks for card numbers in files and tells where, without telling which. Resolves with the exit code: 0 when there is none, 1 when
 * there is one, 2 when something could not be read, whatever was found in the rest.
 */
export async function scanCommand(args: readonly string[], { input, output, problems }: ScanStreams): Promise<number> {
  const asked = readArguments(args);
  if (asked === undefined || asked.paths.length === 0) {
    problems(`${usage}\n`);
    return unread;
  }
  const search = asked.known === undefined ? new PlausibleNumbers() : await knownNumbers(asked.known, input);
  if (typeof search === "string") {
    problems(`${asked.known}: ${search}\n`);
    return unread;
  }
  let [files, bytes, hits, problemCount] = [0, 0, 0, 0];
  const cannot = (path: string, problem: string): void => {
    problemCount += 1;
    problems(`${path}: ${problem}\n`);
  };
  const scan = async (path: string, pieces: AsyncIterable<Uint8Array>): Promise<void> => {
    const stream = new StreamScan(search, {
      found: (hit) => {
        hits += 1;
        output(`${asked.json ? JSON.stringify({ path, ...hit }) : lineOf(path, hit)}\n`);
      },
      unread: (offset) => cannot(path, `what is compressed at ${offset} was not read to its end`),
    });
    files += 1;
    try {
      for await (const piece of pieces) {
        bytes += piece.length;
        await stream.write(piece);
      }
    } catch (error) {
      cannot(path, problemOf(error));
    }
    await stream.end();
  };
  for (const path of asked.paths) {
    if (path === "-") await scan("-", input);
    else {
      for await (const entry of filesOf(path)) {
        if (entry.isFile) await scan(entry.path, bytesOf(entry.path));
        else cannot(entry.path, entry.problem);
      }
    }
  }
  const summary = { files, bytes, findings: hits, unread: problemCount };
  if (asked.json) output(`${JSON.stringify(summary)}\n`);
  else problems(`${files} files, ${bytes} bytes: ${hits} findings${problemCount > 0 ? `, ${problemCount} not read` : ""}\n`);
  return problemCount > 0 ? unread : hits > 0 ? found : clean;
}

interface Asked {
  readonly paths: readonly string[];
  readonly known: string | undefined;
  readonly json: boolean;
}

function readArguments(args: readonly string[]): Asked | undefined {
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    // Standard input is one thing or the other.
    if (values.known === "-" && positionals.includes("-")) return undefined;
    return { paths: positionals, known: values.known, json: values.json === true };
  } catch {
    return undefined;
  }
}

function lineOf(path: string, { offset, encoding, maskedPan }: Hit): string {
  return `${path}: ${maskedPan} at ${offset}, ${encoding}`;
}

/** The numbers of a file, one a line, in groups or not. A text: why there are none. */
async function knownNumbers(path: string, input: AsyncIterable<Uint8Array>): Promise<Search | string> {
  try {
    const text = path === "-" ? await textOfAll(input) : await textOf(path);
    const numbers = text.split("\n").flatMap((line) => {
      const digits = line.replaceAll(/[\s-]/g, "");
      return digits === "" ? [] : [digits];
    });
    const wrong = numbers.findIndex((digits) => !isSearchable(digits));
    if (wrong >= 0) return `number ${wrong + 1} has not 14 to 19 digits`;
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
