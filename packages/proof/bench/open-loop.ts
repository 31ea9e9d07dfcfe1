import { createHistogram, performance, type RecordableHistogram } from "node:perf_hooks";
import type { Client } from "./client.ts";
import type { Load } from "./window.ts";

export interface OpenLoopResult {
  /**
   * Latencies in microseconds, from the tick in which a request was due, so the wait for a free
   * connection counts.
   */
  readonly latency: RecordableHistogram;
  readonly answers: number;
  /**
   * The longest delay of the generator itself, in ms: if it is large, the machine was slow, not the
   * server.
   */
  readonly generatorLateMs: number;
}

/**
 * Sends requests at fixed times, whether or not earlier ones are answered. A closed loop hides
 * latency, because a slow server receives fewer requests. Ticks are 1 ms apart; each sends
 * everything that has become due since the last.
 */
export function openLoop(
  client: Client,
  load: Load,
  perSecond: number,
  warmUpMs: number,
  measuredMs: number,
): Promise<OpenLoopResult> {
  return new Promise((resolve, reject) => {
    const latency = createHistogram();
    const free = Array.from({ length: client.lanes }, (_, lane) => lane);
    /** Due times of the requests that wait for a free connection, oldest first. */
    const waiting: number[] = [];
    const begin = performance.now();
    const countFrom = begin + warmUpMs;
    const end = countFrom + measuredMs;
    const total = Math.floor(((warmUpMs + measuredMs) / 1_000) * perSecond);
    let sent = 0;
    let answers = 0;
    let generatorLateMs = 0;

    const dispatch = (lane: number, due: number): void => {
      const request = load.request(lane);
      if (request === undefined) throw new Error("the load had less to ask than was wanted");
      client.send(lane, request, due);
    };
    const finishIfDone = (): void => {
      if (sent === total && waiting.length === 0 && free.length === client.lanes)
        resolve({ latency, answers, generatorLateMs });
    };
    client.listen((lane, answer, startedAt, now) => {
      load.answered(lane, answer);
      if (startedAt >= countFrom) {
        answers++;
        latency.record(Math.max(1, Math.round((now - startedAt) * 1_000)));
      }
      const due = waiting.shift();
      if (due === undefined) free.push(lane);
      else dispatch(lane, due);
      finishIfDone();
    }, reject);

    const tick = (): void => {
      const now = performance.now();
      const due = Math.min(total, Math.floor(((now - begin) / 1_000) * perSecond));
      if (sent < due && now >= countFrom && now < end) {
        generatorLateMs = Math.max(
          generatorLateMs,
          now - (begin + ((sent + 1) * 1_000) / perSecond),
        );
      }
      for (; sent < due; sent++) {
        // Uses the lane that was idle longest, so that the server closes none as idle.
        const lane = free.shift();
        if (lane === undefined) waiting.push(now);
        else dispatch(lane, now);
      }
      finishIfDone();
      if (sent < total) setTimeout(tick, 1);
    };
    tick();
  });
}
