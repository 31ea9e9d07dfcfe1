import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Chance } from "../../../server/test/support/chance.ts";
import { CofreProcess } from "../../../server/test/support/cofre-process.ts";
import { HistoryClient } from "./history-calls.ts";
import { type Call, hasLegalOrder } from "./history-checker.ts";
import { WireClient } from "../../../server/test/support/wire-client.ts";

export interface HistoryOptions {
  /** packages/server, or a copy of it with a planted bug. */
  readonly root: string;
  readonly seed: number;
  readonly payments: number;
  /** Stop at the first history without a legal order. */
  readonly stop?: boolean;
}

export interface HistoryReport {
  readonly calls: number;
  /** Calls whose connection was cut before the answer. */
  readonly unanswered: number;
  /** Number of each answer: `refund done`. */
  readonly outcomes: ReadonlyMap<string, number>;
  /** Histories in which recovery may have begun; they are not judged. */
  readonly slow: number;
  /** Histories without a legal order, as text. */
  readonly illegal: readonly string[];
}

export const callsOfPayment = 20;
const callersOfPayment = 4;
const paymentsAtOnce = 8;
/** Thousandths of all messages to the acquirer. */
const lostAnswers = 30;
const integrationKey = "test_ik_historyhistoryhistoryhis";

/**
 * Merchants that send all kinds of requests at once about the same few payments, to a server in its
 * own process.
 */
export async function runHistories({
  root,
  seed,
  payments,
  stop = false,
}: HistoryOptions): Promise<HistoryReport> {
  const scratch = mkdtempSync(join(tmpdir(), "cofre-histories-"));
  const server = CofreProcess.spawn({
    root,
    dataDirectory: join(scratch, "data"),
    logDirectory: scratch,
    name: "server",
    environment: {
      COFRE_SANDBOX_INTEGRATION_KEY: integrationKey,
      COFRE_ACQUIRER_TIMEOUT_MS: "100",
    },
  });
  const outcomes = new Map<string, number>();
  const illegal: string[] = [];
  let calls = 0;
  let slow = 0;
  try {
    const port = await server.listening();
    if (port === undefined)
      throw new Error(`Cofre does not start: ${readFileSync(server.stderrFile, "utf8")}`);
    await settle(port);
    const connections = callersOfPayment * paymentsAtOnce;
    using client = new HistoryClient({
      port,
      integrationKey,
      connections,
      chance: new Chance(seed),
      cuts: 80,
    });
    const queue = Array.from(
      { length: payments },
      (_, index) => `history-${seed}-${index}`,
    ).values();
    const work = async (): Promise<void> => {
      for (const code of queue) {
        if (stop && illegal.length > 0) return;
        const history: Call[] = [];
        const caller = async (): Promise<void> => {
          let last: Call | undefined;
          for (let time = 0; time < callsOfPayment / callersOfPayment; time += 1)
            history.push((last = await client.call(code, last)));
        };
        await Promise.all(Array.from({ length: callersOfPayment }, caller));
        calls += history.length;
        for (const { ask, reported } of history) {
          const outcome = `${ask.kind} ${reported ?? "unheard"}`;
          outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        }
        if (lastedMs(history) > recoveryMs) slow += 1;
        else if (!hasLegalOrder(history)) illegal.push(`${code}\n${reported(history)}`);
      }
    };
    await Promise.all(Array.from({ length: paymentsAtOnce }, work));
  } finally {
    await server.end("SIGTERM");
    rmSync(scratch, { recursive: true, force: true });
  }
  const unanswered = [...outcomes].reduce(
    (sum, [outcome, times]) => (outcome.endsWith(" unheard") ? sum + times : sum),
    0,
  );
  return { calls, unanswered, outcomes, slow, illegal };
}

/**
 * Recovery inquires 5 seconds after the acquirer timeout: within this time a lost answer stays
 * lost.
 */
const recoveryMs = 4_500;

function lastedMs(history: readonly Call[]): number {
  return (
    Math.max(...history.map(({ ended }) => ended)) - Math.min(...history.map(({ began }) => began))
  );
}

/** A slow acquirer widens races; refunds stay requested during a history. */
async function settle(port: number): Promise<void> {
  const client = new WireClient(1);
  const settings = {
    simulator: { latencyMs: 4, loseAnswer: lostAnswers },
    partialCapture: true,
    refundRequestedMinutes: 60,
  };
  const answer = await client.ask(port, "/__cofre/settings", {
    integration_key: integrationKey,
    settings,
  });
  client.close();
  if (answer?.["status"] !== "SUCCESS") throw new Error("the account's settings were not changed");
}

/** A history as text, in the order in which its calls began. */
function reported(history: readonly Call[]): string {
  const [first] = history.map(({ began }) => began).toSorted((a, b) => a - b);
  const since = (at: number): string => (at - (first ?? 0)).toFixed(1);
  return history
    .toSorted((a, b) => a.began - b.began)
    .map(({ ask, key, began, ended, reported: answer }) => {
      const name = key === undefined ? "" : ` under ${key}`;
      return `  ${since(began)} to ${since(ended)} ms: ${Object.values(ask).join(" ")}${name}: ${answer ?? "nobody heard"}`;
    })
    .join("\n");
}
