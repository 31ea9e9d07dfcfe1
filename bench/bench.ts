import { randomBytes } from "node:crypto";
import type { BenchCase } from "./cases.ts";
import { Client } from "./client.ts";
import { Loads } from "./loads.ts";
import { openLoop, type OpenLoopResult } from "./open-loop.ts";
import type { Options } from "./options.ts";
import { runPairs, type PairPlan, type PairResult } from "./pairs.ts";
import type { ServerProcess } from "./process.ts";
import { integrationKey } from "./product.ts";
import { sendAll } from "./window.ts";

/** The two servers under load, and what each of them has been asked. */
export class Bench {
  readonly #options: Options;
  readonly #floor: ServerProcess;
  readonly #product: ServerProcess;
  readonly #floorClient: Client;
  readonly #productClient: Client;
  readonly #floorLoads: Loads;
  readonly loads: Loads;

  constructor(options: Options, floor: ServerProcess, product: ServerProcess) {
    const run = randomBytes(3).toString("hex");
    this.#options = options;
    this.#floor = floor;
    this.#product = product;
    this.#floorClient = new Client(floor.port);
    this.#productClient = new Client(product.port);
    this.#floorLoads = new Loads(integrationKey, run, false);
    this.loads = new Loads(integrationKey, run, !options.control);
  }

  /** The tokens that payments are made with. */
  async warmUp(): Promise<void> {
    if (this.#options.control) return;
    await this.#productClient.ensureOpen(64);
    await sendAll(this.#productClient, this.loads.approvedToken(), 2_000, 64);
  }

  levels(): readonly number[] {
    if (this.#options.outstanding.length > 0) return this.#options.outstanding;
    return this.#options.quick ? [64] : [1, 16, 64, 256];
  }

  async pairs(benchCase: BenchCase, outstanding: number): Promise<PairResult> {
    const real = !this.#options.control;
    if (real) await benchCase.prepare?.(this.loads, this.#productClient);
    return runPairs(
      { server: this.#floor, client: this.#floorClient, load: benchCase.load(this.#floorLoads) },
      {
        server: this.#product,
        client: this.#productClient,
        load: benchCase.load(this.loads),
        ...(real && benchCase.refill !== undefined
          ? {
              refill: async (expected: number) => {
                await benchCase.refill?.(this.loads, this.#productClient, expected);
              },
            }
          : {}),
      },
      this.#plan(outstanding),
    );
  }

  #plan(outstanding: number): PairPlan {
    return this.#options.quick
      ? { outstanding, pairs: 10, discarded: 4, rampMs: 40, windowMs: 200 }
      : { outstanding, pairs: 24, discarded: 8, rampMs: 50, windowMs: 300 };
  }

  /** Charges by token at fixed times, on 128 connections. */
  async openLoop(arm: "floor" | "product", perSecond: number): Promise<OpenLoopResult> {
    const client = arm === "floor" ? this.#floorClient : this.#productClient;
    const loads = arm === "floor" ? this.#floorLoads : this.loads;
    await client.ensureOpen(128);
    return openLoop(client, loads.directByToken(), perSecond, 1_000, this.#options.quick ? 3_000 : 10_000);
  }

  close(): void {
    this.#floorClient.close();
    this.#productClient.close();
  }
}
