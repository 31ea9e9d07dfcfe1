import { keyRecords } from "./028-key-records.ts";
import { withReplaced } from "./replaced.ts";

/**
 * Rotation of keys: nodes note what they know of keys, the jobs' role reads the wrapped keys of all
 * merchants, and an epoch key that others need is not destroyed.
 *
 * `key_record.made_entry`: the number of the audit entry of the commit that made the record. Commits of
 * keys are serialized, so a node finds new records by this number. Undefined in records that the
 * previous version made.
 */
export const keyRotation = `
ALTER TABLE key_record ADD COLUMN made_entry bigint;
ALTER TABLE node ADD COLUMN keys_epoch integer, ADD COLUMN keys_entry bigint;

-- A process that was paused for hours may commit a card that it sealed under a key that was destroyed meanwhile.
CREATE FUNCTION refuse_lost_card_1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM key_record WHERE merchant = NEW.merchant AND purpose = 'merchant'
    AND version = ('x' || encode(substring(NEW.ref FROM 2 FOR 4), 'hex'))::bit(32)::bigint AND state = 'destroyed') THEN
    RAISE EXCEPTION USING ERRCODE = '23001', MESSAGE = 'the key of the card was destroyed';
  END IF;
  RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION refuse_lost_card_1() FROM PUBLIC;
-- Format 2 (vault/derived-envelope.ts).
CREATE TRIGGER card_key_exists BEFORE INSERT OR UPDATE OF ref ON card FOR EACH ROW
  WHEN (length(NEW.ref) > 97 AND get_byte(NEW.ref, 0) = 2) EXECUTE FUNCTION refuse_lost_card_1();

CREATE FUNCTION note_keys_1(me text, epoch integer, entry bigint, OUT epoch_everywhere integer, OUT entry_everywhere bigint, OUT noted boolean)
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  UPDATE node SET keys_epoch = epoch, keys_entry = entry WHERE id = me;
  noted := FOUND;
  SELECT min(coalesce(keys_epoch, 0)), min(coalesce(keys_entry, 0)) INTO epoch_everywhere, entry_everywhere FROM node
    WHERE until > (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
END
$$;

${withReplaced(
  "write_keys_1",
  [
    ["FUNCTION write_keys_1", "FUNCTION write_keys_2"],
    [
      "  FOR entry IN SELECT json_array_elements(change -> 'keys') LOOP\n    IF entry ->> 'replaces' IS NULL THEN",
      `  -- What was destroyed before or in this change wraps nothing after it.
  IF EXISTS (SELECT 1 FROM json_array_elements(change -> 'keys') AS each WHERE each ->> 'state' <> 'destroyed' AND (
      EXISTS (SELECT 1 FROM key_record WHERE merchant = '' AND purpose = 'epoch' AND version = (each ->> 'epoch')::integer AND state = 'destroyed')
      OR EXISTS (SELECT 1 FROM json_array_elements(change -> 'keys') AS other WHERE other ->> 'purpose' = 'epoch'
        AND other ->> 'version' = each ->> 'epoch' AND other ->> 'state' = 'destroyed')))
    OR ((change ->> 'accept_outage') IS DISTINCT FROM 'true' AND EXISTS (SELECT 1 FROM json_array_elements(change -> 'keys') AS each
      WHERE each ->> 'purpose' = 'epoch' AND each ->> 'state' = 'destroyed' AND EXISTS (
        SELECT 1 FROM key_record WHERE key_record.epoch = (each ->> 'version')::integer AND key_record.state <> 'destroyed'
          AND NOT EXISTS (SELECT 1 FROM json_array_elements(change -> 'keys') AS other WHERE decode(other ->> 'merchant', 'hex') = key_record.merchant
            AND other ->> 'purpose' = key_record.purpose AND (other ->> 'version')::integer = key_record.version)))) THEN
    outcome := 'in_use';
    RETURN;
  END IF;

  FOR entry IN SELECT json_array_elements(change -> 'keys') LOOP
    IF entry ->> 'replaces' IS NULL THEN`,
    ],
    [
      "wraps, created_at, changed_at, mac)\n      VALUES",
      "wraps, created_at, changed_at, mac, made_entry)\n      VALUES",
    ],
    [
      "decode(entry ->> 'mac', 'hex'));\n    ELSE",
      "decode(entry ->> 'mac', 'hex'), head.no + 1);\n    ELSE",
    ],
  ],
  keyRecords,
)}
DO $$
DECLARE
  name text;
BEGIN
  REVOKE ALL ON FUNCTION write_keys_2(json), note_keys_1(text, integer, bigint) FROM PUBLIC;
  GRANT EXECUTE ON FUNCTION write_keys_2(json) TO cofre_people;
  GRANT EXECUTE ON FUNCTION note_keys_1(text, integer, bigint) TO cofre_jobs;
  -- A function of the owner finds its tables where they are now, not where its caller's search path leads.
  FOREACH name IN ARRAY ARRAY['write_keys_2(json)', 'note_keys_1(text, integer, bigint)'] LOOP
    EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER SET search_path = %I, pg_temp', name, current_schema());
  END LOOP;
END
$$;
GRANT SELECT ON key_record TO cofre_jobs;
CREATE POLICY every_key ON key_record FOR SELECT TO cofre_jobs USING (true);
`;
