import { spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Runs the lanes that prove what docs/proof.md promises, one after the other, and ends with a line for each: `node tools/prove.ts
 * [quick|ci|night] [LANE...]`. Exit code 1 when one failed.
 */
const root = join(fileURLToPath(import.meta.url), "..", "..");
const lanes = join(root, "packages", "server", "test", "lanes");

const everything = [
  "simulation",
  "noninterference",
  "leaks",
  "histories",
  "kill",
  "nodes",
  "failover",
  "power",
  "disk",
  "fuzz",
  "sockets",
  "overload",
  "upstream",
];

/** What a budget runs. A night's are those of CI with larger numbers (test/lanes/support/amount.ts). */
const lanesOf: Readonly<Record<string, readonly string[]>> = {
  quick: ["simulation", "noninterference", "leaks", "histories"],
  ci: everything,
  night: everything,
};

const [budget = "ci", ...named] = process.argv.slice(2);
const chosen = lanesOf[budget];
if (chosen === undefined) {
  process.stderr.write(`prove: ${budget} is none of ${Object.keys(lanesOf).join(", ")}.\n`);
  process.exit(2);
}

const results: string[] = [];
for (const lane of named.length === 0 ? chosen : named) {
  const began = performance.now();
  const code = await run(lane, budget);
  if (code !== 0) process.exitCode = 1;
  const seconds = Math.round((performance.now() - began) / 1_000);
  results.push(`${code === 0 ? "held  " : "BROKEN"}  ${lane.padEnd(16)} ${seconds} s`);
}
process.stdout.write(`\n${results.join("\n")}\n`);

function run(lane: string, chosenBudget: string): Promise<number> {
  const hours = chosenBudget === "night" ? 6 : 1;
  const child = spawn(process.execPath, ["--test", `--test-timeout=${hours * 3_600_000}`, join(lanes, `${lane}.lane.ts`)], {
    stdio: "inherit",
    env: { ...process.env, COFRE_PROVE: chosenBudget },
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve(code ?? 1));
  });
}
