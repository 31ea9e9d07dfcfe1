import { parseArgs } from "node:util";
import { runSeed } from "./run-seed.ts";

/**
 * Runs seeds: `--seeds N` from `--from S` on, `--seeds FROM-TO`, or one with `--seed S`, which prints the hash of its trace, and with
 * `--trace` all that happened in it. Stops at the first violation with `--stop`. Exit code 1 when a promise was broken. `--twice` runs each seed again and compares the traces.
 */
const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    seeds: { type: "string", default: "1000" },
    from: { type: "string", default: "1" },
    stop: { type: "boolean", default: false },
    trace: { type: "boolean", default: false },
    twice: { type: "boolean", default: false },
  },
});

const [first, count] = seedsAskedFor();
// A typing mistake must not pass for a run in which nothing was found.
if (!Number.isSafeInteger(first) || !Number.isSafeInteger(count) || count < 1)
  throw new Error("seeds are whole numbers: --seed N, --seeds N or --seeds FROM-TO");
const read = values.trace ? (line: string): void => void process.stdout.write(`${line}\n`) : undefined;
const marks = new Map<string, number>();
const total = { failed: 0, events: 0, crashes: 0, simulatedMs: 0 };

for (let seed = first; seed < first + count; seed += 1) {
  const report = await runSeed(seed, read);
  if (values.seed !== undefined) process.stdout.write(`trace ${report.trace}\n`);
  total.events += report.events;
  total.crashes += report.crashes;
  total.simulatedMs += report.simulatedMs;
  for (const [mark, times] of report.marks) marks.set(mark, (marks.get(mark) ?? 0) + times);
  const violations = [...report.violations];
  if (values.twice && (await runSeed(seed)).trace !== report.trace) violations.push("a seed leaves the same trace twice");
  if (violations.length === 0) continue;
  total.failed += 1;
  process.stdout.write(`seed ${seed}: ${violations.length} violations, replay with --seed ${seed}\n`);
  for (const violation of new Set(violations)) process.stdout.write(`  ${violation}\n`);
  if (values.stop) break;
}

if (values.seed !== undefined || !values.stop) {
  for (const [mark, times] of [...marks].toSorted(([left], [right]) => (left < right ? -1 : 1)))
    process.stdout.write(`  ${mark}: ${times}\n`);
}
const hours = Math.round(total.simulatedMs / 3_600_000);
process.stdout.write(`${count} seeds, ${total.events} events, ${total.crashes} crashes, ${hours} simulated hours\n`);
process.stdout.write(`${count - total.failed} passed, ${total.failed} failed\n`);
process.exitCode = total.failed === 0 ? 0 : 1;

function seedsAskedFor(): [first: number, count: number] {
  if (values.seed !== undefined) return [Number(values.seed), 1];
  const [, from, to] = /^(\d+)-(\d+)$/.exec(values.seeds) ?? [];
  return from === undefined ? [Number(values.from), Number(values.seeds)] : [Number(from), Number(to) - Number(from) + 1];
}
