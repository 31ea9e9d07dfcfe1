import { sha256Hex } from "../../kernel/digest.ts";
import type { Connection } from "./connection.ts";
import { migrations } from "./migrations/index.ts";
import { PostgresOpenError } from "./open-error.ts";

/** Held while the tables are looked at and brought up to date: any number of nodes may start at once. An arbitrary number. */
const migrationLock = 7_266_373;

/**
 * Brings the tables up to what this version needs. Forward only: each migration leaves the tables so that the version before goes
 * on working beside this one, and so a database with more migrations than this version knows is none to refuse. A migration that waits
 * for a lock longer than the session allows gives up, whole, instead of stopping everybody who queues behind it.
 */
export async function migrate(connection: Connection): Promise<void> {
  await connection.rows("lock", "SELECT pg_advisory_lock($1)", [migrationLock]);
  try {
    await connection.run("CREATE TABLE IF NOT EXISTS migration (no integer PRIMARY KEY, checksum text NOT NULL, at timestamptz NOT NULL)");
    const done = await connection.rows<{ readonly no: number; readonly checksum: string }>("done", "SELECT no, checksum FROM migration");
    const checksums = new Map(done.map(({ no, checksum }) => [no, checksum]));
    for (const [index, text] of migrations.entries()) {
      const [no, checksum] = [index + 1, sha256Hex(text)];
      const found = checksums.get(no);
      if (found === checksum) continue;
      if (found !== undefined) throw new PostgresOpenError("changed");
      const note = `INSERT INTO migration VALUES (${no}, '${checksum}', now());`;
      // A procedure commits as it goes, which it can't within a transaction; it takes as long as it takes.
      if (text.startsWith("CALL ")) {
        const [limit] = await connection.rows<{ readonly text: string }>("limit", "SELECT current_setting('statement_timeout') AS text");
        await connection.run("SET statement_timeout = 0");
        await connection.run(text);
        await connection.run(`SET statement_timeout = '${limit?.text ?? 0}'; ${note}`);
      } else await connection.run(`BEGIN; ${text} ${note} COMMIT`);
    }
  } finally {
    await connection.rows("unlock", "SELECT pg_advisory_unlock($1)", [migrationLock]).catch(() => undefined);
  }
}
