import { people } from "./008-people.ts";
import { withReplaced } from "./replaced.ts";

/**
 * MACs of users, their sessions and the audit log entries (sign-in/checked-users.ts), null on older
 * rows and on rows that a node of the previous version writes. The function of 008 handles them
 * under the same name. Entries with MACs name the head that they follow.
 */
export const peopleMacs = `
ALTER TABLE person ADD COLUMN mac bytea CHECK (length(mac) = 32);
ALTER TABLE person_session ADD COLUMN mac bytea CHECK (length(mac) = 32);
ALTER TABLE audit_entry ADD COLUMN mac bytea;
ALTER TABLE audit_entry ADD CONSTRAINT audit_entry_mac_check CHECK (length(mac) = 32) NOT VALID;

${withReplaced(
  "write_people_1",
  [
    ["  body text;\nBEGIN", "  body text;\n  entry json;\nBEGIN"],
    [
      "FOR UPDATE;\n",
      `FOR UPDATE;
  IF change -> 'chain' IS NOT NULL AND (head.no <> (change #>> '{chain,after,number}')::bigint
    OR head.digest <> decode(change #>> '{chain,after,digest}', 'hex')) THEN
    outcome := 'head_moved';
    RETURN;
  END IF;
`,
    ],
    [
      "locked_until, invitation, invitation_ends_at)",
      "locked_until, invitation, invitation_ends_at, mac)",
    ],
    [
      "decode(given ->> 'invitation', 'hex'), (given ->> 'invitation_ends_at')::bigint);",
      "decode(given ->> 'invitation', 'hex'), (given ->> 'invitation_ends_at')::bigint, decode(given ->> 'mac', 'hex'));",
    ],
    [
      "invitation_ends_at = (given ->> 'invitation_ends_at')::bigint\n",
      "invitation_ends_at = (given ->> 'invitation_ends_at')::bigint, mac = decode(given ->> 'mac', 'hex')\n",
    ],
    ["started_at, last_used_at, ends_at)", "started_at, last_used_at, ends_at, mac)"],
    [
      "(begins ->> 'endsAt')::bigint);",
      "(begins ->> 'endsAt')::bigint,\n      decode(begins ->> 'mac', 'hex'));",
    ],
    [
      "  FOR body IN SELECT json_array_elements_text(change -> 'acts') LOOP",
      `  FOR entry IN SELECT json_array_elements(change #> '{chain,rows}') LOOP
    head.no := (entry ->> 'number')::bigint;
    head.digest := decode(entry ->> 'digest', 'hex');
    INSERT INTO audit_entry (no, digest, body, mac) VALUES (head.no, head.digest, entry ->> 'body', decode(entry ->> 'mac', 'hex'));
  END LOOP;
  FOR body IN SELECT json_array_elements_text(change -> 'acts') LOOP`,
    ],
  ],
  people,
)}
-- A function that is replaced loses what ALTER FUNCTION gave it; grants stay.
DO $$
BEGIN
  EXECUTE format('ALTER FUNCTION write_people_1(json) SECURITY DEFINER SET search_path = %I, pg_temp', current_schema());
END
$$;
`;
