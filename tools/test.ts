import { spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Runs all tests except the lanes: `npm test`, or `npm test FILE...` for single files. At least
 * three files at a time: on two cores Node's test runner would run one, although most files wait
 * most of the time. All files share the compile cache of `bin/cofre.js`, because nearly every file
 * loads the same modules.
 */
const files = ["packages/*/{src,test}/**/*.test.ts", "{packages/proof,tools}/**/*.test.ts"];

const root = fileURLToPath(new URL("..", import.meta.url));
const compiled = join(root, "packages", "server", ".cache", "compiled");

const given = process.argv.slice(2);
const named = given.some((argument) => !argument.startsWith("-"));
const { status, error } = spawnSync(
  process.execPath,
  [
    "--test",
    "--test-timeout=120000",
    `--test-concurrency=${Math.max(3, availableParallelism() - 1)}`,
    ...given,
    ...(named ? [] : files),
  ],
  { cwd: root, stdio: "inherit", env: { NODE_COMPILE_CACHE: compiled, ...process.env } },
);
if (error !== undefined) throw error;
process.exit(status ?? 1);
