import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { calibrate } from "./calibration.ts";
import { Bench } from "./bench.ts";
import { cases } from "./cases.ts";
import { readOptions, usage, type Options } from "./options.ts";
import type { PairResult } from "./pairs.ts";
import { startFloor, startProduct } from "./product.ts";
import { printCalibration, printHead, printPair, type CaseReport } from "./report.ts";

const options = readOptions(process.argv.slice(2));
if (options.help) console.log(usage);
else await main(options);

async function main(options: Options): Promise<void> {
  const scratchRoot = fileURLToPath(new URL("../.cache/", import.meta.url));
  mkdirSync(scratchRoot, { recursive: true });
  const scratch = mkdtempSync(join(scratchRoot, "bench-"));
  try {
    await run(options, scratch);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function run(options: Options, scratch: string): Promise<void> {
  console.log(`node ${process.versions.node}, ${String(cpus().length)} x ${cpus()[0]?.model ?? "unknown"}`);
  const calibration = calibrate(scratch);
  printCalibration(calibration);

  const floor = await startFloor();
  const product = options.control ? await startFloor() : await startProduct(join(scratch, "data"));
  const reports: CaseReport[] = [];
  try {
    const bench = new Bench(options, floor, product);
    await bench.warmUp();
    printHead();
    for (const benchCase of cases) {
      if (options.cases.length > 0 && !options.cases.includes(benchCase.name)) continue;
      const results: PairResult[] = [];
      for (const outstanding of bench.levels()) {
        const result = await bench.pairs(benchCase, outstanding);
        printPair(benchCase.title, result);
        results.push(result);
      }
      reports.push({ name: benchCase.name, title: benchCase.title, results });
    }
    bench.close();
  } finally {
    await floor.stop();
    await product.stop();
  }
  if (options.json !== undefined)
    writeFileSync(options.json, `${JSON.stringify({ node: process.versions.node, calibration, cases: reports }, undefined, 2)}\n`);
}
