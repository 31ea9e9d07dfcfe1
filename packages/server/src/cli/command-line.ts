import { parseArgs } from "node:util";
import { closestTo } from "../config/closest.ts";
import type { CommandCall, OptionRow } from "./command.ts";
import { type CommandName, commandRows, commands } from "./commands.ts";

export interface CommandLine extends CommandCall {
  readonly command: CommandName | "version";
}

/** The options of all commands by name: an option may stand before the command that it belongs to. */
const allOptions: ReadonlyMap<string, OptionRow> = new Map(commandRows.flatMap(([, { options }]) => Object.entries(options)));

const parsed = {
  ...Object.fromEntries(Array.from(allOptions, ([flag, { form }]) => [flag.slice(2), { type: form === undefined ? "boolean" : "string" }])),
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "v" },
} as const;

/** Reads what stands behind `cofre`. `problem` is one sentence for people. */
export function readCommandLine(args: readonly string[]): CommandLine | { readonly problem: string } {
  const { tokens } = parseArgs({ args: [...args], options: parsed, strict: false, allowPositionals: true, tokens: true });
  const flags = new Map<string, string>();
  const words: string[] = [];
  let asked: CommandLine["command"] | undefined;
  for (const token of tokens) {
    if (token.kind === "positional") words.push(token.value);
    if (token.kind !== "option") continue;
    const flag = token.rawName;
    if (token.name === "help" || token.name === "version") {
      asked ??= token.name;
      continue;
    }
    const option = allOptions.get(flag);
    if (option === undefined) return { problem: `${flag} is no option.${suggestion(flag, [...allOptions.keys()])}` };
    const problem = valueProblem(option, token);
    if (problem !== undefined) return { problem: `${flag} ${problem}.` };
    if (flags.has(flag)) return { problem: `${flag} is given twice.` };
    flags.set(flag, token.value ?? "");
  }
  if (asked !== undefined) return { command: asked, word: undefined, paths: [], flags };
  return readWords(words, flags);
}

function readWords(
  [name = "start", word, ...more]: readonly string[],
  flags: ReadonlyMap<string, string>,
): ReturnType<typeof readCommandLine> {
  const found = commandRows.find(([each]) => each === name);
  if (found === undefined) return { problem: `${name} is no command.${suggestion(name, Object.keys(commands))}` };
  const [command, { words = [], paths, options }] = found;
  for (const flag of flags.keys()) {
    if (!Object.hasOwn(options, flag)) return { problem: `${command} has no option ${flag}.` };
  }
  if (paths !== undefined) {
    const given = word === undefined ? [] : [word, ...more];
    return given.length === 0 ? { problem: `${command} needs ${paths} behind it.` } : { command, word: undefined, paths: given, flags };
  }
  const unexpected = word !== undefined && words.includes(word) ? more : [...(word === undefined ? [] : [word]), ...more];
  if (unexpected.length === 0) return { command, word, paths: [], flags };
  const takes = words.length === 0 ? "nothing" : `only ${words.join(" or ")}`;
  return { problem: `${command} takes ${takes} behind it, but there is: ${unexpected.join(" ")}` };
}

function valueProblem(
  { form }: OptionRow,
  token: { readonly value?: string | undefined; readonly inlineValue?: boolean | undefined },
): string | undefined {
  if (form === undefined) return token.value === undefined ? undefined : "takes no value";
  if (token.value === undefined || token.value === "") return "needs a value";
  // `--port --host x`: the next flag is not the value; `-` alone is what is piped in.
  return token.inlineValue !== true && token.value.startsWith("-") && token.value !== "-" ? "needs a value" : undefined;
}

function suggestion(word: string, candidates: readonly string[]): string {
  const closest = closestTo(word, candidates);
  return closest === undefined ? "" : ` Did you mean ${closest}?`;
}
