import type { Calibration } from "./calibration.ts";
import type { PairResult } from "./pairs.ts";

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

const columns = ["case", "out", "ratio", "quartiles", "req/s", "floor", "cpu us", "floor", "p50 ms", "p95", "p99"] as const;
const widths = [20, 4, 7, 13, 8, 8, 7, 6, 8, 8, 8] as const;

export function printHead(): void {
  console.log("");
  console.log(row([...columns]));
}

export function printPair(title: string, result: PairResult): void {
  const { floor, product } = result;
  console.log(
    row([
      title,
      String(result.outstanding),
      result.ratio.toFixed(3),
      `${result.ratioQ1.toFixed(3)}-${result.ratioQ3.toFixed(3)}`,
      String(Math.round(product.perSecond)),
      String(Math.round(floor.perSecond)),
      product.cpuMicros === undefined ? "-" : product.cpuMicros.toFixed(1),
      floor.cpuMicros === undefined ? "-" : floor.cpuMicros.toFixed(1),
      fixed(product.p50Ms),
      fixed(product.p95Ms),
      fixed(product.p99Ms),
    ]),
  );
}

function row(cells: readonly string[]): string {
  return cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[at] ?? 8))).join(" ");
}

export function fixed(value: number): string {
  return value.toFixed(2);
}
