/**
 * Every unique key begins with the merchant. Identifiers and digests are blobs, because their hex
 * form takes twice the space. Rows that are looked up by random keys also have an integer primary
 * key: clustering on random keys costs 4 times the CPU at two million rows. Payment ids begin with
 * the time, so their index grows at its right end. `order_json` never changes and is the widest
 * column, so it comes last. A CHECK is evaluated at each write: none has an IN with more than two
 * values, because SQLite builds a table for it every time (a fifth of a payment's writes).
 */
export const tables = `
CREATE TABLE account (
  no INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 4),
  version INTEGER NOT NULL CHECK (version >= 1),
  name TEXT NOT NULL,
  settings TEXT NOT NULL CHECK (json_valid(settings))
) STRICT;

CREATE TABLE account_key (
  no INTEGER PRIMARY KEY,
  digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
  account BLOB NOT NULL CHECK (length(account) = 4),
  grants TEXT NOT NULL CHECK (grants IN ('secret', 'public'))
) STRICT;

CREATE TABLE payment (
  no INTEGER PRIMARY KEY,
  merchant BLOB NOT NULL CHECK (length(merchant) = 4),
  id BLOB NOT NULL CHECK (length(id) = 24),
  code TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  version INTEGER NOT NULL CHECK (version >= 1),
  state TEXT NOT NULL,
  status_at INTEGER,
  captured_at INTEGER,
  capture_by INTEGER,
  authorized INTEGER NOT NULL,
  captured INTEGER NOT NULL,
  refunded INTEGER NOT NULL,
  refunds TEXT,
  chargeback TEXT,
  review TEXT CHECK (review <> 'none'),
  attempts INTEGER NOT NULL CHECK (attempts >= 0),
  attempt TEXT,
  due_at INTEGER,
  verdict TEXT,
  mandate TEXT,
  needs_review INTEGER NOT NULL CHECK (needs_review IN (0, 1)),
  order_json TEXT NOT NULL,
  UNIQUE (merchant, id),
  UNIQUE (merchant, code),
  CHECK (0 <= refunded AND refunded <= captured AND captured <= authorized),
  -- Nothing in flight is ever forgotten, and no job touches what people must look at first.
  CHECK (CASE needs_review WHEN 1 THEN due_at IS NULL ELSE attempt IS NULL OR due_at IS NOT NULL END)
) STRICT;

-- Whatever the clock has business with; of most payments that is over in a moment. The second column tells, without a look at
-- the row, what is in flight from what waits for days.
CREATE INDEX payment_due ON payment (due_at, attempt IS NOT NULL) WHERE due_at IS NOT NULL;

-- mandate: the network transaction id of an initial stored-credential payment, null on all others.
CREATE INDEX payment_mandate ON payment (merchant, mandate) WHERE mandate IS NOT NULL;

-- What keeps refunds' names apart. The refunds themselves are a part of their payment.
CREATE TABLE refund (
  id INTEGER PRIMARY KEY CHECK (1 <= id AND id <= 2147483647),
  merchant BLOB NOT NULL CHECK (length(merchant) = 4),
  code TEXT,
  payment INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX refund_code ON refund (merchant, code) WHERE code IS NOT NULL;

-- One row for each committed change of a payment. entries: journal entries as 'h hUSD1000 cUSD-1000;c ...', where the first
-- word of an entry is its kind and each other word an account, a currency and minor units (codes.ts).
CREATE TABLE history (
  payment INTEGER NOT NULL,
  version INTEGER NOT NULL CHECK (version >= 1),
  at INTEGER NOT NULL,
  facts TEXT NOT NULL,
  detail TEXT,
  entries TEXT NOT NULL,
  PRIMARY KEY (payment, version)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER history_is_append_only BEFORE UPDATE ON history BEGIN SELECT RAISE (ABORT, 'history is append-only'); END;
CREATE TRIGGER history_is_kept BEFORE DELETE ON history BEGIN SELECT RAISE (ABORT, 'history is append-only'); END;

CREATE VIEW journal AS
SELECT
  payment.merchant AS merchant,
  payment.id AS payment,
  history.version AS version,
  history.at AS at,
  entry.key + 1 AS entry,
  CASE substr(posting.value, 1, 1)
    WHEN 'h' THEN 'authorized_holds'
    WHEN 'c' THEN 'cardholder_commitments'
    WHEN 'a' THEN 'acquirer_receivable'
    WHEN 'm' THEN 'merchant_payable'
    WHEN 't' THEN 'tax_payable'
  END AS account,
  substr(posting.value, 2, 3) AS currency,
  CAST(substr(posting.value, 5) AS INTEGER) AS minor
FROM payment
JOIN history ON history.payment = payment.no AND history.entries <> ''
JOIN json_each('[["' || replace(replace(history.entries, ';', '"],["'), ' ', '","') || '"]]') AS entry
JOIN json_each(entry.value) AS posting ON posting.key > 0;

CREATE TABLE outbox (
  sequence INTEGER PRIMARY KEY,
  merchant BLOB NOT NULL CHECK (length(merchant) = 4),
  number INTEGER NOT NULL CHECK (number >= 1),
  payment INTEGER NOT NULL,
  version INTEGER NOT NULL,
  kind TEXT NOT NULL,
  UNIQUE (merchant, number)
) STRICT;

CREATE INDEX outbox_payment ON outbox (payment);

-- lane: merchant and endpoint, '0000000a shop', so that one text orders them and the next one is found by one comparison.
CREATE TABLE delivery (
  lane TEXT NOT NULL CHECK (substr(lane, 9, 1) = ' '),
  number INTEGER NOT NULL CHECK (number >= 1),
  payment INTEGER NOT NULL,
  kind TEXT NOT NULL,
  version INTEGER NOT NULL CHECK (version >= 1),
  state TEXT NOT NULL,
  asked_at INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL CHECK (attempts >= 0),
  outcome TEXT,
  in_order INTEGER NOT NULL CHECK (in_order IN (0, 1)),
  PRIMARY KEY (lane, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX delivery_due ON delivery (lane, due_at, number) WHERE state = 'waiting';
CREATE INDEX delivery_failed ON delivery (lane, number) WHERE state = 'failed';
CREATE INDEX delivery_payment ON delivery (payment, number);

CREATE TABLE card (
  no INTEGER PRIMARY KEY,
  merchant BLOB NOT NULL CHECK (length(merchant) = 4),
  token_digest BLOB NOT NULL CHECK (length(token_digest) = 32),
  version INTEGER NOT NULL CHECK (version >= 1),
  created_at INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL,
  brand TEXT NOT NULL,
  masked_pan TEXT NOT NULL,
  fingerprint BLOB NOT NULL,
  ref BLOB NOT NULL,
  UNIQUE (merchant, token_digest)
) STRICT;

-- Requests that came with an Idempotency-Key. status and body are null until it was answered, once.
CREATE TABLE named_request (
  no INTEGER PRIMARY KEY,
  merchant BLOB NOT NULL CHECK (length(merchant) = 4),
  key TEXT NOT NULL,
  digest BLOB NOT NULL CHECK (length(digest) = 32),
  claimed_at INTEGER NOT NULL,
  status INTEGER,
  body TEXT,
  UNIQUE (merchant, key),
  CHECK ((status IS NULL) = (body IS NULL))
) STRICT;
`;
