import { sha256Hex } from "../../src/kernel/digest.ts";
import { outsideStatements } from "../../src/stores/postgres/migrate.ts";
import { firstChecksums, migrations } from "../../src/stores/postgres/migrations/index.ts";
import { query } from "./databases.ts";

const noted =
  "CREATE TABLE migration (no integer PRIMARY KEY, checksum text NOT NULL, at timestamptz NOT NULL)";

/**
 * Brings an empty database to the state after the first `count` migrations, of which some may have
 * other texts.
 */
export async function runFirstMigrations(
  url: string,
  count: number,
  texts: ReadonlyMap<number, string> = new Map(),
): Promise<void> {
  await query(url, noted);
  for (const [index, present] of migrations.slice(0, count).entries()) {
    const no = index + 1;
    const text = texts.get(no) ?? present;
    const checksum =
      text === present ? (firstChecksums.get(no) ?? sha256Hex(text)) : sha256Hex(text);
    const statements = outsideStatements(text);
    if (statements === undefined) await query(url, `BEGIN; ${text} COMMIT`);
    else for (const statement of statements) await query(url, statement);
    await query(url, "INSERT INTO migration VALUES ($1, $2, now())", [no, checksum]);
  }
}
