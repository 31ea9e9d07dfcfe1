import type { BenchCase } from "./cases.ts";
import type { PairResult } from "./pairs.ts";

export interface GateResult {
  readonly name: string;
  readonly alarm: number;
  readonly ratios: readonly number[];
  readonly passed: boolean;
}

/**
 * A case fails when its ratio is under the alarm in two of three repeats: one bad minute of the
 * machine is no regression. The repeats that cannot change the answer are not run.
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
