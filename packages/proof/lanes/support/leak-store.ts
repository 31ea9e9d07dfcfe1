import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Client } from "pg";
import { type Cluster, startCluster } from "../../../server/test/postgres/cluster.ts";

/** The store of a server under test: its settings, and how it is searched. */
export interface LeakStore extends AsyncDisposable {
  readonly environment: Readonly<Record<string, string>>;
  /** Folders whose files are searched, besides the server's own. */
  readonly folders: readonly string[];
  /**
   * Every value as the engine returns it, by table: on its pages a long one is split or compressed.
   */
  tables(): Promise<readonly (readonly [table: string, rows: readonly (readonly unknown[])[]])[]>;
  /** The masks of stored cards. */
  storedMasks(): Promise<readonly string[]>;
  /** The sealed card of each row. */
  sealedCards(): Promise<readonly Uint8Array[]>;
  /** Moves the last use of all cards into the past, where the server uses the database's clock. */
  readonly age?: (ms: number) => Promise<void>;
  /** Rewrites the tables without deleted data, as an administrator may. */
  rewrite(): Promise<void>;
  /** Writes data that is only in the engine's memory to the files. */
  flush(): Promise<void>;
}

export function embeddedIn(dataDirectory: string): LeakStore {
  const file = join(dataDirectory, "cofre.db");
  const reading = <Result>(read: (database: DatabaseSync) => Result): Result => {
    const database = new DatabaseSync(file, { readOnly: true });
    try {
      return read(database);
    } finally {
      database.close();
    }
  };
  return {
    environment: {},
    folders: [],
    tables: async () =>
      reading((database) =>
        database
          .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
          .all()
          .map(({ name }) => {
            const statement = database.prepare(`SELECT * FROM "${String(name)}"`);
            statement.setReadBigInts(true);
            return [String(name), statement.all().map((row) => Object.values(row))] as const;
          }),
      ),
    storedMasks: async () =>
      reading((database) => database.prepare("SELECT masked_pan FROM card").all()).map((row) =>
        String(row["masked_pan"]),
      ),
    sealedCards: async () =>
      reading((database) => database.prepare("SELECT ref FROM card").all()).map(
        (row) => row["ref"] as Uint8Array,
      ),
    // The store rewrites by itself.
    rewrite: async () => undefined,
    flush: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** A separate PostgreSQL server, whose pages, log and write-ahead log are searched. */
export async function postgresOfItsOwn(): Promise<LeakStore> {
  const cluster: Cluster = await startCluster({ log_parameter_max_length: "0" });
  const query = async (text: string): Promise<readonly (readonly unknown[])[]> => {
    const client = new Client({ connectionString: cluster.url });
    await client.connect();
    try {
      return (await client.query<unknown[]>({ text, rowMode: "array" })).rows;
    } finally {
      await client.end();
    }
  };
  return {
    environment: { COFRE_DATABASE_URL: cluster.url, COFRE_DATABASE_ALLOW_NO_STANDBY: "true" },
    folders: [cluster.folder],
    tables: async () => {
      const names = await query(
        "SELECT quote_ident(table_schema) || '.' || quote_ident(table_name) FROM information_schema.tables " +
          "WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')",
      );
      const tables: [string, readonly (readonly unknown[])[]][] = [];
      for (const [name] of names)
        tables.push([String(name), await query(`SELECT * FROM ${String(name)}`)]);
      return tables;
    },
    storedMasks: async () =>
      (await query("SELECT masked_pan FROM card")).map(([mask]) => String(mask)),
    sealedCards: async () =>
      (await query("SELECT ref FROM card")).map(([ref]) => ref as Uint8Array),
    age: async (ms) => void (await query(`UPDATE card SET last_used_at = last_used_at - ${ms}`)),
    rewrite: async () => void (await query("VACUUM FULL card")),
    flush: async () => void (await query("CHECKPOINT")),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}
