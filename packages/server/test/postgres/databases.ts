import { Client } from "pg";
import { systemClock } from "../../src/kernel/system-clock.ts";
import { Secret } from "../../src/kernel/secret.ts";
import {
  openPostgresStore,
  type PostgresStoreOptions,
} from "../../src/stores/postgres/postgres-store.ts";
import type { RunningStore } from "../../src/stores/store.ts";

/** The server that tests may make databases on, as a superuser; undefined: they are skipped. */
export const testUrl = process.env["COFRE_TEST_POSTGRES_URL"];

/**
 * Locks all rows of a table, as a long change does, until `letGo` is called.
 */
export async function holdRows(url: string, table: string): Promise<{ letGo(): Promise<void> }> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`BEGIN; SELECT 1 FROM ${table} FOR UPDATE`);
  return { letGo: () => client.end() };
}

/**
 * The sessions that nodes have on this database, each by its process at the server and when it
 * began.
 */
export async function sessionsOf(url: string): Promise<readonly string[]> {
  const rows = await query<{ readonly session: string }>(
    url,
    `SELECT concat(pid, ' ', backend_start) AS session FROM pg_stat_activity
      WHERE datname = current_database() AND application_name LIKE 'cofre %'`,
  );
  return rows.map(({ session }) => session);
}

/** Runs `text` on a session of its own; with `then`, that afterwards, and answers its rows. */
export async function query<Row extends object>(
  url: string,
  text: string,
  values: readonly unknown[] = [],
  then?: string,
): Promise<readonly Row[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const first = await client.query<Row>(text, values.length === 0 ? undefined : [...values]);
    return then === undefined ? first.rows : (await client.query<Row>(then)).rows;
  } finally {
    await client.end();
  }
}

/**
 * Databases of one server, each with a name of its own; the first one with tables is what the
 * others are copied from.
 */
export class TestDatabases {
  readonly #server: string;
  readonly #prefix = `cofre_test_${process.pid}_${Date.now()}`;
  readonly #made: string[] = [];
  #model: Promise<string> | undefined;

  constructor(server: string) {
    this.#server = server;
  }

  /** An empty store. */
  async openStore(over: Partial<PostgresStoreOptions> = {}): Promise<RunningStore> {
    return openStoreOn(await this.copy(), over);
  }

  /** Address of a database that has the tables and nothing in them. */
  async copy(): Promise<string> {
    this.#model ??= this.#makeModel();
    const model = await this.#model;
    return this.create(`TEMPLATE ${model}`);
  }

  /** Address of a new database. */
  async create(options = ""): Promise<string> {
    const name = `${this.#prefix}_${this.#made.length}`;
    this.#made.push(name);
    await query(this.#server, `CREATE DATABASE ${name} ${options}`);
    return this.urlOf(name);
  }

  urlOf(name: string): string {
    const url = new URL(this.#server);
    url.pathname = `/${name}`;
    return url.href;
  }

  async drop(): Promise<void> {
    // Each waits for a checkpoint, and several at once for the same one.
    const left = [...this.#made];
    const dropNext = async (): Promise<void> => {
      for (let name = left.pop(); name !== undefined; name = left.pop()) {
        await query(this.#server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      }
    };
    await Promise.all(Array.from({ length: 8 }, dropNext));
  }

  async #makeModel(): Promise<string> {
    const url = await this.create();
    const store = await openStoreOn(url);
    await store.close();
    return new URL(url).pathname.slice(1);
  }
}

export function openStoreOn(
  url: string,
  over: Partial<PostgresStoreOptions> = {},
): Promise<RunningStore> {
  return openPostgresStore({
    url: new Secret(url),
    clock: systemClock,
    waiveStandby: true,
    ...over,
  });
}
