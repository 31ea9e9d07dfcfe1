/**
 * The node of each sandbox world, and the addresses at which nodes reach each other. Unused by this
 * version: nodes of earlier versions write and read it, and use it to forward requests to each
 * other (docs/decisions/0012). A row is valid while its node is alive; the functions that write
 * take an advisory lock.
 */
export const worldPlaces = `
ALTER TABLE node ADD COLUMN url text;
COMMENT ON COLUMN node.url IS 'Where other nodes reach this one with requests to its worlds; null: they do not.';

CREATE TABLE world_key (
  digest bytea PRIMARY KEY CHECK (octet_length(digest) = 32),
  node text COLLATE "C" NOT NULL,
  world bytea NOT NULL CHECK (octet_length(world) = 4)
);
COMMENT ON TABLE world_key IS 'SHA-256 of the keys that open worlds, and the process that each lives in.';
CREATE INDEX world_key_node ON world_key (node, world);

CREATE FUNCTION node_lives_1(name text) RETURNS boolean LANGUAGE sql VOLATILE AS $$
  -- As in hold_slots_1: later than any lease can run says nothing about who lives.
  SELECT EXISTS (SELECT 1 FROM node WHERE id = name AND until > (extract(epoch FROM clock_timestamp()) * 1000)::bigint
    AND until <= (extract(epoch FROM clock_timestamp()) * 1000)::bigint + 60000)
$$;

CREATE FUNCTION keep_worlds_1(me text, address text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  dead text;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true), pg_advisory_xact_lock(7266375);
  UPDATE node SET url = address WHERE id = me AND url IS DISTINCT FROM address;
  -- One step from each node to the next, however many worlds it has.
  FOR dead IN
    WITH RECURSIVE each_one AS (
      (SELECT node FROM world_key ORDER BY node LIMIT 1)
      UNION ALL
      SELECT following.node FROM each_one CROSS JOIN LATERAL (
        SELECT node FROM world_key WHERE node > each_one.node ORDER BY node LIMIT 1) AS following
    )
    SELECT node FROM each_one WHERE NOT node_lives_1(node)
  LOOP
    DELETE FROM world_key WHERE node = dead;
  END LOOP;
  RETURN (SELECT count(*) FROM world_key WHERE node = me);
END
$$;

CREATE FUNCTION place_world_1(me text, placed text, digests text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  wanted bytea[] := (SELECT array_agg(decode(each, 'hex')) FROM string_to_table(digests, ' ') AS each);
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true), pg_advisory_xact_lock(7266375);
  IF NOT node_lives_1(me) THEN RETURN 'not_living'; END IF;
  DELETE FROM world_key WHERE digest = ANY (wanted) AND NOT node_lives_1(node);
  IF EXISTS (SELECT 1 FROM world_key WHERE digest = ANY (wanted) AND (node, world) IS DISTINCT FROM (me, decode(placed, 'hex'))) THEN
    RETURN 'taken';
  END IF;
  INSERT INTO world_key SELECT digest, me, decode(placed, 'hex') FROM unnest(wanted) AS digest ON CONFLICT (digest) DO NOTHING;
  RETURN 'placed';
END
$$;

CREATE FUNCTION remove_world_1(me text, removed text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true), pg_advisory_xact_lock(7266375);
  DELETE FROM world_key WHERE node = me AND world = decode(removed, 'hex');
END
$$;

CREATE FUNCTION leave_worlds_1(me text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true), pg_advisory_xact_lock(7266375);
  UPDATE node SET url = NULL WHERE id = me;
  DELETE FROM world_key WHERE node = me;
END
$$;

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['node_lives_1(text)', 'keep_worlds_1(text, text)', 'place_world_1(text, text, text)', 'remove_world_1(text, text)',
    'leave_worlds_1(text)'] LOOP
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', name);
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO cofre_jobs', name);
    -- A function of the owner finds its tables where they are now, not where its caller's search path leads.
    EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER SET search_path = %I, pg_temp', name, current_schema());
  END LOOP;
END
$$;
REVOKE ALL ON world_key FROM PUBLIC;
GRANT SELECT ON world_key, node TO cofre_jobs;
`;
