import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Acknowledged } from "./loads.ts";

/** What the store holds after a run, read from its file after the server has stopped. */
export interface Audit {
  readonly payments: number;
  readonly tokens: number;
  readonly captured: number;
  readonly journalLines: number;
  /** Contradictions with the acknowledged answers or with the ledger's rule. Must be empty. */
  readonly faults: readonly string[];
  readonly fileBytes: number;
  /** Pages of all tables and indexes of payments, per payment. NaN without payments. */
  readonly bytesPerPayment: number;
  /** The part of these that stores the merchant's order. */
  readonly payloadBytesPerPayment: number;
  readonly bytesPerToken: number;
  /** Bytes of pages by table and index, largest first. */
  readonly pages: readonly { readonly name: string; readonly bytes: number }[];
}

const paymentTables = ["payment", "history", "outbox"];
const tokenTables = ["card"];

export function auditDatabase(dataDir: string, acknowledged: Acknowledged): Audit {
  const file = databaseFile(dataDir);
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const number = (sql: string): number => {
      const value = database.prepare(sql).get()?.["n"];
      if (typeof value !== "number") throw new Error(`no number from: ${sql}`);
      return value;
    };
    const payments = number("SELECT count(*) AS n FROM payment");
    const tokens = number("SELECT count(*) AS n FROM card");
    const captured = number("SELECT count(*) AS n FROM payment WHERE state = 'captured'");
    const expected = (what: string, found: number, wanted: number): string[] =>
      found === wanted ? [] : [`${what}: ${String(found)}, expected ${String(wanted)}`];
    const faults = [
      ...expected("payments stored and charges acknowledged", payments, acknowledged.payments),
      ...expected("payments captured and captures acknowledged", captured, acknowledged.captured),
      ...expected("tokens stored and tokens acknowledged", tokens, acknowledged.tokens),
      ...expected(
        "payment codes used twice",
        number("SELECT count(*) - count(DISTINCT hex(merchant) || code) AS n FROM payment"),
        0,
      ),
      ...expected(
        "payments with an attempt under way",
        number("SELECT count(*) AS n FROM payment WHERE attempt IS NOT NULL"),
        0,
      ),
      ...expected(
        "history rows and versions",
        number("SELECT count(*) AS n FROM history"),
        number("SELECT ifnull(sum(version), 0) AS n FROM payment"),
      ),
      ...expected(
        "changes of payments whose postings do not sum to zero",
        number(
          "SELECT count(*) AS n FROM (SELECT 1 FROM journal GROUP BY payment, version, entry, currency HAVING sum(minor) <> 0)",
        ),
        0,
      ),
      ...expected(
        "payments whose captured amount is not what the ledger owes the merchant",
        number(
          `SELECT count(*) AS n FROM payment LEFT JOIN (SELECT payment, -sum(minor) AS owed FROM journal WHERE account = 'merchant_payable' GROUP BY payment) AS ledger
           ON ledger.payment = payment.id WHERE payment.captured <> ifnull(ledger.owed, 0)`,
        ),
        0,
      ),
    ];
    const pages = database
      .prepare(
        "SELECT s.tbl_name AS owner, d.name AS name, sum(d.pgsize) AS bytes FROM dbstat AS d JOIN sqlite_schema AS s ON s.name = d.name GROUP BY d.name ORDER BY bytes DESC",
      )
      .all()
      .map((row) => ({
        owner: String(row["owner"]),
        name: String(row["name"]),
        bytes: Number(row["bytes"]),
      }));
    const bytesOf = (tables: readonly string[]): number =>
      pages
        .filter(({ owner }) => tables.includes(owner))
        .reduce((sum, { bytes }) => sum + bytes, 0);
    return {
      payments,
      tokens,
      captured,
      journalLines: number("SELECT count(*) AS n FROM journal"),
      faults,
      fileBytes: sizeOf(file) + sizeOf(`${file}-wal`),
      bytesPerPayment: bytesOf(paymentTables) / payments,
      payloadBytesPerPayment:
        number("SELECT ifnull(sum(octet_length(order_json)), 0) AS n FROM payment") / payments,
      bytesPerToken: bytesOf(tokenTables) / tokens,
      pages: pages.map(({ name, bytes }) => ({ name, bytes })),
    };
  } finally {
    database.close();
  }
}

/** The single SQLite file of a data directory. */
function databaseFile(dataDir: string): string {
  const files = readdirSync(dataDir).filter((name) => /\.(db|sqlite|sqlite3)$/.test(name));
  const [only] = files;
  if (only === undefined || files.length > 1)
    throw new Error(`one database was expected among ${readdirSync(dataDir).join(", ")}`);
  return join(dataDir, only);
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
