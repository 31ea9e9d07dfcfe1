import { performance, type RecordableHistogram } from "node:perf_hooks";
import type { Client } from "./client.ts";
import type { Answer } from "./framing.ts";

/** Source of requests and consumer of answers. */
export interface Load {
  /**
   * The next request for this lane, or undefined when none is left. The bytes do not change until
   * it is answered.
   */
  request(lane: number): Buffer | undefined;
  /**
   * Throws if the answer is not the expected one: a harness must not count failures as throughput.
   */
  answered(lane: number, answer: Answer): void;
}

export interface WindowPlan {
  readonly outstanding: number;
  /** Time at the start that is not counted, so that the pipeline is full when counting begins. */
  readonly rampMs: number;
  readonly windowMs: number;
  /**
   * CPU time of the server so far, in microseconds; undefined where the system does not report it.
   */
  readonly cpuMicros: () => number | undefined;
  /** Records latencies in microseconds. */
  readonly latency: RecordableHistogram;
}

export interface WindowResult {
  readonly answers: number;
  readonly elapsedMs: number;
  readonly cpuMicros: number | undefined;
}

/** Keeps `outstanding` requests in flight for one window, then waits for the last answers. */
export function closedLoop(client: Client, load: Load, plan: WindowPlan): Promise<WindowResult> {
  return new Promise((resolve, reject) => {
    const countFrom = performance.now() + plan.rampMs;
    const stopAt = countFrom + plan.windowMs;
    let underWay = 0;
    let answers = 0;
    let began: { readonly at: number; readonly cpu: number | undefined } | undefined;
    let result: WindowResult | undefined;

    const finish = (now: number): void => {
      const cpu = plan.cpuMicros();
      result =
        began === undefined
          ? { answers: 0, elapsedMs: 0, cpuMicros: undefined }
          : {
              answers,
              elapsedMs: now - began.at,
              cpuMicros: cpu === undefined || began.cpu === undefined ? undefined : cpu - began.cpu,
            };
    };
    const feed = (lane: number, now: number): void => {
      const request = load.request(lane);
      if (request === undefined) {
        // The load has no requests left: the window ends early.
        if (result === undefined) finish(now);
        return;
      }
      underWay++;
      client.send(lane, request, now);
    };

    client.listen((lane, answer, startedAt, now) => {
      load.answered(lane, answer);
      underWay--;
      if (result === undefined) {
        if (began === undefined) {
          if (now >= countFrom) began = { at: now, cpu: plan.cpuMicros() };
        } else {
          answers++;
          plan.latency.record(Math.max(1, Math.round((now - startedAt) * 1_000)));
          if (now >= stopAt) finish(now);
        }
      }
      if (result === undefined) feed(lane, performance.now());
      if (underWay === 0 && result !== undefined) resolve(result);
    }, reject);
    for (let lane = 0; lane < plan.outstanding; lane++) feed(lane, performance.now());
    if (underWay === 0) reject(new Error("the load had nothing to ask"));
  });
}

/** Sends `count` requests, at most `outstanding` at a time, and resolves when all are answered. */
export function sendAll(
  client: Client,
  load: Load,
  count: number,
  outstanding: number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let left = count;
    let underWay = 0;
    const feed = (lane: number): void => {
      if (left === 0) return;
      const request = load.request(lane);
      if (request === undefined) throw new Error("the load had less to ask than was wanted");
      left--;
      underWay++;
      client.send(lane, request, performance.now());
    };
    client.listen((lane, answer) => {
      load.answered(lane, answer);
      underWay--;
      feed(lane);
      if (underWay === 0) resolve();
    }, reject);
    for (let lane = 0; lane < outstanding; lane++) feed(lane);
    if (underWay === 0) resolve();
  });
}
