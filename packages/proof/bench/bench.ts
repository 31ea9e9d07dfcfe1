import { randomBytes } from "node:crypto";
import type { BenchCase } from "./cases.ts";
import { Client } from "./client.ts";
import { Loads, type Acknowledged } from "./loads.ts";
import { openLoop, type OpenLoopResult } from "./open-loop.ts";
import type { Options } from "./options.ts";
import { runPairs, type Arm, type PairPlan, type PairResult } from "./pairs.ts";
import type { BenchServer } from "./process.ts";
import { integrationKey } from "./product.ts";
import { sendAll } from "./window.ts";

/** One server, the connections to it, and the requests sent to it. */
class Side {
  readonly server: BenchServer;
  readonly client: Client;
  readonly loads: Loads;
  readonly #isProduct: boolean;

  constructor(server: BenchServer, run: string, isProduct: boolean) {
    this.server = server;
    this.client = new Client(server.ports);
    this.loads = new Loads(integrationKey, run, isProduct);
    this.#isProduct = isProduct;
  }

  /** Creates the tokens that payments are made with. */
  async warmUp(): Promise<void> {
    if (!this.#isProduct) return;
    await this.client.ensureOpen(64);
    await sendAll(this.client, this.loads.approvedToken(), 2_000, 64);
  }

  async armOf(benchCase: BenchCase): Promise<Arm> {
    const arm = { server: this.server, client: this.client, load: benchCase.load(this.loads) };
    if (!this.#isProduct) return arm;
    await benchCase.prepare?.(this.loads, this.client);
    if (benchCase.refill === undefined) return arm;
    return {
      ...arm,
      refill: async (expected) => benchCase.refill?.(this.loads, this.client, expected),
    };
  }
}

/** Two servers under the same load. The first is the floor, or another version of the product. */
export class Bench {
  readonly #options: Options;
  readonly #reference: Side;
  readonly #subject: Side;
  readonly #warm = new Set<BenchCase>();
  readonly #warmForOpenLoop = new Set<"reference" | "subject">();

  constructor(options: Options, reference: BenchServer, subject: BenchServer) {
    const run = randomBytes(3).toString("hex");
    this.#options = options;
    this.#reference = new Side(reference, run, isProduct(options));
    this.#subject = new Side(subject, run, !options.control);
  }

  /** Writes that the subject has acknowledged. */
  get acknowledged(): Acknowledged {
    return this.#subject.loads.acknowledged;
  }

  async warmUp(): Promise<void> {
    await this.#reference.warmUp();
    await this.#subject.warmUp();
  }

  levels(): readonly number[] {
    if (this.#options.outstanding.length > 0) return this.#options.outstanding;
    return this.#options.quick ? [64] : [1, 16, 64, 256];
  }

  /** Measures a case in pairs of windows. Both servers are warmed up on the first run of a case. */
  async pairs(benchCase: BenchCase, outstanding: number): Promise<PairResult> {
    const plan = this.#plan(outstanding, !this.#warm.has(benchCase));
    this.#warm.add(benchCase);
    return runPairs(
      await this.#reference.armOf(benchCase),
      await this.#subject.armOf(benchCase),
      plan,
    );
  }

  /** Requests that each server answers before a case is measured. */
  get #warmUp(): number {
    return this.#options.quick ? 4_000 : 30_000;
  }

  #plan(outstanding: number, isFirst: boolean): PairPlan {
    const { nodes = 1, perNode } = this.#options;
    const both = {
      outstanding,
      floorOutstanding: perNode ? Math.max(1, Math.round(outstanding / nodes)) : outstanding,
    };
    // No window is discarded, and the run ends before the product's database is ten seconds old.
    if (this.#options.cold)
      return {
        ...both,
        pairs: 12,
        discarded: 0,
        warmUp: 0,
        coldPairs: 0,
        rampMs: 50,
        windowMs: 300,
      };
    const { quick } = this.#options;
    const warming = isFirst ? { warmUp: this.#warmUp, coldPairs: 4 } : { warmUp: 0, coldPairs: 0 };
    return quick
      ? { ...both, ...warming, pairs: 7, discarded: 1, rampMs: 40, windowMs: 200 }
      : { ...both, ...warming, pairs: 18, discarded: 2, rampMs: 50, windowMs: 300 };
  }

  /** Charges by token at fixed times, on 128 connections. */
  async openLoop(of: "reference" | "subject", perSecond: number): Promise<OpenLoopResult> {
    const { client, loads } = of === "reference" ? this.#reference : this.#subject;
    const load = loads.directByToken();
    if (!this.#warmForOpenLoop.has(of)) {
      this.#warmForOpenLoop.add(of);
      await client.ensureOpen(64);
      await sendAll(client, load, this.#warmUp, 64);
    }
    await client.ensureOpen(128);
    return openLoop(client, load, perSecond, 1_000, this.#options.quick ? 3_000 : 10_000);
  }

  close(): void {
    this.#reference.client.close();
    this.#subject.client.close();
  }
}

/**
 * Whether the reference is the product too: another version, or the same under other conditions.
 */
function isProduct({ against, nodes, fsyncDelayMs }: Options): boolean {
  return against !== undefined || nodes !== undefined || fsyncDelayMs !== undefined;
}
