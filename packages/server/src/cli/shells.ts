/** One row per shell: how a variable is set so that the shell reads exactly this value. */
const shells = {
  /** sh, bash, zsh, dash. */
  posix: (name, value) => `export ${name}=${posixQuoted(value)}`,
  fish: (name, value) =>
    `set -gx ${name} '${value.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`,
  powershell: (name, value) => `$env:${name} = '${value.replaceAll("'", "''")}'`,
  /** Single quotes: most readers of such files expand `$` in double ones. */
  dotenv: (name, value) =>
    value.includes("'")
      ? `${name}="${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("$", "\\$")}"`
      : `${name}='${value}'`,
} as const satisfies Readonly<Record<string, (name: string, value: string) => string>>;

export type ShellName = keyof typeof shells;

export const shellNames = Object.keys(shells) as readonly ShellName[];

/** The line that sets a variable. */
export function settingLine(shell: ShellName, name: string, value: string): string {
  return shells[shell](name, value);
}

function posixQuoted(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
