import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { median, quantile } from "./statistics.ts";

/** The machine's speed during this minute, so that a noisy machine shows beside the results. */
export interface Calibration {
  /**
   * Times of slices of JSON and form parsing, in ms: work that a neighbour on the same core slows.
   */
  readonly jsonMsP10: number;
  readonly jsonMsMedian: number;
  readonly jsonMsP90: number;
  /** Times of slices of plain arithmetic, in ms: slowed only when the core itself is taken away. */
  readonly arithmeticMsP10: number;
  readonly arithmeticMsMedian: number;
  readonly arithmeticMsP90: number;
  /** Median time to append and synchronize 12 KB on the disk of the run, in microseconds. */
  readonly fsyncMicrosMedian: number;
}

/** Takes about one second. */
export function calibrate(directory: string): Calibration {
  const json = slices(450, jsonSlice);
  const arithmetic = slices(350, arithmeticSlice);
  return {
    jsonMsP10: quantile(json, 0.1),
    jsonMsMedian: median(json),
    jsonMsP90: quantile(json, 0.9),
    arithmeticMsP10: quantile(arithmetic, 0.1),
    arithmeticMsMedian: median(arithmetic),
    arithmeticMsP90: quantile(arithmetic, 0.9),
    fsyncMicrosMedian: median(fsyncs(directory, 200)) * 1_000,
  };
}

function slices(forMs: number, slice: () => void): number[] {
  for (let warmUp = 0; warmUp < 5; warmUp++) slice();
  const times: number[] = [];
  const end = performance.now() + forMs;
  while (performance.now() < end) {
    const begin = performance.now();
    slice();
    times.push(performance.now() - begin);
  }
  return times;
}

const form = `request_body=${encodeURIComponent(JSON.stringify({ payment: { name: "x".repeat(300), list: [1, 2, 3], text: "y".repeat(200) } }))}`;
let sink = 0;

function jsonSlice(): void {
  for (let round = 0; round < 200; round++) {
    const tree: unknown = JSON.parse(new URLSearchParams(form).get("request_body") ?? "");
    if (typeof tree === "object") sink++;
  }
}

function arithmeticSlice(): void {
  let state = sink | 1;
  for (let round = 0; round < 1_000_000; round++)
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
  sink = state;
}

function fsyncs(directory: string, count: number): number[] {
  const folder = mkdtempSync(join(directory, "fsync-"));
  const file = openSync(join(folder, "probe"), "w");
  const page = Buffer.alloc(12_288, 1);
  const times: number[] = [];
  for (let round = 0; round < count; round++) {
    const begin = performance.now();
    writeSync(file, page);
    fsyncSync(file);
    times.push(performance.now() - begin);
  }
  closeSync(file);
  rmSync(folder, { recursive: true });
  return times;
}
