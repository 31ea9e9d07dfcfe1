import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Client } from "pg";
import { readConfig } from "../../../server/src/config/read-config.ts";
import { openKeys } from "../../../server/src/start/open-keys.ts";
import { systemPorts } from "../../../server/src/start/ports.ts";
import { openEmbeddedStore } from "../../../server/src/stores/embedded/embedded-store.ts";
import { query, type TestDatabases } from "../../../server/test/postgres/databases.ts";

export type Value = string | number | Uint8Array | null;
export type Row = Readonly<Record<string, Value>>;

/** A database as a program sees it that may write it and has no key. */
export interface Writer {
  rows(table: string): Promise<readonly Row[]>;
  /**
   * Runs the statements past triggers, which the owner of the tables can remove and put back. Rejects
   * if a constraint refuses one: what no row can hold is not tried.
   */
  run(statements: readonly string[]): Promise<void>;
  literal(value: Value): string;
  /** A condition that holds for this row only. */
  where(row: Row): string;
}

/** An installation on disk, its servers stopped. */
export interface Place {
  /** Settings of a server on it. */
  readonly environment: Readonly<Record<string, string>>;
  readonly directory: string;
  readonly databaseUrl: string | undefined;
  readonly writer: Writer;
  /** Another place with the same content. */
  copy(): Promise<Place>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** In a folder that begins empty. */
export function embeddedPlace(): Place {
  return embeddedAt(mkdtempSync(join(tmpdir(), "cofre-tamper-")));
}

/** Another installation of the same root key, as a key service may have several. */
export async function placeOnRootOf({ directory }: Place): Promise<Place> {
  const place = embeddedPlace();
  cpSync(join(directory, "root.key"), join(place.directory, "root.key"));
  const reading = readConfig({
    environment: place.environment,
    flags: new Map(),
    readFile: () => ({ problem: "is not read in tests" }),
  });
  assert.ok("config" in reading);
  const store = await openEmbeddedStore({ file: join(place.directory, "cofre.db") });
  await openKeys(reading.config, systemPorts, store, true);
  await store.close();
  return place;
}

function embeddedAt(directory: string): Place {
  const file = join(directory, "cofre.db");
  const use = <T>(work: (database: DatabaseSync) => T): T => {
    const database = new DatabaseSync(file);
    try {
      return work(database);
    } finally {
      database.close();
    }
  };
  const literal = (value: Value): string =>
    value instanceof Uint8Array ? `x'${Buffer.from(value).toString("hex")}'` : plain(value);
  return {
    environment: { COFRE_DATA_DIR: directory },
    directory,
    databaseUrl: undefined,
    writer: {
      rows: async (table) =>
        use((database) =>
          database.prepare(`SELECT * FROM ${table}`).all(),
        ) as unknown as readonly Row[],
      run: async (statements) =>
        use((database) => {
          const triggers = database
            .prepare("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
            .all();
          for (const { name } of triggers) database.exec(`DROP TRIGGER ${String(name)}`);
          for (const statement of statements) database.exec(statement);
          for (const { sql } of triggers) database.exec(String(sql));
        }),
      literal,
      where: (row) => conditionOf(row, "IS", literal),
    },
    async copy() {
      const other = mkdtempSync(join(tmpdir(), "cofre-tamper-"));
      cpSync(directory, other, { recursive: true });
      return embeddedAt(other);
    },
    async [Symbol.asyncDispose]() {
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** In a new database of the server, with a folder of its own. */
export async function postgresPlace(databases: TestDatabases): Promise<Place> {
  return postgresAt(
    databases,
    await databases.copy(),
    mkdtempSync(join(tmpdir(), "cofre-tamper-")),
  );
}

function postgresAt(databases: TestDatabases, url: string, directory: string): Place {
  const literal = (value: Value): string =>
    value instanceof Uint8Array
      ? `decode('${Buffer.from(value).toString("hex")}', 'hex')`
      : plain(value);
  return {
    environment: {
      COFRE_DATA_DIR: directory,
      COFRE_DATABASE_URL: url,
      COFRE_DATABASE_ALLOW_NO_STANDBY: "true",
      COFRE_DATABASE_ALLOW_EMPTY: "true",
    },
    directory,
    databaseUrl: url,
    writer: {
      rows: async (table) =>
        (await query<Record<string, Value>>(url, `SELECT * FROM ${table}`)).map(withNumbers),
      async run(statements) {
        const client = new Client({ connectionString: url });
        await client.connect();
        try {
          // As the owner of the tables: without triggers and without row-level security.
          await client.query("SET session_replication_role = replica");
          for (const statement of statements) await client.query(statement);
        } finally {
          await client.end();
        }
      },
      literal,
      where: (row) => conditionOf(row, "IS NOT DISTINCT FROM", literal),
    },
    async copy() {
      const other = mkdtempSync(join(tmpdir(), "cofre-tamper-"));
      cpSync(directory, other, { recursive: true });
      const name = new URL(url).pathname.slice(1);
      return postgresAt(databases, await databases.create(`TEMPLATE ${name}`), other);
    },
    async [Symbol.asyncDispose]() {
      rmSync(directory, { recursive: true, force: true });
      await query(
        databases.urlOf("postgres"),
        `DROP DATABASE IF EXISTS ${new URL(url).pathname.slice(1)} WITH (FORCE)`,
      );
    },
  };
}

function plain(value: string | number | null): string {
  if (value === null) return "NULL";
  return typeof value === "number" ? String(value) : `'${value.replaceAll("'", "''")}'`;
}

function conditionOf(row: Row, equals: string, literal: (value: Value) => string): string {
  return Object.entries(row)
    .map(([column, value]) => `${column} ${equals} ${literal(value)}`)
    .join(" AND ");
}

/** The driver returns 64-bit numbers as text. */
function withNumbers(row: Readonly<Record<string, Value>>): Row {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => [
      column,
      typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value,
    ]),
  );
}
