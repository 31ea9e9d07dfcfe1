import { readdirSync, readFileSync } from "node:fs";
import { startCluster, type Cluster } from "../../server/test/postgres/cluster.ts";
import { openStoreOn, query } from "../../server/test/postgres/databases.ts";
import type { Acknowledged } from "./loads.ts";

/**
 * A PostgreSQL server for the bench, from Debian's binaries, with default durability; removed at
 * the end of the bench.
 */
export class BenchPostgres implements AsyncDisposable {
  readonly #cluster: Cluster;
  #databases = 0;

  private constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  static async start(): Promise<BenchPostgres> {
    return new BenchPostgres(
      await startCluster({
        log_parameter_max_length: "0",
        shared_buffers: "256MB",
        max_wal_size: "4GB",
        log_checkpoints: "off",
      }),
    );
  }

  /** Creates a database without tables and returns its address. */
  async create(): Promise<string> {
    const name = `bench_${String((this.#databases += 1))}`;
    await query(this.#cluster.url, `CREATE DATABASE ${name}`);
    const url = new URL(this.#cluster.url);
    url.pathname = `/${name}`;
    return url.href;
  }

  /** Creates a database with the product's tables. */
  async createWithTables(): Promise<string> {
    const url = await this.create();
    await (await openStoreOn(url)).close();
    return url;
  }

  /**
   * User and system time of the server with all its processes, including those that have ended, in
   * microseconds.
   */
  cpuMicros(): number {
    const statOf = (pid: string): readonly string[] => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
        return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      } catch {
        return [];
      }
    };
    const own = statOf(this.#cluster.pid);
    let ticks = [11, 12, 13, 14].reduce((sum, field) => sum + Number(own[field] ?? 0), 0);
    for (const pid of readdirSync("/proc")) {
      if (!/^\d+$/.test(pid)) continue;
      const stat = statOf(pid);
      if (stat[1] === this.#cluster.pid) ticks += Number(stat[11]) + Number(stat[12]);
    }
    return ticks * 10_000;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#cluster[Symbol.asyncDispose]();
  }
}

/** Contradictions between the database and the acknowledged answers; empty when there are none. */
export async function faultsOf(
  url: string,
  acknowledged: Acknowledged,
): Promise<readonly string[]> {
  const expected: readonly (readonly [what: string, sql: string, wanted: number])[] = [
    [
      "payments stored and charges acknowledged",
      "SELECT count(*)::integer AS n FROM payment",
      acknowledged.payments,
    ],
    [
      "payments captured",
      "SELECT count(*)::integer AS n FROM payment WHERE state = 'captured'",
      acknowledged.captured,
    ],
    ["tokens stored", "SELECT count(*)::integer AS n FROM card", acknowledged.tokens],
    [
      "payments with an attempt under way",
      "SELECT count(*)::integer AS n FROM payment WHERE attempt IS NOT NULL",
      0,
    ],
    [
      "versions without a row of history",
      "SELECT (SELECT coalesce(sum(version), 0) FROM payment)::integer - (SELECT count(*) FROM history)::integer AS n",
      0,
    ],
    [
      "deliveries that no receiver has taken",
      "SELECT count(*)::integer AS n FROM delivery WHERE state <> 'delivered'",
      0,
    ],
    [
      "gaps between numbers of notifications",
      "SELECT coalesce(max(number) - count(*), 0)::integer AS n FROM outbox",
      0,
    ],
  ];
  const faults: string[] = [];
  for (const [what, sql, wanted] of expected) {
    const [row] = await query<{ readonly n: number }>(url, sql);
    if (row?.n !== wanted) faults.push(`${what}: ${String(row?.n)}, expected ${String(wanted)}`);
  }
  return faults;
}
