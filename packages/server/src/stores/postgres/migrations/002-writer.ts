/**
 * The writer of batches, as database functions: one round trip and one commit for a whole batch,
 * whatever it contains. Changes are written in order of arrival, each whole or not at all, by the
 * same steps as the embedded store's change-writer.ts; a message is that of change-message.ts as
 * JSON, with bytes in hex. Statements in PL/pgSQL are planned once per connection.
 *
 * A batch first locks the row of each of its merchants, ordered by id, until its commit. So no two
 * batches write to one merchant at a time: they cannot deadlock, the data that one has read of the
 * merchant does not change, and notifications are numbered without gaps. Batches of other merchants
 * run concurrently.
 *
 * The names end with a number: another message format gets its own functions, so that an older node
 * can run beside a newer one.
 */
export const writer = `
-- A batch is {"merchants": [...], "parts": [...]}; a part is a change or {"run": [changes]}.
CREATE FUNCTION write_batch_1(batch jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  part jsonb;
  outcome text;
  outcomes text := '';
BEGIN
  PERFORM lock_merchants_1(ARRAY(SELECT decode(value, 'hex') FROM jsonb_array_elements_text(batch -> 'merchants')));
  FOR part IN SELECT value FROM jsonb_array_elements(batch -> 'parts') LOOP
    IF jsonb_typeof(part) = 'object' THEN
      outcome := write_run_1(part -> 'run');
    -- A lone payment or card finds its conflict with the first statement, before anything of it is written.
    ELSIF part -> 5 <> 'null' OR part -> 2 <> 'null' AND (part -> 3 <> 'null' OR part -> 2 -> 18 <> 'null') THEN
      BEGIN
        outcome := write_change_1(part);
        IF outcome <> 'committed' THEN RAISE EXCEPTION SQLSTATE 'CF001' USING MESSAGE = outcome; END IF;
      EXCEPTION WHEN SQLSTATE 'CF001' THEN
        outcome := SQLERRM;
      END;
    ELSE
      outcome := write_change_1(part);
    END IF;
    outcomes := outcomes || ' ' || outcome;
  END LOOP;
  RETURN substr(outcomes, 2);
EXCEPTION WHEN OTHERS THEN
  -- The server's own words about a row that breaks a constraint hold the row, and it would write them to its log.
  RAISE EXCEPTION USING ERRCODE = SQLSTATE, MESSAGE = 'a batch failed';
END
$$;

CREATE FUNCTION lock_merchants_1(merchants bytea[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  locked integer;
BEGIN
  PERFORM 1 FROM merchant WHERE merchant.merchant = ANY (merchants) ORDER BY merchant.merchant FOR NO KEY UPDATE;
  GET DIAGNOSTICS locked = ROW_COUNT;
  IF locked < cardinality(merchants) THEN
    INSERT INTO merchant SELECT each FROM unnest(merchants) AS each ORDER BY each ON CONFLICT DO NOTHING;
    PERFORM 1 FROM merchant WHERE merchant.merchant = ANY (merchants) ORDER BY merchant.merchant FOR NO KEY UPDATE;
  END IF;
END
$$;

CREATE FUNCTION write_change_1(message jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  owner CONSTANT bytea := decode(message ->> 0, 'hex');
  outcome text := 'committed';
BEGIN
  IF message -> 8 <> 'null' AND EXISTS (
    SELECT 1 FROM jsonb_array_elements(message -> 8 -> 1) AS moved
    LEFT JOIN delivery ON delivery.merchant = owner AND delivery.endpoint = moved ->> 0 AND delivery.number = (moved ->> 1)::bigint
    WHERE delivery.version IS DISTINCT FROM (moved ->> 2)::integer
  ) THEN
    RETURN 'stale';
  END IF;
  IF message -> 2 <> 'null' THEN outcome := write_payment_1(owner, (message ->> 1)::bigint, message -> 2, message -> 8); END IF;
  IF outcome = 'committed' AND message -> 3 <> 'null' THEN outcome := write_card_1(owner, message -> 3); END IF;
  IF outcome = 'committed' AND message -> 5 <> 'null' THEN outcome := write_account_1(owner, message -> 5); END IF;
  IF outcome = 'committed' AND message -> 6 <> 'null' THEN outcome := write_request_1(owner, message -> 6); END IF;
  IF outcome <> 'committed' THEN RETURN outcome; END IF;
  IF message -> 7 <> 'null' THEN
    DELETE FROM card WHERE merchant = owner AND token_digest = decode(message -> 7 ->> 0, 'hex')
      AND last_used_at < (message -> 7 ->> 1)::bigint;
  END IF;
  IF message -> 4 <> 'null' THEN
    UPDATE card SET last_used_at = (message -> 4 ->> 1)::bigint
    WHERE merchant = owner AND token_digest = decode(message -> 4 ->> 0, 'hex') AND last_used_at < (message -> 4 ->> 1)::bigint;
  END IF;
  IF message -> 8 <> 'null' THEN PERFORM move_deliveries_1(owner, message -> 8 -> 1); END IF;
  RETURN 'committed';
END
$$;

CREATE FUNCTION write_payment_1(owner bytea, noted_at bigint, part jsonb, deliveries jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  payment_id CONSTANT bytea := decode(part ->> 0, 'hex');
  new_version CONSTANT integer := (part ->> 2)::integer;
  rare CONSTANT jsonb := part -> 18 -> 0;
  word text;
  last_number bigint;
  named jsonb;
  holder record;
BEGIN
  IF part -> 1 = 'null' THEN
    INSERT INTO payment (merchant, id, code, created_at, order_json, version, state, status_at, captured_at, capture_by, authorized,
      captured, attempts, attempt, due_at, verdict, needs_review, refunded, refunds, chargeback, review, mandate,
      rerouted)
    VALUES (owner, payment_id, part ->> 19, (part ->> 20)::bigint, part ->> 21, new_version, part ->> 3, (part ->> 4)::bigint,
      (part ->> 5)::bigint, (part ->> 6)::bigint, (part ->> 7)::bigint, (part ->> 8)::bigint, (part ->> 9)::integer, part ->> 10,
      (part ->> 11)::bigint, part ->> 12, (part ->> 13)::smallint, coalesce((rare ->> 0)::bigint, 0), rare ->> 1, rare ->> 2, rare ->> 3,
      rare ->> 4, rare ->> 5)
    ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
      PERFORM 1 FROM payment WHERE merchant = owner AND code = part ->> 19 AND code >= '';
      RETURN CASE WHEN FOUND THEN 'payment_code' ELSE 'payment_id' END;
    END IF;
  ELSE
    UPDATE payment SET version = new_version, state = part ->> 3, status_at = (part ->> 4)::bigint, captured_at = (part ->> 5)::bigint,
      capture_by = (part ->> 6)::bigint, authorized = (part ->> 7)::bigint, captured = (part ->> 8)::bigint,
      attempts = (part ->> 9)::integer, attempt = part ->> 10, due_at = (part ->> 11)::bigint, verdict = part ->> 12,
      needs_review = (part ->> 13)::smallint, refunded = coalesce((rare ->> 0)::bigint, 0), refunds = rare ->> 1, chargeback = rare ->> 2,
      review = rare ->> 3, mandate = rare ->> 4, rerouted = rare ->> 5
    WHERE merchant = owner AND id = payment_id AND version = (part ->> 1)::integer;
    IF NOT FOUND THEN RETURN 'stale'; END IF;
  END IF;
  INSERT INTO history (merchant, payment, version, at, facts, detail, entries)
  VALUES (owner, payment_id, new_version, noted_at, part ->> 14, part ->> 15, part ->> 16);
  IF part ->> 17 <> '' THEN
    -- Not max(number), which a planner who knows nothing of the rows yet would find by reading them all.
    SELECT number INTO last_number FROM outbox WHERE merchant = owner ORDER BY number DESC LIMIT 1;
    last_number := coalesce(last_number, 0);
    FOREACH word IN ARRAY string_to_array(part ->> 17, ' ') LOOP
      last_number := last_number + 1;
      INSERT INTO outbox (merchant, number, payment, version, kind, at)
      VALUES (owner, last_number, payment_id, new_version, word, noted_at);
      IF deliveries <> 'null' THEN
        INSERT INTO delivery (merchant, endpoint, number, payment, kind, version, state, asked_at, due_at, attempts, outcome, in_order)
        SELECT owner, told, last_number, payment_id, word, (deliveries -> 2 ->> 0)::integer, deliveries -> 2 ->> 1,
          (deliveries -> 2 ->> 2)::bigint, (deliveries -> 2 ->> 3)::bigint, (deliveries -> 2 ->> 4)::integer, deliveries -> 2 ->> 5,
          (deliveries -> 2 ->> 6)::smallint
        FROM jsonb_array_elements_text(deliveries -> 0) AS told;
      END IF;
    END LOOP;
  END IF;
  IF part -> 18 = 'null' THEN RETURN 'committed'; END IF;
  -- A refund that its payment had before keeps its names; a new one takes them, unless they are taken.
  FOR named IN SELECT value FROM jsonb_array_elements(part -> 18 -> 1) LOOP
    INSERT INTO refund (id, merchant, code, payment) VALUES ((named ->> 0)::integer, owner, named ->> 1, payment_id) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
      SELECT merchant, payment INTO holder FROM refund WHERE id = (named ->> 0)::integer;
      IF NOT FOUND THEN RETURN 'refund_code'; END IF;
      IF holder.merchant <> owner OR holder.payment <> payment_id THEN RETURN 'refund_id'; END IF;
    END IF;
  END LOOP;
  RETURN 'committed';
END
$$;

CREATE FUNCTION write_card_1(owner bytea, part jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF part -> 2 = 'null' THEN
    INSERT INTO card (merchant, token_digest, version, created_at, last_used_at, brand, masked_pan, fingerprint, ref)
    VALUES (owner, decode(part ->> 0, 'hex'), (part ->> 1)::integer, (part ->> 3)::bigint, (part ->> 4)::bigint, part ->> 5, part ->> 6,
      decode(part ->> 7, 'hex'), decode(part ->> 8, 'hex'))
    ON CONFLICT DO NOTHING;
    RETURN CASE WHEN FOUND THEN 'committed' ELSE 'token' END;
  END IF;
  UPDATE card SET version = (part ->> 1)::integer, last_used_at = greatest(last_used_at, (part ->> 4)::bigint), brand = part ->> 5,
    masked_pan = part ->> 6, fingerprint = decode(part ->> 7, 'hex'), ref = decode(part ->> 8, 'hex')
  WHERE merchant = owner AND token_digest = decode(part ->> 0, 'hex') AND version = (part ->> 2)::integer;
  RETURN CASE WHEN FOUND THEN 'committed' ELSE 'stale' END;
END
$$;

CREATE FUNCTION write_account_1(owner bytea, part jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  added jsonb;
BEGIN
  IF part -> 1 = 'null' THEN
    INSERT INTO account (merchant, version, name, settings) VALUES (owner, (part ->> 0)::integer, part ->> 2, part ->> 3)
    ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN RETURN 'account'; END IF;
  ELSE
    UPDATE account SET version = (part ->> 0)::integer, name = part ->> 2, settings = part ->> 3
    WHERE merchant = owner AND version = (part ->> 1)::integer;
    IF NOT FOUND THEN RETURN 'stale'; END IF;
  END IF;
  FOR added IN SELECT value FROM jsonb_array_elements(part -> 4) LOOP
    INSERT INTO account_key (digest, merchant, grants) VALUES (decode(added ->> 0, 'hex'), owner, added ->> 1) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN RETURN 'account_key'; END IF;
  END LOOP;
  RETURN 'committed';
END
$$;

CREATE FUNCTION write_request_1(owner bytea, part jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF (part ->> 0)::boolean THEN
    INSERT INTO named_request (merchant, key, digest, claimed_at, status, body)
    VALUES (owner, part ->> 1, decode(part ->> 2, 'hex'), (part ->> 3)::bigint, (part ->> 4)::integer, part ->> 5) ON CONFLICT DO NOTHING;
    RETURN CASE WHEN FOUND THEN 'committed' ELSE 'request_key' END;
  END IF;
  UPDATE named_request SET status = (part ->> 4)::integer, body = part ->> 5
  WHERE merchant = owner AND key = part ->> 1 AND digest = decode(part ->> 2, 'hex') AND status IS NULL;
  RETURN CASE WHEN FOUND THEN 'committed' ELSE 'stale' END;
END
$$;

CREATE FUNCTION move_deliveries_1(owner bytea, moved jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  part jsonb;
  fresh jsonb;
BEGIN
  FOR part IN SELECT value FROM jsonb_array_elements(moved) LOOP
    fresh := part -> 5;
    IF part -> 2 = 'null' THEN
      PERFORM 1 FROM payment WHERE merchant = owner AND id = decode(part ->> 3, 'hex');
      IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'foreign_key_violation', MESSAGE = 'a delivery is of a notification that was committed';
      END IF;
      INSERT INTO delivery (merchant, endpoint, number, payment, kind, version, state, asked_at, due_at, attempts, outcome, in_order)
      VALUES (owner, part ->> 0, (part ->> 1)::bigint, decode(part ->> 3, 'hex'), part ->> 4, (fresh ->> 0)::integer, fresh ->> 1,
        (fresh ->> 2)::bigint, (fresh ->> 3)::bigint, (fresh ->> 4)::integer, fresh ->> 5, (fresh ->> 6)::smallint);
    ELSE
      UPDATE delivery SET version = (fresh ->> 0)::integer, state = fresh ->> 1, asked_at = (fresh ->> 2)::bigint,
        due_at = (fresh ->> 3)::bigint, attempts = (fresh ->> 4)::integer, outcome = fresh ->> 5, in_order = (fresh ->> 6)::smallint
      WHERE merchant = owner AND endpoint = part ->> 0 AND number = (part ->> 1)::bigint;
    END IF;
  END LOOP;
END
$$;
`;
