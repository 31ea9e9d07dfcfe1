/**
 * Each node's clock reading at its last renewal, in milliseconds ahead of this server's clock, so
 * that nodes compare their clocks with one another (store.ts, clockReadings). Written like leases,
 * without waiting for the disk.
 */
export const nodeClocks = `
CREATE TABLE node_clock (
  id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^[0-9a-f]{16}$'),
  no bigint NOT NULL,
  ahead bigint NOT NULL,
  at bigint NOT NULL,
  is_right boolean NOT NULL
);
COMMENT ON TABLE node_clock IS 'What clocks of nodes showed, ahead of this server''s in milliseconds. The highest no is the latest.';

CREATE FUNCTION note_clock_1(me text, ahead_ms bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  present bigint;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true), pg_advisory_xact_lock(7266375);
  IF ahead_ms IS NULL THEN
    UPDATE node_clock SET is_right = false WHERE id = me;
    RETURN;
  END IF;
  present := (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
  -- Nodes that are gone. The latest reading is this one.
  DELETE FROM node_clock WHERE id <> me AND abs(at - present) > 86400000;
  INSERT INTO node_clock SELECT me, coalesce(max(no), 0) + 1, ahead_ms, present, true FROM node_clock
  ON CONFLICT (id) DO UPDATE SET no = excluded.no, ahead = excluded.ahead, at = excluded.at, is_right = true;
END
$$;

CREATE FUNCTION clock_readings_1(me text, fresh_ms bigint, OUT others text, OUT latest bigint) LANGUAGE plpgsql STABLE AS $$
DECLARE
  present bigint := (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
BEGIN
  -- What is later than now was noted before this clock was set back, by a node that may be gone.
  others := (SELECT coalesce(string_agg(ahead::text, ' ' ORDER BY ahead), '') FROM node_clock
    WHERE id <> me AND is_right AND at <= present AND present - at < fresh_ms);
  latest := (SELECT ahead FROM node_clock ORDER BY no DESC LIMIT 1);
END
$$;

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['note_clock_1(text, bigint)', 'clock_readings_1(text, bigint)'] LOOP
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', name);
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO cofre_jobs', name);
    EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER SET search_path = %I, pg_temp', name, current_schema());
  END LOOP;
END
$$;
REVOKE ALL ON node_clock FROM PUBLIC;
`;
