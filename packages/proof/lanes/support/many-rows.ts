import { query } from "../../../server/test/postgres/databases.ts";

const merchants = 50;

/** So far in the future that no node attempts it: 2096. */
const laterMs = 4_000_000_000_000;
const maxWaiting = 5_000;

/**
 * A statement that copies each row of `from` for each of `count` numbers, with these columns
 * replaced.
 */
async function copies(
  url: string,
  table: string,
  from: string,
  columns: Readonly<Record<string, string>>,
  count: number,
): Promise<string> {
  const rows = await query<{ readonly name: string }>(
    url,
    "SELECT column_name AS name FROM information_schema.columns WHERE table_name = $1 AND column_name NOT IN ('no', 'sequence')",
    [table],
  );
  const names = rows.map(({ name }) => name);
  return `INSERT INTO ${table} (${names.join(", ")})
    SELECT ${names.map((name) => columns[name] ?? `model.${name}`).join(", ")}
    FROM generate_series(1, ${count}) AS n, (${from}) AS model`;
}

/**
 * Adds `count` payments of other merchants to the database, each with its history, a notification
 * and a delivery: copies of a payment that a node has written, so a store accepts the rows.
 */
export async function fillWithPayments(url: string, count: number): Promise<void> {
  const merchant = `int4send(167772160 + n % ${merchants})`;
  const copied = {
    merchant,
    payment: "overlay(model.payment PLACING int8send(n) FROM 17)",
    number: "n",
  };
  const of = (table: string): string =>
    `SELECT each.* FROM ${table} AS each, first_payment WHERE each.merchant = first_payment.merchant AND each.payment = first_payment.id`;
  const id = "overlay(model.id PLACING int8send(n) FROM 17)";
  await query(
    url,
    [
      "CREATE TEMPORARY TABLE first_payment AS SELECT * FROM payment ORDER BY no LIMIT 1",
      `INSERT INTO merchant SELECT DISTINCT ${merchant} FROM generate_series(0, ${merchants - 1}) AS n`,
      await copies(
        url,
        "payment",
        "SELECT * FROM first_payment",
        { merchant, id, code: "'filled-' || n" },
        count,
      ),
      await copies(url, "history", of("history"), copied, count),
      await copies(url, "outbox", `${of("outbox")} ORDER BY number LIMIT 1`, copied, count),
      `INSERT INTO delivery (merchant, endpoint, number, payment, kind, version, state, asked_at, due_at, attempts, in_order)
        SELECT merchant, 'shop', number, payment, kind, 1, CASE WHEN number <= ${maxWaiting} THEN 'waiting' ELSE 'delivered' END, at, ${laterMs}, 1, 1
        FROM outbox WHERE merchant IN (SELECT DISTINCT ${merchant} FROM generate_series(0, ${merchants - 1}) AS n)`,
    ].join("; "),
  );
  await query(url, "ANALYZE");
}
