/**
 * The identity of the database (stores/identity.ts): one row, created by the first start. Written
 * through one function, which never lowers a value.
 */
export const identity = `
CREATE TABLE identity (
  one smallint PRIMARY KEY CHECK (one = 1),
  keys text,
  epoch integer NOT NULL CHECK (epoch >= 0),
  beat bigint NOT NULL CHECK (beat >= 0),
  is_copy smallint NOT NULL CHECK (is_copy IN (0, 1)),
  server text
);
COMMENT ON TABLE identity IS 'Whose keys open this database, and how far it has come: a database that was put back is told by it.';

CREATE FUNCTION raise_identity_1(new_keys text, new_epoch integer, new_beat bigint, served_by text) RETURNS SETOF identity LANGUAGE sql VOLATILE AS $$
  -- Parameters that are null leave their column as it is.
  INSERT INTO identity AS known VALUES (1, new_keys, coalesce(new_epoch, 0), coalesce(new_beat, 0), 0, served_by)
  ON CONFLICT (one) DO UPDATE SET
    keys = coalesce(known.keys, excluded.keys),
    epoch = greatest(known.epoch, excluded.epoch),
    beat = CASE WHEN new_beat IS NULL THEN known.beat ELSE greatest(known.beat + 1, new_beat) END,
    is_copy = CASE WHEN served_by IS NULL THEN known.is_copy ELSE 0 END,
    server = coalesce(served_by, known.server)
  RETURNING known.*
$$;

DO $$
BEGIN
  REVOKE ALL ON FUNCTION raise_identity_1(text, integer, bigint, text) FROM PUBLIC;
  GRANT EXECUTE ON FUNCTION raise_identity_1(text, integer, bigint, text) TO cofre_jobs;
  -- A function of the owner finds its tables where they are now, not where its caller's search path leads.
  EXECUTE format('ALTER FUNCTION raise_identity_1(text, integer, bigint, text) SECURITY DEFINER SET search_path = %I, pg_temp', current_schema());
END
$$;
REVOKE ALL ON identity FROM PUBLIC;
GRANT SELECT ON identity TO cofre_jobs;
`;
