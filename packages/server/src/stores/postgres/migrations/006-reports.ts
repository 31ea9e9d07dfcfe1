/**
 * `journal`: the ledger's entries as rows, for reports, the same as the embedded store's view. It
 * spells out the codes of codes.ts: another account needs a migration that makes the view anew. It
 * reads with the rights of whoever asks, so it shows no more than `history` does.
 *
 * `origin`: where what is in the database came from, one row or none. `begun`: a start found the
 * database empty and went on; `moved`: a file was moved here (cofre migrate-store); `returned`: and
 * was taken back since. Nobody but the owner reads it.
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
