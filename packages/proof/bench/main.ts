import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { auditDatabase, type Audit } from "./audit.ts";
import { Bench } from "./bench.ts";
import { calibrate, type Calibration } from "./calibration.ts";
import { type BenchCase, cases } from "./cases.ts";
import { expiry, type ExpiryReport } from "./expiry.ts";
import { gate, type GateResult } from "./gate.ts";
import { lists, type ListsReport } from "./lists.ts";
import { weighMillion, type MillionReport } from "./million.ts";
import { readOptions, usage } from "./options.ts";
import type { Acknowledged } from "./loads.ts";
import type { PairResult } from "./pairs.ts";
import { openEmbeddedStore } from "../../server/src/stores/embedded/embedded-store.ts";
import { openStoreOn } from "../../server/test/postgres/databases.ts";
import { BenchPostgres, faultsOf } from "./postgres.ts";
import type { BenchServer } from "./process.ts";
import { withSlowFsync } from "./slow-fsync.ts";
import { startFloor, startNaive, startOnPostgres, startProduct } from "./product.ts";
import {
  megabytes,
  printAudit,
  printCalibration,
  printExpiry,
  printHead,
  printLists,
  printMillion,
  printNotificationCost,
  printOpenLoop,
  printPair,
  printStoreFigures,
  type CaseReport,
} from "./report.ts";
import { notificationCost, type NotificationCost } from "./notification-cost.ts";
import { storeFigures, type StoreFigures } from "./store-figures.ts";
import { median } from "./statistics.ts";
import { growth, printGrowth, type GrowthReport } from "./growth.ts";
import { printWaiting, waiting, type WaitingReport } from "./waiting.ts";

const cache = fileURLToPath(new URL("../../../.cache/", import.meta.url));

/** The results of one run. Times in ms or microseconds and sizes in bytes, as the names say. */
interface Report {
  readonly at: string;
  readonly command: string;
  readonly node: string;
  readonly sqlite: string;
  readonly machine: string;
  calibration?: Calibration;
  startMs?: readonly number[];
  rssAtRestBytes?: number | undefined;
  rssPeakBytes?: number;
  cases: CaseReport[];
  openLoop: {
    readonly arm: string;
    readonly perSecond: number;
    readonly p50Ms: number;
    readonly p99Ms: number;
    readonly p999Ms: number;
  }[];
  gate: GateResult[];
  audit?: Audit;
  store?: StoreFigures;
  notifications?: NotificationCost;
  million?: MillionReport;
  growth?: GrowthReport;
  expiry?: ExpiryReport;
  lists?: ListsReport;
  waiting?: WaitingReport;
}

const options = readOptions(process.argv.slice(2));
if (options.help) console.log(usage);
else await main();

async function main(): Promise<void> {
  const report: Report = {
    at: new Date().toISOString(),
    // Removes local folder names from a report that may be shared.
    command: `npm run bench -- ${process.argv.slice(2).join(" ")}`
      .trim()
      .replaceAll(/(?<=[ =])\/\S+/g, "DIR"),
    node: process.versions.node,
    sqlite: process.versions["sqlite"] ?? "unknown",
    machine: `${String(cpus().length)} x ${cpus()[0]?.model.trim() ?? "unknown"}, ${String(Math.round(totalmem() / 2 ** 30))} GiB, Linux ${release()}`,
    cases: [],
    openLoop: [],
    gate: [],
  };
  mkdirSync(cache, { recursive: true });
  const scratch = mkdtempSync(`${cache}bench-`);
  try {
    await run(report, scratch);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  appendFileSync(join(cache, "bench-history.jsonl"), `${JSON.stringify(report)}\n`);
  if (options.json !== undefined)
    writeFileSync(options.json, `${JSON.stringify(report, undefined, 2)}\n`);
  if (report.gate.some((result) => !result.passed)) process.exitCode = 1;
}

async function run(report: Report, scratch: string): Promise<void> {
  console.log(`node ${report.node}, SQLite ${report.sqlite}, ${report.machine}`);
  report.calibration = calibrate(scratch);
  printCalibration(report.calibration);

  if (options.store === "postgres") {
    await underLoadOnPostgres(report, scratch);
    return;
  }
  if (!options.control && options.against === undefined) {
    report.startMs = await startTimes(scratch, options.quick ? 3 : 7);
    console.log(
      `start        ${Math.round(median(report.startMs)).toString()} ms to the first answer on an empty store (median of ${String(report.startMs.length)})`,
    );
  }
  if (wanted("load") && selectedUnderLoad()) await underLoad(report, scratch);
  if (wanted("load") && selected("store") && !options.control && options.against === undefined) {
    report.store = await storeFigures(join(scratch, "store"), options.quick ? 5_000 : 40_000);
    printStoreFigures(report.store);
    if (report.store.audit.faults.length > 0) process.exitCode = 1;
  }
  // Takes minutes of messages, so a quick run includes it only on request.
  const isRequested = options.quick
    ? options.cases.includes("notifications")
    : wanted("load") && selected("notifications");
  if (isRequested && !options.control && options.against === undefined) {
    const dataDir = join(scratch, "notifications");
    const audit = auditDatabase(dataDir, await notified(report, await startProduct(dataDir)));
    printAudit(audit);
    if (audit.faults.length > 0) process.exitCode = 1;
  }
  if (options.million) {
    report.million = await weighMillion(join(scratch, "million"));
    printMillion(report.million);
  }
  if (options.expiry) {
    report.expiry = await expiry(join(scratch, "expiry"));
    printExpiry(report.expiry);
  }
  if (options.lists) {
    report.lists = await lists(join(scratch, "lists"), undefined);
    printLists(report.lists);
  }
  await besideWaiting(report, scratch);
  if (options.growth) {
    report.growth = await growth(
      await openEmbeddedStore({ file: join(scratch, "growth", "growth.db") }),
      options.payments,
    );
    printGrowth(report.growth);
  }
}

/** Writes that the product has acknowledged. */
async function notified(report: Report, product: BenchServer): Promise<Acknowledged> {
  const { cost, acknowledged } = await notificationCost(product, options.quick ? 4 : 10, 1_500);
  report.notifications = cost;
  printNotificationCost(cost);
  return acknowledged;
}

async function besideWaiting(
  report: Report,
  scratch: string,
  postgres?: BenchPostgres,
): Promise<void> {
  if (options.waiting === undefined) return;
  const plan = options.quick ? { rounds: 4, warmUp: 4_000 } : { rounds: 16, warmUp: 30_000 };
  report.waiting = await waiting(
    join(scratch, "waiting"),
    { waiting: options.waiting, ...plan },
    postgres,
  );
  printWaiting(report.waiting);
}

/**
 * `--million`, `--growth`, `--expiry`, `--waiting` or `--lists` alone do not repeat the whole run;
 * with `--case` they do.
 */
function wanted(part: "load"): boolean {
  const isOther =
    options.million ||
    options.growth ||
    options.expiry ||
    options.lists ||
    options.waiting !== undefined;
  return part === "load" && (options.cases.length > 0 || options.gate || !isOther);
}

async function startTimes(scratch: string, times: number): Promise<number[]> {
  const starts: number[] = [];
  for (let round = 0; round < times; round++) {
    const product = await startProduct(join(scratch, `start-${String(round)}`));
    starts.push(product.startMs);
    await product.stop();
  }
  return starts;
}

async function underLoad(report: Report, scratch: string): Promise<void> {
  const dataDir = options.memory ? ":memory:" : join(scratch, "data");
  const profiling =
    options.profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${options.profile}`];
  const floor =
    options.against === undefined
      ? await startFloor()
      : await startProduct(
          options.memory ? ":memory:" : join(scratch, "reference"),
          [],
          options.against,
        );
  const product = options.control ? await startFloor() : await startProduct(dataDir, profiling);
  const bench = new Bench(options, floor, product);
  try {
    await new Promise((resolve) => setTimeout(resolve, options.quick ? 1_000 : 3_000));
    report.rssAtRestBytes = product.rssBytes();
    console.log(
      `at rest      ${megabytes(report.rssAtRestBytes)} MB resident (the floor ${megabytes(floor.rssBytes())})`,
    );
    await measureCases(report, bench, async (benchCase) => {
      if (!options.gate) return;
      const judged = await gate(benchCase, () => bench.pairs(benchCase, 64));
      if (judged !== undefined) report.gate.push(judged);
    });
    if (selected("open-loop")) await openLoops(report, bench);
    report.rssPeakBytes = product.peakRssBytes;
    console.log(`\nunder load   ${megabytes(report.rssPeakBytes)} MB resident at most`);
  } finally {
    bench.close();
    await Promise.all([floor.stop(), product.stop()]);
  }
  if (options.memory) console.log("nothing is audited: a store in memory leaves no file");
  else if (!options.control) {
    report.audit = auditDatabase(dataDir, bench.acknowledged);
    printAudit(report.audit);
    if (report.audit.faults.length > 0) process.exitCode = 1;
  }
  for (const { name, alarm, ratios, passed } of report.gate) {
    const shown = ratios.map((ratio) => ratio.toFixed(3)).join(", ");
    console.log(
      `gate         ${name}: ${passed ? "passed" : "FAILED"}, ${shown} against an alarm of ${alarm.toFixed(2)}`,
    );
  }
}

/** The reference: the floor, the comparator, or the product itself under other conditions. */
async function referenceOnPostgres(postgres: BenchPostgres, dataDir: string): Promise<BenchServer> {
  const { naive, against, nodes, fsyncDelayMs } = options;
  if (naive) return startNaive(postgres);
  if (against === undefined && nodes === undefined && fsyncDelayMs === undefined)
    return startFloor();
  return startOnPostgres(postgres, await postgres.create(), dataDir, 1, against);
}

/** Measures each requested case at each level; calls `then` after each. */
async function measureCases(
  report: Report,
  bench: Bench,
  then: (benchCase: BenchCase) => Promise<void> = async () => undefined,
): Promise<void> {
  await bench.warmUp();
  printHead();
  for (const benchCase of cases) {
    if (!selected(benchCase.name)) continue;
    const results: PairResult[] = [];
    for (const outstanding of bench.levels()) {
      const result = await bench.pairs(benchCase, outstanding);
      printPair(benchCase, result);
      results.push(result);
    }
    report.cases.push({ name: benchCase.name, title: benchCase.title, results });
    await then(benchCase);
  }
}

/**
 * The cases on PostgreSQL. Both sides use one database server, never at the same time, or two
 * servers if one of them is slowed.
 */
async function underLoadOnPostgres(report: Report, scratch: string): Promise<void> {
  await using normal = await BenchPostgres.start();
  if (options.growth) {
    report.growth = await growth(await openStoreOn(await normal.create()), options.payments, () =>
      normal.cpuMicros(),
    );
    printGrowth(report.growth);
    return;
  }
  if (options.lists) {
    report.lists = await lists(join(scratch, "lists"), normal);
    printLists(report.lists);
    return;
  }
  if (options.waiting !== undefined) {
    await besideWaiting(report, scratch, normal);
    return;
  }
  const { fsyncDelayMs, nodes } = options;
  if (options.cases.includes("notifications")) {
    const url = await normal.create();
    printFaults(
      await faultsOf(
        url,
        await notified(report, await startOnPostgres(normal, url, join(scratch, "notified"))),
      ),
    );
  }
  if (!selectedUnderLoad()) return;
  await using slow =
    fsyncDelayMs === undefined
      ? undefined
      : await withSlowFsync(fsyncDelayMs, () => BenchPostgres.start());
  const postgres = slow ?? normal;
  const reference = await referenceOnPostgres(normal, join(scratch, "reference"));
  const url = await postgres.create();
  const product = await startOnPostgres(postgres, url, join(scratch, "data"), nodes);
  const bench = new Bench(options, reference, product);
  try {
    await measureCases(report, bench);
  } finally {
    bench.close();
    await Promise.all([reference.stop(), product.stop()]);
  }
  printFaults(await faultsOf(url, bench.acknowledged));
}

function printFaults(faults: readonly string[]): void {
  console.log(
    faults.length === 0
      ? "agrees       every acknowledged answer is in the database"
      : `DISAGREES    ${faults.join("; ")}`,
  );
  if (faults.length > 0) process.exitCode = 1;
}

async function openLoops(report: Report, bench: Bench): Promise<void> {
  console.log("");
  for (const perSecond of options.quick ? [1_000] : [1_000, 3_000]) {
    for (const side of ["reference", "subject"] as const) {
      const result = await bench.openLoop(side, perSecond);
      const arm =
        side === "subject" ? "product" : options.against === undefined ? "floor" : "other";
      printOpenLoop(arm, perSecond, result);
      const at = (percent: number): number => result.latency.percentile(percent) / 1_000;
      report.openLoop.push({ arm, perSecond, p50Ms: at(50), p99Ms: at(99), p999Ms: at(99.9) });
    }
  }
}

function selected(name: string): boolean {
  return options.cases.length === 0 || options.cases.includes(name);
}

/** Whether a selected part needs both servers. */
function selectedUnderLoad(): boolean {
  return selected("open-loop") || cases.some(({ name }) => selected(name));
}
