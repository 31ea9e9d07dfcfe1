import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { decode, readBooks } from "../../../server/src/connectors/simulator/wire.ts";
import {
  type AcquirerProcess,
  startAcquirer,
} from "../../../server/test/acquirer/start-acquirer.ts";
import { CofreProcess } from "../../../server/test/support/cofre-process.ts";
import { factsOfFile } from "./judge-facts.ts";
import { attemptsInFlight } from "../../../server/test/support/attempts-in-flight.ts";
import { KillJudge } from "./kill-judge.ts";
import { type SentRequest, OverloadLoad } from "./overload-load.ts";
import { WireClient } from "../../../server/test/support/wire-client.ts";

export interface OverloadOptions {
  /** packages/server, or a copy of it with a planted bug. */
  readonly root: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly connections: number;
}

export const integrationKey = "test_ik_overloadoverloadoverload";

/**
 * A server as an operator runs it, its acquirer in a separate process, and more customers than it
 * can serve.
 */
export class OverloadRun {
  readonly load: OverloadLoad;
  readonly port: number;
  readonly #scratch: string;
  readonly #acquirer: AcquirerProcess;
  readonly #server: CofreProcess;
  readonly #client = new WireClient(8);
  readonly #sent: SentRequest[] = [];

  private constructor(
    scratch: string,
    acquirer: AcquirerProcess,
    server: CofreProcess,
    port: number,
    connections: number,
  ) {
    this.#scratch = scratch;
    this.#acquirer = acquirer;
    this.#server = server;
    this.port = port;
    this.load = new OverloadLoad({ port, integrationKey, name: "overload", connections });
  }

  static async start({ root, environment, connections }: OverloadOptions): Promise<OverloadRun> {
    const scratch = mkdtempSync(join(tmpdir(), "cofre-overload-"));
    const acquirer = await startAcquirer([
      "--remembered-references",
      "1000000",
      "--late-arrival-ms",
      "300",
    ]);
    const server = CofreProcess.spawn({
      root,
      dataDirectory: join(scratch, "data"),
      logDirectory: scratch,
      name: "server",
      environment: {
        COFRE_ACQUIRER_URL: acquirer.address,
        COFRE_SANDBOX_INTEGRATION_KEY: integrationKey,
        ...environment,
      },
    });
    let port: number | undefined;
    try {
      port = await server.listening();
    } finally {
      if (port === undefined) await acquirer.stop();
    }
    if (port !== undefined) return new OverloadRun(scratch, acquirer, server, port, connections);
    throw new Error(`Cofre does not start: ${readFileSync(server.stderrFile, "utf8")}`);
  }

  /** Records the results for the judge. */
  async received(sent: Promise<readonly SentRequest[]>): Promise<readonly SentRequest[]> {
    const all = await sent;
    this.#sent.push(...all);
    return all;
  }

  /** Sets the simulated acquirer's `latencyMs`, and faults in thousandths. */
  async setAcquirer(simulator: Readonly<Record<string, number>>): Promise<void> {
    const change = () =>
      this.#client.ask(this.port, "/__cofre/settings", {
        integration_key: integrationKey,
        settings: { simulator },
      });
    let answer = await change();
    // A server that acknowledges before it commits (a planted control) may report that it listens
    // before its account exists.
    for (let tries = 0; answer?.["status"] !== "SUCCESS" && tries < 200; tries += 1) {
      await sleep(20);
      answer = await change();
    }
    if (answer?.["status"] !== "SUCCESS")
      throw new Error("the account's settings were not changed");
  }

  /**
   * The milliseconds until three sales in a row are captured, each requested once; undefined after
   * the limit.
   */
  async backWithin(longestMs: number): Promise<number | undefined> {
    const begin = performance.now();
    for (let inARow = 0; inARow < 3;) {
      if (performance.now() - begin > longestMs) return undefined;
      const [sale] = await this.received(this.load.sale().then((sent) => [sent]));
      inARow = sale?.reported?.status === "CO" ? inARow + 1 : 0;
      if (inARow === 0) await sleep(50);
    }
    return Math.round(performance.now() - begin);
  }

  /** Current memory of the server's process, in MiB. */
  get memory(): number {
    const [, kibibytes] =
      /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${this.#server.pid}/status`, "utf8")) ?? [];
    return Number(kibibytes) / 1_024;
  }

  /** Processor time used by the server's process, in milliseconds. */
  get cpuMs(): number {
    const stat = readFileSync(`/proc/${this.#server.pid}/stat`, "utf8");
    // The name in brackets may contain anything; utime and stime are the 12th and 13th field after
    // it, in hundredths of a second.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) * 10;
  }

  events(name: string): ReturnType<CofreProcess["events"]> {
    return this.#server.events(name);
  }

  /**
   * Waits for recovery, at most `settleMs`, stops the server, and returns the violations among all
   * requested payments.
   */
  async judge(settleMs = 60_000): Promise<readonly string[]> {
    const dataDirectory = join(this.#scratch, "data");
    const begin = performance.now();
    while (attemptsInFlight(dataDirectory) > 0 && performance.now() - begin < settleMs)
      await sleep(50);
    await this.#server.end("SIGTERM");
    const judge = new KillJudge(factsOfFile(dataDirectory, join(this.#scratch, "judged")));
    const books = await this.#client.send({
      port: Number(new URL(this.#acquirer.address).port),
      method: "GET",
      path: "/books",
    });
    judge.checkSettled(readBooks(decode(books?.body ?? "")));
    for (const { code, end, reported } of this.#sent) {
      if (end === "refused") judge.checkAbsent(code);
      if (reported !== undefined) judge.checkReported(reported);
    }
    return judge.violations;
  }

  async close(): Promise<void> {
    this.load[Symbol.dispose]();
    this.#client.close();
    await this.#server.end("SIGKILL");
    await this.#acquirer.stop();
    rmSync(this.#scratch, { recursive: true, force: true });
  }
}
