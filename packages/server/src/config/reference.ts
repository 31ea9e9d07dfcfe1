import { type Config, type SettingName, settingRows } from "./settings.ts";

/** The settings as a table for a terminal: `cofre config`. With a configuration, its values; without, the defaults. */
export function settingsAsText(config?: Config): string {
  const rows = settingRows.map(([name, setting]) => {
    const shown = config === undefined ? (setting.fallback ?? "(none)") : shownValue(config[name]);
    return { name: setting.flag === undefined ? setting.variable : `${setting.variable}, ${setting.flag}`, shown, ...setting };
  });
  return rows.map(({ name, shown, form, doc }) => `${name} = ${shown}\n    ${doc}\n    ${form}`).join("\n\n");
}

/** The settings as a Markdown table: docs/operate/configuration.md. */
export function settingsAsMarkdown(): string {
  const rows = settingRows.map(([, { variable, flag, fallback, form, secret, doc }]) => {
    const names = [variable, ...(secret === true ? [`${variable}_FILE`] : []), ...(flag === undefined ? [] : [flag])];
    return `| ${names.map((name) => `\`${name}\``).join("<br>")} | ${fallback === undefined ? "" : `\`${fallback}\``} | ${form} | ${doc} |`;
  });
  return ["| setting | default | values | meaning |", "|---|---|---|---|", ...rows].join("\n");
}

function shownValue(value: Config[SettingName]): string {
  if (value === undefined) return "(none)";
  if (value instanceof URL) return value.href;
  return typeof value === "object" ? "(set, not shown)" : String(value);
}
