import { Client } from "pg";
import {
  type AnnouncedRow,
  type BalanceRow,
  type JudgedFacts,
  judgedFacts,
  type JudgedPaymentRow,
  type RecoveredRow,
} from "./judge-facts.ts";

/**
 * Postings as rows: `h hUSD1000 cUSD-1000;c ...` in `history.entries` is a kind, then account,
 * currency and minor units of each.
 */
const journal = `WITH journal AS (
  SELECT merchant, payment, version, entry_place AS entry, CASE left(posting, 1) WHEN 'h' THEN 'authorized_holds'
    WHEN 'c' THEN 'cardholder_commitments' WHEN 'a' THEN 'acquirer_receivable' WHEN 'm' THEN 'merchant_payable'
    WHEN 't' THEN 'tax_payable' END AS account, substr(posting, 2, 3) AS currency, substr(posting, 5)::numeric AS minor
  FROM history, string_to_table(entries, ';') WITH ORDINALITY AS entry (words, entry_place),
    string_to_table(words, ' ') WITH ORDINALITY AS word (posting, place)
  WHERE entries <> '' AND place > 1)`;

/** Facts of a database on a running PostgreSQL server, read in one transaction. */
export async function factsOfDatabase(url: string): Promise<JudgedFacts> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const rows = async <Row extends object>(sql: string): Promise<Row[]> =>
    (await client.query<Row>(sql)).rows;
  try {
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    return judgedFacts({
      // A damaged database makes these statements fail.
      isSound: true,
      payments: await rows<JudgedPaymentRow>(
        `SELECT encode(id, 'hex') AS id, code, state, version, authorized::text, captured::text,
          (attempt IS NOT NULL)::integer AS "inFlight", needs_review AS "needsReview" FROM payment`,
      ),
      digests: await rows<{ readonly digest: string; readonly merchant: string }>(
        "SELECT encode(token_digest, 'hex') AS digest, encode(merchant, 'hex') AS merchant FROM card",
      ),
      unbalanced: await rows(
        `${journal} SELECT payment FROM journal GROUP BY merchant, payment, version, entry, currency HAVING sum(minor) <> 0`,
      ),
      balances: await rows<BalanceRow>(
        `${journal} SELECT account, sum(minor)::text AS minor FROM journal GROUP BY account`,
      ),
      gaps: await rows(
        `SELECT payment.id FROM payment LEFT JOIN history ON history.merchant = payment.merchant AND history.payment = payment.id
          GROUP BY payment.merchant, payment.id HAVING count(*) <> payment.version OR max(history.version) <> payment.version`,
      ),
      announced: await rows<AnnouncedRow>(
        "SELECT encode(payment, 'hex') AS payment, count(*)::integer AS count FROM outbox GROUP BY payment",
      ),
      recovered: await rows<RecoveredRow>(
        "SELECT encode(payment, 'hex') AS payment, facts FROM history WHERE facts || ' ' LIKE '%r %'",
      ),
    });
  } finally {
    await client.end();
  }
}
