/**
 * Wrapped keys (stores/key-record-store.ts). `merchant` is empty for a key that belongs to none.
 * `wraps`: a JSON array of `[root, bytes in hex]`.
 *
 * The vault's role reads them, of one merchant at a time; they are written, with their audit
 * entries, through one function by the role that writes the audit log. A writer holds the row of
 * `audit_head` until its commit, so changes of keys by all nodes are serialized.
 */
export const keyRecords = `
CREATE TABLE key_record (
  merchant bytea NOT NULL CHECK (length(merchant) IN (0, 4)),
  purpose text COLLATE "C" NOT NULL CHECK (purpose IN ('epoch', 'merchant', 'sign_in', 'notifications', 'nodes', 'records', 'tokens')),
  version integer NOT NULL CHECK (version >= 1),
  state text NOT NULL CHECK (state IN ('made', 'current', 'retired', 'compromised', 'destroyed')),
  sequence integer NOT NULL CHECK (sequence >= 1),
  epoch integer CHECK (epoch >= 1),
  check_value bytea NOT NULL CHECK (length(check_value) BETWEEN 1 AND 64),
  wraps text NOT NULL CHECK (json_typeof(wraps::json) = 'array'),
  created_at bigint NOT NULL,
  changed_at bigint NOT NULL,
  mac bytea NOT NULL CHECK (length(mac) = 32),
  PRIMARY KEY (merchant, purpose, version),
  CHECK ((purpose = 'merchant') = (length(merchant) = 4)),
  CHECK ((purpose = 'epoch') = (epoch IS NULL)),
  CHECK ((state = 'destroyed') = (json_array_length(wraps::json) = 0))
);
CREATE UNIQUE INDEX key_record_current ON key_record (merchant, purpose) WHERE state = 'current';

CREATE TRIGGER key_record_moves_on BEFORE UPDATE ON key_record FOR EACH ROW
  WHEN (OLD.state = 'destroyed' OR NEW.sequence <= OLD.sequence
    OR array_position(ARRAY['made', 'current', 'retired', 'compromised', 'destroyed'], NEW.state)
      < array_position(ARRAY['made', 'current', 'retired', 'compromised', 'destroyed'], OLD.state)
    OR NEW.merchant <> OLD.merchant OR NEW.purpose <> OLD.purpose OR NEW.version <> OLD.version
    OR NEW.check_value <> OLD.check_value OR NEW.created_at <> OLD.created_at)
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER key_record_is_kept BEFORE DELETE OR TRUNCATE ON key_record FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE FUNCTION write_keys_1(change json, OUT outcome text, OUT number bigint) LANGUAGE plpgsql AS $$
DECLARE
  head audit_head;
  given record;
  body text;
  entry json;
BEGIN
  number := 0;
  INSERT INTO audit_head VALUES (1, 0, decode(repeat('00', 32), 'hex')) ON CONFLICT DO NOTHING;
  SELECT * INTO STRICT head FROM audit_head WHERE one = 1 FOR UPDATE;
  IF change -> 'chain' IS NOT NULL AND (head.no <> (change #>> '{chain,after,number}')::bigint
    OR head.digest <> decode(change #>> '{chain,after,digest}', 'hex')) THEN
    outcome := 'head_moved';
    RETURN;
  END IF;

  -- No other change of keys is written before this one has ended: what is read here holds below.
  FOR given IN SELECT each ->> 'merchant' AS merchant, each ->> 'purpose' AS purpose, (each ->> 'version')::integer AS version,
    (each ->> 'replaces')::integer AS replaces FROM json_array_elements(change -> 'keys') AS each LOOP
    IF (SELECT sequence FROM key_record WHERE merchant = decode(given.merchant, 'hex') AND purpose = given.purpose AND version = given.version)
      IS DISTINCT FROM given.replaces THEN
      outcome := 'stale';
      RETURN;
    END IF;
  END LOOP;

  FOR entry IN SELECT json_array_elements(change -> 'keys') LOOP
    IF entry ->> 'replaces' IS NULL THEN
      INSERT INTO key_record (merchant, purpose, version, state, sequence, epoch, check_value, wraps, created_at, changed_at, mac)
      VALUES (decode(entry ->> 'merchant', 'hex'), entry ->> 'purpose', (entry ->> 'version')::integer, entry ->> 'state',
        (entry ->> 'sequence')::integer, (entry ->> 'epoch')::integer, decode(entry ->> 'check_value', 'hex'), entry ->> 'wraps',
        (entry ->> 'created_at')::bigint, (entry ->> 'changed_at')::bigint, decode(entry ->> 'mac', 'hex'));
    ELSE
      UPDATE key_record SET state = entry ->> 'state', sequence = (entry ->> 'sequence')::integer, epoch = (entry ->> 'epoch')::integer,
        check_value = decode(entry ->> 'check_value', 'hex'), wraps = entry ->> 'wraps', created_at = (entry ->> 'created_at')::bigint,
        changed_at = (entry ->> 'changed_at')::bigint, mac = decode(entry ->> 'mac', 'hex')
      WHERE merchant = decode(entry ->> 'merchant', 'hex') AND purpose = entry ->> 'purpose' AND version = (entry ->> 'version')::integer;
    END IF;
  END LOOP;

  number := head.no + 1;
  FOR entry IN SELECT json_array_elements(change #> '{chain,rows}') LOOP
    head.no := (entry ->> 'number')::bigint;
    head.digest := decode(entry ->> 'digest', 'hex');
    INSERT INTO audit_entry (no, digest, body, mac) VALUES (head.no, head.digest, entry ->> 'body', decode(entry ->> 'mac', 'hex'));
  END LOOP;
  FOR body IN SELECT json_array_elements_text(change -> 'acts') LOOP
    head.no := head.no + 1;
    head.digest := sha256(convert_to(encode(head.digest, 'hex') || ' ' || head.no || ' ' || body, 'UTF8'));
    INSERT INTO audit_entry (no, digest, body) VALUES (head.no, head.digest, body);
  END LOOP;
  UPDATE audit_head SET no = head.no, digest = head.digest WHERE one = 1;
  outcome := 'committed';
EXCEPTION WHEN OTHERS THEN
  -- The server's own words about a row that breaks a constraint hold the row, and it would write them to its log.
  RAISE EXCEPTION USING ERRCODE = SQLSTATE, MESSAGE = 'a change of keys failed';
END
$$;

DO $$
BEGIN
  REVOKE ALL ON FUNCTION write_keys_1(json) FROM PUBLIC;
  GRANT EXECUTE ON FUNCTION write_keys_1(json) TO cofre_people;
  -- A function of the owner finds its tables where they are now, not where its caller's search path leads.
  EXECUTE format('ALTER FUNCTION write_keys_1(json) SECURITY DEFINER SET search_path = %I, pg_temp', current_schema());
END
$$;
REVOKE ALL ON key_record FROM PUBLIC;
GRANT SELECT ON key_record TO cofre_vault;
ALTER TABLE key_record ENABLE ROW LEVEL SECURITY;
CREATE POLICY shared_or_one_merchant ON key_record FOR SELECT TO cofre_vault
  USING (merchant = '' OR merchant = (SELECT decode(current_setting('cofre.merchant', true), 'hex')));
`;
