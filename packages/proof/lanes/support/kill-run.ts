import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startAcquirer } from "../../../server/test/acquirer/start-acquirer.ts";
import { Chance } from "../../../server/test/support/chance.ts";
import { booksOf, brokenPromises } from "./check-promises.ts";
import { CofreProcess } from "../../../server/test/support/cofre-process.ts";
import { until } from "./faulty-run.ts";
import { factsOfFile } from "./judge-facts.ts";
import { tokenDigestsOf } from "../../../server/test/row-macs.ts";
import { attemptsInFlight } from "../../../server/test/support/attempts-in-flight.ts";
import { KillJudge } from "./kill-judge.ts";
import { KillLoad } from "./kill-load.ts";
import { Promises } from "./kill-promises.ts";
import { LoopDisk } from "./loop-disk.ts";
import { WireClient } from "../../../server/test/support/wire-client.ts";

export interface KillOptions {
  /** packages/server, or a copy of it with a planted bug. */
  readonly root: string;
  readonly cycles: number;
  readonly seed: number;
  /**
   * The power fails with each kill: data that was not synchronized is lost. Needs a loop device.
   */
  readonly power?: boolean;
  /** Stop at the first crash with a violation. */
  readonly stop?: boolean;
  /** Time limit for recovery at the end. */
  readonly settleMs: number;
}

export interface KillReport {
  readonly violations: readonly string[];
  readonly figures: Readonly<Record<string, number>>;
}

const integrationKey = "test_ik_killkillkillkillkillkill";
const clients = 24;
const answerMs = 400;
/**
 * Acquirer timeout after the faults: a late answer on a busy machine must not become an unknown
 * outcome, which recovery would resolve minutes later.
 */
const faultlessAnswerMs = 20_000;
/**
 * A request may reach the acquirer this long after it was sent; shorter than the pause before the
 * last start.
 */
const lateArrivalMs = 300;

/**
 * Minimum number of acknowledged writes before every second kill, on a busy machine too; the other
 * kills may come before the first write. A power failure always waits for one, because a server
 * that loses everything would otherwise have lost nothing.
 */
const writesBeforeKill = 40;

/** In thousandths: some of each fault, few enough that most requests succeed. */
const faults = { latencyMs: 3, loseRequest: 10, loseAnswer: 15, lateAnswer: 10, doubleRequest: 30 };
const noFaults = { latencyMs: 0, loseRequest: 0, loseAnswer: 0, lateAnswer: 0, doubleRequest: 0 };

/**
 * Kills Cofre repeatedly under load and restarts it on its data, while the acquirer keeps running;
 * each crash is judged by the acquirer's books and the answers that clients received.
 */
export async function runKills(options: KillOptions): Promise<KillReport> {
  const scratch = mkdtempSync(join(tmpdir(), "cofre-kill-"));
  const acquirer = await startAcquirer([
    "--remembered-references",
    "1000000",
    "--late-arrival-ms",
    String(lateArrivalMs),
  ]);
  let run: KillRun | undefined;
  let disk: LoopDisk | undefined;
  try {
    if (options.power === true) disk = new LoopDisk(scratch);
    run = new KillRun(options, scratch, acquirer.address, disk);
    await run.run();
    return { violations: run.violations(), figures: run.figures() };
  } finally {
    await run?.close();
    await acquirer.stop();
    disk?.[Symbol.dispose]();
    rmSync(scratch, { recursive: true, force: true });
  }
}

class KillRun {
  readonly #violations = new Map<string, number>();
  readonly #options: KillOptions;
  readonly #scratch: string;
  readonly #acquirerAddress: string;
  readonly #disk: LoopDisk | undefined;
  readonly #dataDirectory: string;
  readonly #client = new WireClient(clients);
  readonly #chance: Chance;
  readonly #promises = new Promises();
  readonly #load: KillLoad;
  #cycle = 0;
  #starts = 0;
  #server: CofreProcess | undefined;
  #port: number | undefined;
  #killsWhileStarting = 0;
  #killsInFlight = 0;
  #attemptsInFlight = 0;
  #recovered = 0;
  #payments = 0;
  #settledMs = 0;
  readonly #startMs: number[] = [];

  constructor(
    options: KillOptions,
    scratch: string,
    acquirerAddress: string,
    disk: LoopDisk | undefined,
  ) {
    this.#options = options;
    this.#disk = disk;
    this.#scratch = scratch;
    this.#acquirerAddress = acquirerAddress;
    this.#dataDirectory = join(disk?.directory ?? scratch, "data");
    this.#chance = new Chance(options.seed);
    this.#load = new KillLoad({
      client: this.#client,
      chance: new Chance(options.seed + 1),
      promises: this.#promises,
      integrationKey,
      name: `kill-${options.seed}`,
      port: () => this.#port,
    });
  }

  async run(): Promise<void> {
    await this.#start();
    await this.#setFaults(faults);
    this.#disk?.flush();
    this.#load.start(clients);
    for (let cycle = 0; cycle < this.#options.cycles; cycle += 1) {
      this.#cycle = cycle;
      // Every eighth kill hits a server that has just begun to open its store and to recover.
      if (cycle % 8 === 7) {
        await this.#kill();
        this.#spawn();
        await sleep(this.#chance.between(100, 700));
        this.#killsWhileStarting += 1;
      } else {
        const before = this.#promises.acknowledged;
        await sleep(this.#chance.between(this.#disk === undefined ? 20 : 400, 900));
        const least = this.#disk === undefined ? writesBeforeKill * ((cycle + 1) % 2) : 1;
        await until(
          "so many writes are acknowledged",
          async () => this.#promises.acknowledged >= before + least,
        );
      }
      await this.#kill();
      await this.#judgeCrash();
      if (this.#violations.size > 0 && this.#options.stop === true) return;
      await this.#start();
    }
    this.#cycle = this.#options.cycles;
    await this.#settle();
  }

  /**
   * Each with the seed and the cycle after whose kill it was first seen: `no more is taken than was
   * authorized: … (seed 1, cycle 17)`.
   */
  violations(): readonly string[] {
    return [...this.#violations].map(
      ([violation, cycle]) => `${violation} (seed ${this.#options.seed}, cycle ${cycle})`,
    );
  }

  figures(): Readonly<Record<string, number>> {
    return {
      cycles: this.#options.cycles,
      "kills while starting": this.#killsWhileStarting,
      "kills with attempts in flight": this.#killsInFlight,
      "attempts in flight at kills": this.#attemptsInFlight,
      "attempts that recovery was seen to settle": this.#recovered,
      "acknowledged writes": this.#promises.acknowledged,
      "answers that never came": this.#load.unanswered,
      payments: this.#payments,
      tokens: this.#promises.tokens.size,
      "ms until all was settled": this.#settledMs,
      "ms from start to listening, median":
        this.#startMs.toSorted((a, b) => a - b)[this.#startMs.length >> 1] ?? 0,
    };
  }

  async close(): Promise<void> {
    this.#port = undefined;
    // Its connections end with it, so no client waits for an answer.
    await this.#server?.end("SIGKILL");
    await this.#load.stop();
    this.#client.close();
  }

  #object(violation: string): void {
    if (!this.#violations.has(violation)) this.#violations.set(violation, this.#cycle);
  }

  #spawn(acquirerTimeoutMs = answerMs): CofreProcess {
    this.#starts += 1;
    this.#server = CofreProcess.spawn({
      root: this.#options.root,
      dataDirectory: this.#dataDirectory,
      logDirectory: this.#scratch,
      name: `start-${this.#starts}`,
      environment: {
        COFRE_ACQUIRER_URL: this.#acquirerAddress,
        COFRE_ACQUIRER_TIMEOUT_MS: String(acquirerTimeoutMs),
        COFRE_SANDBOX_INTEGRATION_KEY: integrationKey,
      },
    });
    return this.#server;
  }

  async #start(acquirerTimeoutMs = answerMs): Promise<void> {
    const begin = Date.now();
    const port = await this.#spawn(acquirerTimeoutMs).listening();
    if (port === undefined) throw new Error("Cofre ended before it listened");
    this.#startMs.push(Date.now() - begin);
    this.#port = port;
  }

  async #kill(): Promise<void> {
    if (this.#disk !== undefined) {
      this.#server?.signal("SIGSTOP");
      this.#disk.powerOff();
    }
    await this.#server?.end("SIGKILL");
    this.#disk?.powerOn();
    this.#port = undefined;
    this.#recovered += this.#server?.events("recovery_settled").length ?? 0;
  }

  async #judgeCrash(): Promise<void> {
    const judge = new KillJudge(factsOfFile(this.#dataDirectory, join(this.#scratch, "judged")));
    judge.checkAlways(await booksOf(this.#client, this.#acquirerAddress));
    judge.checkAcknowledged(this.#promises, await tokenDigestsOf(this.#dataDirectory));
    for (const violation of judge.violations) this.#object(violation);
    if (judge.inFlight > 0) this.#killsInFlight += 1;
    this.#attemptsInFlight += judge.inFlight;
  }

  /**
   * Ends the faults; then every payment must settle, and every acknowledged answer must be true.
   */
  async #settle(): Promise<void> {
    await this.#load.stop();
    await this.#setFaults(noFaults);
    await this.#kill();
    // Late requests arrive now or never, so the start after this pause sees all of them.
    await sleep(lateArrivalMs);
    await this.#start(faultlessAnswerMs);
    const begin = Date.now();
    while (attemptsInFlight(this.#dataDirectory) > 0 && Date.now() - begin < this.#options.settleMs)
      await sleep(100);
    this.#settledMs = Date.now() - begin;
    const broken = await brokenPromises(
      this.#promises,
      `kill-${this.#options.seed}`,
      (path, fields) => this.#ask(path, fields),
    );
    for (const problem of broken) this.#object(problem);
    await this.#server?.end("SIGTERM");
    this.#recovered += this.#server?.events("recovery_settled").length ?? 0;
    const judge = new KillJudge(factsOfFile(this.#dataDirectory, join(this.#scratch, "judged")));
    judge.checkSettled(await booksOf(this.#client, this.#acquirerAddress));
    judge.checkAcknowledged(this.#promises, await tokenDigestsOf(this.#dataDirectory));
    this.#payments = judge.payments;
    for (const violation of judge.violations) this.#object(violation);
  }

  async #setFaults(simulator: object): Promise<void> {
    let answer = await this.#ask("/__cofre/settings", { settings: { simulator } });
    // A server that acknowledges before it commits (a planted control) may report that it listens
    // before its account exists.
    for (let tries = 0; answer?.["status"] !== "SUCCESS" && tries < 200; tries += 1) {
      await sleep(20);
      answer = await this.#ask("/__cofre/settings", { settings: { simulator } });
    }
    if (answer?.["status"] !== "SUCCESS")
      throw new Error("the account's settings were not changed");
  }

  #ask(path: string, fields: object): ReturnType<WireClient["ask"]> {
    return this.#client.ask(this.#port ?? 0, path, { integration_key: integrationKey, ...fields });
  }
}
