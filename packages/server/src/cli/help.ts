import { settingsAsText } from "../config/reference.ts";
import type { CommandRow } from "./command.ts";
import { type CommandName, commandRows, commands } from "./commands.ts";

export function helpText(version: string): string {
  const summaries = commandRows.map(([name, row]) => [synopsis(name, row), row.summary] as const);
  return `Cofre ${version}: a self-hosted card vault and card payment service.

Usage: cofre [command] [options]

Commands:
${columns(summaries)}

\`cofre help COMMAND\` shows what a command takes, with examples.

${optionGroups().join("\n\n")}

  --help, --version

Exit codes: 0 done as asked, 1 failed, 2 asked for something that cannot be.

Settings are environment variables; an option of start wins over its variable. With their defaults:

${settingsAsText()}
`;
}

/** What one command is for and takes, with examples. */
export function commandHelp(name: CommandName): string {
  const row: CommandRow = commands[name];
  const options = optionColumns(row.options);
  return [
    `cofre ${synopsis(name, row)}${options.length === 0 ? "" : " [options]"}\n  ${row.summary}`,
    ...(options.length === 0 ? [] : [`Options:\n${columns(options)}`]),
    ...Object.entries(row.choices ?? {}).map(([title, rows]) => `${title}:\n${columns(rows)}`),
    ...(row.examples === undefined ? [] : [`Examples:\n${row.examples.map((line) => `  ${line}`).join("\n")}`]),
  ].join("\n\n");
}

/** The commands as a Markdown list: docs/operate/commands.md. */
export function commandsAsMarkdown(): string {
  return commandRows.map(([name]) => `\`\`\`text\n${commandHelp(name)}\n\`\`\``).join("\n\n");
}

function synopsis(name: string, { words = [], needsWord, behindWord = {}, paths, mayName }: CommandRow): string {
  const shown = words.map((word) => (behindWord[word] === undefined ? word : `${word} ${behindWord[word]}`));
  const choice = shown.join("|");
  const behind = choice === "" ? [] : [needsWord === true ? choice : `[${choice}]`];
  return [name, ...behind, ...(paths === undefined ? [] : [paths]), ...(mayName === undefined ? [] : [`[${mayName}]`])].join(" ");
}

/** Commands with the same options share a list. */
function optionGroups(): string[] {
  const groups = new Map<CommandRow["options"], string[]>();
  for (const [name, { options }] of commandRows) {
    if (Object.keys(options).length > 0) groups.set(options, [...(groups.get(options) ?? []), name]);
  }
  return Array.from(groups, ([options, names]) => `Options of ${names.join(" and ")}:\n${columns(optionColumns(options))}`);
}

function optionColumns(options: CommandRow["options"]): (readonly [string, string])[] {
  return Object.entries(options).map(([flag, { form, doc }]) => [form === undefined ? flag : `${flag} ${form}`, doc]);
}

function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([first]) => first.length)) + 2;
  return rows.map(([first, second]) => `  ${first.padEnd(width)}${second}`).join("\n");
}
