/**
 * Writes the most common changes together: a run is a sequence of changes of different payments,
 * each with a payment, perhaps a card use, and nothing rare. They cannot conflict with each other,
 * so one statement per table writes them all: a statement for each row costs several times as much,
 * above all for constraint checks, which are loaded again for each statement.
 */
export const runs = `
CREATE FUNCTION write_run_1(run jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  written jsonb;
BEGIN
  WITH inserted AS (
    INSERT INTO payment (merchant, id, code, created_at, order_json, version, state, status_at, captured_at, capture_by, authorized,
      captured, attempts, attempt, due_at, verdict, needs_review, refunded)
    SELECT decode(m ->> 0, 'hex'), decode(m -> 2 ->> 0, 'hex'), m -> 2 ->> 19, (m -> 2 ->> 20)::bigint, m -> 2 ->> 21,
      (m -> 2 ->> 2)::integer, m -> 2 ->> 3, (m -> 2 ->> 4)::bigint, (m -> 2 ->> 5)::bigint, (m -> 2 ->> 6)::bigint,
      (m -> 2 ->> 7)::bigint, (m -> 2 ->> 8)::bigint, (m -> 2 ->> 9)::integer, m -> 2 ->> 10, (m -> 2 ->> 11)::bigint, m -> 2 ->> 12,
      (m -> 2 ->> 13)::smallint, 0
    FROM jsonb_array_elements(run) WITH ORDINALITY AS each (m, place) WHERE m -> 2 -> 1 = 'null' ORDER BY place
    ON CONFLICT DO NOTHING RETURNING id
  ), updated AS (
    UPDATE payment SET version = (m -> 2 ->> 2)::integer, state = m -> 2 ->> 3, status_at = (m -> 2 ->> 4)::bigint,
      captured_at = (m -> 2 ->> 5)::bigint, capture_by = (m -> 2 ->> 6)::bigint, authorized = (m -> 2 ->> 7)::bigint,
      captured = (m -> 2 ->> 8)::bigint, attempts = (m -> 2 ->> 9)::integer, attempt = m -> 2 ->> 10, due_at = (m -> 2 ->> 11)::bigint,
      verdict = m -> 2 ->> 12, needs_review = (m -> 2 ->> 13)::smallint, refunded = 0, refunds = NULL, chargeback = NULL, review = NULL,
      mandate = NULL
    FROM jsonb_array_elements(run) AS each (m)
    WHERE m -> 2 -> 1 <> 'null' AND payment.merchant = decode(m ->> 0, 'hex') AND payment.id = decode(m -> 2 ->> 0, 'hex')
      AND payment.version = (m -> 2 ->> 1)::integer
    RETURNING id
  )
  SELECT coalesce(jsonb_object_agg(encode(id, 'hex'), true), '{}') INTO written
  FROM (SELECT id FROM inserted UNION ALL SELECT id FROM updated) AS both_of_them;

  INSERT INTO history (merchant, payment, version, at, facts, detail, entries)
  SELECT decode(m ->> 0, 'hex'), decode(m -> 2 ->> 0, 'hex'), (m -> 2 ->> 2)::integer, (m ->> 1)::bigint, m -> 2 ->> 14, m -> 2 ->> 15,
    m -> 2 ->> 16
  FROM jsonb_array_elements(run) AS each (m) WHERE written ? (m -> 2 ->> 0);

  WITH told AS MATERIALIZED (
    SELECT m, m ->> 0 AS owner, word, row_number() OVER (ORDER BY place, word_place) AS turn
    FROM jsonb_array_elements(run) WITH ORDINALITY AS each (m, place),
      string_to_table(m -> 2 ->> 17, ' ') WITH ORDINALITY AS notification (word, word_place)
    WHERE m -> 2 ->> 17 <> '' AND written ? (m -> 2 ->> 0)
  ), owners AS MATERIALIZED (
    SELECT owner, coalesce((
      SELECT number FROM outbox WHERE merchant = decode(owner, 'hex') ORDER BY number DESC LIMIT 1), 0) AS last_number
    FROM (SELECT DISTINCT owner FROM told) AS different
  )
  INSERT INTO outbox (merchant, number, payment, version, kind, at)
  SELECT decode(owner, 'hex'), last_number + row_number() OVER (PARTITION BY owner ORDER BY turn), decode(m -> 2 ->> 0, 'hex'),
    (m -> 2 ->> 2)::integer, word, (m ->> 1)::bigint
  FROM told JOIN owners USING (owner) ORDER BY turn;

  UPDATE card SET last_used_at = used_at
  FROM (
    SELECT m ->> 0 AS owner, m -> 4 ->> 0 AS digest, max((m -> 4 ->> 1)::bigint) AS used_at
    FROM jsonb_array_elements(run) AS each (m) WHERE m -> 4 <> 'null' AND written ? (m -> 2 ->> 0) GROUP BY 1, 2
  ) AS used
  WHERE merchant = decode(owner, 'hex') AND token_digest = decode(digest, 'hex') AND last_used_at < used_at;

  RETURN (
    SELECT string_agg(CASE
      WHEN written ? (m -> 2 ->> 0) THEN 'committed'
      WHEN m -> 2 -> 1 <> 'null' THEN 'stale'
      WHEN EXISTS (SELECT 1 FROM payment WHERE merchant = decode(m ->> 0, 'hex') AND code = m -> 2 ->> 19 AND code >= '') THEN 'payment_code'
      ELSE 'payment_id' END, ' ' ORDER BY place)
    FROM jsonb_array_elements(run) WITH ORDINALITY AS each (m, place)
  );
END
$$;
`;
