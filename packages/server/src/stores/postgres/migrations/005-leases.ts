/**
 * Live nodes, and which of them runs the jobs of which merchants (store.ts, renewSlots). The lease
 * belongs to the node; slots only name their holders, so that a renewal updates one row. An
 * advisory lock serializes the calls of all nodes.
 *
 * Not synchronous with the disk or the standby: lost leases only make nodes repeat work without
 * effect, and a hanging standby must not make every node stop its jobs.
 */
export const leases = `
CREATE TABLE node (
  id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^[0-9a-f]{16}$'),
  until bigint NOT NULL
);
COMMENT ON TABLE node IS 'Processes that live, until when by this server''s clock in milliseconds since 1970.';

CREATE TABLE slot (
  no smallint PRIMARY KEY CHECK (0 <= no AND no <= 31),
  holder text COLLATE "C"
);
INSERT INTO slot SELECT generate_series(0, 31);

CREATE FUNCTION hold_slots_1(me text, lease_ms bigint, give_back text, OUT share integer, OUT nodes integer, OUT slots text)
LANGUAGE plpgsql AS $$
DECLARE
  present bigint;
  before_me integer;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true), pg_advisory_xact_lock(7266374);
  present := (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
  -- Later than any lease can run: the clock was set back, and that says nothing about who lives.
  DELETE FROM node WHERE id <> me AND (until <= present OR until > present + 60000);
  INSERT INTO node VALUES (me, present + lease_ms) ON CONFLICT (id) DO UPDATE SET until = excluded.until;
  SELECT count(*), count(*) FILTER (WHERE id < me) INTO nodes, before_me FROM node;
  share := 32 / nodes + CASE WHEN before_me < 32 % nodes THEN 1 ELSE 0 END;
  UPDATE slot SET holder = NULL WHERE holder = me AND no = ANY (string_to_array(give_back, ' ')::smallint[]);
  UPDATE slot SET holder = me WHERE no IN (
    SELECT no FROM slot WHERE NOT EXISTS (SELECT 1 FROM node WHERE id = holder) ORDER BY no
    LIMIT greatest(0, share - (SELECT count(*) FROM slot WHERE holder = me)));
  slots := (SELECT coalesce(string_agg(no::text, ' ' ORDER BY no), '') FROM slot WHERE holder = me);
END
$$;

CREATE FUNCTION leave_slots_1(me text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true), pg_advisory_xact_lock(7266374);
  DELETE FROM node WHERE id = me;
  UPDATE slot SET holder = NULL WHERE holder = me;
END
$$;

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['hold_slots_1(text, bigint, text)', 'leave_slots_1(text)'] LOOP
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', name);
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO cofre_jobs', name);
    -- A function of the owner finds its tables where they are now, not where its caller's search path leads.
    EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER SET search_path = %I, pg_temp', name, current_schema());
  END LOOP;
END
$$;
REVOKE ALL ON node, slot FROM PUBLIC;
`;
