/**
 * Every key and every index begins with the merchant, so that rows of one merchant stay together
 * and the schema can be sharded by merchant. The catalogue test
 * (test/contract/store-postgres.test.ts) lists the exceptions with their reasons: a key's digest
 * and a refund's id identify their merchant, and the jobs that serve all merchants read by time.
 * There is one sequence, `commit_order`, for the order of first commits that the contract promises;
 * no constraint depends on it.
 *
 * The checks are those of change-rules.ts and of the embedded store. Amounts are bigint minor
 * units, times are milliseconds since 1970 as in the domain. Columns used for ordering have the
 * collation "C": byte order, whatever the server's language.
 */
export const tables = `
CREATE SEQUENCE commit_order CACHE 1;

CREATE TABLE merchant (
  merchant bytea PRIMARY KEY CHECK (length(merchant) = 4)
);
COMMENT ON TABLE merchant IS 'A row that a batch locks before it writes anything of the merchant (002-writer).';

CREATE TABLE account (
  merchant bytea PRIMARY KEY CHECK (length(merchant) = 4),
  version integer NOT NULL CHECK (version >= 1),
  name text NOT NULL,
  settings text NOT NULL CHECK (settings::json IS NOT NULL)
);

CREATE TABLE account_key (
  digest bytea PRIMARY KEY CHECK (length(digest) = 32),
  merchant bytea NOT NULL CHECK (length(merchant) = 4),
  grants text NOT NULL CHECK (grants IN ('secret', 'public'))
);

CREATE TABLE payment (
  merchant bytea NOT NULL CHECK (length(merchant) = 4),
  id bytea NOT NULL CHECK (length(id) = 24),
  no bigint NOT NULL DEFAULT nextval('commit_order'),
  code text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  version integer NOT NULL CHECK (version >= 1),
  state text NOT NULL,
  status_at bigint,
  captured_at bigint,
  capture_by bigint,
  authorized bigint NOT NULL,
  captured bigint NOT NULL,
  refunded bigint NOT NULL,
  refunds text,
  chargeback text,
  review text CHECK (review <> 'none'),
  attempts integer NOT NULL CHECK (attempts >= 0),
  attempt text,
  due_at bigint,
  verdict text,
  mandate text COLLATE "C",
  rerouted text,
  needs_review smallint NOT NULL CHECK (needs_review IN (0, 1)),
  order_json text NOT NULL,
  PRIMARY KEY (merchant, id),
  CHECK (0 <= refunded AND refunded <= captured AND captured <= authorized),
  -- Nothing in flight is ever forgotten, and no job touches what people must look at first.
  CHECK (CASE needs_review WHEN 1 THEN due_at IS NULL ELSE attempt IS NULL OR due_at IS NOT NULL END)
);
-- True of every code. A statement that does not say so has one index to find a payment by its id with, and not two that look alike to
-- a planner who knows nothing of the rows yet.
CREATE UNIQUE INDEX payment_code ON payment (merchant, code) WHERE code >= '';
CREATE INDEX payment_due ON payment (due_at, no) WHERE due_at IS NOT NULL;
CREATE INDEX payment_mandate ON payment (merchant, mandate, no) WHERE mandate IS NOT NULL;

CREATE TABLE refund (
  id integer PRIMARY KEY CHECK (id >= 1),
  merchant bytea NOT NULL CHECK (length(merchant) = 4),
  code text COLLATE "C",
  payment bytea NOT NULL CHECK (length(payment) = 24)
);
CREATE UNIQUE INDEX refund_code ON refund (merchant, code) WHERE code IS NOT NULL;

CREATE TABLE history (
  merchant bytea NOT NULL CHECK (length(merchant) = 4),
  payment bytea NOT NULL CHECK (length(payment) = 24),
  version integer NOT NULL CHECK (version >= 1),
  at bigint NOT NULL,
  facts text NOT NULL,
  detail text,
  entries text NOT NULL,
  PRIMARY KEY (merchant, payment, version)
);
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN RAISE EXCEPTION USING ERRCODE = ''restrict_violation'', MESSAGE = ''this table is append-only''; END';
CREATE TRIGGER history_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON history
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE outbox (
  merchant bytea NOT NULL CHECK (length(merchant) = 4),
  number bigint NOT NULL CHECK (number >= 1),
  sequence bigint NOT NULL DEFAULT nextval('commit_order'),
  payment bytea NOT NULL CHECK (length(payment) = 24),
  version integer NOT NULL CHECK (version >= 1),
  kind text NOT NULL,
  at bigint NOT NULL,
  PRIMARY KEY (merchant, number)
);
CREATE INDEX outbox_payment ON outbox (merchant, payment);
CREATE INDEX outbox_sequence ON outbox (sequence);

CREATE TABLE delivery (
  merchant bytea NOT NULL CHECK (length(merchant) = 4),
  endpoint text COLLATE "C" NOT NULL CHECK (endpoint ~ '^[a-z][a-z0-9-]{0,63}$'),
  number bigint NOT NULL CHECK (number >= 1),
  payment bytea NOT NULL CHECK (length(payment) = 24),
  kind text NOT NULL,
  version integer NOT NULL CHECK (version >= 1),
  state text NOT NULL,
  asked_at bigint NOT NULL,
  due_at bigint NOT NULL,
  attempts integer NOT NULL CHECK (attempts >= 0),
  outcome text,
  in_order smallint NOT NULL CHECK (in_order IN (0, 1)),
  PRIMARY KEY (merchant, endpoint, number)
);
CREATE INDEX delivery_due ON delivery (merchant, endpoint, due_at, number) WHERE state = 'waiting';
CREATE INDEX delivery_number ON delivery (merchant, number, endpoint);
CREATE INDEX delivery_failed ON delivery (merchant, number, endpoint) WHERE state = 'failed';
CREATE INDEX delivery_payment ON delivery (merchant, payment, endpoint, number) WHERE state = 'waiting';

CREATE TABLE card (
  merchant bytea NOT NULL CHECK (length(merchant) = 4),
  token_digest bytea NOT NULL CHECK (length(token_digest) = 32),
  no bigint NOT NULL DEFAULT nextval('commit_order'),
  version integer NOT NULL CHECK (version >= 1),
  created_at bigint NOT NULL,
  last_used_at bigint NOT NULL,
  brand text NOT NULL,
  masked_pan text NOT NULL,
  fingerprint bytea NOT NULL,
  ref bytea NOT NULL,
  PRIMARY KEY (merchant, token_digest)
);
CREATE INDEX card_no ON card (no);

CREATE TABLE named_request (
  merchant bytea NOT NULL CHECK (length(merchant) = 4),
  key text COLLATE "C" NOT NULL,
  digest bytea NOT NULL CHECK (length(digest) = 32),
  claimed_at bigint NOT NULL,
  status integer,
  body text,
  PRIMARY KEY (merchant, key),
  CHECK ((status IS NULL) = (body IS NULL))
);
`;
