/**
 * Orders about keys (vault/records/key-order.ts): a list that only grows. The vault's role reads
 * it; it is written, with its audit entries, through one function by the role that writes the audit
 * log. A writer holds the row of `audit_head` until its commit, so orders of all nodes are
 * serialized.
 */
export const keyOrders = `
CREATE TABLE key_order (
  no bigint PRIMARY KEY CHECK (no >= 1),
  at bigint NOT NULL,
  body text NOT NULL CHECK (json_typeof(body::json) = 'object'),
  mac bytea NOT NULL CHECK (length(mac) = 32)
);
CREATE TRIGGER key_order_is_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON key_order FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE FUNCTION write_key_order_1(change json, OUT outcome text, OUT number bigint) LANGUAGE plpgsql AS $$
DECLARE
  head audit_head;
BEGIN
  number := 0;
  INSERT INTO audit_head VALUES (1, 0, decode(repeat('00', 32), 'hex')) ON CONFLICT DO NOTHING;
  SELECT * INTO STRICT head FROM audit_head WHERE one = 1 FOR UPDATE;
  IF change -> 'chain' IS NOT NULL AND (head.no <> (change #>> '{chain,after,number}')::bigint
    OR head.digest <> decode(change #>> '{chain,after,digest}', 'hex')) THEN
    outcome := 'head_moved';
    RETURN;
  END IF;
  IF (change #>> '{order,number}')::bigint <> (SELECT coalesce(max(no), 0) + 1 FROM key_order) THEN
    outcome := 'stale';
    RETURN;
  END IF;
  INSERT INTO key_order (no, at, body, mac) VALUES ((change #>> '{order,number}')::bigint, (change #>> '{order,at}')::bigint,
    change #>> '{order,body}', decode(change #>> '{order,mac}', 'hex'));
  -- The entries, without a change of keys.
  SELECT written.outcome, written.number INTO STRICT outcome, number FROM write_keys_1(change) AS written;
EXCEPTION WHEN OTHERS THEN
  -- The server's own words about a row that breaks a constraint hold the row, and it would write them to its log.
  RAISE EXCEPTION USING ERRCODE = SQLSTATE, MESSAGE = 'an order about keys failed';
END
$$;

DO $$
BEGIN
  REVOKE ALL ON FUNCTION write_key_order_1(json) FROM PUBLIC;
  GRANT EXECUTE ON FUNCTION write_key_order_1(json) TO cofre_people;
  -- A function of the owner finds its tables where they are now, not where its caller's search path leads.
  EXECUTE format('ALTER FUNCTION write_key_order_1(json) SECURITY DEFINER SET search_path = %I, pg_temp', current_schema());
END
$$;
REVOKE ALL ON key_order FROM PUBLIC;
GRANT SELECT ON key_order TO cofre_vault;
`;
