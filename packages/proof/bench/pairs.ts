import { createHistogram } from "node:perf_hooks";
import type { Client } from "./client.ts";
import type { BenchServer } from "./process.ts";
import { median, quantile } from "./statistics.ts";
import { closedLoop, type Load, sendAll, type WindowResult } from "./window.ts";

/** One server with the load that it gets. */
export interface Arm {
  readonly server: BenchServer;
  readonly client: Client;
  readonly load: Load;
  /** Prepares what the next window uses up; not measured. */
  readonly refill?: (answersExpected: number) => Promise<void>;
}

export interface PairPlan {
  readonly outstanding: number;
  /** Outstanding requests of the first arm. */
  readonly floorOutstanding: number;
  readonly pairs: number;
  /** Number of first pairs that are run and discarded. */
  readonly discarded: number;
  /**
   * Requests that each arm answers before the pairs, so that its code is compiled: until about
   * 26,000 charges V8's compiler takes up to a third of a charge's CPU. 0: none.
   */
  readonly warmUp: number;
  /** Pairs before the warm-up, which give the cold figures. */
  readonly coldPairs: number;
  readonly rampMs: number;
  readonly windowMs: number;
}

export interface ArmResult {
  readonly perSecond: number;
  /** Over all counted windows; undefined where the system does not report it. */
  readonly cpuMicros: number | undefined;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly answers: number;
}

export interface PairResult {
  readonly outstanding: number;
  /** Median over pairs of product per second / floor per second, and the quartiles. */
  readonly ratio: number;
  readonly ratioQ1: number;
  readonly ratioQ3: number;
  /**
   * The same for the CPU per request: quartiles and median; undefined where the system does not
   * report it.
   */
  readonly cpuRatio: readonly [q1: number, median: number, q3: number] | undefined;
  readonly floor: ArmResult;
  readonly product: ArmResult;
  /** The product before the warm-up; undefined without cold pairs. */
  readonly cold?: ArmResult;
}

/**
 * Alternates windows: floor, product, floor, product. Disturbances of the machine affect both, so
 * the ratio is steady where requests per second are not.
 */
export async function runPairs(floor: Arm, product: Arm, plan: PairPlan): Promise<PairResult> {
  const cold =
    plan.coldPairs === 0
      ? undefined
      : await alternate(floor, product, plan, { pairs: plan.coldPairs, discarded: 0 });
  await warmUp(floor, plan.warmUp);
  await warmUp(product, plan.warmUp);
  const { ratios, cpuRatios, ...arms } = await alternate(floor, product, plan, plan);
  if (ratios.length === 0) throw new Error("no pair of windows could be counted");
  return {
    outstanding: plan.outstanding,
    ratio: median(ratios),
    ratioQ1: quantile(ratios, 0.25),
    ratioQ3: quantile(ratios, 0.75),
    cpuRatio:
      cpuRatios.length === 0
        ? undefined
        : [quantile(cpuRatios, 0.25), median(cpuRatios), quantile(cpuRatios, 0.75)],
    ...arms,
    ...(cold === undefined ? {} : { cold: cold.product }),
  };
}

const warmedAtOnce = 64;
/** As many as a load has ready between two refills. */
const warmedPerPiece = 2_000;

async function warmUp(arm: Arm, requests: number): Promise<void> {
  for (let left = requests; left > 0; left -= warmedPerPiece) {
    await arm.refill?.(warmedPerPiece);
    await arm.client.ensureOpen(warmedAtOnce);
    await sendAll(arm.client, arm.load, Math.min(left, warmedPerPiece), warmedAtOnce);
  }
}

async function alternate(
  floor: Arm,
  product: Arm,
  plan: PairPlan,
  { pairs, discarded }: Pick<PairPlan, "pairs" | "discarded">,
): Promise<{
  readonly ratios: readonly number[];
  readonly cpuRatios: readonly number[];
  readonly floor: ArmResult;
  readonly product: ArmResult;
}> {
  const ratios: number[] = [];
  const cpuRatios: number[] = [];
  const floorSum = new ArmSum();
  const productSum = new ArmSum();
  let lastFloor: WindowResult | undefined;
  let lastProduct: WindowResult | undefined;
  for (let pair = 0; pair < pairs; pair++) {
    const counted = pair >= discarded;
    await floor.refill?.(expectedAnswers(lastFloor, plan));
    const a = await runWindow(
      floor,
      plan,
      plan.floorOutstanding,
      counted ? floorSum : new ArmSum(),
    );
    await product.refill?.(expectedAnswers(lastProduct, plan));
    const b = await runWindow(product, plan, plan.outstanding, counted ? productSum : new ArmSum());
    lastFloor = a;
    lastProduct = b;
    if (!counted || a.elapsedMs === 0 || b.elapsedMs === 0) continue;
    ratios.push(perSecond(b) / perSecond(a));
    const [cpuOfFloor, cpuOfProduct] = [cpuOfAnswer(a), cpuOfAnswer(b)];
    if (cpuOfFloor !== undefined && cpuOfProduct !== undefined)
      cpuRatios.push(cpuOfProduct / cpuOfFloor);
  }
  return { ratios, cpuRatios, floor: floorSum.result(), product: productSum.result() };
}

async function runWindow(
  arm: Arm,
  plan: PairPlan,
  outstanding: number,
  sum: ArmSum,
): Promise<WindowResult> {
  await arm.client.ensureOpen(outstanding);
  const result = await closedLoop(arm.client, arm.load, {
    outstanding,
    rampMs: plan.rampMs,
    windowMs: plan.windowMs,
    cpuMicros: () => arm.server.cpuMicros(),
    latency: sum.latency,
  });
  arm.server.rssBytes();
  sum.add(result);
  return result;
}

/**
 * One and a half times what the last window and its ramp took, because the machine may get faster.
 */
function expectedAnswers(last: WindowResult | undefined, plan: PairPlan): number {
  const rate = last === undefined || last.elapsedMs === 0 ? 15_000 : perSecond(last);
  return Math.ceil((rate * 1.5 * (plan.rampMs + plan.windowMs)) / 1_000) + plan.outstanding;
}

function perSecond(result: WindowResult): number {
  return (result.answers * 1_000) / result.elapsedMs;
}

/** Undefined where it cannot be compared. */
function cpuOfAnswer({ cpuMicros, answers }: WindowResult): number | undefined {
  return cpuMicros === undefined || cpuMicros === 0 || answers === 0
    ? undefined
    : cpuMicros / answers;
}

class ArmSum {
  readonly latency = createHistogram();
  readonly #rates: number[] = [];
  #answers = 0;
  #cpuMicros: number | undefined = 0;

  add(result: WindowResult): void {
    this.#answers += result.answers;
    if (result.elapsedMs > 0) this.#rates.push(perSecond(result));
    this.#cpuMicros =
      this.#cpuMicros === undefined || result.cpuMicros === undefined
        ? undefined
        : this.#cpuMicros + result.cpuMicros;
  }

  result(): ArmResult {
    return {
      perSecond: median(this.#rates),
      cpuMicros: this.#cpuMicros === undefined ? undefined : this.#cpuMicros / this.#answers,
      p50Ms: this.latency.percentile(50) / 1_000,
      p95Ms: this.latency.percentile(95) / 1_000,
      p99Ms: this.latency.percentile(99) / 1_000,
      answers: this.#answers,
    };
  }
}
