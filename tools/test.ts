import { spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";

/**
 * Runs all tests except the lanes: `npm test`, or `npm test FILE...` for single files. At least two
 * files at a time: on two cores Node's test runner would run one, although most files wait most of
 * the time.
 */
const files = ["packages/*/{src,test}/**/*.test.ts", "{packages/proof,tools}/**/*.test.ts"];

const given = process.argv.slice(2);
const named = given.some((argument) => !argument.startsWith("-"));
const { status, error } = spawnSync(
  process.execPath,
  [
    "--test",
    "--test-timeout=120000",
    `--test-concurrency=${Math.max(2, availableParallelism() - 1)}`,
    ...given,
    ...(named ? [] : files),
  ],
  { cwd: fileURLToPath(new URL("..", import.meta.url)), stdio: "inherit" },
);
if (error !== undefined) throw error;
process.exit(status ?? 1);
