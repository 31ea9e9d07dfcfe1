import { runs } from "./003-runs.ts";
import { withReplaced } from "./replaced.ts";

/**
 * A run with deliveries numbers its notifications in the same way, and one statement writes them
 * with the deliveries. A run without deliveries has no such statement.
 */
const laterRun = withReplaced(
  "write_run_1",
  [
    ["write_run_1", "write_run_2"],
    [
      "  written jsonb;\n",
      "  written jsonb;\n  delivers CONSTANT boolean := EXISTS (SELECT 1 FROM jsonb_array_elements(run) AS each (m) WHERE m -> 8 <> 'null');\n",
    ],
    // As change by change.
    ["mandate = NULL\n", "mandate = NULL,\n      rerouted = NULL\n"],
    ["  WITH told AS MATERIALIZED (\n", "  IF NOT delivers THEN\n  WITH told AS MATERIALIZED (\n"],
    [
      "  FROM told JOIN owners USING (owner) ORDER BY turn;\n",
      `  FROM told JOIN owners USING (owner) ORDER BY turn;
  ELSE
  WITH told AS MATERIALIZED (
    SELECT m, m ->> 0 AS owner, word, row_number() OVER (ORDER BY place, word_place) AS turn
    FROM jsonb_array_elements(run) WITH ORDINALITY AS each (m, place),
      string_to_table(m -> 2 ->> 17, ' ') WITH ORDINALITY AS notification (word, word_place)
    WHERE m -> 2 ->> 17 <> '' AND written ? (m -> 2 ->> 0)
  ), owners AS MATERIALIZED (
    SELECT owner, coalesce((
      SELECT number FROM outbox WHERE merchant = decode(owner, 'hex') ORDER BY number DESC LIMIT 1), 0) AS last_number
    FROM (SELECT DISTINCT owner FROM told) AS different
  ), numbered AS MATERIALIZED (
    SELECT m, decode(owner, 'hex') AS merchant, last_number + row_number() OVER (PARTITION BY owner ORDER BY turn) AS number,
      decode(m -> 2 ->> 0, 'hex') AS payment, word, turn
    FROM told JOIN owners USING (owner)
  ), noted AS (
    INSERT INTO outbox (merchant, number, payment, version, kind, at)
    SELECT merchant, number, payment, (m -> 2 ->> 2)::integer, word, (m ->> 1)::bigint FROM numbered ORDER BY turn
  )
  INSERT INTO delivery (merchant, endpoint, number, payment, kind, version, state, asked_at, due_at, attempts, outcome, in_order, message)
  SELECT merchant, receiver, number, payment, word, (m -> 8 -> 2 ->> 0)::integer, m -> 8 -> 2 ->> 1, (m -> 8 -> 2 ->> 2)::bigint,
    (m -> 8 -> 2 ->> 3)::bigint, (m -> 8 -> 2 ->> 4)::integer, m -> 8 -> 2 ->> 5, (m -> 8 -> 2 ->> 6)::smallint,
    CASE WHEN m -> 8 -> 3 ? receiver THEN 0 END
  FROM numbered, jsonb_array_elements_text(m -> 8 -> 0) WITH ORDINALITY AS receivers (receiver, receiver_place)
  WHERE m -> 8 <> 'null' ORDER BY turn, receiver_place;
  END IF;
`,
    ],
  ],
  runs,
);

/** A part of a batch is a change, {"run": [changes]} or {"moves": [changes]}. */
const laterBatch = withReplaced("write_batch_1", [
  ["write_batch_1", "write_batch_2"],
  [
    "    IF jsonb_typeof(part) = 'object' THEN\n      outcome := write_run_1(part -> 'run');\n",
    `    IF part -> 'run' IS NOT NULL THEN
      outcome := write_run_2(part -> 'run');
    ELSIF part -> 'moves' IS NOT NULL THEN
      outcome := write_moves_1(part -> 'moves');
`,
  ],
]);

/**
 * The version of each delivery is found by a look-up. A join read all of the merchant's deliveries
 * up to these, because the planner estimated few rows.
 */
const laterChange = withReplaced("write_change_1", [
  [
    "PERFORM move_deliveries_1(owner, message -> 8 -> 1); END IF;\n",
    "PERFORM move_deliveries_1(owner, message -> 8 -> 1); END IF;\n  IF message -> 9 <> 'null' THEN PERFORM park_queue_1(owner, message -> 9); END IF;\n",
  ],
  [
    `    LEFT JOIN delivery ON delivery.merchant = owner AND delivery.endpoint = moved ->> 0 AND delivery.number = (moved ->> 1)::bigint
    WHERE delivery.version IS DISTINCT FROM (moved ->> 2)::integer
`,
    `    WHERE (SELECT version FROM delivery WHERE merchant = owner AND endpoint = moved ->> 0 AND number = (moved ->> 1)::bigint)
      IS DISTINCT FROM (moved ->> 2)::integer
`,
  ],
]);

/**
 * Runs write the deliveries of their changes too, and the dispatcher's commits are written
 * together: one statement for changes of different merchants that only move deliveries. The
 * triggers of 012 process all rows of a statement with a few statements instead of several per row.
 *
 * The earlier functions remain for nodes of the previous version. The trigger functions,
 * `write_change_1` and `move_deliveries_1` are replaced under their names: they write the same rows
 * as before.
 */
export const runsWithDeliveries = `
${laterChange}
${laterRun}
-- Changes that move deliveries and do nothing else, each of another merchant: none of them finds anything of another's.
CREATE FUNCTION write_moves_1(moves jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  outcomes text;
BEGIN
  WITH asked AS MATERIALIZED (
    SELECT place, moved -> 5 AS fresh, row_at, version IS DISTINCT FROM (moved ->> 2)::integer AS is_stale
    FROM jsonb_array_elements(moves) WITH ORDINALITY AS each (m, place) CROSS JOIN LATERAL jsonb_array_elements(m -> 8 -> 1) AS moved
    LEFT JOIN LATERAL (
      SELECT ctid AS row_at, version FROM delivery
      WHERE merchant = decode(m ->> 0, 'hex') AND endpoint = moved ->> 0 AND number = (moved ->> 1)::bigint OFFSET 0
    ) AS found ON true
  ), stale AS MATERIALIZED (
    SELECT DISTINCT place FROM asked WHERE is_stale
  ), written AS (
    UPDATE delivery SET version = (fresh ->> 0)::integer, state = fresh ->> 1, asked_at = (fresh ->> 2)::bigint,
      due_at = (fresh ->> 3)::bigint, attempts = (fresh ->> 4)::integer, outcome = fresh ->> 5, in_order = (fresh ->> 6)::smallint,
      message = (fresh ->> 7)::bigint
    FROM asked WHERE delivery.ctid = row_at AND place NOT IN (SELECT place FROM stale)
  )
  SELECT string_agg(CASE WHEN place IN (SELECT place FROM stale) THEN 'stale' ELSE 'committed' END, ' ' ORDER BY place) INTO outcomes
  FROM jsonb_array_elements(moves) WITH ORDINALITY AS each (m, place);
  RETURN outcomes;
END
$$;

${laterBatch}
CREATE OR REPLACE FUNCTION move_deliveries_1(owner bytea, moved jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM jsonb_array_elements(moved) AS each (part) WHERE part -> 2 = 'null') THEN
    IF EXISTS (SELECT 1 FROM jsonb_array_elements(moved) AS each (part) WHERE part -> 2 = 'null'
      AND (SELECT id FROM payment WHERE merchant = owner AND id = decode(part ->> 3, 'hex')) IS NULL) THEN
      RAISE EXCEPTION USING ERRCODE = 'foreign_key_violation', MESSAGE = 'a delivery is of a notification that was committed';
    END IF;
    INSERT INTO delivery (merchant, endpoint, number, payment, kind, version, state, asked_at, due_at, attempts, outcome, in_order, message)
    SELECT owner, part ->> 0, (part ->> 1)::bigint, decode(part ->> 3, 'hex'), part ->> 4, (part -> 5 ->> 0)::integer, part -> 5 ->> 1,
      (part -> 5 ->> 2)::bigint, (part -> 5 ->> 3)::bigint, (part -> 5 ->> 4)::integer, part -> 5 ->> 5, (part -> 5 ->> 6)::smallint,
      (part -> 5 ->> 7)::bigint
    FROM jsonb_array_elements(moved) AS each (part) WHERE part -> 2 = 'null';
  END IF;
  UPDATE delivery SET version = (fresh ->> 0)::integer, state = fresh ->> 1, asked_at = (fresh ->> 2)::bigint,
    due_at = (fresh ->> 3)::bigint, attempts = (fresh ->> 4)::integer, outcome = fresh ->> 5, in_order = (fresh ->> 6)::smallint,
    -- A node of the version before this column says nothing of it.
    message = CASE WHEN jsonb_array_length(fresh) > 7 THEN (fresh ->> 7)::bigint ELSE message END
  FROM (
    SELECT part -> 5 AS fresh,
      (SELECT ctid FROM delivery AS own WHERE own.merchant = owner AND own.endpoint = part ->> 0 AND own.number = (part ->> 1)::bigint) AS row_at
    FROM jsonb_array_elements(moved) AS each (part) WHERE part -> 2 <> 'null' OFFSET 0
  ) AS asked
  WHERE delivery.ctid = row_at;
END
$$;

-- Those of a payment to an endpoint that wait: up to the first that is in order they may be tried. A look-up for each payment, by the whole of a key:
-- a plan for all of them at once may read every delivery that waits.
CREATE FUNCTION place_all_deliveries_1(merchants bytea[], receivers text[], payments bytea[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  WITH placed AS MATERIALIZED (
    SELECT merchant, queue_of_1(receiver) AS queue, due_at, number, receiver, is_blocked
    FROM (SELECT DISTINCT merchant, receiver, payment FROM unnest(merchants, receivers, payments) AS each (merchant, receiver, payment)) AS asked
    CROSS JOIN LATERAL (
      SELECT number, due_at, coalesce(max(in_order) OVER (ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) = 1 AS is_blocked
      FROM delivery
      WHERE delivery.merchant = asked.merchant AND delivery.payment = asked.payment AND delivery.endpoint = asked.receiver AND state = 'waiting'
    ) AS waiting
  ), removed AS (
    DELETE FROM due_delivery WHERE ctid = ANY (ARRAY(
      SELECT (SELECT ctid FROM due_delivery AS due WHERE due.merchant = placed.merchant AND due.queue = placed.queue
        AND due.due_at = placed.due_at AND due.number = placed.number AND due.endpoint = placed.receiver)
      FROM placed WHERE is_blocked))
  )
  INSERT INTO due_delivery (merchant, queue, due_at, number, endpoint)
  SELECT merchant, queue, due_at, number, receiver FROM placed WHERE NOT is_blocked ORDER BY merchant, queue, due_at, number, receiver
  ON CONFLICT DO NOTHING;
END
$$;

CREATE FUNCTION place_all_queues_1(merchants bytea[], queues text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  changed bytea[];
BEGIN
  WITH placed AS MATERIALIZED (
    SELECT merchant, queue, (
      SELECT due_at FROM due_delivery WHERE due_delivery.merchant = asked.merchant AND due_delivery.queue = asked.queue ORDER BY due_at LIMIT 1
    ) AS first
    FROM (SELECT DISTINCT merchant, queue FROM unnest(merchants, queues) AS each (merchant, queue)) AS asked
  ), emptied AS (
    DELETE FROM due_queue WHERE ctid = ANY (ARRAY(
      SELECT (SELECT ctid FROM due_queue AS due WHERE due.merchant = placed.merchant AND due.queue = placed.queue) FROM placed WHERE first IS NULL))
    RETURNING merchant
  ), filled AS (
    INSERT INTO due_queue AS known (merchant, queue, first_at, due_at)
    SELECT merchant, queue, first, first FROM placed WHERE first IS NOT NULL ORDER BY merchant, queue
    ON CONFLICT (merchant, queue) DO UPDATE SET first_at = excluded.first_at, due_at = greatest(excluded.first_at, known.parked_until)
      WHERE known.first_at <> excluded.first_at
    RETURNING merchant
  )
  SELECT array_agg(DISTINCT merchant) INTO changed FROM (SELECT merchant FROM emptied UNION ALL SELECT merchant FROM filled) AS both_of_them;
  IF changed IS NULL THEN RETURN; END IF;
  WITH placed AS MATERIALIZED (
    SELECT merchant, (SELECT due_at FROM due_queue WHERE due_queue.merchant = each.merchant ORDER BY due_at LIMIT 1) AS first
    FROM unnest(changed) AS each (merchant)
  ), emptied AS (
    DELETE FROM due_merchant WHERE ctid = ANY (ARRAY(
      SELECT (SELECT ctid FROM due_merchant AS due WHERE due.merchant = placed.merchant) FROM placed WHERE first IS NULL))
  )
  INSERT INTO due_merchant AS known (merchant, due_at) SELECT merchant, first FROM placed WHERE first IS NOT NULL ORDER BY merchant
  ON CONFLICT (merchant) DO UPDATE SET due_at = excluded.due_at WHERE known.due_at <> excluded.due_at;
END
$$;

-- Settings as in write_batch_2: the first in a session to write a delivery may be another statement, whose plans are kept.
CREATE OR REPLACE FUNCTION deliveries_made_1() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  merchants bytea[];
  receivers text[];
  payments bytea[];
BEGIN
  SELECT array_agg(merchant), array_agg(endpoint), array_agg(payment) INTO merchants, receivers, payments FROM written WHERE state = 'waiting';
  IF merchants IS NULL THEN RETURN NULL; END IF;
  PERFORM place_all_deliveries_1(merchants, receivers, payments);
  PERFORM place_all_queues_1(merchants, ARRAY(SELECT queue_of_1(each) FROM unnest(receivers) WITH ORDINALITY AS receiver (each, place) ORDER BY place));
  RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION deliveries_moved_1() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  merchants bytea[];
  receivers text[];
  payments bytea[];
BEGIN
  SELECT array_agg(merchant), array_agg(endpoint), array_agg(payment) INTO merchants, receivers, payments FROM written;
  IF merchants IS NULL THEN RETURN NULL; END IF;
  DELETE FROM due_delivery WHERE ctid = ANY (ARRAY(
    SELECT (SELECT ctid FROM due_delivery AS due WHERE due.merchant = replaced.merchant AND due.queue = queue_of_1(replaced.endpoint)
      AND due.due_at = replaced.due_at AND due.number = replaced.number AND due.endpoint = replaced.endpoint)
    FROM replaced WHERE state = 'waiting'));
  PERFORM place_all_deliveries_1(merchants, receivers, payments);
  PERFORM place_all_queues_1(merchants, ARRAY(SELECT queue_of_1(each) FROM unnest(receivers) WITH ORDINALITY AS receiver (each, place) ORDER BY place));
  RETURN NULL;
END
$$;

DO $$
DECLARE
  made text;
BEGIN
  FOREACH made IN ARRAY ARRAY['write_batch_2(jsonb)', 'write_run_2(jsonb)', 'write_moves_1(jsonb)',
    'place_all_deliveries_1(bytea[], text[], bytea[])', 'place_all_queues_1(bytea[], text[])'] LOOP
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', made);
  END LOOP;
  -- As of write_batch_1 (004-roles.ts).
  EXECUTE format('ALTER FUNCTION write_batch_2(jsonb) SECURITY DEFINER SET search_path = %I, pg_temp', current_schema());
END
$$;
ALTER FUNCTION write_batch_2(jsonb) SET enable_seqscan = off;
ALTER FUNCTION write_batch_2(jsonb) SET enable_bitmapscan = off;
ALTER FUNCTION write_batch_2(jsonb) SET enable_sort = off;
ALTER FUNCTION write_batch_2(jsonb) SET enable_hashjoin = off;
ALTER FUNCTION write_batch_2(jsonb) SET enable_mergejoin = off;
ALTER FUNCTION write_batch_2(jsonb) SET jit = off;
GRANT EXECUTE ON FUNCTION write_batch_2(jsonb) TO cofre_gateway;
`;
