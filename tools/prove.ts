import { type ChildProcess, spawn } from "node:child_process";
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Lane, lanes, runLanes } from "./lanes.ts";

const help = `npm run lane -- [quick | ci | night | landing] [--results FOLDER] [LANE...]

Runs the lanes that prove what docs/correctness.md promises, two at a time, and ends with a line for each. The output of a lane is printed when it
has ended; that of a single lane is printed at once. Exit code 1 when one failed. \`npm run lane kill\` runs one lane.

  quick     the simulation, non-interference, leaks and histories, with few of each
  ci        all of them, with the numbers of a landing; this unless another is named
  night     all of them, with a night's numbers
  landing   ci, and the lanes that prove something else: .ci/run has these

  --results FOLDER  keeps what LANE said as LANE.log, and as LANE.status its exit code and its seconds
`;

const root = join(fileURLToPath(import.meta.url), "..", "..");
const folder = join(root, "packages", "proof", "lanes");

interface Budget {
  /** How thorough each lane is (packages/proof/lanes/support/amount.ts). */
  readonly amounts: "quick" | "ci" | "night";
  readonly lanes: readonly Lane[];
  /** Limit for each test of a lane; a lane is ended after twice this time. */
  readonly longestMs: number;
}

const minutes = 60_000;
const proving = lanes.filter(({ proves }) => proves);
const ci: Budget = { amounts: "ci", lanes: proving, longestMs: 30 * minutes };
const budgets: Readonly<Record<string, Budget>> = {
  quick: { amounts: "quick", lanes: lanes.filter(({ quick }) => quick), longestMs: 30 * minutes },
  ci,
  night: { amounts: "night", lanes: proving, longestMs: 360 * minutes },
  landing: { amounts: "ci", lanes, longestMs: 30 * minutes },
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { results: { type: "string" }, help: { type: "boolean", short: "h" } },
});
if (values.help === true) {
  process.stdout.write(help);
  process.exit();
}
const [first = "ci"] = positionals;
const named = Object.hasOwn(budgets, first) ? positionals.slice(1) : positionals;
const { [first]: budget = ci } = budgets;
const unknown = named.filter((each) => !lanes.some((lane) => lane.name === each));
if (unknown.length > 0) {
  process.stderr.write(
    `lane: there is no lane ${unknown.join(", ")}. Lanes: ${lanes.map(({ name }) => name).join(", ")}.\n`,
  );
  process.exit(2);
}
const { amounts, longestMs } = budget;
const chosen =
  named.length === 0 ? budget.lanes : lanes.filter((lane) => named.includes(lane.name));
const isAlone = chosen.length === 1 && values.results === undefined;

const results = values.results ?? mkdtempSync(join(tmpdir(), "cofre-prove-"));
mkdirSync(results, { recursive: true });
const children = new Set<ChildProcess>();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    for (const child of children) end(child);
    process.exit(1);
  });
}

const began = performance.now();
const lines: string[] = [];
await runLanes(chosen, async (lane) => {
  const laneBegan = performance.now();
  const file = join(results, `${lane.name}.log`);
  const code = await run(lane, file);
  if (code !== 0) process.exitCode = 1;
  const seconds = secondsSince(laneBegan);
  writeFileSync(join(results, `${lane.name}.status`), `${code} ${seconds}\n`);
  lines.push(`${code === 0 ? "held  " : "BROKEN"}  ${lane.name.padEnd(16)} ${seconds} s`);
  if (!isAlone) process.stdout.write(`\n== ${lane.name}\n${readFileSync(file, "utf8")}`);
});
if (values.results === undefined) rmSync(results, { recursive: true });
process.stdout.write(`\n${lines.join("\n")}\nin all ${secondsSince(began)} s\n`);

function secondsSince(from: number): number {
  return Math.round((performance.now() - from) / 1_000);
}

/** Resolves with the exit code; 1 when the process was killed. */
function run(lane: Lane, file: string): Promise<number> {
  const log = openSync(file, "w");
  const child = spawn(
    process.execPath,
    ["--test", `--test-timeout=${longestMs}`, join(folder, `${lane.name}.lane.ts`)],
    {
      stdio: isAlone ? ["ignore", "inherit", "inherit"] : ["ignore", log, log],
      env: { ...process.env, COFRE_PROVE: amounts },
      // A process group of its own, so that its children are ended with it.
      detached: true,
    },
  );
  closeSync(log);
  children.add(child);
  const limit = setTimeout(() => end(child), longestMs * 2);
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => {
      clearTimeout(limit);
      children.delete(child);
      end(child);
      resolve(code ?? 1);
    });
  });
}

/** Kills the remaining processes of its group. */
function end({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // The group is empty.
  }
}
