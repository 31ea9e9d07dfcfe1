import { ownValue } from "../kernel/own.ts";
import { parseArgs } from "node:util";
import { suggestionFor } from "../kernel/suggestion.ts";
import type { CommandCall, OptionRow } from "./command.ts";
import { type CommandName, commandRows, commands } from "./commands.ts";

export interface CommandLine extends CommandCall {
  readonly command: CommandName | "version";
}

/** The options of all commands by name: an option may precede its command. */
const allOptions: ReadonlyMap<string, OptionRow> = new Map(
  commandRows.flatMap(([, { options }]) => Object.entries(options)),
);

const parsed = {
  ...Object.fromEntries(
    Array.from(allOptions, ([flag, { form }]) => [
      flag.slice(2),
      { type: form === undefined ? "boolean" : "string" },
    ]),
  ),
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "v" },
} as const;

/** One sentence for the user, and the intended command, if known. */
interface Misuse {
  readonly problem: string;
  readonly command?: CommandName;
}

/** Parses the arguments of `cofre`. */
export function readCommandLine(args: readonly string[]): CommandLine | Misuse {
  const { own, program } = splitAtProgram(args);
  const misuse = (problem: string): Misuse => {
    const meant = commandNamed(tokens.find((token) => token.kind === "positional")?.value);
    return meant === undefined ? { problem } : { problem, command: meant };
  };
  const tokens = tokensOf(own);
  const flags = new Map<string, string>();
  const words: string[] = [];
  let command: CommandLine["command"] | undefined;
  for (const token of tokens) {
    if (token.kind === "positional") words.push(token.value);
    if (token.kind !== "option") continue;
    const flag = token.rawName;
    if (token.name === "help" || token.name === "version") {
      command ??= token.name;
      continue;
    }
    const option = allOptions.get(flag);
    if (option === undefined)
      return misuse(`Unknown option ${flag}.${suggestion(flag, [...allOptions.keys()])}`);
    const problem = valueProblem(option, token);
    if (problem !== undefined) return misuse(`${flag} ${problem}.`);
    if (flags.has(flag)) return misuse(`${flag} is given twice.`);
    flags.set(flag, token.value ?? "");
  }
  // `cofre listen --help` is `cofre help listen`.
  if (command !== undefined)
    return {
      command,
      word: command === "help" ? commandNamed(words[0]) : undefined,
      paths: [],
      flags,
    };
  return readWords(words, flags, program);
}

function tokensOf(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    options: parsed,
    strict: false,
    allowPositionals: true,
    tokens: true,
  }).tokens;
}

/** The command line of another program begins at the first word behind the command, or at `--`. */
function splitAtProgram(args: readonly string[]): {
  readonly own: readonly string[];
  readonly program: readonly string[];
} {
  const [command, ...later] = tokensOf(args).filter(({ kind }) => kind !== "option");
  const row =
    command?.kind === "positional"
      ? commandRows.find(([name]) => name === command.value)?.[1]
      : undefined;
  const first = row?.program === undefined ? undefined : later[0];
  if (first === undefined) return { own: args, program: [] };
  const from = first.kind === "positional" ? first.index : first.index + 1;
  return { own: args.slice(0, first.index), program: args.slice(from) };
}

function readWords(
  [name = "start", word, ...more]: readonly string[],
  flags: ReadonlyMap<string, string>,
  program: readonly string[],
): ReturnType<typeof readCommandLine> {
  const found = commandRows.find(([each]) => each === name);
  if (found === undefined)
    return { problem: `Unknown command ${name}.${suggestion(name, Object.keys(commands))}` };
  const [command, { words = [], needsWord, behindWord = {}, paths, mayName, options, ...row }] =
    found;
  for (const flag of flags.keys()) {
    if (!Object.hasOwn(options, flag))
      return { problem: `${command} has no option ${flag}.`, command };
  }
  if (row.program !== undefined) {
    return program.length === 0
      ? { problem: `${command} needs a command to run: ${row.program}`, command }
      : { command, word: undefined, paths: program, flags };
  }
  if (paths !== undefined) {
    const given = word === undefined ? [] : [word, ...more];
    return given.length === 0
      ? { problem: `${command} needs arguments: ${paths}`, command }
      : { command, word: undefined, paths: given, flags };
  }
  const form = word === undefined ? undefined : ownValue(behindWord, word);
  if (word !== undefined && form !== undefined) {
    if (more.length === 0 && !form.startsWith("["))
      return { problem: `${command} ${word} needs ${form}.`, command };
    if (more.length > 1)
      return {
        problem: `${command} ${word} takes one ${form}, but was given: ${more.join(" ")}`,
        command,
      };
    return { command, word, paths: more, flags };
  }
  const takenWords = mayName === undefined ? words : Object.keys(commands);
  const unexpected =
    word !== undefined && takenWords.includes(word)
      ? more
      : [...(word === undefined ? [] : [word]), ...more];
  if (unexpected.length > 0) {
    const takes = takenWords.length === 0 ? "no arguments" : `only ${takenWords.join(" or ")}`;
    return {
      problem: `${command} takes ${takes}, but was given: ${unexpected.join(" ")}`,
      command,
    };
  }
  if (word === undefined && needsWord === true)
    return { problem: `${command} needs one of ${words.join(", ")}.`, command };
  return { command, word, paths: [], flags };
}

function commandNamed(name: string | undefined): CommandName | undefined {
  return commandRows.find(([each]) => each === name)?.[0];
}

function valueProblem(
  { form }: OptionRow,
  token: { readonly value?: string | undefined; readonly inlineValue?: boolean | undefined },
): string | undefined {
  if (form === undefined) return token.value === undefined ? undefined : "takes no value";
  if (token.value === undefined || token.value === "") return "needs a value";
  // `--port --host x`: the next flag is not the value; `-` alone is standard input.
  return token.inlineValue !== true && token.value.startsWith("-") && token.value !== "-"
    ? "needs a value"
    : undefined;
}

function suggestion(word: string, candidates: readonly string[]): string {
  const suggestion = suggestionFor(word, candidates);
  return suggestion === undefined ? "" : ` Did you mean ${suggestion}?`;
}
