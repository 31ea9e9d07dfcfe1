/**
 * `journal`: the ledger's entries as rows, for reports, the same as the embedded store's view. It
 * decodes the codes of codes.ts: another account needs a migration that recreates the view. It
 * reads with the caller's rights, so it shows no more than `history` does.
 *
 * `origin`: the origin of the data in the database, one row or none. `begun`: a start found the
 * database empty and used it; `moved`: a file was moved here (cofre migrate-store); `returned`: and
 * was moved back since. Only the owner reads it.
 */
export const reports = `
CREATE VIEW journal WITH (security_invoker = true) AS
SELECT
  history.merchant,
  history.payment,
  history.version,
  timestamptz 'epoch' + history.at * interval '1 millisecond' AS at,
  entry.no::integer AS entry,
  CASE substr(entry.text, 1, 1)
    WHEN 'h' THEN 'hold'
    WHEN 'r' THEN 'release'
    WHEN 'c' THEN 'capture'
    WHEN 'f' THEN 'refund'
    WHEN 'b' THEN 'chargeback'
    WHEN 'w' THEN 'chargeback_credit'
  END AS kind,
  CASE substr(posting.text, 1, 1)
    WHEN 'h' THEN 'authorized_holds'
    WHEN 'c' THEN 'cardholder_commitments'
    WHEN 'a' THEN 'acquirer_receivable'
    WHEN 'm' THEN 'merchant_payable'
    WHEN 't' THEN 'tax_payable'
  END AS account,
  substr(posting.text, 2, 3) AS currency,
  substr(posting.text, 5)::bigint AS minor
FROM history
CROSS JOIN LATERAL string_to_table(history.entries, ';') WITH ORDINALITY AS entry (text, no)
CROSS JOIN LATERAL string_to_table(substr(entry.text, 3), ' ') AS posting (text)
WHERE history.entries <> '';
COMMENT ON VIEW journal IS 'Debits are positive, credits negative, in minor units of the currency; an entry sums to zero in each currency.';
GRANT SELECT ON journal TO cofre_reader;

CREATE TABLE origin (
  no integer PRIMARY KEY CHECK (no = 1),
  state text NOT NULL CHECK (state IN ('begun', 'moved', 'returned')),
  move text CHECK (move ~ '^[0-9a-f]{32}$'),
  at timestamptz NOT NULL,
  CHECK ((move IS NULL) = (state = 'begun'))
);
`;
