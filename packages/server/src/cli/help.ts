import { ownValue } from "../kernel/own.ts";
import type { CommandRow } from "./command.ts";
import { type CommandName, commandRows, commands } from "./commands.ts";

/** An overview on one screen: options and settings are shown by another command. */
export function helpText(version: string): string {
  const summaries = commandRows.map(([name, row]) => [name, row.summary] as const);
  return `Cofre ${version}: a self-hosted card vault and card payment service.

Usage: cofre [command] [options], cofre --help, cofre --version

Commands:
${columns(summaries)}

\`cofre help COMMAND\` shows what a command takes, with examples.
\`cofre config\` shows every setting, what it does and what holds: environment variables, over which options of start win.

Exit codes: 0 done as asked, 1 failed, 2 asked for something that cannot be.
`;
}

/** Purpose, arguments and examples of one command. */
export function commandHelp(name: CommandName): string {
  const row: CommandRow = commands[name];
  const options = optionColumns(row.options);
  return [
    `cofre ${synopsis(name, row)}${options.length === 0 ? "" : " [options]"}\n  ${row.summary}`,
    ...(options.length === 0 ? [] : [`Options:\n${columns(options)}`]),
    ...Object.entries(row.choices ?? {}).map(([title, rows]) => `${title}:\n${columns(rows)}`),
    ...(row.examples === undefined
      ? []
      : [`Examples:\n${row.examples.map((line) => `  ${line}`).join("\n")}`]),
  ].join("\n\n");
}

/** The commands as a Markdown list: docs/operate/commands.md. */
export function commandsAsMarkdown(): string {
  return commandRows.map(([name]) => `\`\`\`text\n${commandHelp(name)}\n\`\`\``).join("\n\n");
}

function synopsis(
  name: string,
  { words = [], needsWord, behindWord = {}, paths, mayName }: CommandRow,
): string {
  const shown = words.map((word) =>
    ownValue(behindWord, word) === undefined ? word : `${word} ${ownValue(behindWord, word)}`,
  );
  const choice = shown.join("|");
  const behind = choice === "" ? [] : [needsWord === true ? choice : `[${choice}]`];
  return [
    name,
    ...behind,
    ...(paths === undefined ? [] : [paths]),
    ...(mayName === undefined ? [] : [`[${mayName}]`]),
  ].join(" ");
}

function optionColumns(options: CommandRow["options"]): (readonly [string, string])[] {
  return Object.entries(options).map(([flag, { form, doc }]) => [
    form === undefined ? flag : `${flag} ${form}`,
    doc,
  ]);
}

function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([first]) => first.length)) + 2;
  return rows.map(([first, second]) => `  ${first.padEnd(width)}${second}`).join("\n");
}
