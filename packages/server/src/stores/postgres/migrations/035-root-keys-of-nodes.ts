/**
 * By which root keys each live node has opened the epoch keys: wraps by other root keys are dropped
 * when all nodes need them no more. `root_keys`: a JSON array of key ids. Written like leases.
 */
export const rootKeysOfNodes = `
ALTER TABLE node ADD COLUMN root_keys text;

CREATE FUNCTION note_root_keys_1(me text, opened text) RETURNS TABLE (roots text) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  UPDATE node SET root_keys = opened WHERE id = me AND root_keys IS DISTINCT FROM opened;
  RETURN QUERY SELECT coalesce(root_keys, '[]') FROM node
    WHERE until > (extract(epoch FROM clock_timestamp()) * 1000)::bigint ORDER BY id;
END
$$;

DO $$
BEGIN
  REVOKE ALL ON FUNCTION note_root_keys_1(text, text) FROM PUBLIC;
  GRANT EXECUTE ON FUNCTION note_root_keys_1(text, text) TO cofre_jobs;
  -- A function of the owner finds its tables where they are now, not where its caller's search path leads.
  EXECUTE format('ALTER FUNCTION note_root_keys_1(text, text) SECURITY DEFINER SET search_path = %I, pg_temp', current_schema());
END
$$;
`;
