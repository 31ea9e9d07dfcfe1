import { type Loads, recentPayments } from "./loads.ts";
import type { Client } from "./client.ts";
import { sendAll, type Load } from "./window.ts";

/**
 * The alarm thresholds of a gate and the goals of a run: shares of the floor's requests per second
 * at 64 outstanding.
 */
export interface CaseGoal {
  readonly target: number;
  readonly alarm: number;
}

export interface BenchCase {
  readonly name: string;
  readonly title: string;
  readonly goal: CaseGoal | undefined;
  /**
   * Goal for the CPU of all threads per request, in microseconds, at 64 outstanding on a warm
   * server.
   */
  readonly cpuGoalMicros: number | undefined;
  load(loads: Loads): Load;
  /** Creates what must exist in the product before the first window. */
  prepare?(loads: Loads, client: Client): Promise<void>;
  /** Replaces what each window uses up. */
  refill?(loads: Loads, client: Client, answersExpected: number): Promise<void>;
}

const preparing = 64;

export const cases: readonly BenchCase[] = [
  {
    name: "token",
    title: "token creation",
    goal: { target: 0.27, alarm: 0.2 },
    cpuGoalMicros: 78,
    load: (loads) => loads.token(),
  },
  {
    name: "direct-token",
    title: "direct by token",
    goal: { target: 0.2, alarm: 0.15 },
    cpuGoalMicros: 135,
    load: (loads) => loads.directByToken(),
  },
  {
    name: "direct-pan",
    title: "direct by PAN",
    goal: undefined,
    cpuGoalMicros: 102,
    load: (loads) => loads.directByPan(),
  },
  {
    name: "capture",
    title: "capture alone",
    goal: { target: 0.22, alarm: 0.18 },
    cpuGoalMicros: 95,
    load: (loads) => loads.capture(),
    async refill(loads, client, answersExpected) {
      const missing = answersExpected - loads.authorizedWaiting;
      if (missing <= 0) return;
      await client.ensureOpen(preparing);
      await sendAll(client, loads.authorize(), missing, preparing);
    },
  },
  {
    name: "authorize-capture",
    title: "authorize + capture",
    goal: undefined,
    cpuGoalMicros: undefined,
    load: (loads) => loads.authorizeAndCapture(),
  },
  {
    name: "refund",
    title: "refund",
    goal: undefined,
    cpuGoalMicros: undefined,
    load: (loads) => loads.refund(),
    async prepare(loads, client) {
      await client.ensureOpen(1);
      await sendAll(client, loads.refundsThatWait(), 1, 1);
    },
    async refill(loads, client, answersExpected) {
      const missing = answersExpected - loads.refundableWaiting;
      if (missing <= 0) return;
      await client.ensureOpen(preparing);
      await sendAll(client, loads.paymentsToRefund(), missing, preparing);
    },
  },
  {
    name: "verify",
    title: "verify a card",
    goal: undefined,
    cpuGoalMicros: undefined,
    load: (loads) => loads.verify(),
  },
  {
    name: "query",
    title: "query",
    goal: { target: 0.5, alarm: 0.4 },
    cpuGoalMicros: undefined,
    load: (loads) => loads.query(),
    async prepare(loads, client) {
      await client.ensureOpen(preparing);
      await sendAll(client, loads.paymentsToQuery(), 2_000, preparing);
    },
  },
  {
    name: "query-recent",
    title: "query, just made",
    goal: undefined,
    cpuGoalMicros: 35,
    load: (loads) => loads.queryRecent(),
    async prepare(loads, client) {
      await client.ensureOpen(preparing);
      await sendAll(client, loads.paymentsToQuery(), recentPayments, preparing);
    },
  },
];
