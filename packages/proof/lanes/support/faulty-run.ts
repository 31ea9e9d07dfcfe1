import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startAcquirer } from "../../../server/test/acquirer/start-acquirer.ts";
import { Chance } from "../../../server/test/support/chance.ts";
import { booksOf } from "./check-promises.ts";
import { CofreProcess } from "../../../server/test/support/cofre-process.ts";
import { factsOfFile } from "./judge-facts.ts";
import { until as untilOrEnd } from "../../../server/test/until.ts";
import { tokenDigestsOf } from "../../../server/test/row-macs.ts";
import { attemptsInFlight } from "../../../server/test/support/attempts-in-flight.ts";
import { KillJudge } from "./kill-judge.ts";
import { KillLoad } from "./kill-load.ts";
import { Promises } from "./kill-promises.ts";
import { type Received, WireClient } from "../../../server/test/support/wire-client.ts";

export interface FaultyOptions {
  /** packages/server, or a copy of it. */
  readonly root: string;
  /** Folder of the database and keys, on a disk of the caller. */
  readonly dataDirectory: string;
  /** Folder for standard output; by default a folder that is removed with the run. */
  readonly logDirectory?: string;
}

const integrationKey = "test_ik_faultfaultfaultfaultfaul";
const clients = 12;
const answerMs = 2_000;
/**
 * Recovery repeats an unanswered inquiry after 5 s, half a minute and 4 minutes: a busy machine may
 * need all of them.
 */
const longestMs = 600_000;

/**
 * A server as an operator runs it, under load from shops, whose disk the test makes fail; judged as
 * after a kill.
 */
export class FaultyRun {
  readonly promises = new Promises();
  readonly #options: FaultyOptions;
  readonly #scratch = mkdtempSync(join(tmpdir(), "cofre-faulty-"));
  readonly #acquirer: Awaited<ReturnType<typeof startAcquirer>>;
  readonly #client = new WireClient(clients);
  readonly #load: KillLoad;
  #server: CofreProcess;
  #port: number | undefined;
  #starts = 0;

  private constructor(options: FaultyOptions, acquirer: Awaited<ReturnType<typeof startAcquirer>>) {
    this.#options = options;
    this.#acquirer = acquirer;
    this.#load = new KillLoad({
      client: this.#client,
      chance: new Chance(1),
      promises: this.promises,
      integrationKey,
      name: "faulty",
      port: () => this.#port,
    });
    this.#server = this.#spawn();
  }

  static async start(options: FaultyOptions): Promise<FaultyRun> {
    const run = new FaultyRun(
      options,
      await startAcquirer(["--remembered-references", "1000000", "--late-arrival-ms", "300"]),
    );
    try {
      run.#port = await run.#server.listening();
      run.#load.start(clients);
      return run;
    } catch (error) {
      await run.close();
      throw error;
    }
  }

  get pid(): number {
    return this.#server.pid;
  }

  get hasEnded(): boolean {
    return this.#server.hasEnded;
  }

  events(name: string): ReturnType<CofreProcess["events"]> {
    return this.#server.events(name);
  }

  get #stderr(): string {
    return readFileSync(this.#server.stderrFile, "utf8");
  }

  readiness(): Promise<Received> {
    return this.#client.send({ port: this.#port ?? 0, method: "GET", path: "/readyz" });
  }

  /** Requests a token, which requires a write. */
  tokenize(): Promise<Received> {
    const body = JSON.stringify({
      integration_key: integrationKey,
      country: "pe",
      payment_type_code: "creditcard",
      creditcard: {
        card_number: "4111111111111111",
        card_name: "Ana Lima",
        card_due_date: "12/2060",
        card_cvv: "123",
      },
    });
    return this.#client.send({
      port: this.#port ?? 0,
      path: "/ws/token",
      headers: { "content-type": "application/json" },
      body,
    });
  }

  /** Resolves with the milliseconds until a token was issued; rejects after the time limit. */
  async untilTokenized(): Promise<number> {
    return until("a token is given out", async () => {
      const received = await this.tokenize();
      return received?.status === 200 && received.body.includes('"SUCCESS"');
    });
  }

  /** Resolves when `more` further writes were acknowledged. */
  async untilAcknowledged(more: number): Promise<void> {
    const goal = this.promises.acknowledged + more;
    await until(`${more} writes are acknowledged`, async () => this.promises.acknowledged >= goal);
  }

  /** Kills the server and starts it on its data. */
  async restart(): Promise<void> {
    this.#port = undefined;
    await this.#server.end("SIGKILL");
    this.#server = this.#spawn();
    this.#port = await this.#server.listening();
    if (this.#port === undefined) throw new Error(`Cofre does not start: ${this.#stderr}`);
  }

  /** Ends the load, waits for recovery, stops the server and returns the violations. */
  async judge(): Promise<readonly string[]> {
    await this.#load.stop();
    await until(
      "everything is settled",
      async () => attemptsInFlight(this.#options.dataDirectory) === 0,
    );
    this.#port = undefined;
    this.#server.signal("SIGTERM");
    await until("the server ends when it is asked to", async () => this.#server.hasEnded);
    const judge = new KillJudge(
      factsOfFile(this.#options.dataDirectory, join(this.#scratch, "judged")),
    );
    judge.checkSettled(await booksOf(this.#client, this.#acquirer.address));
    judge.checkAcknowledged(this.promises, await tokenDigestsOf(this.#options.dataDirectory));
    return judge.violations;
  }

  async close(): Promise<void> {
    this.#port = undefined;
    await this.#server.end("SIGKILL");
    await this.#load.stop();
    this.#client.close();
    await this.#acquirer.stop();
    rmSync(this.#scratch, { recursive: true, force: true });
  }

  #spawn(): CofreProcess {
    this.#starts += 1;
    return CofreProcess.spawn({
      root: this.#options.root,
      dataDirectory: this.#options.dataDirectory,
      logDirectory: this.#options.logDirectory ?? this.#scratch,
      name: `start-${this.#starts}`,
      environment: {
        COFRE_ACQUIRER_URL: this.#acquirer.address,
        COFRE_ACQUIRER_TIMEOUT_MS: String(answerMs),
        COFRE_SANDBOX_INTEGRATION_KEY: integrationKey,
      },
    });
  }
}

/**
 * Polls until the condition holds; resolves with the milliseconds taken and rejects after ten
 * minutes or `maxMs`.
 */
export function until(
  what: string,
  holds: () => Promise<boolean>,
  maxMs = longestMs,
): Promise<number> {
  return untilOrEnd(what, holds, { maxMs, everyMs: 50 });
}
