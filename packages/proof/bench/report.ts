import type { Calibration } from "./calibration.ts";
import type { BenchCase } from "./cases.ts";
import type { PairResult } from "./pairs.ts";
import type { ListsReport } from "./lists.ts";
import type { ExpiryFigures, ExpiryReport } from "./expiry.ts";
import type { Audit } from "./audit.ts";
import type { NotificationCost } from "./notification-cost.ts";
import type { StoreFigures } from "./store-figures.ts";
import type { MillionReport } from "./million.ts";
import type { OpenLoopResult } from "./open-loop.ts";

export interface CaseReport {
  readonly name: string;
  readonly title: string;
  readonly results: readonly PairResult[];
}

export function printCalibration(calibration: Calibration): void {
  console.log(
    `calibration  JSON work ${fixed(calibration.jsonMsMedian)} ms a slice (p10 ${fixed(calibration.jsonMsP10)}, p90 ${fixed(calibration.jsonMsP90)}),` +
      ` arithmetic ${fixed(calibration.arithmeticMsMedian)} (${fixed(calibration.arithmeticMsP10)}, ${fixed(calibration.arithmeticMsP90)}),` +
      ` fsync of 12 KB ${String(Math.round(calibration.fsyncMicrosMedian))} us`,
  );
}

const columns = [
  "case",
  "out",
  "ratio",
  "quartiles",
  "req/s",
  "floor",
  "cpu us",
  "goal",
  "cold",
  "floor",
  "x floor",
  "cpu ratio",
  "p50 ms",
  "p95",
  "p99",
] as const;
const widths = [18, 4, 6, 12, 7, 7, 7, 5, 7, 6, 8, 18, 8, 8, 8] as const;

export function printHead(): void {
  console.log("");
  console.log(row([...columns]));
}

export function printPair({ title, cpuGoalMicros }: BenchCase, result: PairResult): void {
  const { floor, product, cold, cpuRatio } = result;
  console.log(
    row([
      title,
      String(result.outstanding),
      result.ratio.toFixed(3),
      `${result.ratioQ1.toFixed(3)}-${result.ratioQ3.toFixed(3)}`,
      String(Math.round(product.perSecond)),
      String(Math.round(floor.perSecond)),
      micros(product.cpuMicros),
      cpuGoalMicros === undefined ? "-" : String(cpuGoalMicros),
      micros(cold?.cpuMicros),
      micros(floor.cpuMicros),
      product.cpuMicros === undefined || floor.cpuMicros === undefined
        ? "-"
        : fixed(product.cpuMicros / floor.cpuMicros),
      cpuRatio === undefined
        ? "-"
        : `${fixed(cpuRatio[1])} (${fixed(cpuRatio[0])}-${fixed(cpuRatio[2])})`,
      fixed(product.p50Ms),
      fixed(product.p95Ms),
      fixed(product.p99Ms),
    ]),
  );
}

function micros(value: number | undefined): string {
  return value === undefined ? "-" : value.toFixed(1);
}

function row(cells: readonly string[]): string {
  return cells
    .map((cell, at) => (at === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[at] ?? 8)))
    .join(" ");
}

export function fixed(value: number): string {
  return value.toFixed(2);
}

export function printOpenLoop(
  arm: string,
  perSecond: number,
  { latency, answers, generatorLateMs }: OpenLoopResult,
): void {
  const at = (percent: number): string => fixed(latency.percentile(percent) / 1_000);
  console.log(
    `open loop    ${arm.padEnd(7)} ${String(perSecond)}/s direct by token: p50 ${at(50)} ms, p95 ${at(95)}, p99 ${at(99)}, p99.9 ${at(99.9)}, max ${at(100)}` +
      ` (${String(answers)} answers; the generator was at most ${fixed(generatorLateMs)} ms late)`,
  );
}

export function printExpiry({ expired, before, meanwhile }: ExpiryReport): void {
  const shown = ({ p50Ms, p99Ms, loopDelayMaxMs }: ExpiryFigures): string =>
    `p50 ${fixed(p50Ms)} ms, p99 ${fixed(p99Ms)}, event loop delayed by ${fixed(loopDelayMaxMs)} at most`;
  console.log(`\nexpiry       before: ${shown(before)}`);
  console.log(`             while ${String(expired)} authorizations expire: ${shown(meanwhile)}`);
}

export function printLists({ aloneMs, besideMs, ratio, lists }: ListsReport): void {
  const shown = (rounds: readonly number[]): string => rounds.map(fixed).join(", ");
  console.log(`\nlists        p99 of a query alone ${shown(aloneMs)} ms`);
  console.log(
    `             beside four endless lists ${shown(besideMs)} ms (${String(lists)} pages); ratio ${ratio.toFixed(3)}, median of the rounds`,
  );
}

export function printStoreFigures({ perFsync, audit }: StoreFigures): void {
  const shown = perFsync.map(
    ({ outstanding, chargesPerFsync }) =>
      `${chargesPerFsync.toFixed(1)} at ${String(outstanding)} outstanding`,
  );
  console.log(
    `\ncharges      by token alone, two commits each; charges per fsync: ${shown.join(", ")}`,
  );
  printAudit(audit);
}

export function printNotificationCost({
  cpuMicros,
  ratios,
  rateRatios,
  perSecond,
}: NotificationCost): void {
  const spread = ([middle, q1, q3]: readonly [number, number, number]): string =>
    `${middle.toFixed(3)} (${q1.toFixed(3)}-${q3.toFixed(3)})`;
  const shown = (arm: keyof typeof ratios): string =>
    `CPU ${spread(ratios[arm])}, ${cpuMicros[arm].toFixed(0)} us; rate ${spread(rateRatios[arm])}, ${perSecond[arm].toFixed(0)}/s`;
  console.log(
    `\nnotified     direct by token, without a notification: ${cpuMicros.unnotified.toFixed(0)} us of CPU, ${perSecond.unnotified.toFixed(0)}/s`,
  );
  console.log(`             with a row of the outbox, without a receiver: ${shown("outbox")}`);
  console.log(`             with a receiver on loopback: ${shown("delivered")}`);
  console.log(`             the same with the HMAC alone: ${shown("hmac")}`);
  console.log(`             up to 20 payments a message: ${shown("gathered")}`);
  console.log(`             both: ${shown("gatheredHmac")}`);
}

export function printAudit(audit: Audit): void {
  console.log(
    `stored       ${String(audit.payments)} payments, ${String(audit.tokens)} tokens, ${String(audit.journalLines)} journal lines, ${megabytes(audit.fileBytes)} MB; ` +
      (audit.payments === 0
        ? ""
        : `${audit.bytesPerPayment.toFixed(0)} bytes a payment, ${(audit.bytesPerPayment - audit.payloadBytesPerPayment).toFixed(0)} beyond its payload, `) +
      `${audit.bytesPerToken.toFixed(0)} a token`,
  );
  for (const { name, bytes } of audit.pages.slice(0, 8))
    console.log(`             ${megabytes(bytes).padStart(8)} MB  ${name}`);
  console.log(
    audit.faults.length === 0
      ? "agrees       every acknowledged answer is in the store, no code twice, the ledger sums to zero"
      : `DISAGREES    ${audit.faults.join("; ")}`,
  );
}

export function printMillion(report: MillionReport): void {
  console.log(
    `million      ${String(report.tokens)} tokens at ${report.tokensPerSecond.toFixed(0)}/s: ${megabytes(report.rssBeforeBytes)} MB resident before, ${megabytes(report.rssAfterBytes)} after, ` +
      `${report.bytesPerToken.toFixed(0)} bytes a token; restart ${report.restartMs.toFixed(0)} ms, then ${megabytes(report.rssRestartedBytes)} MB at rest`,
  );
}

export function megabytes(bytes: number | undefined): string {
  return bytes === undefined ? "-" : (bytes / 1_000_000).toFixed(1);
}
