import { settingsAsText } from "../config/reference.ts";
import type { CommandRow } from "./command.ts";
import { commandRows } from "./commands.ts";

export function helpText(version: string): string {
  const summaries = commandRows.map(
    ([name, { words = [], paths, summary }]) =>
      [[name, ...words.map((word) => `[${word}]`), ...(paths === undefined ? [] : [paths])].join(" "), summary] as const,
  );
  return `Cofre ${version}: a self-hosted card vault and card payment service.

Usage: cofre [command] [options]

Commands:
${columns(summaries)}

${optionGroups().join("\n\n")}

  --help, --version

Settings are environment variables; an option of start wins over its variable. With their defaults:

${settingsAsText()}
`;
}

/** Commands with the same options share a list. */
function optionGroups(): string[] {
  const groups = new Map<CommandRow["options"], string[]>();
  for (const [name, { options }] of commandRows) {
    if (Object.keys(options).length > 0) groups.set(options, [...(groups.get(options) ?? []), name]);
  }
  return Array.from(groups, ([options, names]) => {
    const rows = Object.entries(options).map(([flag, { form, doc }]) => [form === undefined ? flag : `${flag} ${form}`, doc] as const);
    return `Options of ${names.join(" and ")}:\n${columns(rows)}`;
  });
}

function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([first]) => first.length)) + 2;
  return rows.map(([first, second]) => `  ${first.padEnd(width)}${second}`).join("\n");
}
