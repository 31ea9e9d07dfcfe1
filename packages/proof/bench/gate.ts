import type { BenchCase } from "./cases.ts";
import type { PairResult } from "./pairs.ts";

export interface GateResult {
  readonly name: string;
  readonly alarm: number;
  readonly ratios: readonly number[];
  readonly passed: boolean;
}

/**
 * A case fails if its ratio is below the alarm in two of three repeats, because one bad minute of
 * the machine is not a regression. Repeats that cannot change the result are skipped.
 */
export async function gate(
  benchCase: BenchCase,
  measure: () => Promise<PairResult>,
): Promise<GateResult | undefined> {
  const alarm = benchCase.goal?.alarm;
  if (alarm === undefined) return undefined;
  const ratios: number[] = [];
  const under = (): number => ratios.filter((ratio) => ratio < alarm).length;
  while (under() < 2 && ratios.length - under() < 2) ratios.push((await measure()).ratio);
  return { name: benchCase.name, alarm, ratios, passed: under() < 2 };
}
