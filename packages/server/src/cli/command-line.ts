import { parseArgs } from "node:util";
import { closestTo } from "../config/closest.ts";

const commands = ["start", "config", "help"] as const;
export type Command = (typeof commands)[number] | "version";

export interface CommandLine {
  readonly command: Command;
  /** Values for settings, by flag (`--port`). */
  readonly flags: ReadonlyMap<string, string>;
}

const options = {
  port: { type: "string" },
  host: { type: "string" },
  "data-dir": { type: "string" },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "v" },
} as const;

/** Reads what stands behind `cofre`. `problem` is one sentence for people. */
export function readCommandLine(args: readonly string[]): CommandLine | { readonly problem: string } {
  const { tokens } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true });
  const flags = new Map<string, string>();
  const words: string[] = [];
  let asked: Command | undefined;
  for (const token of tokens) {
    if (token.kind === "positional") words.push(token.value);
    if (token.kind !== "option") continue;
    const flag = token.rawName;
    if (token.name === "help" || token.name === "version") asked ??= token.name;
    else if (!Object.hasOwn(options, token.name)) return { problem: `${flag} is no option.${suggestion(flag, flagNames)}` };
    else if (token.value === undefined || token.value === "") return { problem: `${flag} needs a value.` };
    // `--port --host x`: the next flag is not the value.
    else if (!token.inlineValue && token.value.startsWith("-")) return { problem: `${flag} needs a value.` };
    else if (flags.has(flag)) return { problem: `${flag} is given twice.` };
    else flags.set(flag, token.value);
  }
  const [word = "start", ...more] = words;
  if (asked !== undefined) return { command: asked, flags };
  const command = commands.find((name) => name === word);
  if (command === undefined) return { problem: `${word} is no command.${suggestion(word, commands)}` };
  if (more.length > 0) return { problem: `${command} takes nothing behind it, but there is: ${more.join(" ")}` };
  return { command, flags };
}

const flagNames = Object.keys(options).map((name) => `--${name}`);

function suggestion(word: string, candidates: readonly string[]): string {
  const closest = closestTo(word, candidates);
  return closest === undefined ? "" : ` Did you mean ${closest}?`;
}
