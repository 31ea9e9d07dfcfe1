/**
 * The due times of payments, in a narrow table: the second change of a charge then changes no
 * indexed column of `payment`, so that the update is HOT (no new index entries, and only the
 * differing part of the row goes into the write-ahead log).
 *
 * A payment has a row exactly while its `due_at` is not null. Triggers maintain this, whatever
 * writes: the functions here, a node of the previous version, or a move of a file. They run once
 * per statement. A payment's writers hold the lock of its row, so `ctid` identifies the same row of
 * `due_payment` in the next step.
 *
 * The row only determines when a job reads the payment. The work is decided from the payment, and a
 * row that differs from it is ignored. The single index finds payments in flight and due payments,
 * and is the key: each entry is written once per charge. Constraints would cost more than the row.
 *
 * `node.migrations`: how many migrations the node's version knows. Null: a version that does not
 * report it, and reads by the indexes that are dropped when no such node is present
 * (older-indexes.ts).
 */
export const duePayments = `
CREATE TABLE due_payment (
  merchant bytea NOT NULL,
  payment bytea NOT NULL,
  due_at bigint NOT NULL,
  no bigint NOT NULL,
  in_flight smallint NOT NULL,
  PRIMARY KEY (in_flight, due_at, no, merchant)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
COMMENT ON TABLE due_payment IS 'When the jobs look at a payment. Follows from the payment, and has no authority of its own.';
REVOKE ALL ON due_payment FROM PUBLIC;
GRANT SELECT ON due_payment TO cofre_jobs;

CREATE FUNCTION payments_made_1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO due_payment (merchant, payment, due_at, no, in_flight)
  SELECT merchant, id, due_at, no, num_nonnulls(attempt) FROM written WHERE due_at IS NOT NULL;
  RETURN NULL;
END
$$;

-- Each row by the whole of its key: a plan of a join may read all that is due.
CREATE FUNCTION payments_moved_1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM due_payment WHERE ctid = ANY (ARRAY(
    SELECT (SELECT due.ctid FROM due_payment AS due WHERE due.in_flight = num_nonnulls(replaced.attempt) AND due.due_at = replaced.due_at
      AND due.no = replaced.no AND due.merchant = replaced.merchant)
    FROM replaced WHERE due_at IS NOT NULL));
  INSERT INTO due_payment (merchant, payment, due_at, no, in_flight)
  SELECT merchant, id, due_at, no, num_nonnulls(attempt) FROM written WHERE due_at IS NOT NULL ON CONFLICT DO NOTHING;
  RETURN NULL;
END
$$;

CREATE TRIGGER payments_made AFTER INSERT ON payment REFERENCING NEW TABLE AS written
  FOR EACH STATEMENT EXECUTE FUNCTION payments_made_1();
CREATE TRIGGER payments_moved AFTER UPDATE ON payment REFERENCING OLD TABLE AS replaced NEW TABLE AS written
  FOR EACH STATEMENT EXECUTE FUNCTION payments_moved_1();

-- 200 payments at a time, in the order in which they are due. Each merchant's part holds the lock that batches of the merchant take, and is
-- committed: a charge waits for one part at most. What changed since the piece was read is seen under the lock. The commits do not wait for the
-- disk: the note that this migration is done does, and it is behind them in the write-ahead log.
CREATE PROCEDURE fill_due_payments_1() LANGUAGE plpgsql AS $$
DECLARE
  after_due bigint := -1;
  after_no bigint := -1;
  dues bigint[];
  nos bigint[];
  each record;
BEGIN
  LOOP
    SELECT array_agg(due_at ORDER BY due_at, no), array_agg(no ORDER BY due_at, no) INTO dues, nos FROM (
      SELECT due_at, no FROM payment WHERE due_at IS NOT NULL AND (due_at, no) > (after_due, after_no) ORDER BY due_at, no LIMIT 200) AS piece;
    EXIT WHEN dues IS NULL;
    FOR each IN SELECT merchant, array_agg(id) AS ids FROM payment
      WHERE due_at IS NOT NULL AND (due_at, no) > (after_due, after_no)
        AND (due_at, no) <= (dues[cardinality(dues)], nos[cardinality(nos)]) GROUP BY merchant
    LOOP
      PERFORM set_config('synchronous_commit', 'off', true), lock_merchants_1(ARRAY[each.merchant]);
      INSERT INTO due_payment (merchant, payment, due_at, no, in_flight)
      SELECT merchant, id, due_at, no, num_nonnulls(attempt) FROM payment
      WHERE merchant = each.merchant AND id = ANY (each.ids) AND due_at IS NOT NULL
      ON CONFLICT DO NOTHING;
      COMMIT;
    END LOOP;
    after_due := dues[cardinality(dues)];
    after_no := nos[cardinality(nos)];
    -- A batch that waits is woken by the commit, and would find the lock taken again.
    PERFORM pg_sleep(0.001);
  END LOOP;
END
$$;

ALTER TABLE node ADD COLUMN migrations integer;
CREATE FUNCTION hold_slots_3(me text, lease_ms bigint, give_back text, known integer, OUT share integer, OUT nodes integer, OUT slots text)
LANGUAGE plpgsql AS $$
BEGIN
  SELECT held.share, held.nodes, held.slots INTO share, nodes, slots FROM hold_slots_2(me, lease_ms, give_back) AS held;
  UPDATE node SET migrations = known WHERE id = me AND migrations IS DISTINCT FROM known;
END
$$;

DO $$
BEGIN
  REVOKE ALL ON FUNCTION payments_made_1(), payments_moved_1(), hold_slots_3(text, bigint, text, integer) FROM PUBLIC;
  REVOKE ALL ON PROCEDURE fill_due_payments_1() FROM PUBLIC;
  GRANT EXECUTE ON FUNCTION hold_slots_3(text, bigint, text, integer) TO cofre_jobs;
  -- A function of the owner finds its tables where they are now, not where its caller's search path leads.
  EXECUTE format('ALTER FUNCTION hold_slots_3(text, bigint, text, integer) SECURITY DEFINER SET search_path = %I, pg_temp', current_schema());
END
$$;
`;
