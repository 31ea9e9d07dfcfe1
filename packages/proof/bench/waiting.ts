import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { openEmbeddedStore } from "../../server/src/stores/embedded/embedded-store.ts";
import { openStoreOn } from "../../server/test/postgres/databases.ts";
import { Client } from "./client.ts";
import { Loads } from "./loads.ts";
import { openLoop } from "./open-loop.ts";
import type { BenchPostgres } from "./postgres.ts";
import type { BenchServer } from "./process.ts";
import { integrationKey, startOnPostgres, startProduct } from "./product.ts";
import { Receiver } from "./receiver.ts";
import { median, quantile } from "./statistics.ts";
import { fillEmbedded, fillPostgres, type WaitingRows } from "./waiting-rows.ts";
import { sendAll } from "./window.ts";

type Ratio = readonly [median: number, q1: number, q3: number];

/**
 * A server with many waiting deliveries of another merchant, against the same server on an empty
 * store: `full` / `empty`, window by window.
 */
export interface WaitingReport extends WaitingRows {
  readonly rounds: number;
  readonly chargesPerSecond: Ratio;
  /**
   * CPU of all threads, and of the database if there is one, until the last message of the window
   * was answered.
   */
  readonly cpuPerCharge: Ratio;
  /** From the answer to a charge until its message arrives, at `perSecond` charges a second. */
  readonly latencyP50: Ratio;
  readonly latencyP99: Ratio;
  readonly empty: WaitingFigures;
  readonly full: WaitingFigures;
  /** Messages that the waiting merchant's receiver refused during the windows. */
  readonly refused: number;
}

interface WaitingFigures {
  readonly chargesPerSecond: number;
  readonly cpuMicros: number;
  readonly latencyP50Ms: number;
  readonly latencyP99Ms: number;
}

export interface WaitingPlan {
  readonly waiting: number;
  readonly rounds: number;
  readonly warmUp: number;
}

const outstanding = 64;
const chargesPerWindow = 2_000;
const perSecond = 100;
const latencyWindowMs = 3_000;
const discarded = 2;

/** `postgres`: each of the two servers has a database on it. */
export async function waiting(
  scratch: string,
  plan: WaitingPlan,
  postgres?: BenchPostgres,
): Promise<WaitingReport> {
  const broken = await Receiver.open(503);
  const sides: Side[] = [];
  try {
    const empty = await Side.start(join(scratch, "empty"), postgres, undefined);
    sides.push(empty);
    let rows: WaitingRows | undefined;
    const full = await Side.start(join(scratch, "full"), postgres, async (store, address) => {
      rows = await (postgres === undefined ? fillEmbedded : fillPostgres)(
        store,
        address,
        plan.waiting,
        broken.url,
      );
      console.log(
        `waiting      ${String(rows.waiting)} deliveries in ${String(rows.queues)} queues, ${String(rows.due)} of them due`,
      );
    });
    sides.push(full);
    if (rows === undefined) throw new Error("the store is filled before the server starts");
    for (const side of sides) await side.warmUp(plan.warmUp);
    const refusedBefore = broken.messages;
    for (let round = 0; round < plan.rounds + discarded; round += 1) {
      // The order alternates, so that what one side leaves behind affects the other.
      for (const side of round % 2 === 0 ? sides : sides.toReversed())
        await side.window(round >= discarded);
    }
    const ratio = (figure: keyof WaitingFigures): Ratio => {
      const ratios = full.windows.map(
        (window, at) => window[figure] / (empty.windows[at]?.[figure] ?? Number.NaN),
      );
      return [median(ratios), quantile(ratios, 0.25), quantile(ratios, 0.75)];
    };
    return {
      ...rows,
      rounds: plan.rounds,
      chargesPerSecond: ratio("chargesPerSecond"),
      cpuPerCharge: ratio("cpuMicros"),
      latencyP50: ratio("latencyP50Ms"),
      latencyP99: ratio("latencyP99Ms"),
      empty: empty.figures(),
      full: full.figures(),
      refused: broken.messages - refusedBefore,
    };
  } finally {
    for (const side of sides) await side.stop();
    broken.close();
  }
}

/** One server with its merchant, whose receiver gets a message for each charge. */
class Side {
  readonly windows: WaitingFigures[] = [];
  readonly #server: BenchServer;
  readonly #client: Client;
  readonly #loads = new Loads(integrationKey, "wa1ts0", true);
  readonly #receiver: Receiver;
  readonly #times: Times;
  readonly #latencies: number[] = [];

  private constructor(server: BenchServer, receiver: Receiver, times: Times) {
    this.#server = server;
    this.#client = new Client(server.ports);
    this.#receiver = receiver;
    this.#times = times;
  }

  /**
   * `fill` gets the store that the first start has created, while no server has it open, and its
   * address.
   */
  static async start(
    folder: string,
    postgres: BenchPostgres | undefined,
    fill:
      | ((store: Awaited<ReturnType<typeof openStoreOn>>, address: string) => Promise<void>)
      | undefined,
  ): Promise<Side> {
    mkdirSync(folder, { recursive: true });
    const dataDir = join(folder, "data");
    const address = postgres === undefined ? join(dataDir, "cofre.db") : await postgres.create();
    const start = (): Promise<BenchServer> =>
      postgres === undefined ? startProduct(dataDir) : startOnPostgres(postgres, address, dataDir);
    let server = await start();
    if (fill !== undefined) {
      await server.stop();
      await fill(
        postgres === undefined
          ? await openEmbeddedStore({ file: address })
          : await openStoreOn(address),
        address,
      );
      server = await start();
    }
    const times: Times = { answered: new Map(), received: new Map() };
    const receiver = await Receiver.open(200, (hash) =>
      times.received.set(hash, performance.now()),
    );
    const side = new Side(server, receiver, times);
    await side.#configure();
    return side;
  }

  async warmUp(charges: number): Promise<void> {
    await this.#client.ensureOpen(outstanding);
    await sendAll(this.#client, this.#loads.approvedToken(), 2_000, outstanding);
    // Messages are sent more slowly than charges without pauses.
    for (let left = charges; left > 0; left -= chargesPerWindow)
      await this.#charge(Math.min(left, chargesPerWindow));
  }

  async window(isCounted: boolean): Promise<void> {
    const before = this.#cpuMicros();
    const seconds = await this.#charge(chargesPerWindow);
    const cpuMicros = (this.#cpuMicros() - before) / chargesPerWindow;
    const latencies = await this.#latenciesOfWindow();
    if (!isCounted) return;
    this.#latencies.push(...latencies);
    this.windows.push({
      chargesPerSecond: chargesPerWindow / seconds,
      cpuMicros,
      latencyP50Ms: median(latencies),
      latencyP99Ms: quantile(latencies, 0.99),
    });
  }

  figures(): WaitingFigures {
    const of = (figure: keyof WaitingFigures): number =>
      median(this.windows.map((window) => window[figure]));
    return {
      chargesPerSecond: of("chargesPerSecond"),
      cpuMicros: of("cpuMicros"),
      latencyP50Ms: median(this.#latencies),
      latencyP99Ms: quantile(this.#latencies, 0.99),
    };
  }

  async stop(): Promise<void> {
    this.#client.close();
    await this.#server.stop();
    this.#receiver.close();
  }

  /** Seconds until all charges are answered; resolves when all messages have arrived. */
  async #charge(count: number): Promise<number> {
    const until = this.#receiver.received + count;
    await this.#client.ensureOpen(outstanding);
    const begin = performance.now();
    await sendAll(this.#client, this.#loads.directByToken(), count, outstanding);
    const seconds = (performance.now() - begin) / 1_000;
    await this.#receiver.reaches(until);
    return seconds;
  }

  async #latenciesOfWindow(): Promise<readonly number[]> {
    const { answered, received } = this.#times;
    answered.clear();
    received.clear();
    const until = this.#receiver.received + (perSecond * latencyWindowMs) / 1_000;
    await this.#client.ensureOpen(outstanding);
    const load = this.#loads.directByToken((hash) => answered.set(hash, performance.now()));
    await openLoop(this.#client, load, perSecond, 0, latencyWindowMs);
    await this.#receiver.reaches(until);
    return Array.from(answered, ([hash, at]) => {
      const receivedAt = received.get(hash);
      if (receivedAt === undefined)
        throw new Error("no message arrived for a charge that was answered");
      return receivedAt - at;
    });
  }

  #cpuMicros(): number {
    const micros = this.#server.cpuMicros();
    if (micros === undefined) throw new Error("this system does not tell what a process costs");
    return micros;
  }

  async #configure(): Promise<void> {
    const notificationEndpoints = [{ id: "shop", url: this.#receiver.url, signatures: ["hmac"] }];
    const body = JSON.stringify({
      integration_key: integrationKey,
      settings: { notifySynchronous: true, notificationEndpoints },
    });
    const answer = await fetch(
      `http://127.0.0.1:${String(this.#server.ports[0])}/__cofre/settings`,
      { method: "POST", body },
    );
    if (!(await answer.text()).includes('"SUCCESS"')) throw new Error("the settings were refused");
  }
}

/** By payment: when its charge was answered, and when its message arrived. */
interface Times {
  readonly answered: Map<string, number>;
  readonly received: Map<string, number>;
}

export function printWaiting(report: WaitingReport): void {
  const { waiting: count, queues, due, rounds, empty, full, refused } = report;
  const shown = ([middle, q1, q3]: Ratio): string =>
    `${middle.toFixed(3)} (${q1.toFixed(3)}-${q3.toFixed(3)})`;
  const both = (figure: keyof WaitingFigures, digits: number): string =>
    `${full[figure].toFixed(digits)} to ${empty[figure].toFixed(digits)}`;
  console.log(
    `\nwaiting      beside ${String(count)} deliveries in ${String(queues)} queues (${String(due)} due) to none, ${String(rounds)} pairs`,
  );
  console.log(
    `             charges a second: ${shown(report.chargesPerSecond)}, ${both("chargesPerSecond", 0)}`,
  );
  console.log(
    `             CPU per charge and its message: ${shown(report.cpuPerCharge)}, ${both("cpuMicros", 0)} us`,
  );
  console.log(
    `             answer to message, p50: ${shown(report.latencyP50)}, ${both("latencyP50Ms", 1)} ms`,
  );
  console.log(
    `             answer to message, p99: ${shown(report.latencyP99)}, ${both("latencyP99Ms", 1)} ms`,
  );
  console.log(
    `             the waiting merchant's receiver refused ${String(refused)} messages meanwhile`,
  );
}
