import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { Client } from "./client.ts";
import { Loads } from "./loads.ts";
import { openLoop } from "./open-loop.ts";
import type { ServerProcess } from "./process.ts";
import { integrationKey, startProduct } from "./product.ts";
import { sendAll } from "./window.ts";

export interface ExpiryReport {
  readonly expired: number;
  readonly before: ExpiryFigures;
  readonly meanwhile: ExpiryFigures;
}

export interface ExpiryFigures {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly loopDelayMaxMs: number;
}

const authorizations = 10_000;
const perSecond = 1_000;
const measuredMs = 10_000;
/** Time for the start, the warm-up and the measurement before the expiry. */
const aheadMs = 60_000;
/** Requests until the server is warm. */
const warmUp = 30_000;

/**
 * Charges at 1,000 a second before 10,000 authorizations expire at one moment, and while they
 * expire. That moment is set in the file of a stopped server.
 */
export async function expiry(folder: string): Promise<ExpiryReport> {
  const dataDir = join(folder, "data");
  const loads = new Loads(integrationKey, "e0e0e0", true);
  await withServer(dataDir, folder, async (client) => {
    await client.ensureOpen(64);
    await sendAll(client, loads.approvedToken(), 2_000, 64);
    await sendAll(client, loads.authorize(), authorizations, 64);
  });
  const expiresAt = Date.now() + aheadMs;
  const file = join(dataDir, "cofre.db");
  changeFile(
    file,
    "UPDATE payment SET due_at = ?1, capture_by = ?1 WHERE state = 'authorized'",
    expiresAt,
  );
  const figures = await withServer(dataDir, folder, async (client, loopDelay) => {
    await client.ensureOpen(64);
    await sendAll(client, loads.directByToken(), warmUp, 64);
    const measure = async (): Promise<ExpiryFigures> => {
      await client.ensureOpen(128);
      await loopDelay();
      const { latency } = await openLoop(client, loads.directByToken(), perSecond, 0, measuredMs);
      return {
        p50Ms: latency.percentile(50) / 1_000,
        p99Ms: latency.percentile(99) / 1_000,
        loopDelayMaxMs: await loopDelay(),
      };
    };
    if (Date.now() + measuredMs > expiresAt)
      throw new Error("the machine was too slow: the authorizations expire already");
    const before = await measure();
    // Under load until then: a process that was idle first compiles and collects again.
    await client.ensureOpen(128);
    const restMs = Math.max(1, expiresAt - Date.now());
    await openLoop(client, loads.directByToken(), perSecond, 0, restMs);
    return { before, meanwhile: await measure() };
  });
  return { expired: countIn(file), ...figures };
}

async function withServer<T>(
  dataDir: string,
  folder: string,
  work: (client: Client, loopDelay: () => Promise<number>) => Promise<T>,
): Promise<T> {
  const file = join(folder, "loop-delay");
  process.env["LOOP_DELAY_FILE"] = file;
  const server = await startProduct(dataDir, [
    "--import",
    fileURLToPath(new URL("loop-delay.ts", import.meta.url)),
  ]);
  delete process.env["LOOP_DELAY_FILE"];
  const client = new Client(server.ports);
  try {
    return await work(client, () => readLoopDelay(server, file));
  } finally {
    client.close();
    await server.stop();
  }
}

/** The longest event-loop delay since the last call, in ms. */
async function readLoopDelay(server: ServerProcess, file: string): Promise<number> {
  rmSync(file, { force: true });
  process.kill(server.pid, "SIGUSR2");
  for (let looks = 0; looks < 500; looks += 1) {
    const text = existsSync(file) ? readFileSync(file, "utf8") : "";
    if (text !== "") return Number(text);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("the server did not write its event loop's delay");
}

function changeFile(file: string, sql: string, value: number): void {
  const database = new DatabaseSync(file);
  database.prepare(sql).run(value);
  database.close();
}

function countIn(file: string): number {
  const database = new DatabaseSync(file, { readOnly: true });
  const row = database
    .prepare("SELECT count(*) AS expired FROM payment WHERE state = 'expired'")
    .get();
  database.close();
  return Number(row?.["expired"]);
}
