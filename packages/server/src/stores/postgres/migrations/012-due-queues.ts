/**
 * Deliveries by the time from which they may be attempted: the cost of reading due deliveries
 * depends only on their number, not on how many wait for later. The embedded store's
 * 008-due-queues.ts describes the three tables.
 *
 * Triggers keep them in step with `delivery`, whatever writes it: the functions here, a node of the
 * previous version, or a move of a file. They run once per statement, so `move_deliveries_1` now
 * moves all deliveries of a change in one statement. A batch holds the lock of each of its
 * merchants, so no two transactions write rows of the same merchant.
 */
export const dueQueues = `
CREATE TABLE due_delivery (
  merchant bytea NOT NULL CHECK (length(merchant) = 4),
  queue text COLLATE "C" NOT NULL,
  due_at bigint NOT NULL,
  number bigint NOT NULL,
  endpoint text COLLATE "C" NOT NULL,
  PRIMARY KEY (merchant, queue, due_at, number, endpoint)
);

CREATE TABLE due_queue (
  merchant bytea NOT NULL CHECK (length(merchant) = 4),
  queue text COLLATE "C" NOT NULL,
  first_at bigint NOT NULL,
  parked_until bigint,
  due_at bigint NOT NULL,
  PRIMARY KEY (merchant, queue),
  CHECK (due_at = greatest(first_at, parked_until))
);
CREATE INDEX due_queue_due ON due_queue (merchant, due_at, queue);

CREATE TABLE due_merchant (
  merchant bytea PRIMARY KEY CHECK (length(merchant) = 4),
  due_at bigint NOT NULL
);
CREATE INDEX due_merchant_due ON due_merchant (due_at, merchant);

-- Few rows, each written many times a second.
ALTER TABLE due_delivery SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
ALTER TABLE due_queue SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
ALTER TABLE due_merchant SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

GRANT SELECT ON due_delivery, due_queue, due_merchant TO cofre_jobs;

CREATE FUNCTION queue_of_1(endpoint text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
  'SELECT CASE WHEN left(endpoint, 4) = ''url-'' AND substr(endpoint, 21, 1) = ''-'' THEN left(endpoint, 20) ELSE endpoint END';

CREATE FUNCTION place_queue_1(owner bytea, name text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  first bigint;
BEGIN
  SELECT due_at INTO first FROM due_delivery WHERE merchant = owner AND queue = name ORDER BY due_at LIMIT 1;
  IF first IS NULL THEN
    DELETE FROM due_queue WHERE merchant = owner AND queue = name;
  ELSE
    INSERT INTO due_queue AS known (merchant, queue, first_at, due_at) VALUES (owner, name, first, first)
    ON CONFLICT (merchant, queue) DO UPDATE SET first_at = first, due_at = greatest(first, known.parked_until) WHERE known.first_at <> first;
  END IF;
  IF FOUND THEN PERFORM place_merchant_1(owner); END IF;
END
$$;

CREATE FUNCTION place_merchant_1(owner bytea) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  first bigint;
BEGIN
  SELECT due_at INTO first FROM due_queue WHERE merchant = owner ORDER BY due_at LIMIT 1;
  IF first IS NULL THEN
    DELETE FROM due_merchant WHERE merchant = owner;
  ELSE
    INSERT INTO due_merchant AS known (merchant, due_at) VALUES (owner, first)
    ON CONFLICT (merchant) DO UPDATE SET due_at = first WHERE known.due_at <> first;
  END IF;
END
$$;

-- One row after another, each by the whole of a key: a plan for all of them at once may read every delivery that waits.
CREATE FUNCTION place_deliveries_1(owner bytea, receiver text, about bytea) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  name CONSTANT text := queue_of_1(receiver);
  each record;
  is_blocked boolean := false;
BEGIN
  FOR each IN SELECT number, due_at, in_order FROM delivery
    WHERE merchant = owner AND payment = about AND endpoint = receiver AND state = 'waiting' ORDER BY number
  LOOP
    IF is_blocked THEN
      DELETE FROM due_delivery
      WHERE merchant = owner AND queue = name AND due_at = each.due_at AND number = each.number AND endpoint = receiver;
    ELSE
      INSERT INTO due_delivery (merchant, queue, due_at, number, endpoint) VALUES (owner, name, each.due_at, each.number, receiver)
      ON CONFLICT DO NOTHING;
    END IF;
    is_blocked := is_blocked OR each.in_order = 1;
  END LOOP;
END
$$;

CREATE FUNCTION deliveries_made_1() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  each record;
BEGIN
  FOR each IN SELECT merchant, endpoint, payment FROM written WHERE state = 'waiting' LOOP
    PERFORM place_deliveries_1(each.merchant, each.endpoint, each.payment);
  END LOOP;
  FOR each IN SELECT DISTINCT merchant, queue_of_1(endpoint) AS queue FROM written WHERE state = 'waiting' LOOP
    PERFORM place_queue_1(each.merchant, each.queue);
  END LOOP;
  RETURN NULL;
END
$$;

CREATE FUNCTION deliveries_moved_1() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  each record;
BEGIN
  FOR each IN SELECT merchant, queue_of_1(endpoint) AS queue, due_at, number, endpoint FROM replaced WHERE state = 'waiting' LOOP
    DELETE FROM due_delivery WHERE merchant = each.merchant AND queue = each.queue AND due_at = each.due_at AND number = each.number
      AND endpoint = each.endpoint;
  END LOOP;
  FOR each IN SELECT merchant, endpoint, payment FROM written LOOP
    PERFORM place_deliveries_1(each.merchant, each.endpoint, each.payment);
  END LOOP;
  FOR each IN SELECT DISTINCT merchant, queue_of_1(endpoint) AS queue FROM written LOOP
    PERFORM place_queue_1(each.merchant, each.queue);
  END LOOP;
  RETURN NULL;
END
$$;

CREATE TRIGGER deliveries_made AFTER INSERT ON delivery REFERENCING NEW TABLE AS written
  FOR EACH STATEMENT EXECUTE FUNCTION deliveries_made_1();
CREATE TRIGGER deliveries_moved AFTER UPDATE ON delivery REFERENCING OLD TABLE AS replaced NEW TABLE AS written
  FOR EACH STATEMENT EXECUTE FUNCTION deliveries_moved_1();

CREATE FUNCTION account_changed_1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE due_queue SET parked_until = NULL, due_at = first_at WHERE merchant = NEW.merchant AND parked_until IS NOT NULL;
  IF FOUND THEN PERFORM place_merchant_1(NEW.merchant); END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER account_changed AFTER UPDATE ON account FOR EACH ROW EXECUTE FUNCTION account_changed_1();

CREATE OR REPLACE FUNCTION move_deliveries_1(owner bytea, moved jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM jsonb_array_elements(moved) AS each (part) WHERE part -> 2 = 'null') THEN
    IF EXISTS (SELECT 1 FROM jsonb_array_elements(moved) AS each (part) WHERE part -> 2 = 'null'
      AND NOT EXISTS (SELECT 1 FROM payment WHERE merchant = owner AND id = decode(part ->> 3, 'hex'))) THEN
      RAISE EXCEPTION USING ERRCODE = 'foreign_key_violation', MESSAGE = 'a delivery is of a notification that was committed';
    END IF;
    INSERT INTO delivery (merchant, endpoint, number, payment, kind, version, state, asked_at, due_at, attempts, outcome, in_order, message)
    SELECT owner, part ->> 0, (part ->> 1)::bigint, decode(part ->> 3, 'hex'), part ->> 4, (part -> 5 ->> 0)::integer, part -> 5 ->> 1,
      (part -> 5 ->> 2)::bigint, (part -> 5 ->> 3)::bigint, (part -> 5 ->> 4)::integer, part -> 5 ->> 5, (part -> 5 ->> 6)::smallint,
      (part -> 5 ->> 7)::bigint
    FROM jsonb_array_elements(moved) AS each (part) WHERE part -> 2 = 'null';
  END IF;
  UPDATE delivery SET version = (part -> 5 ->> 0)::integer, state = part -> 5 ->> 1, asked_at = (part -> 5 ->> 2)::bigint,
    due_at = (part -> 5 ->> 3)::bigint, attempts = (part -> 5 ->> 4)::integer, outcome = part -> 5 ->> 5,
    in_order = (part -> 5 ->> 6)::smallint,
    -- A node of the version before this column says nothing of it.
    message = CASE WHEN jsonb_array_length(part -> 5) > 7 THEN (part -> 5 ->> 7)::bigint ELSE message END
  FROM jsonb_array_elements(moved) AS each (part)
  WHERE part -> 2 <> 'null' AND delivery.merchant = owner AND delivery.endpoint = part ->> 0 AND delivery.number = (part ->> 1)::bigint;
END
$$;

-- 200 deliveries at a time, by the payments and endpoints that they are of. Each piece holds the lock that batches of its merchant take, and
-- is committed: a charge waits for one piece at most. What came or moved since a piece was read is seen under the lock.
CREATE PROCEDURE fill_due_queues_1() LANGUAGE plpgsql AS $$
DECLARE
  owner bytea;
  each record;
  after_payment bytea;
  after_endpoint text;
  queues text[];
BEGIN
  FOR owner IN SELECT merchant FROM merchant UNION SELECT merchant FROM account LOOP
    after_payment := '';
    after_endpoint := '';
    LOOP
      queues := '{}';
      FOR each IN SELECT DISTINCT payment, endpoint FROM (
        SELECT payment, endpoint FROM delivery
        WHERE merchant = owner AND state = 'waiting' AND (payment, endpoint) > (after_payment, after_endpoint)
        ORDER BY payment, endpoint LIMIT 200) AS piece ORDER BY payment, endpoint
      LOOP
        IF queues = '{}' THEN PERFORM lock_merchants_1(ARRAY[owner]); END IF;
        PERFORM place_deliveries_1(owner, each.endpoint, each.payment);
        IF queue_of_1(each.endpoint) <> ALL (queues) THEN queues := queues || queue_of_1(each.endpoint); END IF;
        after_payment := each.payment;
        after_endpoint := each.endpoint;
      END LOOP;
      EXIT WHEN queues = '{}';
      FOR place IN 1 .. cardinality(queues) LOOP
        PERFORM place_queue_1(owner, queues[place]);
      END LOOP;
      COMMIT;
      -- A batch that waits is woken by the commit, and would find the lock taken again.
      PERFORM pg_sleep(0.001);
    END LOOP;
  END LOOP;
END
$$;

DO $$
DECLARE
  made text;
BEGIN
  FOREACH made IN ARRAY ARRAY['queue_of_1(text)', 'place_queue_1(bytea, text)', 'place_merchant_1(bytea)',
    'place_deliveries_1(bytea, text, bytea)', 'deliveries_made_1()',
    'deliveries_moved_1()', 'account_changed_1()'] LOOP
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', made);
  END LOOP;
  REVOKE ALL ON PROCEDURE fill_due_queues_1() FROM PUBLIC;
END
$$;
`;
