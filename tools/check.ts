import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/**
 * Checks the source without running it: `npm run check`, or `npm run check NAME...` for single
 * checks. Stops at the first check that fails.
 */
const checks: Readonly<Record<string, readonly (readonly string[])[]>> = {
  lint: [["oxlint", "--type-aware", "--deny-warnings"]],
  format: [["oxfmt", "--check"]],
  types: [
    ["tsc", "--noEmit"],
    ["tsc", "-p", "packages/console/src"],
    ["tsc", "-p", "packages/fields/src"],
  ],
  "dead-code": [["knip"]],
};

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(checks);
const unknown = names.filter((name) => !Object.hasOwn(checks, name));
if (unknown.length > 0) {
  process.stderr.write(
    `check: there is no check ${unknown.join(", ")}. Checks: ${Object.keys(checks).join(", ")}.\n`,
  );
  process.exit(2);
}

const cwd = fileURLToPath(new URL("..", import.meta.url));
// On Windows npm installs commands as scripts that need a shell.
const shell = process.platform === "win32";
for (const [command = "", ...args] of names.flatMap((name) => checks[name] ?? [])) {
  const { status, error } = spawnSync(command, args, { cwd, shell, stdio: "inherit" });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(status ?? 1);
}
