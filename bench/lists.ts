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
  /** Of the two, round by round. */
  readonly ratio: number;
  readonly lists: number;
}

const payments = 40_000;
const perSecond = 200;
const measuredMs = 5_000;
const rounds = 5;
const listers = 4;

/**
 * Queries of single payments at 200 a second, in turn alone and beside four clients that search all
 * payments for a name without end.
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
 * Reads page after page of a search that finds nothing, and so looks at as many payments as a page
 * may. Resolves with how many pages it read.
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
    // A person's list may be refused for its time (COFRE-168); it is asked for again.
    if (page.status !== "SUCCESS" && page.status_code !== "COFRE-168")
      throw new Error(`a list was refused: ${page.status_code ?? answer.status}`);
    before = page.next ?? undefined;
    pages += 1;
  }
  return pages;
}
