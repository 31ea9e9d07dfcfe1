/** Orders about keys (vault/records/key-order.ts): a list that only grows. */
export const keyOrders = `
CREATE TABLE key_order (
  no INTEGER PRIMARY KEY CHECK (no >= 1),
  at INTEGER NOT NULL,
  body TEXT NOT NULL CHECK (json_valid(body)),
  mac BLOB NOT NULL CHECK (length(mac) = 32)
) STRICT;

CREATE TRIGGER key_order_is_not_changed BEFORE UPDATE ON key_order BEGIN SELECT RAISE (ABORT, 'orders are kept'); END;
CREATE TRIGGER key_order_is_kept BEFORE DELETE ON key_order BEGIN SELECT RAISE (ABORT, 'orders are kept'); END;
-- REPLACE deletes without a word to the trigger before.
CREATE TRIGGER key_order_follows BEFORE INSERT ON key_order
WHEN NEW.no <> (SELECT coalesce(max(no), 0) + 1 FROM key_order)
BEGIN SELECT RAISE (ABORT, 'orders are kept'); END;
`;
