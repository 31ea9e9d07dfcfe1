/**
 * Console users, their sessions, and the audit log; none of them belongs to a merchant.
 * `passwords`: a JSON array of hashes. `audit_head` records the last entry separately from the
 * entries.
 */
export const people = `
CREATE TABLE person (
  no INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 8),
  version INTEGER NOT NULL CHECK (version >= 1),
  name TEXT NOT NULL,
  name_key TEXT NOT NULL UNIQUE,
  role TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
  state TEXT NOT NULL CHECK (state IN ('invited', 'active', 'disabled')),
  created_at INTEGER NOT NULL,
  last_signed_in_at INTEGER,
  passwords TEXT NOT NULL CHECK (json_valid(passwords)),
  totp BLOB,
  totp_step INTEGER NOT NULL CHECK (totp_step >= 0),
  failures INTEGER NOT NULL CHECK (failures >= 0),
  locked_until INTEGER,
  invitation BLOB UNIQUE CHECK (length(invitation) = 32),
  invitation_ends_at INTEGER,
  CHECK ((invitation IS NULL) = (invitation_ends_at IS NULL)),
  CHECK (state <> 'active' OR (totp IS NOT NULL AND json_array_length(passwords) > 0))
) STRICT;

CREATE TABLE person_session (
  digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
  person BLOB NOT NULL CHECK (length(person) = 8),
  started_at INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL,
  ends_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX person_session_person ON person_session (person);
CREATE INDEX person_session_end ON person_session (ends_at);

CREATE TABLE audit_entry (
  no INTEGER PRIMARY KEY CHECK (no >= 1),
  digest BLOB NOT NULL CHECK (length(digest) = 32),
  body TEXT NOT NULL CHECK (json_valid(body))
) STRICT;

CREATE TRIGGER audit_entry_is_append_only BEFORE UPDATE ON audit_entry BEGIN SELECT RAISE (ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_entry_is_kept BEFORE DELETE ON audit_entry BEGIN SELECT RAISE (ABORT, 'the audit log is append-only'); END;
-- REPLACE deletes without a word to the trigger before.
CREATE TRIGGER audit_entry_is_not_replaced BEFORE INSERT ON audit_entry WHEN EXISTS (SELECT 1 FROM audit_entry WHERE no = NEW.no)
BEGIN SELECT RAISE (ABORT, 'the audit log is append-only'); END;

CREATE TABLE audit_head (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  no INTEGER NOT NULL CHECK (no >= 1),
  digest BLOB NOT NULL CHECK (length(digest) = 32)
) STRICT;

CREATE TRIGGER audit_head_moves_on BEFORE UPDATE ON audit_head WHEN NEW.no <= OLD.no
BEGIN SELECT RAISE (ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_head_is_kept BEFORE DELETE ON audit_head BEGIN SELECT RAISE (ABORT, 'the audit log is append-only'); END;
`;
