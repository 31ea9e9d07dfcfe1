/** The identity of the database (stores/identity.ts): one row, created by the first start. */
export const identity = `
CREATE TABLE identity (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  keys TEXT,
  epoch INTEGER NOT NULL CHECK (epoch >= 0),
  beat INTEGER NOT NULL CHECK (beat >= 0),
  is_copy INTEGER NOT NULL CHECK (is_copy IN (0, 1)),
  server TEXT
) STRICT;
CREATE TRIGGER identity_never_goes_back BEFORE UPDATE ON identity WHEN NEW.epoch < OLD.epoch OR NEW.beat < OLD.beat OR NEW.keys IS NOT coalesce(OLD.keys, NEW.keys)
BEGIN SELECT RAISE(ABORT, 'the identity of a database never goes back'); END;
`;
