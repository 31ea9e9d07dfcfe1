import { ownValue } from "../kernel/own.ts";
import { clientOptions } from "./cofre-client.ts";
import type { CommandRow, OptionRow } from "./command.ts";
import { type CommandName, commandGroups, commandRows, commands } from "./commands.ts";
import { type Styled, plain } from "./styled.ts";

/**
 * An overview of at most 48 lines of 80 columns, so that no line wraps: options and settings are
 * shown by another command.
 */
export function helpText(version: string, styled: Styled = plain): string {
  const width = Math.max(...commandRows.map(([name]) => name.length)) + 2;
  const groups = commandGroups.map(
    ([title, rows]) =>
      `${styled("heading", `${title}:`)}\n${columns(
        rows.map(([name, { summary }]) => [name, summary]),
        styled,
        width,
      )}`,
  );
  return `Cofre ${version}: a self-hosted card vault and card payment service.

Usage: cofre [command] [options], cofre --help, cofre --version
\`cofre help COMMAND\` shows the options of a command, with examples.

${groups.join("\n\n")}

\`cofre config\` shows every setting, its meaning and its value.
Options of start take precedence over environment variables.
Exit codes: 0 done, 1 failed, 2 wrong settings or command line.
`;
}

/** Purpose, arguments and examples of one command. */
export function commandHelp(name: CommandName, styled: Styled = plain): string {
  const row: CommandRow = commands[name];
  return helpOf(
    name,
    {
      options: columns(optionColumns(row.options), styled),
      choices: Object.entries(row.choices ?? {}).map(
        ([title, rows]) => `${styled("heading", `${title}:`)}\n${columns(rows, styled)}`,
      ),
    },
    styled,
  );
}

function helpOf(
  name: CommandName,
  { options, choices }: { readonly options: string; readonly choices: readonly string[] },
  styled: Styled = plain,
): string {
  const row: CommandRow = commands[name];
  return [
    `${styled("heading", `cofre ${synopsis(name, row)}${options === "" ? "" : " [options]"}${row.program === undefined ? "" : ` ${row.program}`}`)}\n  ${row.summary}`,
    ...(row.details === undefined ? [] : [row.details]),
    ...(options === "" ? [] : [`${styled("heading", "Options:")}\n${options}`]),
    ...choices,
    ...(row.examples === undefined
      ? []
      : [
          `${styled("heading", "Examples:")}\n${row.examples.map((line) => `  ${line}`).join("\n")}`,
        ]),
  ].join("\n\n");
}

/**
 * The commands as a Markdown list: docs/operate/commands.md. The options of all clients are shown
 * once, and the choices of a command by their names only, because another page explains them.
 */
export function commandsAsMarkdown(): string {
  const block = (text: string): string => `\`\`\`text\n${text}\n\`\`\``;
  const clients = commandRows.filter(([, { options }]) => sharedOf(options).length > 0);
  const shared = [
    `Options of ${clients.map(([name]) => name).join(", ")}:`,
    columns(optionColumns(clientOptions)),
  ].join("\n");
  return [shared, ...commandRows.map(([name]) => shortHelp(name))].map(block).join("\n\n");
}

function shortHelp(name: CommandName): string {
  const row: CommandRow = commands[name];
  const shared = sharedOf(row.options);
  const own = Object.entries(row.options).filter(([flag]) => !shared.includes(flag));
  const also = shared.length === 0 ? "" : `  ${shared.join(", ")}: see above`;
  const [first] = commandRows.find(([, { options }]) => options === row.options) ?? [name];
  const shown =
    first === name ? columns(optionColumns(Object.fromEntries(own))) : `  as of ${first}`;
  return helpOf(name, {
    options: [shown, also].filter((text) => text !== "").join("\n"),
    choices: Object.entries(row.choices ?? {}).map(
      ([title, rows]) => `${title}: ${rows.map(([choice]) => choice).join(", ")}`,
    ),
  });
}

/** The flags of a command that are options of every client. */
function sharedOf(options: CommandRow["options"]): string[] {
  const ofClients = new Set<OptionRow>(Object.values(clientOptions));
  return Object.entries(options).flatMap(([flag, option]) => (ofClients.has(option) ? [flag] : []));
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

function columns(
  rows: readonly (readonly [string, string])[],
  styled: Styled = plain,
  width = Math.max(...rows.map(([first]) => first.length)) + 2,
): string {
  return rows
    .map(([first, second]) => `  ${styled("name", first.padEnd(width))}${second}`)
    .join("\n");
}
