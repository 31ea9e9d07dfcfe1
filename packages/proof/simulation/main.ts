import { parseArgs } from "node:util";
import { explore, scenarios } from "./crash-matrix.ts";
import { playPage } from "./page-model.ts";
import { keptSeeds } from "./kept-seeds.ts";
import { runSeed } from "./run-seed.ts";

/**
 * Runs seeds: `--seeds N` from `--from S` on, or one with `--seed S`, which prints what happened.
 * `--stop` stops at the first violation. Exit code 1 when a promise was broken. `--trace` prints
 * each event as a line. `--kept` runs the kept seeds before them. `--crashes` runs the crash matrix
 * instead, with `--pairs` of crashes; `--pages` plays hosted pages instead (page-model.ts). `--twice` runs each seed again and compares the traces.
 */
const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    seeds: { type: "string", default: "1000" },
    from: { type: "string", default: "1" },
    stop: { type: "boolean", default: false },
    twice: { type: "boolean", default: false },
    trace: { type: "boolean", default: false },
    kept: { type: "boolean", default: false },
    pages: { type: "boolean", default: false },
    crashes: { type: "boolean", default: false },
    pairs: { type: "boolean", default: false },
  },
});

// The reader closed the pipe (`| head`).
process.stdout.on("error", () => process.exit(1));

if (values.crashes) {
  await crashes(values.pairs, values.stop);
  process.exit();
}

if (![values.seed ?? values.from, values.seeds].every((text) => /^\d+$/.test(text))) {
  process.stderr.write("--seed, --seeds and --from take whole numbers.\n");
  process.exit(2);
}
const first = Number(values.seed ?? values.from);
const count = values.seed === undefined ? Number(values.seeds) : 1;
const marks = new Map<string, number>();
const total = { failed: 0, events: 0, crashes: 0, simulatedMs: 0 };

if (values.pages) {
  await pages(first, count, values.stop);
  process.exit();
}

const seeds = [
  ...(values.kept ? keptSeeds.map(({ seed }) => seed) : []),
  ...Array.from({ length: count }, (_, index) => first + index),
];
for (const seed of seeds) {
  const report = await runSeed(
    seed,
    values.trace ? (line) => process.stdout.write(`${line}\n`) : undefined,
  );
  if (values.seed !== undefined) process.stdout.write(`trace ${report.trace}\n`);
  total.events += report.events;
  total.crashes += report.crashes;
  total.simulatedMs += report.simulatedMs;
  for (const [mark, times] of report.marks) marks.set(mark, (marks.get(mark) ?? 0) + times);
  const violations = [...report.violations];
  if (values.twice && (await runSeed(seed)).trace !== report.trace)
    violations.push("a seed leaves the same trace twice");
  if (violations.length === 0) continue;
  total.failed += 1;
  process.stdout.write(
    `seed ${seed}: ${violations.length} violations, replay with npm run sim -- --seed ${seed} --trace\n`,
  );
  for (const violation of new Set(violations)) process.stdout.write(`  ${violation}\n`);
  if (values.stop) break;
}

if (values.seed !== undefined || !values.stop) printMarks();
const hours = Math.round(total.simulatedMs / 3_600_000);
process.stdout.write(
  `${seeds.length} seeds, ${total.events} events, ${total.crashes} crashes, ${hours} simulated hours\n`,
);
process.stdout.write(`${seeds.length - total.failed} passed, ${total.failed} failed\n`);
process.exitCode = total.failed === 0 ? 0 : 1;

async function pages(from: number, played: number, stop: boolean): Promise<void> {
  let failed = 0;
  for (let seed = from; seed < from + played; seed += 1) {
    const { violations, marks: met } = await playPage(seed);
    for (const mark of met) marks.set(mark, (marks.get(mark) ?? 0) + 1);
    if (violations.length === 0) continue;
    failed += 1;
    process.stdout.write(
      `seed ${seed}: ${violations.length} violations, replay with npm run sim -- --pages --seed ${seed}\n`,
    );
    for (const violation of violations) process.stdout.write(`  ${violation}\n`);
    if (stop) break;
  }
  if (!stop) printMarks();
  process.stdout.write(`${played} pages, ${failed} failed\n`);
  process.exitCode = failed === 0 ? 0 : 1;
}

function printMarks(): void {
  for (const [mark, times] of [...marks].toSorted(([left], [right]) => (left < right ? -1 : 1)))
    process.stdout.write(`  ${mark}: ${times}\n`);
}

async function crashes(pairs: boolean, stop: boolean): Promise<void> {
  let [runs, broken] = [0, 0];
  for (const scenario of scenarios) {
    const report = await explore(scenario, pairs);
    runs += report.runs;
    broken += report.violations.length;
    process.stdout.write(
      `${scenario.name}: ${report.waits} waits, ${report.runs} runs, ${report.violations.length} broken\n`,
    );
    for (const violation of report.violations.slice(0, 3)) process.stdout.write(`  ${violation}\n`);
    if (stop && broken > 0) break;
  }
  process.stdout.write(`${scenarios.length} scenarios, ${runs} runs, ${broken} broken\n`);
  process.exitCode = broken === 0 ? 0 : 1;
}
