import { posix } from "node:path";
import { rootKeyText } from "./root-key-address.ts";
import { type Config, type SettingName, settingRows } from "./settings.ts";

/**
 * The settings as a table for a terminal: `cofre config`. Shows the values of `config`, or the
 * defaults without it.
 */
export function settingsAsText(config?: Config): string {
  const rows = settingRows.map(([name, setting]) => {
    const shown = config === undefined ? (setting.fallback ?? "(none)") : shownValue(config[name]);
    return { name: namesOf(setting).join(", "), shown, ...setting };
  });
  return rows
    .map(
      ({ name, shown, form, doc }) => `${name} = ${shown}\n    ${withoutLinks(doc)}\n    ${form}`,
    )
    .join("\n\n");
}

/** The settings as a Markdown table: docs/operate/configuration.md. */
export function settingsAsMarkdown(): string {
  const rows = settingRows.map(([, setting]) => {
    const { fallback, form, doc } = setting;
    const names = namesOf(setting).map((name) => `\`${name}\``);
    return `| ${names.join("<br>")} | ${fallback === undefined ? "" : `\`${fallback}\``} | ${form} | ${doc} |`;
  });
  return ["| setting | default | values | meaning |", "|---|---|---|---|", ...rows].join("\n");
}

/**
 * The ways to give a setting: its variable, the variable that names a file with a secret, its
 * option.
 */
function namesOf({ variable, flag, secret }: (typeof settingRows)[number][1]): string[] {
  return [
    variable,
    ...(secret === true ? [`${variable}_FILE`] : []),
    ...(flag === undefined ? [] : [flag]),
  ];
}

/**
 * Links are relative to docs/operate, where the table of settings is; on a terminal they are
 * replaced by the path of the page.
 */
function withoutLinks(doc: string): string {
  return doc.replaceAll(
    /\[([^\]]+)\]\(([^)]+)\)/g,
    (_, text: string, target: string) => `${text} (${posix.join("docs/operate", target)})`,
  );
}

function shownValue(value: Config[SettingName]): string {
  if (value === undefined) return "(none)";
  if (value instanceof URL) return value.href;
  if (typeof value === "object" && "kind" in value) return rootKeyText(value);
  if (isTexts(value)) return value.join(",");
  return typeof value === "object" ? "(set, not shown)" : String(value);
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}
