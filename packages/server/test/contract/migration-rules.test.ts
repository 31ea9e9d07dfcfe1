import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { migrations } from "../../src/stores/postgres/migrations/index.ts";
import { refusedStatements } from "./migration-rules.ts";

/**
 * Statements of migrations that are older than the rules, with the reason why they do not block for
 * long. No entry is added: a new migration follows the rules.
 */
const fewRows = "the table has few rows";
const earlier: ReadonlyMap<number, readonly (readonly [statement: string, reason: string])[]> =
  new Map([
    [10, [["alter table account_key add column mac bytea check ( length ( mac ) = 32 )", fewRows]]],
    [
      14,
      [
        ["alter table person add column mac bytea check ( length ( mac ) = 32 )", fewRows],
        ["alter table person_session add column mac bytea check ( length ( mac ) = 32 )", fewRows],
      ],
    ],
  ]);

test("a migration changes the catalogue alone in a transaction, and reads or writes whole tables outside of one", () => {
  for (const [index, text] of migrations.entries()) {
    const known = (earlier.get(index + 1) ?? []).map(([statement]) => statement);
    assert.deepEqual(
      refusedStatements(text, migrations.slice(0, index)),
      known,
      `migration ${index + 1}`,
    );
  }
});

const block = (statement: string): string => `DO $$ DECLARE name text; BEGIN ${statement} END $$;`;
const calledFrom =
  "CREATE FUNCTION sweep_1() RETURNS void LANGUAGE sql AS 'DELETE FROM payment';\n";
const procedure = (body: string): string =>
  `CREATE PROCEDURE fill_1() LANGUAGE plpgsql AS $$ BEGIN ${body} END $$;`;

/**
 * Each of these reads or writes a whole table under a lock, hides a statement that does, or uses a
 * form whose meaning the check cannot see.
 */
const refused: Readonly<Record<string, readonly string[]>> = {
  "an index of an existing table": [
    "CREATE INDEX a ON payment (no);",
    "create unique\n  index a on payment (no);",
    "CREATE /* CONCURRENTLY */ INDEX a ON payment (no);",
    "CREATE INDEX -- CONCURRENTLY\n a ON payment (no);",
    "CREATE INDEX CONCURRENTLY a ON payment (no); CREATE INDEX b ON payment (no);",
    "CREATE INDEX ON payment (no);",
    'CREATE INDEX a ON "payment" (no);',
    "CREATE INDEX a ON public.payment (no);",
    "CREATE INDEX a ON ONLY payment (no);",
    "CREATE INDEX IF NOT EXISTS a ON payment (no);",
    "CREATE INDEX CONCURRENTLY a ON payment (no);\nCOMMENT ON INDEX a IS 'in a transaction';",
    "-- CREATE TABLE payment (no bigint);\nCREATE INDEX a ON payment (no);",
    "COMMENT ON TABLE payment IS 'CREATE TABLE payment (no bigint);'; CREATE INDEX a ON payment (no);",
    "/* /* nested */ CREATE TABLE payment (no bigint); */ CREATE INDEX a ON payment (no);",
    "CREATE TABLE IF NOT EXISTS payment (no bigint); CREATE INDEX a ON payment (no);",
    "DROP INDEX payment_code;",
    "REINDEX TABLE payment;",
  ],
  "a column that is checked, computed or filled": [
    "ALTER TABLE delivery ADD COLUMN message bigint CHECK (message >= 0);",
    "alter table delivery\nadd column message bigint\ncheck (message >= 0);",
    "ALTER TABLE delivery ADD message bigint CHECK (message >= 0);",
    "ALTER TABLE delivery ADD COLUMN a bigint, ADD COLUMN b bigint CHECK (b > 0);",
    "ALTER TABLE delivery ADD COLUMN a bigint DEFAULT nextval('commit_order');",
    "ALTER TABLE delivery ADD COLUMN a timestamptz DEFAULT clock_timestamp();",
    "ALTER TABLE delivery ADD COLUMN a bigint NOT NULL;",
    "ALTER TABLE delivery ADD COLUMN a bigint UNIQUE;",
    "ALTER TABLE delivery ADD COLUMN a bigserial;",
    "ALTER TABLE delivery ADD COLUMN a bigint GENERATED ALWAYS AS (number + 1) STORED;",
    "ALTER TABLE delivery ADD COLUMN a positive_number;",
    "ALTER TABLE IF EXISTS delivery ADD COLUMN a bigint CHECK (a > 0);",
    "ALTER TABLE ONLY delivery ADD COLUMN a bigint CHECK (a > 0);",
    'ALTER TABLE "delivery" ADD COLUMN a bigint CHECK (a > 0);',
  ],
  "a constraint that reads the rows": [
    "ALTER TABLE card ADD CONSTRAINT a CHECK (length(mac) = 32);",
    "ALTER TABLE card ADD CHECK (length(mac) = 32) NOT VALID;",
    "ALTER TABLE card ADD CONSTRAINT a CHECK (mac IS NULL) NOT VALID, ADD CONSTRAINT b CHECK (mac IS NULL);",
    "ALTER TABLE card ADD CONSTRAINT a CHECK (true), ADD CONSTRAINT b CHECK (true) NOT VALID;",
    "ALTER TABLE card ADD CONSTRAINT a CHECK (true) -- NOT VALID\n;",
    "ALTER TABLE card ADD CONSTRAINT a UNIQUE (no);",
    "ALTER TABLE card ADD CONSTRAINT a PRIMARY KEY USING INDEX b;",
    "ALTER TABLE card ADD CONSTRAINT a EXCLUDE USING gist (no WITH =);",
    "ALTER TABLE card VALIDATE CONSTRAINT a; COMMENT ON TABLE card IS 'in a transaction';",
    "CREATE TABLE a (card integer REFERENCES card);",
  ],
  "a column that is read or written again": [
    "ALTER TABLE payment ALTER COLUMN no TYPE numeric;",
    "ALTER TABLE payment ALTER COLUMN no SET DATA TYPE numeric;",
    "ALTER TABLE payment ALTER no SET NOT NULL;",
    "alter table payment alter column due_at set not null;",
    "ALTER TABLE payment ALTER COLUMN no SET DEFAULT 1, ALTER COLUMN no SET NOT NULL;",
    "ALTER TABLE payment SET TABLESPACE fast;",
    "ALTER TABLE payment SET UNLOGGED;",
    "ALTER TABLE payment CLUSTER ON payment_code;",
    "CLUSTER payment USING payment_code;",
    "VACUUM FULL payment;",
  ],
  "rows that are written, and locks that are taken": [
    "UPDATE payment SET due_at = NULL;",
    "WITH gone AS (SELECT 1) DELETE FROM delivery;",
    "DELETE FROM delivery WHERE true;",
    "TRUNCATE named_request;",
    "LOCK TABLE payment IN EXCLUSIVE MODE;",
    "CREATE TABLE a AS SELECT * FROM payment;",
    "SELECT * INTO a FROM payment;",
    "CREATE TABLE a (no bigint); INSERT INTO a SELECT no FROM payment;",
    "CREATE TABLE a (no bigint); INSERT INTO a TABLE payment;",
    "CREATE TABLE a (no bigint); INSERT INTO a WITH b AS (TABLE payment) SELECT 1;",
    "INSERT INTO payment (no) VALUES (1);",
    "CREATE MATERIALIZED VIEW a AS SELECT 1;",
    "CREATE TABLE a PARTITION OF payment DEFAULT;",
    "CREATE TABLE a (no bigint) INHERITS (payment);",
    "CREATE TABLE a (no bigint); ALTER TABLE a ATTACH PARTITION payment DEFAULT;",
  ],
  "limits and transactions": [
    "SET LOCAL lock_timeout = 0; COMMENT ON TABLE card IS 'a';",
    "SET LOCAL statement_timeout = '1h';",
    "SELECT set_config('lock_timeout', '0', true);",
    "COMMIT; BEGIN;",
    "COMMENT ON TABLE card IS 'a'; CALL fill_due_queues_1();",
  ],
  "calls and blocks": [
    `${calledFrom}SELECT sweep_1();`,
    `${calledFrom}CREATE TABLE a (no bigint); INSERT INTO a SELECT sweep_1();`,
    `${calledFrom}${block("PERFORM sweep_1();")}`,
    `${calledFrom}${block("IF sweep_1() THEN NULL; END IF;")}`,
    `${calledFrom}${block("name := sweep_1();")}`,
    block("UPDATE payment SET due_at = NULL;"),
    block("update payment set due_at = null;"),
    block("EXECUTE 'UPDATE payment SET due_at = NULL';"),
    block("EXECUTE 'UPDATE ' || 'payment SET due_at = NULL';"),
    block("EXECUTE format('%s', 'UPDATE payment SET due_at = NULL');"),
    block("EXECUTE format('UPDATE %I SET due_at = NULL', 'payment');"),
    block("EXECUTE name;"),
    block("EXECUTE format('ALTER TABLE %I ALTER no SET NOT NULL', 'payment');"),
    block(
      "EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', 'payment ALTER no SET NOT NULL,');",
    ),
    block(
      "FOREACH name IN ARRAY ARRAY['a() FROM PUBLIC; UPDATE payment SET no = 1'] LOOP EXECUTE format('REVOKE ALL ON FUNCTION %s', name); END LOOP;",
    ),
    block("FOREACH name IN ARRAY ARRAY['a'] LOOP DELETE FROM payment; END LOOP;"),
    block("FOR name IN SELECT code FROM payment LOOP NULL; END LOOP;"),
    "DO 'BEGIN DELETE FROM payment; END';",
    "DO LANGUAGE plpgsql $a$ BEGIN DELETE FROM payment; END $a$;",
    "DO E'BEGIN DELETE FROM payment\\x3b END';",
    "DROP FUNCTION queue_of_1(text) CASCADE;",
  ],
  "what is not read as the server reads it": [
    "COMMENT ON TABLE card IS E'\\''; UPDATE payment SET no = 1; --';",
    "COMMENT ON TABLE card IS 'a; UPDATE payment SET no = 1;",
    "/* COMMENT ON TABLE card IS 'a';",
    "CREATE FUNCTION a() RETURNS void LANGUAGE sql AS $a$ SELECT 1 $b$;",
    'ALTER TABLE U&"p\\0061yment" ALTER no SET NOT NULL;',
  ],
  "procedures that do not commit as they go": [
    "CALL fill_1()",
    "CALL fill_2()",
    "CREATE INDEX CONCURRENTLY a ON payment (no); UPDATE payment SET no = 1;",
  ],
};

for (const [what, texts] of Object.entries(refused)) {
  test(`refused: ${what}`, () => {
    const before = [
      procedure("UPDATE payment SET due_at = NULL; COMMIT;"),
      "CREATE PROCEDURE fill_2() LANGUAGE sql AS 'UPDATE payment SET no = 1';",
    ];
    for (const text of texts) assert.notDeepEqual(refusedStatements(text, before), [], text);
  });
}

describe("control", () => {
  const allowed: readonly string[] = [
    'ALTER TABLE delivery ADD COLUMN a bigint, ADD COLUMN b text COLLATE "C", ADD COLUMN c boolean NOT NULL DEFAULT false;',
    "alter table delivery add column a bigint default -1 not null;",
    "ALTER TABLE card ADD CONSTRAINT a CHECK (length(mac) = 32 AND (no > 0)) NOT VALID;",
    "ALTER TABLE card ADD CONSTRAINT a UNIQUE USING INDEX b;",
    "ALTER TABLE payment SET (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.01); ALTER TABLE payment RESET (fillfactor);",
    "ALTER TABLE payment ALTER COLUMN no SET DEFAULT nextval('other_order'), DROP CONSTRAINT a;",
    "CREATE TABLE a (no bigint PRIMARY KEY, kind text CHECK (kind IN ('x', 'y'))); CREATE INDEX b ON a (kind); INSERT INTO a VALUES (1, 'x');",
    "CREATE TABLE a (no bigint) PARTITION BY HASH (no);",
    `${calledFrom}CREATE TRIGGER a AFTER INSERT ON payment FOR EACH STATEMENT EXECUTE FUNCTION sweep_1();`,
    "CREATE OR REPLACE FUNCTION a() RETURNS void LANGUAGE plpgsql AS $$ BEGIN UPDATE payment SET no = 1; END $$;",
    "CREATE INDEX CONCURRENTLY a ON payment (no);\nALTER TABLE card VALIDATE CONSTRAINT a;\nDROP INDEX CONCURRENTLY IF EXISTS b;",
    "CALL fill_1()",
  ];
  test("what changes the catalogue alone, or stops nothing, is allowed", () => {
    const before = [
      procedure(
        "LOOP UPDATE payment SET due_at = NULL WHERE no = 1; EXIT WHEN NOT FOUND; COMMIT; END LOOP;",
      ),
    ];
    for (const text of allowed) assert.deepEqual(refusedStatements(text, before), [], text);
  });
});
