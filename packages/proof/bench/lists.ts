import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "./client.ts";
import { Loads } from "./loads.ts";
import { openLoop } from "./open-loop.ts";
import type { BenchPostgres } from "./postgres.ts";
import { integrationKey, startOnPostgres, startProduct } from "./product.ts";
import { median } from "./statistics.ts";
import { sendAll } from "./window.ts";

export interface ListsReport {
  /** p99 of a query in ms, alone and beside four endless lists, in each round. */
  readonly aloneMs: readonly number[];
  readonly besideMs: readonly number[];
  /** Ratio of the two in each round. */
  readonly ratio: number;
  readonly lists: number;
}

const payments = 40_000;
const perSecond = 200;
const measuredMs = 5_000;
const rounds = 5;
const listers = 4;

/**
 * Queries of single payments at 200 a second, alternately alone and beside four clients that search
 * all payments for a name in an endless loop.
 */
export async function lists(
  folder: string,
  postgres: BenchPostgres | undefined,
): Promise<ListsReport> {
  const data = join(folder, "data");
  const server = await (postgres === undefined
    ? startProduct(data)
    : startOnPostgres(postgres, await postgres.create(), data));
  const client = new Client(server.ports);
  const loads = new Loads(integrationKey, "115715", true);
  try {
    await client.ensureOpen(64);
    await sendAll(client, loads.approvedToken(), 1, 1);
    await sendAll(client, loads.directByToken(), payments, 64);
    await sendAll(client, loads.paymentsToQuery(), 2_000, 64);
    await sendAll(client, loads.query(), 20_000, 64);
    const measure = async (): Promise<number> => {
      await client.ensureOpen(64);
      return (
        (await openLoop(client, loads.query(), perSecond, 500, measuredMs)).latency.percentile(99) /
        1_000
      );
    };
    const [aloneMs, besideMs]: [number[], number[]] = [[], []];
    let listed = 0;
    for (let round = 0; round < rounds; round += 1) {
      aloneMs.push(await measure());
      const over = new AbortController();
      const reading = Array.from({ length: listers }, () =>
        readOn(server.ports[0] ?? 0, over.signal),
      );
      besideMs.push(await measure());
      over.abort();
      for (const pages of await Promise.all(reading)) listed += pages;
      await sleep(200);
    }
    return {
      aloneMs,
      besideMs,
      ratio: median(besideMs.map((ms, round) => ms / (aloneMs[round] ?? ms))),
      lists: listed,
    };
  } finally {
    client.close();
    await server.stop();
  }
}

/**
 * Reads all pages of a search without matches, so each page scans as many payments as it may.
 * Resolves with the number of pages.
 */
async function readOn(port: number, signal: AbortSignal): Promise<number> {
  let pages = 0;
  let before: string | undefined;
  while (!signal.aborted) {
    const body = {
      integration_key: integrationKey,
      search: "not there",
      ...(before === undefined ? {} : { before }),
    };
    const answer = await fetch(`http://127.0.0.1:${String(port)}/__cofre/payments`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const page = (await answer.json()) as {
      readonly status: string;
      readonly status_code?: string;
      readonly next?: string | null;
    };
    // A console user's list may exceed its time limit (COFRE-168); it is then requested again.
    if (page.status !== "SUCCESS" && page.status_code !== "COFRE-168")
      throw new Error(`a list was refused: ${page.status_code ?? answer.status}`);
    before = page.next ?? undefined;
    pages += 1;
  }
  return pages;
}
