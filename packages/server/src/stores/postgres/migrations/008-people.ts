/**
 * Console users, their sessions, and the audit log. They belong to no merchant, and a database that
 * is sharded by merchant keeps them in one place: they are few, and payment processing never reads
 * them.
 *
 * Only one role reads them, and no other, including the reader of reports. It writes through two
 * functions only. A change and its log entries are one call. A writer holds the row of `audit_head`
 * until its commit, so changes of all nodes are serialized: numbers have no gaps, each digest
 * covers the previous one, and the check for the last admin holds across nodes.
 */
export const people = `
CREATE TABLE person (
  id bytea PRIMARY KEY CHECK (length(id) = 8),
  version integer NOT NULL CHECK (version >= 1),
  name text NOT NULL,
  name_key text COLLATE "C" NOT NULL,
  role text NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
  state text NOT NULL CHECK (state IN ('invited', 'active', 'disabled')),
  created_at bigint NOT NULL,
  last_signed_in_at bigint,
  passwords text NOT NULL CHECK (json_typeof(passwords::json) = 'array'),
  totp bytea,
  totp_step bigint NOT NULL CHECK (totp_step >= 0),
  failures integer NOT NULL CHECK (failures >= 0),
  locked_until bigint,
  invitation bytea CHECK (length(invitation) = 32),
  invitation_ends_at bigint,
  CHECK ((invitation IS NULL) = (invitation_ends_at IS NULL)),
  CHECK (state <> 'active' OR (totp IS NOT NULL AND json_array_length(passwords::json) > 0))
);
CREATE UNIQUE INDEX person_name ON person (name_key);
CREATE UNIQUE INDEX person_invitation ON person (invitation) WHERE invitation IS NOT NULL;

CREATE TABLE person_session (
  digest bytea PRIMARY KEY CHECK (length(digest) = 32),
  person bytea NOT NULL CHECK (length(person) = 8),
  started_at bigint NOT NULL,
  last_used_at bigint NOT NULL,
  ends_at bigint NOT NULL
);
CREATE INDEX person_session_person ON person_session (person);
CREATE INDEX person_session_end ON person_session (ends_at);

CREATE TABLE audit_entry (
  no bigint PRIMARY KEY CHECK (no >= 1),
  digest bytea NOT NULL CHECK (length(digest) = 32),
  body text NOT NULL CHECK (body::json IS NOT NULL)
);
CREATE TRIGGER audit_entry_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_entry
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE audit_head (
  one smallint PRIMARY KEY CHECK (one = 1),
  no bigint NOT NULL CHECK (no >= 0),
  digest bytea NOT NULL CHECK (length(digest) = 32)
);
COMMENT ON TABLE audit_head IS 'The last entry of the audit log, noted apart from it: the row that every change of people locks first.';
CREATE TRIGGER audit_head_moves_on BEFORE UPDATE ON audit_head FOR EACH ROW WHEN (NEW.no <= OLD.no) EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_head_is_kept BEFORE DELETE OR TRUNCATE ON audit_head FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE FUNCTION write_people_1(change json, OUT outcome text, OUT number bigint) LANGUAGE plpgsql AS $$
DECLARE
  head audit_head;
  given json := change -> 'person';
  ends json := change -> 'ends';
  begins json := change -> 'begins';
  body text;
BEGIN
  number := 0;
  INSERT INTO audit_head VALUES (1, 0, decode(repeat('00', 32), 'hex')) ON CONFLICT DO NOTHING;
  SELECT * INTO STRICT head FROM audit_head WHERE one = 1 FOR UPDATE;

  IF change ->> 'keepsAdmin' = 'true' AND NOT coalesce(given ->> 'role' = 'admin' AND given ->> 'state' = 'active', false)
    AND NOT EXISTS (SELECT 1 FROM person WHERE role = 'admin' AND state = 'active' AND id <> decode(coalesce(given ->> 'id', ''), 'hex')) THEN
    outcome := 'no_admin';
    RETURN;
  END IF;

  IF given IS NOT NULL AND change ->> 'replaces' IS NULL THEN
    IF EXISTS (SELECT 1 FROM person WHERE id = decode(given ->> 'id', 'hex')) THEN
      outcome := 'stale';
      RETURN;
    END IF;
    IF EXISTS (SELECT 1 FROM person WHERE name_key = given ->> 'name_key') THEN
      outcome := 'name_taken';
      RETURN;
    END IF;
    INSERT INTO person (id, version, name, name_key, role, state, created_at, last_signed_in_at, passwords, totp, totp_step, failures,
      locked_until, invitation, invitation_ends_at)
    VALUES (decode(given ->> 'id', 'hex'), (given ->> 'version')::integer, given ->> 'name', given ->> 'name_key', given ->> 'role',
      given ->> 'state', (given ->> 'created_at')::bigint, (given ->> 'last_signed_in_at')::bigint, given ->> 'passwords',
      decode(given ->> 'totp', 'hex'), (given ->> 'totp_step')::bigint, (given ->> 'failures')::integer, (given ->> 'locked_until')::bigint,
      decode(given ->> 'invitation', 'hex'), (given ->> 'invitation_ends_at')::bigint);
  ELSIF given IS NOT NULL THEN
    UPDATE person SET version = (given ->> 'version')::integer, role = given ->> 'role', state = given ->> 'state',
      last_signed_in_at = (given ->> 'last_signed_in_at')::bigint, passwords = given ->> 'passwords', totp = decode(given ->> 'totp', 'hex'),
      totp_step = (given ->> 'totp_step')::bigint, failures = (given ->> 'failures')::integer,
      locked_until = (given ->> 'locked_until')::bigint, invitation = decode(given ->> 'invitation', 'hex'),
      invitation_ends_at = (given ->> 'invitation_ends_at')::bigint
    WHERE id = decode(given ->> 'id', 'hex') AND version = (change ->> 'replaces')::integer;
    IF NOT FOUND THEN
      outcome := 'stale';
      RETURN;
    END IF;
  END IF;

  IF ends ->> 'digest' IS NOT NULL THEN
    DELETE FROM person_session WHERE digest = decode(ends ->> 'digest', 'hex');
  ELSIF ends ->> 'of' IS NOT NULL THEN
    DELETE FROM person_session WHERE person = decode(ends ->> 'of', 'hex') AND digest <> decode(coalesce(ends ->> 'except', ''), 'hex');
  END IF;
  IF begins ->> 'digest' IS NOT NULL THEN
    DELETE FROM person_session WHERE ends_at <= (change ->> 'at')::bigint;
    INSERT INTO person_session (digest, person, started_at, last_used_at, ends_at)
    VALUES (decode(begins ->> 'digest', 'hex'), decode(begins ->> 'personId', 'hex'), (begins ->> 'startedAt')::bigint,
      (begins ->> 'lastUsedAt')::bigint, (begins ->> 'endsAt')::bigint);
  END IF;

  number := head.no + 1;
  FOR body IN SELECT json_array_elements_text(change -> 'acts') LOOP
    head.no := head.no + 1;
    head.digest := sha256(convert_to(encode(head.digest, 'hex') || ' ' || head.no || ' ' || body, 'UTF8'));
    INSERT INTO audit_entry (no, digest, body) VALUES (head.no, head.digest, body);
  END LOOP;
  UPDATE audit_head SET no = head.no, digest = head.digest WHERE one = 1;
  outcome := 'committed';
EXCEPTION WHEN OTHERS THEN
  -- The server's own words about a row that breaks a constraint hold the row, and it would write them to its log.
  RAISE EXCEPTION USING ERRCODE = SQLSTATE, MESSAGE = 'a change of people failed';
END
$$;

-- Not waited for on the disk or by the standby: a session whose last use is lost ends a little earlier.
CREATE FUNCTION use_person_session_1(session text, used_at bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  UPDATE person_session SET last_used_at = used_at WHERE digest = decode(session, 'hex') AND last_used_at < used_at;
END
$$;

DO $$
DECLARE
  name text;
BEGIN
  -- Roles are the whole server's: another database of it may be making them at the same time.
  BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'cofre_people') THEN CREATE ROLE cofre_people NOLOGIN; END IF;
  EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
  END;
  IF NOT pg_has_role(current_user, 'cofre_people', 'MEMBER') THEN EXECUTE format('GRANT cofre_people TO %I', current_user); END IF;
  EXECUTE format('GRANT USAGE ON SCHEMA %I TO cofre_people', current_schema());
  FOREACH name IN ARRAY ARRAY['write_people_1(json)', 'use_person_session_1(text, bigint)'] LOOP
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', name);
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO cofre_people', name);
    -- A function of the owner finds its tables where they are now, not where its caller's search path leads.
    EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER SET search_path = %I, pg_temp', name, current_schema());
  END LOOP;
END
$$;
REVOKE ALL ON person, person_session, audit_entry, audit_head FROM PUBLIC;
GRANT SELECT ON person, person_session, audit_entry, audit_head TO cofre_people;
`;
