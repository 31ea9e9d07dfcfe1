/** Key records with the purpose `roots` (vault/records/root-set.ts), otherwise as in 013. */
export const setOfRootKeys = `
CREATE TABLE key_record_2 (
  merchant BLOB NOT NULL CHECK (length(merchant) IN (0, 4)),
  purpose TEXT NOT NULL CHECK (purpose IN ('epoch', 'merchant', 'sign_in', 'notifications', 'nodes', 'records', 'tokens', 'roots')),
  version INTEGER NOT NULL CHECK (version >= 1),
  state TEXT NOT NULL CHECK (state IN ('made', 'current', 'retired', 'compromised', 'destroyed')),
  sequence INTEGER NOT NULL CHECK (sequence >= 1),
  epoch INTEGER CHECK (epoch >= 1),
  check_value BLOB NOT NULL CHECK (length(check_value) BETWEEN 1 AND 64),
  wraps TEXT NOT NULL CHECK (json_valid(wraps)),
  created_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  mac BLOB NOT NULL CHECK (length(mac) = 32),
  PRIMARY KEY (merchant, purpose, version),
  CHECK ((purpose = 'merchant') = (length(merchant) = 4)),
  CHECK ((purpose = 'epoch') = (epoch IS NULL)),
  CHECK ((state = 'destroyed') = (json_array_length(wraps) = 0))
) STRICT, WITHOUT ROWID;
INSERT INTO key_record_2 SELECT merchant, purpose, version, state, sequence, epoch, check_value, wraps, created_at, changed_at, mac FROM key_record;
DROP TABLE key_record;
ALTER TABLE key_record_2 RENAME TO key_record;
CREATE UNIQUE INDEX key_record_current ON key_record (merchant, purpose) WHERE state = 'current';

CREATE TRIGGER key_record_moves_on BEFORE UPDATE ON key_record
WHEN OLD.state = 'destroyed' OR NEW.sequence <= OLD.sequence
  OR instr('made current retired compromised destroyed', NEW.state) < instr('made current retired compromised destroyed', OLD.state)
  OR NEW.merchant <> OLD.merchant OR NEW.purpose <> OLD.purpose OR NEW.version <> OLD.version
  OR NEW.check_value <> OLD.check_value OR NEW.created_at <> OLD.created_at
BEGIN SELECT RAISE (ABORT, 'a key only moves forward'); END;
CREATE TRIGGER key_record_is_kept BEFORE DELETE ON key_record BEGIN SELECT RAISE (ABORT, 'key records are kept'); END;
-- REPLACE deletes without a word to the trigger before.
CREATE TRIGGER key_record_is_not_replaced BEFORE INSERT ON key_record
WHEN EXISTS (SELECT 1 FROM key_record WHERE merchant = NEW.merchant AND purpose = NEW.purpose AND version = NEW.version)
BEGIN SELECT RAISE (ABORT, 'key records are kept'); END;
`;
